//! A range of lines of a text that arrives in pieces.

/// Collects a range of lines, up to a number of bytes.
#[derive(Debug)]
pub struct LineWindow {
    /// Number of the next line.
    next: u64,
    first: u64,
    last: u64,
    most: usize,
    content: String,
    is_cut: bool,
    /// Whether there is text after the range.
    has_more: bool,
}

impl LineWindow {
    /// A window of `count` lines from line `first`, counted from 1. `most` is the maximum number of bytes.
    pub fn new(first: u64, count: u64, most: usize) -> Self {
        let last = first.saturating_add(count).saturating_sub(1);
        Self { next: 1, first, last, most, content: String::new(), is_cut: false, has_more: false }
    }

    /// Whether further text has no effect.
    pub fn is_done(&self) -> bool {
        self.has_more
    }

    /// Processes the next piece. `line_ends` is the number of line feeds in it.
    pub fn feed(&mut self, piece: &str, line_ends: u64) {
        let range = self.range(piece, line_ends);
        self.push(&piece[range]);
    }

    /// Like [`LineWindow::feed`] for a complete text, without a copy if all of it is in the range.
    pub fn take(&mut self, mut whole: String, line_ends: u64) {
        let range = self.range(&whole, line_ends);
        if range.len() > self.most {
            return self.push(&whole[range]);
        }
        whole.truncate(range.end);
        if range.start > 0 {
            whole.drain(..range.start);
        }
        self.content = whole;
    }

    /// The part of the piece that is in the range.
    fn range(&mut self, piece: &str, line_ends: u64) -> std::ops::Range<usize> {
        if self.has_more || piece.is_empty() {
            return 0..0;
        }
        let after = self.next + line_ends;
        let start = match self.first.saturating_sub(self.next) {
            0 => 0,
            skipped if skipped > line_ends => {
                self.next = after;
                return 0..0;
            }
            skipped => position_after(piece, skipped),
        };
        let end = match self.last.saturating_add(1) {
            end if after < end => piece.len(),
            end => start + position_after(&piece[start..], end - self.next.max(self.first)),
        };
        self.next = after;
        self.has_more = end < piece.len();
        start..end
    }

    /// Adds text, cut at a line end or, within the first line, at a character boundary.
    fn push(&mut self, text: &str) {
        let room = self.most - self.content.len();
        if text.len() <= room {
            return self.content.push_str(text);
        }
        self.content.push_str(&text[..floor(text, room)]);
        if let Some(end) = memchr::memrchr(b'\n', self.content.as_bytes()) {
            self.content.truncate(end + 1);
        }
        (self.is_cut, self.has_more) = (true, true);
    }

    /// The collected lines.
    pub fn finish(self) -> WindowLines {
        WindowLines { content: self.content, is_cut: self.is_cut, has_more: self.has_more }
    }
}

/// Lines that a window collected.
#[derive(Debug, PartialEq, Eq)]
pub struct WindowLines {
    /// Their text.
    pub content: String,
    /// Whether some of the range was cut because of its size.
    pub is_cut: bool,
    /// Whether there is text after them.
    pub has_more: bool,
}

/// The position after the `count`th line feed, at most the end.
fn position_after(text: &str, count: u64) -> usize {
    let Some(nth) = count.checked_sub(1) else { return 0 };
    let nth = usize::try_from(nth).unwrap_or(usize::MAX);
    memchr::memchr_iter(b'\n', text.as_bytes()).nth(nth).map_or(text.len(), |at| at + 1)
}

/// The last character boundary up to `at`.
fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ends(text: &str) -> u64 {
        text.matches('\n').count() as u64
    }

    fn window(text: &str, first: u64, count: u64, most: usize) -> WindowLines {
        let mut window = LineWindow::new(first, count, most);
        window.take(text.to_owned(), ends(text));
        window.finish()
    }

    #[test]
    fn a_cut_is_at_a_line_end_or_within_a_long_line_at_a_character() {
        assert_eq!(
            window("one\ntwo\nthree\n", 1, 9, 9),
            WindowLines { content: "one\ntwo\n".into(), is_cut: true, has_more: true }
        );
        assert_eq!(
            window("ääää\nb", 1, 9, 3),
            WindowLines { content: "ä".into(), is_cut: true, has_more: true }
        );
        assert_eq!(
            window("one\ntwo\n", 1, 9, 8),
            WindowLines { content: "one\ntwo\n".into(), is_cut: false, has_more: false }
        );
    }

    proptest! {
        #[test]
        fn a_window_is_the_lines_it_names(
            text in "[aä\n]{0,30}", first in 1u64..9, count in 1u64..9, cuts in proptest::collection::vec(0usize..30, 0..4)
        ) {
            let lines: Vec<&str> = text.split_inclusive('\n').collect();
            let wanted: String = lines.iter().skip(first as usize - 1).take(count as usize).copied().collect();
            let has_more = lines.len() as u64 > first + count - 1;
            let whole = window(&text, first, count, 1000);
            prop_assert_eq!(&whole, &WindowLines { content: wanted.clone(), is_cut: false, has_more });
            let mut pieces = LineWindow::new(first, count, 1000);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| floor(&text, cut)).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            for pair in cuts.windows(2) {
                let piece = &text[pair[0]..pair[1]];
                pieces.feed(piece, ends(piece));
            }
            prop_assert_eq!(pieces.finish(), whole);
        }
    }
}
