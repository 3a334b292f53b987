//! The arguments of a program in the forms that patterns are compared with. Each form is made once, however many rules
//! there are.

use super::bytes;
use super::command_glob::BOUNDARY;
use beamai_bash_reader::Word;
use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};

/// Placeholder for unknown text in comparisons. It does not occur in names.
const UNKNOWN: &str = "\u{fffc}";

/// The words after a program's name.
#[derive(Debug)]
pub(super) struct Arguments {
    pub(super) words: Vec<Word>,
    texts: OnceCell<Vec<Option<String>>>,
    spaced: OnceCell<OsString>,
    apart: OnceCell<Option<[OsString; 3]>>,
}

impl Arguments {
    pub(super) fn of(words: &[Word]) -> Self {
        let words = words.to_vec();
        Self { words, texts: OnceCell::new(), spaced: OnceCell::new(), apart: OnceCell::new() }
    }

    /// Their texts; `None` for a word that is not known.
    pub(super) fn texts(&self) -> &[Option<String>] {
        self.texts.get_or_init(|| self.words.iter().map(Word::text).collect())
    }

    pub(super) fn are_known(&self) -> bool {
        self.texts().iter().all(Option::is_some)
    }

    /// Each behind a space.
    pub(super) fn spaced(&self) -> &OsStr {
        self.spaced.get_or_init(|| self.joined(" ", UNKNOWN))
    }

    /// Each behind a boundary, for unknown texts of several lengths; `None` if a word contains the boundary.
    pub(super) fn apart(&self) -> Option<&[OsString; 3]> {
        let has_boundary = |word: &Word| word.pattern().flatten().any(|char| BOUNDARY.contains(char));
        let apart = || {
            let fillers = ["", UNKNOWN, "\u{fffc}\u{fffc}\u{fffc}"];
            (!self.words.iter().any(has_boundary))
                .then(|| fillers.map(|filler| self.joined(BOUNDARY, filler)))
        };
        self.apart.get_or_init(apart).as_ref()
    }

    /// Each behind `between`, with `filler` for unknown text.
    fn joined(&self, between: &str, filler: &str) -> OsString {
        let mut text = String::new();
        for word in &self.words {
            text.push_str(between);
            word.pattern().for_each(|char| match char {
                Some(char) => text.push(char),
                None => text.push_str(filler),
            });
        }
        bytes::word(&text)
    }
}
