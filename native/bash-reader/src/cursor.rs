//! A cursor over the characters of a command.

/// A position in a text. It skips backslashes before line ends, which join lines.
#[derive(Debug, Clone)]
pub(super) struct Cursor {
    chars: Vec<char>,
    at: usize,
}

impl Cursor {
    pub(super) fn new(chars: Vec<char>) -> Self {
        Self { chars, at: 0 }
    }

    /// The position after any line joins at `at`.
    fn joined(&self, mut at: usize) -> usize {
        while self.chars.get(at) == Some(&'\\') && self.chars.get(at + 1) == Some(&'\n') {
            at += 2;
        }
        at
    }

    /// The next character.
    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.joined(self.at)).copied()
    }

    /// The characters from here on, without taking them. To look for the end of something, iterate over these: calling
    /// [`ahead`](Self::ahead) with one position after the other takes quadratic time.
    pub(super) fn upcoming(&self) -> impl Iterator<Item = char> {
        let mut at = self.at;
        std::iter::from_fn(move || {
            let here = self.joined(at);
            at = here + 1;
            self.chars.get(here).copied()
        })
    }

    /// The character `count` positions ahead.
    pub(super) fn ahead(&self, count: usize) -> Option<char> {
        self.upcoming().nth(count)
    }

    /// Takes the next character.
    pub(super) fn next(&mut self) -> Option<char> {
        self.at = self.joined(self.at);
        let char = self.chars.get(self.at).copied();
        self.at += usize::from(char.is_some());
        char
    }

    /// Takes the next character without skipping line joins.
    pub(super) fn next_raw(&mut self) -> Option<char> {
        let char = self.chars.get(self.at).copied();
        self.at += usize::from(char.is_some());
        char
    }

    /// The next character without skipping line joins.
    pub(super) fn peek_raw(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    /// Takes the text if it comes next.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let is_next = self.starts_with(text);
        if is_next {
            text.chars().for_each(|_| _ = self.next());
        }
        is_next
    }

    /// Whether the text comes next.
    pub(super) fn starts_with(&self, text: &str) -> bool {
        let mut upcoming = self.upcoming();
        text.chars().all(|char| upcoming.next() == Some(char))
    }

    /// Takes the next line, without its end; `None` at the end of the text.
    pub(super) fn line(&mut self) -> Option<String> {
        let rest = self.chars.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = rest.iter().position(|char| *char == '\n').unwrap_or(rest.len());
        let line = rest[..length].iter().collect();
        self.at += (length + 1).min(rest.len());
        Some(line)
    }

    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The text from a position to the current one.
    pub(super) fn since(&self, start: usize) -> String {
        self.chars[start.min(self.at)..self.at].iter().collect()
    }
}

/// Whether a character ends an unquoted word.
pub(super) fn ends_word(char: char) -> bool {
    matches!(char, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_lines_are_not_seen() {
        let mut cursor = Cursor::new("&\\\n&a\\\n".chars().collect());
        assert!(cursor.starts_with("&&a") && cursor.take("&&"));
        assert_eq!((cursor.next(), cursor.next(), cursor.peek()), (Some('a'), None, None));
    }
}
