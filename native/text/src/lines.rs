//! Line ends. A line ends with a line feed, or with the file.

use super::Charset;
use schemars::JsonSchema;
use serde::Serialize;

/// The line endings of a file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineEnding {
    /// All with LF.
    Lf,
    /// All with CR LF.
    Crlf,
    /// Some with LF, some with CR LF.
    Mixed,
    /// There is no line end.
    #[default]
    None,
}

/// Counts lines of a text in pieces.
#[derive(Debug, Clone, Copy, Default)]
pub struct LineStats {
    feeds: u64,
    returns: u64,
    has_open_line: bool,
    ends_with_return: bool,
}

impl LineStats {
    /// Counts the next piece; pieces end between code units.
    pub fn feed(&mut self, charset: Charset, bytes: &[u8]) {
        match charset.unit() {
            1 => self.feed_bytes(bytes),
            _ => self.feed_pairs(charset, bytes),
        }
    }

    fn feed_bytes(&mut self, bytes: &[u8]) {
        let Some((first, last)) = bytes.first().zip(bytes.last()) else { return };
        self.feeds += memchr::memchr_iter(b'\n', bytes).count() as u64;
        self.returns += u64::from(self.ends_with_return && *first == b'\n');
        let before_feed = |at: &usize| bytes.get(at + 1) == Some(&b'\n');
        self.returns += memchr::memchr_iter(b'\r', bytes).filter(before_feed).count() as u64;
        self.ends_with_return = *last == b'\r';
        self.has_open_line = *last != b'\n';
    }

    fn feed_pairs(&mut self, charset: Charset, bytes: &[u8]) {
        for pair in bytes.chunks(2) {
            let unit = match (pair, charset.is_big_endian()) {
                ([high, low], true) | ([low, high], false) => u16::from_be_bytes([*high, *low]),
                _ => u16::MAX,
            };
            let is_feed = unit == u16::from(b'\n');
            self.feeds += u64::from(is_feed);
            self.returns += u64::from(is_feed && self.ends_with_return);
            self.ends_with_return = unit == u16::from(b'\r');
            self.has_open_line = !is_feed;
        }
    }

    /// Number of lines so far, including an unfinished last one.
    pub fn total(&self) -> u64 {
        self.feeds + u64::from(self.has_open_line)
    }

    /// Number of line ends so far.
    pub fn ends(&self) -> u64 {
        self.feeds
    }

    /// The kind of line endings so far.
    pub fn ending(&self) -> LineEnding {
        match (self.feeds, self.returns) {
            (0, _) => LineEnding::None,
            (_, 0) => LineEnding::Lf,
            (feeds, returns) if feeds == returns => LineEnding::Crlf,
            _ => LineEnding::Mixed,
        }
    }
}

/// Positions after each line end. `bytes` begin at a code unit.
pub fn line_breaks(charset: Charset, bytes: &[u8]) -> impl DoubleEndedIterator<Item = usize> + '_ {
    let (is_wide, is_big) = (charset.unit() == 2, charset.is_big_endian());
    memchr::memchr_iter(b'\n', bytes).filter_map(move |at| match (is_wide, is_big) {
        (false, _) => Some(at + 1),
        (true, false) => (at % 2 == 0 && bytes.get(at + 1) == Some(&0)).then_some(at + 2),
        (true, true) => (at % 2 == 1 && bytes[at - 1] == 0).then_some(at + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stats(charset: Charset, pieces: &[&[u8]]) -> LineStats {
        let mut stats = LineStats::default();
        pieces.iter().for_each(|piece| stats.feed(charset, piece));
        stats
    }

    #[test]
    fn line_ends_are_told_apart() {
        for (text, total, ending) in [
            ("", 0, LineEnding::None),
            ("a", 1, LineEnding::None),
            ("a\n", 1, LineEnding::Lf),
            ("a\nb", 2, LineEnding::Lf),
            ("\r\n\r\n", 2, LineEnding::Crlf),
            ("a\r\nb\n", 2, LineEnding::Mixed),
            ("a\rb", 1, LineEnding::None),
        ] {
            let got = stats(Charset::UTF8, &[text.as_bytes()]);
            assert_eq!((got.total(), got.ending()), (total, ending), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn pieces_count_as_the_whole(text in "[a\r\n\u{a0a}]{0,20}", cut in 0usize..20) {
            for label in ["utf-8", "utf-16le", "utf-16be"] {
                let charset = Charset::labelled(label, b"").unwrap();
                let bytes = charset.encode(&text).unwrap();
                let cut = cut.min(bytes.len()) & !1;
                let (whole, parts) = (stats(charset, &[&bytes]), stats(charset, &[&bytes[..cut], &bytes[cut..]]));
                prop_assert_eq!((whole.total(), whole.ending()), (parts.total(), parts.ending()));
                prop_assert_eq!(whole.total(), text.split_inclusive('\n').count() as u64);
                prop_assert_eq!(line_breaks(charset, &bytes).count() as u64, whole.ends());
                let parts: usize = line_breaks(charset, &bytes).zip(text.split_inclusive('\n').scan(0, |at, line| {
                    *at += charset.encode(line).unwrap().len();
                    Some(*at)
                })).filter(|(one, other)| one == other).count();
                prop_assert_eq!(parts as u64, whole.ends());
            }
        }
    }
}
