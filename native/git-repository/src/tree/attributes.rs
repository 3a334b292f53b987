//! Attributes of paths: `.gitattributes` files, `.git/info/attributes`, the attributes file that settings name.

use super::dirs::{Dirs, join, split};
use super::ignore::{MAX_BYTES, anchored, file_in_tree, host_file, lines, named_file};
use super::pattern::GlobPattern;
use crate::call::GitCall;
use crate::repo::{LetterCase, Repo, machine_attributes};
use beamai_base::Result;
use git2::IndexEntry;
use std::collections::HashMap;
use std::sync::Arc;

/// The state of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttributeState {
    /// `name`
    Set,
    /// `-name`
    Unset,
    /// `name=value`
    Value(Vec<u8>),
    /// `!name`: unset by a later line, as if never mentioned.
    Unspecified,
}

/// Attributes of one path by name.
pub type AttributeStates = HashMap<Vec<u8>, AttributeState>;

/// Definitions of macro attributes.
type Macros = HashMap<Vec<u8>, Vec<(Vec<u8>, AttributeState)>>;

#[derive(Debug)]
struct AttributeLine {
    glob: GlobPattern,
    is_for_names: bool,
    states: Vec<(Vec<u8>, AttributeState)>,
}

/// The lines of one file, which apply below its directory.
#[derive(Debug, Default)]
struct AttributeFile {
    lines: Vec<AttributeLine>,
    macros: Macros,
}

/// Looks up attributes.
pub(super) struct Attributes<'r> {
    repo: &'r Repo,
    entries: &'r [IndexEntry],
    machine: AttributeFile,
    named: AttributeFile,
    info: AttributeFile,
    by_dir: HashMap<Vec<u8>, Arc<AttributeFile>>,
}

impl<'r> Attributes<'r> {
    /// The attributes of a repository. The staging area's `.gitattributes` are used where the work tree has none.
    ///
    /// # Errors
    /// If the repository's settings name a file that cannot be read.
    pub(super) fn new(repo: &'r Repo, entries: &'r [IndexEntry], cx: &GitCall) -> Result<Self> {
        let info = repo.shared("info/attributes")?;
        let named = repo.settings.attributes.as_ref().map_or(Ok(None), |file| named_file(repo, file, cx))?;
        let parsed = |bytes: Option<Vec<u8>>| parse(&bytes.unwrap_or_default(), repo.settings.case);
        let machine = machine_attributes().map_or(Ok(None), |path| host_file(&path, cx))?;
        let (machine, named) = (parsed(machine), parsed(named));
        Ok(Self { repo, entries, machine, named, info: parsed(info), by_dir: HashMap::new() })
    }

    /// The attributes of a path.
    ///
    /// # Errors
    /// `too_large` for an attributes file of more than 4 MiB.
    pub(super) fn of(&mut self, dirs: &mut Dirs, path: &[u8]) -> Result<AttributeStates> {
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        let mut files = Vec::new();
        for (skip, dir) in std::iter::once((0, 0)).chain(ends.map(|at| (at + 1, at))) {
            files.push((skip, self.dir(dirs, &path[..dir])?));
        }
        let mut macros = HashMap::from([(b"binary".to_vec(), binary())]);
        let all = || {
            let way = files.iter().map(|(skip, lines)| (*skip, &**lines));
            [(0, &self.machine), (0, &self.named)].into_iter().chain(way).chain([(0, &self.info)])
        };
        for (_, lines) in all().filter(|(skip, _)| *skip == 0) {
            macros.extend(lines.macros.clone());
        }
        let mut states = AttributeStates::new();
        for (skip, lines) in all().collect::<Vec<_>>().into_iter().rev() {
            lines.fill(&path[skip..], &macros, &mut states);
        }
        states.retain(|_, state| *state != AttributeState::Unspecified);
        Ok(states)
    }

    fn dir(&mut self, dirs: &mut Dirs, dir: &[u8]) -> Result<Arc<AttributeFile>> {
        if let Some(lines) = self.by_dir.get(dir) {
            return Ok(Arc::clone(lines));
        }
        let path = join(dir, b".gitattributes");
        let bytes = file_in_tree(dirs, &path)?.or_else(|| self.staged(&path)).unwrap_or_default();
        let lines = Arc::new(parse(&bytes, self.repo.settings.case));
        self.by_dir.insert(dir.to_vec(), Arc::clone(&lines));
        Ok(lines)
    }

    fn staged(&self, path: &[u8]) -> Option<Vec<u8>> {
        let at = self.entries.binary_search_by(|entry| entry.path.as_slice().cmp(path)).ok()?;
        self.repo.blob(self.entries[at].id, MAX_BYTES)
    }
}

