//! The part of a long line around a change.

use std::ops::Range;

/// Characters shown before and after the change.
pub(super) const AROUND: usize = 80;
/// Characters shown of either end of a long change.
const ENDS: usize = 160;

/// A part of a line around a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// The text, with an ellipsis wherever something is left out.
    pub text: String,
    /// The first character shown, counted from 1.
    pub first: u64,
    /// The last character shown.
    pub last: u64,
    /// Characters of the line.
    pub length: u64,
    /// Whether something between them is left out.
    has_gap: bool,
}

impl Excerpt {
    /// The part of a line around the characters `changed`.
    pub fn of(line: &str, changed: Range<usize>) -> Self {
        let byte = |at: usize| line.char_indices().nth(at).map_or(line.len(), |(byte, _)| byte);
        let (start, end) = (byte(changed.start), byte(changed.end));
        let (before, after) = (&line[..start], &line[end..]);
        let count = |text: &str| text.chars().count() as u64;
        Self::between((before, count(before)), &line[start..end], (after, count(after)))
    }

    /// The part of a line around `changed`. Of the text before and after it, only the adjacent characters are needed,
    /// together with the number of all of them.
    pub(super) fn between(before: (&str, u64), changed: &str, after: (&str, u64)) -> Self {
        let (left, right) = (last_chars(before.0, AROUND), first_chars(after.0, AROUND));
        let count = |text: &str| text.chars().count() as u64;
        let first = before.1 - count(left) + 1;
        let end = before.1 + count(changed);
        let (last, length) = (end + count(right), end + after.1);
        let cut = |is_cut| if is_cut { "…" } else { "" };
        let ends = ends(changed);
        let shown = ends.map_or(changed.to_owned(), |(start, end)| format!("{start}…{end}"));
        let text = format!("{}{left}{shown}{right}{}", cut(first > 1), cut(last < length));
        Self { text, first, last, length, has_gap: ends.is_some() }
    }

    /// The text, and what part of the line it is unless that is all of it.
    pub fn marked(&self) -> String {
        let Self { text, first, last, length, has_gap } = self;
        match (*first, last == length, has_gap) {
            (1, true, false) => text.clone(),
            (1, true, true) => format!("{text} [of {length} characters]"),
            _ => format!("{text} [characters {first} to {last} of {length}]"),
        }
    }
}

/// Beginning and end of a long text.
fn ends(text: &str) -> Option<(&str, &str)> {
    text.char_indices().nth(2 * ENDS)?;
    Some((first_chars(text, ENDS), last_chars(text, ENDS)))
}

fn first_chars(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(at, _)| &text[..at])
}

pub(super) fn last_chars(text: &str, most: usize) -> &str {
    text.char_indices().rev().nth(most.saturating_sub(1)).map_or(text, |(at, _)| &text[at..])
}

/// The characters of two lines that differ, by their common beginning and end.
pub fn differing(one: &str, other: &str) -> (Range<usize>, Range<usize>) {
    let start = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let (one_len, other_len) = (one.chars().count(), other.chars().count());
    let most = one_len.min(other_len) - start;
    let end = one.chars().rev().zip(other.chars().rev()).take(most).take_while(|(a, b)| a == b).count();
    (start..one_len - end, start..other_len - end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_what_is_around_it() {
        let line = format!("{}old{}", "é".repeat(1_000), "z".repeat(2_000));
        let excerpt = Excerpt::of(&line, 1_000..1_003);
        assert_eq!((excerpt.first, excerpt.last, excerpt.length), (921, 1_083, 3_003));
        assert_eq!(excerpt.text, format!("…{}old{}…", "é".repeat(80), "z".repeat(80)));
        assert!(excerpt.marked().ends_with("z… [characters 921 to 1083 of 3003]"));
        assert_eq!(Excerpt::of("abc", 1..2).marked(), "abc");
        assert_eq!(Excerpt::of("abc", 3..3).marked(), "abc");
        let all = Excerpt::of(&line, 0..3_003);
        assert_eq!(all.marked(), format!("{}…{} [of 3003 characters]", "é".repeat(160), "z".repeat(160)));
    }

    #[test]
    fn what_differs_is_found_from_both_ends() {
        assert_eq!(differing("x = 1;", "x = 23;"), (4..5, 4..6));
        assert_eq!(differing("aaa", "aa"), (2..3, 2..2));
        assert_eq!(differing("", "ä"), (0..0, 0..1));
        assert_eq!(differing("same", "same"), (4..4, 4..4));
    }
}
