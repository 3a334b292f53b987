//! Checks of the start of a text that may be incomplete.

/// The result.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProbeResult<T> {
    Yes(T),
    No,
    /// It depends on further input.
    More,
}

impl<T> ProbeResult<T> {
    /// The result if no more input follows.
    pub(super) fn at_end(self, end: bool) -> Self {
        match self {
            Self::More if end => Self::No,
            answer => answer,
        }
    }
}

/// Maximum white space that is skipped before a call is certain.
const MOST_SPACE: usize = 64;

/// Maximum length of a tool's or an argument's name.
pub(super) const LONGEST_NAME: usize = 128;

/// Consumes tokens from the start of a text. After the first `No` or `More` it consumes nothing.
pub(super) struct Taker<'a> {
    text: &'a [u8],
    at: usize,
    failed: Option<ProbeResult<()>>,
}

impl<'a> Taker<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, failed: None }
    }

    fn rest(&self) -> &'a [u8] {
        if self.failed.is_some() { &[] } else { &self.text[self.at..] }
    }

    fn fail(&mut self, how: ProbeResult<()>) {
        self.failed.get_or_insert(how);
    }

    /// Exactly these bytes.
    pub(super) fn word(&mut self, word: &[u8]) -> &mut Self {
        let rest = self.rest();
        let have = rest.len().min(word.len());
        if rest[..have] != word[..have] {
            self.fail(ProbeResult::No);
        } else if have < word.len() {
            self.fail(ProbeResult::More);
        } else {
            self.at += have;
        }
        self
    }

    /// A run of bytes that match, within the two counts.
    pub(super) fn run(&mut self, is: impl Fn(u8) -> bool, least: usize, most: usize) -> &'a [u8] {
        let rest = self.rest();
        let count = rest.iter().take(most + 1).take_while(|byte| is(**byte)).count();
        if count > most || (count < least && count < rest.len()) {
            self.fail(ProbeResult::No);
        } else if count == rest.len() {
            self.fail(ProbeResult::More);
        } else {
            self.at += count;
        }
        &rest[..count]
    }

    /// Spaces and tabs.
    pub(super) fn blanks(&mut self) -> &mut Self {
        self.run(is_blank, 0, MOST_SPACE);
        self
    }

    /// White space of any kind, line breaks included.
    pub(super) fn space(&mut self, least: usize) -> &mut Self {
        self.run(|byte| byte.is_ascii_whitespace(), least, MOST_SPACE);
        self
    }

    /// The end of a line.
    pub(super) fn line_end(&mut self) -> &mut Self {
        if self.peek() != Some(b'\r') {
            return self.word(b"\n");
        }
        self.at += 1;
        self.at += usize::from(self.peek() == Some(b'\n'));
        self
    }

    /// A name in single or double quotes.
    pub(super) fn quoted(&mut self) -> &'a [u8] {
        let quote = self.run(|byte| byte == b'"' || byte == b'\'', 1, 1);
        let name = self.run(
            |byte| byte != quote.first().copied().unwrap_or(0) && byte >= b' ' && byte != b'<',
            1,
            LONGEST_NAME,
        );
        self.word(quote);
        name
    }

    /// The next byte, without consuming it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let next = self.rest().first().copied();
        if next.is_none() {
            self.fail(ProbeResult::More);
        }
        next
    }

    /// How much has been consumed, if everything matched.
    pub(super) fn done(&mut self) -> ProbeResult<usize> {
        self.failed.take().map_or(ProbeResult::Yes(self.at), |how| match how {
            ProbeResult::More => ProbeResult::More,
            _ => ProbeResult::No,
        })
    }

    /// Whether everything has matched so far.
    pub(super) fn is_good(&self) -> bool {
        self.failed.is_none()
    }
}

/// The offset of the first line break. As in CommonMark, it is a line feed, a carriage return, or both.
pub(super) fn line_break(text: &[u8]) -> Option<usize> {
    memchr::memchr2(b'\n', b'\r', text)
}

pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

pub(super) fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

pub(super) fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':')
}

/// Length of the white space at the start that JavaScript's `\s` matches; `More` for an incomplete character.
pub(super) fn space(text: &[u8]) -> ProbeResult<usize> {
    match *text {
        [] => ProbeResult::More,
        [b' ' | b'\t'..=b'\r', ..] => ProbeResult::Yes(1),
        [0xc2, 0xa0, ..] => ProbeResult::Yes(2),
        [0xe1, 0x9a, 0x80, ..] | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..] => ProbeResult::Yes(3),
        [0xe2, 0x81, 0x9f, ..] | [0xe3, 0x80, 0x80, ..] | [0xef, 0xbb, 0xbf, ..] => ProbeResult::Yes(3),
        [0xc2] | [0xe1] | [0xe2] | [0xe3] | [0xef] => ProbeResult::More,
        [0xe1, 0x9a] | [0xe2, 0x80 | 0x81] | [0xe3, 0x80] | [0xef, 0xbb] => ProbeResult::More,
        _ => ProbeResult::No,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_incomplete_asks_for_more_and_what_is_wrong_says_no() {
        assert_eq!(Taker::new(b"<tool").word(b"<tool").space(1).done(), ProbeResult::More);
        assert_eq!(Taker::new(b"<tool>").word(b"<tool").space(1).done(), ProbeResult::No);
        assert_eq!(Taker::new(b"<tool n").word(b"<tool").space(1).done(), ProbeResult::Yes(6));
        assert_eq!(Taker::new(&[b' '; 100]).blanks().done(), ProbeResult::No);
    }

    #[test]
    fn space_is_what_the_specification_s_expression_skips() {
        for text in [" ", "\n", "\u{a0}", "\u{2003}", "\u{feff}", "\u{3000}", "\u{b}"] {
            assert_eq!(space(text.as_bytes()), ProbeResult::Yes(text.len()));
        }
        assert_eq!(space("é".as_bytes()), ProbeResult::No);
    }
}
