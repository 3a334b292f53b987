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
    /// The line that the text was cut in, if it was cut within the first one.
    cut_line: Option<CutLine>,
}

/// A line of which only the beginning was collected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutLine {
    /// Its characters so far, without its line end.
    pub length: u64,
    /// Whether its end was seen.
    pub is_ended: bool,
    ends_in_return: bool,
}

impl CutLine {
    /// The line with more of its text, up to the line feed if there is one.
    fn extended(self, text: &str) -> Self {
        if self.is_ended {
            return self;
        }
        let end = memchr::memchr(b'\n', text.as_bytes());
        let text = &text[..end.unwrap_or(text.len())];
        let ends_in_return = if text.is_empty() { self.ends_in_return } else { text.ends_with('\r') };
        let length = self.length + text.chars().count() as u64;
        let is_ended = end.is_some();
        Self { length: length - u64::from(is_ended && ends_in_return), is_ended, ends_in_return }
    }
}

impl LineWindow {
    /// A window of `count` lines from line `first`, counted from 1. `most` is the maximum number of bytes.
    pub fn new(first: u64, count: u64, most: usize) -> Self {
        let last = first.saturating_add(count).saturating_sub(1);
        Self {
            next: 1,
            first,
            last,
            most,
            content: String::new(),
            is_cut: false,
            has_more: false,
            cut_line: None,
        }
    }

    /// Whether further text has no effect.
    pub fn is_done(&self) -> bool {
        self.has_more
    }

    /// Processes the next piece. `line_ends` is the number of line feeds in it.
    pub fn feed(&mut self, piece: &str, line_ends: u64) {
        self.cut_line = self.cut_line.map(|line| line.extended(piece));
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
        let (kept, rest) = text.split_at(floor(text, room));
        self.content.push_str(kept);
        match memchr::memrchr(b'\n', self.content.as_bytes()) {
            Some(end) => self.content.truncate(end + 1),
            None => {
                let none = CutLine { length: 0, is_ended: false, ends_in_return: false };
                self.cut_line = Some(none.extended(&self.content).extended(rest));
            }
        }
        (self.is_cut, self.has_more) = (true, true);
    }

    /// The collected lines.
    pub fn finish(self) -> WindowLines {
        let Self { content, is_cut, has_more, cut_line, .. } = self;
        WindowLines { content, is_cut, has_more, cut_line }
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
    /// The only line, if the text ends within it.
    pub cut_line: Option<CutLine>,
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

    fn line(length: u64) -> CutLine {
        CutLine { length, is_ended: true, ends_in_return: false }
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
            WindowLines { content: "one\ntwo\n".into(), is_cut: true, has_more: true, cut_line: None }
        );
        assert_eq!(
            window("ääää\nb", 1, 9, 3),
            WindowLines { content: "ä".into(), is_cut: true, has_more: true, cut_line: Some(line(4)) }
        );
        assert_eq!(
            window("one\ntwo\n", 1, 9, 8),
            WindowLines { content: "one\ntwo\n".into(), is_cut: false, has_more: false, cut_line: None }
        );
    }

    #[test]
    fn the_length_of_a_line_is_counted_to_its_end_although_only_its_beginning_is_kept() {
        for pieces in
            [&["ääääää\r\nb\n"][..], &["ää", "ää", "ää\r", "\nb", "\n"], &["äää", "äää", "\r", "\nb"]]
        {
            let mut window = LineWindow::new(1, 9, 5);
            pieces.iter().for_each(|piece| window.feed(piece, ends(piece)));
            assert_eq!(
                window.finish().cut_line.map(|line| (line.length, line.is_ended)),
                Some((6, true)),
                "{pieces:?}"
            );
        }
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
            prop_assert_eq!(&whole, &WindowLines { content: wanted.clone(), is_cut: false, has_more, cut_line: None });
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
