//! Tilde expansion: `~` and `~/x` are in the home directory, `~name` in that of another user.

use super::word::{WordPiece, is_name_char, is_wild};

const fn plain(char: char) -> WordPiece {
    WordPiece::Char { char, quoted: false }
}

/// Whether bash treats a word as an assignment if it looks like one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Assigns {
    No,
    Maybe,
    Yes,
}

/// Replaces tildes where bash does: at the beginning of a word, and after `=` and `:` in one that looks like an
/// assignment. Every tilde that is left stands for itself. Without a home directory, what they stand for is unknown
/// text, and so it is where bash may leave them.
pub(super) fn expand(pieces: &[WordPiece], assigns: Assigns, home: Option<&str>) -> Vec<WordPiece> {
    let value = if assigns == Assigns::No { None } else { value(pieces) };
    let home = home.filter(|_| assigns == Assigns::Yes || value.is_none());
    let mut expanded = Vec::with_capacity(pieces.len());
    let mut at = 0;
    while at < pieces.len() {
        let home = match value {
            Some(AssignedValue { is_element: true, .. }) if at > 0 => None,
            _ => home,
        };
        let rest = &pieces[at..];
        let (taken, result) = match pieces[at] == plain('~') && begins(pieces, at, value) {
            true => prefix(rest, value.is_some(), home),
            false => (1, vec![rest[0]]),
        };
        expanded.extend(result);
        at += taken;
    }
    expanded
}

/// The value in a word that looks like an assignment.
#[derive(Debug, Clone, Copy)]
struct AssignedValue {
    /// Where it begins, or, for an element of an array, where it begins at the earliest.
    start: usize,
    is_element: bool,
}

/// The value in a word that begins with a name and `=`, `+=` or a subscript.
fn value(pieces: &[WordPiece]) -> Option<AssignedValue> {
    let is_name = |(at, piece): &(usize, &WordPiece)| matches!(piece, WordPiece::Char { char, quoted: false } if is_name_char(*char, *at == 0));
    let name = pieces.iter().enumerate().take_while(is_name).count();
    let is = |at: usize, char: char| pieces.get(at) == Some(&plain(char));
    let start = name + 1 + usize::from(is(name, '+') && is(name + 1, '='));
    let is_element = is(name, '[');
    (name > 0 && (is_element || is(start - 1, '='))).then_some(AssignedValue { start, is_element })
}

/// Whether bash replaces a tilde at this position.
fn begins(pieces: &[WordPiece], at: usize, value: Option<AssignedValue>) -> bool {
    let Some(last) = at.checked_sub(1) else { return true };
    value.is_some_and(|AssignedValue { start, is_element }| {
        at == start || at > start && (pieces[last] == plain(':') || is_element && pieces[last] == plain('='))
    })
}

/// Expands a tilde with the name after it. Returns the number of pieces read, and the result. A quote in the name makes
/// the tilde literal.
fn prefix(pieces: &[WordPiece], is_assigned: bool, home: Option<&str>) -> (usize, Vec<WordPiece>) {
    let ends = |piece: &WordPiece| match piece {
        WordPiece::Char { char: '/', .. } => true,
        piece => is_assigned && *piece == plain(':'),
    };
    let end = pieces.iter().position(ends).unwrap_or(pieces.len());
    let is_quoted =
        |piece: &WordPiece| matches!(piece, WordPiece::Char { quoted: true, .. } | WordPiece::EmptyQuotes);
    if pieces[..end].iter().chain(pieces.get(end)).any(is_quoted) {
        return (1, vec![WordPiece::Char { char: '~', quoted: true }]);
    }
    match home.filter(|_| end == 1) {
        Some(home) => (end, home.chars().map(|char| WordPiece::Char { char, quoted: true }).collect()),
        None => {
            // A sequence in braces, as in `~x{1..2}`, and a pattern of file names make several words of it.
            let splits = |piece: &WordPiece| match piece {
                WordPiece::Unknown { quoted, .. } => !quoted,
                WordPiece::Char { char, .. } => is_wild(*char),
                WordPiece::EmptyQuotes => false,
            };
            (end, vec![WordPiece::unknown(!pieces[..end].iter().any(splits))])
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Word, words};

    fn read(text: &str, home: Option<&str>) -> Vec<Option<String>> {
        words(text, home).unwrap().iter().map(Word::text).collect()
    }

    #[track_caller]
    fn is(text: &str, expected: &str) {
        assert_eq!(read(text, Some("/h x")), [Some(expected.to_owned())], "{text}");
    }

    #[test]
    fn a_tilde_is_the_home_directory_where_bash_replaces_it() {
        for (text, expected) in [
            ("~", "/h x"),
            ("~/x", "/h x/x"),
            ("~/a:~/b", "/h x/a:~/b"),
            ("if=~/x", "if=/h x/x"),
            ("a+=~", "a+=/h x"),
            ("a=b:~/x", "a=b:/h x/x"),
            ("a=~:~/y", "a=/h x:/h x/y"),
            ("a=~/x=~/y", "a=/h x/x=~/y"),
            ("~/\"x\"", "/h x/x"),
        ] {
            is(text, expected);
        }
        assert_eq!(
            read("{~,a}/x ~{,/y}", Some("/h")),
            ["/h/x", "a/x", "/h", "/h/y"].map(|text| Some(text.into()))
        );
    }

    #[test]
    fn every_other_tilde_stands_for_itself() {
        for text in ["a~", "b:~/x", "-a=~/x", "--o=~/x", "1a=~/x", "=~/x", "a==~/x", "a=b~/x", "a=b=~/x"] {
            is(text, text);
        }
        for text in ["''~/x", "~''/x", "~\"\"/x", "~\"/x\"", r"\~/x", "'~'/x", r"~\/x", "$''~/x"] {
            is(text, "~/x");
        }
        for text in ["i'f'=~/x", "i''f=~/x", "if'='~/x", r"if\=~/x", "if=''~/x", "if=~\"/x\"", "''if=~/x"] {
            is(text, "if=~/x");
        }
        assert_eq!(read("a=~/{x,y}", Some("/h")), ["a=~/x", "a=~/y"].map(|text| Some(text.into())));
    }

    #[test]
    fn other_homes_are_unknown() {
        for text in
            ["~root", "~root/x", "~+", "~-/x", "~:/x", "~:[", "~:a$", "a=~root:x", "a[1]=~/x", "a[1]=b:~"]
        {
            assert_eq!(read(text, Some("/h")), [None], "{text}");
        }
        for text in ["~", "~/x", "a=~/x"] {
            assert_eq!(read(text, None), [None], "{text}");
        }
        // Bash expands neither sequence, but this is not looked into.
        for (text, expanded) in [("a=~/x{1..2f}", "a=/h/x{1..2f}"), ("a[1]=~/{1[..}", "a[1]=/h/{1[..}")] {
            assert!(words(text, Some("/h")).unwrap()[0].may_be(expanded), "{text}");
        }
        assert!(words("~*", Some("/h")).unwrap()[0].may_split());
    }
}
