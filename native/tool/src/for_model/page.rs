//! Text that grows line by line up to a limit of characters.

use serde_json::Value;
use std::borrow::Cow;

/// Maximum characters of a line; the rest is cut, and the line's length is noted.
pub const LINE: usize = 2_000;
/// Maximum characters for all notes, whatever the limit.
const NOTES: usize = 2_000;
/// Maximum characters of one note.
const NOTE: usize = 1_000;

/// Maximum characters of the mark at the end of a cut line, with its line end.
const CUT_MARK: usize = 60;

/// Replaces an empty text.
pub(super) const EMPTY: &str = "(empty)";

/// The text of a result: lines, and below them notes in square brackets, for which part of the limit is reserved.
#[derive(Debug)]
pub struct ModelPage {
    text: String,
    left: usize,
    notes: String,
    notes_left: usize,
}

impl ModelPage {
    /// An empty page of `limit` characters, including notes.
    pub fn new(limit: usize) -> Self {
        let notes = (limit / 4).min(NOTES);
        Self { text: String::new(), left: limit - notes, notes: String::new(), notes_left: notes }
    }

    /// Adds a line; false if it does not fit. The first line always fits: it is cut more if it must be.
    pub fn line(&mut self, line: &str) -> bool {
        let most = if self.text.is_empty() { LINE.min(self.left.saturating_sub(CUT_MARK)) } else { LINE };
        self.put(&cut_line(line, most))
    }

    /// Adds a line as it is, however long; false if it does not fit.
    pub fn whole_line(&mut self, line: &str) -> bool {
        self.put(line)
    }

    /// Adds a line of which only the first `most` characters are shown, and fewer if no more fit, between `before` and
    /// `after`; returns how many.
    pub fn part(&mut self, before: &str, line: &str, after: &str, most: usize) -> usize {
        let around = before.chars().count() + after.chars().count() + 1;
        let most = most.min(self.left.saturating_sub(around));
        let at = line.char_indices().nth(most).map_or(line.len(), |(at, _)| at);
        self.put(&format!("{before}{}{after}", &line[..at]));
        line[..at].chars().count()
    }

    /// Adds the lines of a text; returns how many fit and how many there are.
    pub fn lines(&mut self, text: &str) -> (u64, u64) {
        let (mut shown, mut total) = (0, 0);
        for line in text.lines() {
            if shown == total && self.line(line) {
                shown += 1;
            }
            total += 1;
        }
        (shown, total)
    }

    /// Adds as much as fits of a text whose lines may be long, such as a web page; returns the number of characters
    /// left out.
    pub fn prose(&mut self, text: &str) -> usize {
        let text = text.trim_end();
        let room = self.left.saturating_sub(1);
        let cut = text.char_indices().nth(room).map_or(text, |(at, _)| &text[..at]);
        self.put(cut);
        text[cut.len()..].chars().count()
    }

    /// Characters that still fit.
    pub fn room(&self) -> usize {
        self.left
    }

    /// Adds a note, in square brackets below the text. Notes have their own limit and are cut when it is used up.
    pub fn note(&mut self, note: &str) {
        if self.notes_left < 8 {
            return;
        }
        let note = cut(note, NOTE.min(self.notes_left - 4)).into_owned();
        self.notes_left -= note.chars().count() + 3;
        self.notes.push_str(&format!("[{note}]\n"));
    }

    /// Whether the page is empty.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// The text, without a trailing newline. Never empty: some providers reject an empty result.
    pub fn finish(mut self) -> String {
        self.text.push_str(&self.notes);
        self.text.pop();
        if self.text.is_empty() { EMPTY.to_owned() } else { self.text }
    }

    /// The notes alone, in the order in which they were added.
    pub(super) fn notes(self) -> Vec<String> {
        self.notes.lines().map(str::to_owned).collect()
    }

    pub(super) fn put(&mut self, text: &str) -> bool {
        let size = text.chars().count() + 1;
        if size > self.left {
            return false;
        }
        self.left -= size;
        self.text.push_str(text);
        self.text.push('\n');
        true
    }
}

/// The text, or its beginning with an ellipsis: at most `most` characters.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        None => Cow::Borrowed(text),
        Some(_) => {
            let at = text.char_indices().nth(most.saturating_sub(1)).map_or(0, |(at, _)| at);
            Cow::Owned(format!("{}…", &text[..at]))
        }
    }
}

/// The line, or its beginning and its length in characters.
pub fn cut_line(line: &str, most: usize) -> Cow<'_, str> {
    match line.char_indices().nth(most) {
        None => Cow::Borrowed(line),
        Some((at, _)) => {
            let length = line.chars().count();
            Cow::Owned(format!("{}… [cut: the line has {length} characters]", &line[..at]))
        }
    }
}

/// A file's name or path on a line of its own: quoted, and escaped as in JSON, if it would be taken for something else.
pub fn name_line(name: &str) -> Cow<'_, str> {
    match name.starts_with([' ', '[', '"']) || name.chars().any(char::is_control) {
        true => Value::from(name).to_string().into(),
        false => name.into(),
    }
}

/// A number with its noun in singular or plural.
pub fn quantity(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_keeps_its_limit_and_room_for_notes() {
        let mut page = ModelPage::new(1_000);
        let (shown, total) = page.lines(&"line\n".repeat(1_000));
        assert_eq!((shown, total), (150, 1_000));
        (0..50).for_each(|_| page.note(&"note ".repeat(100)));
        let text = page.finish();
        assert!(text.chars().count() <= 1_000 && text.contains("\n[note "), "{text}");
    }

    #[test]
    fn a_long_line_is_cut_and_its_length_is_said() {
        let mut page = ModelPage::new(30_000);
        assert!(page.line(&"é".repeat(5_000)));
        let text = page.finish();
        assert!(text.ends_with("é… [cut: the line has 5000 characters]"));
        assert_eq!(text.chars().filter(|char| *char == 'é').count(), 2_000);
    }
}