impl AttributeFile {
    /// Sets the attributes that no file or line of higher precedence has set. Later lines take precedence over earlier
    /// ones.
    fn fill(&self, below: &[u8], macros: &Macros, states: &mut AttributeStates) {
        let name = split(below).1;
        for line in self.lines.iter().rev() {
            if line.glob.matches(if line.is_for_names { name } else { below }) {
                fill(&line.states, macros, states);
            }
        }
    }
}

/// Sets attributes that are not set yet, and expands macros.
fn fill(own: &[(Vec<u8>, AttributeState)], macros: &Macros, states: &mut AttributeStates) {
    for (name, state) in own.iter().rev() {
        if states.contains_key(name) {
            continue;
        }
        states.insert(name.clone(), state.clone());
        if *state == AttributeState::Set
            && let Some(meaning) = macros.get(name)
        {
            fill(meaning, macros, states);
        }
    }
}

fn binary() -> Vec<(Vec<u8>, AttributeState)> {
    [&b"diff"[..], b"merge", b"text"].map(|name| (name.to_vec(), AttributeState::Unset)).to_vec()
}

fn parse(bytes: &[u8], case: LetterCase) -> AttributeFile {
    let mut all = AttributeFile::default();
    for line in lines(bytes) {
        let line = line.trim_ascii_start();
        let Some((pattern, rest)) = pattern(line) else { continue };
        let words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let Some(states) = words.map(state).collect::<Option<Vec<_>>>() else { continue };
        if let Some(name) = pattern.strip_prefix(b"[attr]") {
            all.macros.insert(name.to_vec(), states);
        } else if !pattern.starts_with(b"!") && !pattern.ends_with(b"/") {
            let (is_for_names, glob) = anchored(&pattern, case);
            all.lines.push(AttributeLine { glob, is_for_names, states });
        }
    }
    all
}

/// The pattern at the start of a line, which may be quoted, and the rest.
fn pattern(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    match line.first()? {
        b'#' => None,
        b'"' => unquoted(&line[1..]),
        _ => {
            let end = line.iter().position(u8::is_ascii_whitespace).unwrap_or(line.len());
            Some((line[..end].to_vec(), &line[end..]))
        }
    }
}

/// The text up to the closing quote, with C escapes decoded.
fn unquoted(line: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        match *line.get(at)? {
            b'"' => return Some((text, &line[at + 1..])),
            b'\\' => at += escape(&line[at + 1..], &mut text)?,
            byte => text.push(byte),
        }
        at += 1;
    }
}

/// Decodes one escape after its backslash. Returns its length.
fn escape(rest: &[u8], text: &mut Vec<u8>) -> Option<usize> {
    let digits = rest.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
    if let Some(byte) = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
        text.push(byte);
        return Some(3);
    }
    text.push(match *rest.first()? {
        b'a' => 7,
        b'b' => 8,
        b't' => b'\t',
        b'n' => b'\n',
        b'v' => 11,
        b'f' => 12,
        b'r' => b'\r',
        byte => byte,
    });
    Some(1)
}

/// The attribute that a word sets; `None` if it is malformed, which makes git ignore the line.
fn state(word: &[u8]) -> Option<(Vec<u8>, AttributeState)> {
    let (name, state) = match word {
        [b'-', name @ ..] => (name, AttributeState::Unset),
        [b'!', name @ ..] => (name, AttributeState::Unspecified),
        word => match memchr::memchr(b'=', word) {
            Some(at) => (&word[..at], AttributeState::Value(word[at + 1..].to_vec())),
            None => (word, AttributeState::Set),
        },
    };
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_name = name.first().is_some_and(|byte| *byte != b'-') && name.iter().all(is_plain);
    is_name.then(|| (name.to_vec(), state))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn states(text: &str, path: &str) -> AttributeStates {
        let lines = parse(text.as_bytes(), LetterCase::Counts);
        let mut macros = HashMap::from([(b"binary".to_vec(), binary())]);
        macros.extend(lines.macros.clone());
        let mut states = AttributeStates::new();
        lines.fill(path.as_bytes(), &macros, &mut states);
        states
    }

    #[test]
    fn later_lines_win_and_macros_expand() {
        let text = "* text=auto\n*.png binary\n/a/*.txt -text eol=crlf\n[attr]mine diff=x\nz mine\n";
        assert_eq!(states(text, "b.c")[&b"text"[..]], AttributeState::Value(b"auto".to_vec()));
        assert_eq!(states(text, "d/x.png")[&b"diff"[..]], AttributeState::Unset);
        assert_eq!(states(text, "a/x.txt")[&b"eol"[..]], AttributeState::Value(b"crlf".to_vec()));
        assert_eq!(states(text, "z")[&b"diff"[..]], AttributeState::Value(b"x".to_vec()));
    }

    #[test]
    fn a_quoted_pattern_may_have_spaces() {
        assert_eq!(states("\"a b\\t\" text", "a b\t")[&b"text"[..]], AttributeState::Set);
    }
}
