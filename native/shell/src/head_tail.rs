//! Keeps the beginning and the end of a stream.

use beamai_port_tools::shell::output::CutLines;
use std::collections::VecDeque;

/// Keeps a short stream whole, and the beginning and the end of a longer one.
#[derive(Debug)]
pub(super) struct HeadTailBuffer {
    cap: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Bytes since the last `take`.
    total: u64,
    dropped: DroppedText,
}

/// What lies between the beginning and the end, for the lengths of the lines that it belongs to.
#[derive(Debug, Default)]
struct DroppedText {
    /// Characters up to its first line end, or all of them.
    first: u64,
    /// Characters after its last line end, or all of them.
    last: u64,
    has_line_end: bool,
}

impl DroppedText {
    fn add(&mut self, bytes: &[u8]) {
        match (memchr::memchr(b'\n', bytes), memchr::memrchr(b'\n', bytes)) {
            (Some(first), Some(last)) => {
                self.first += if self.has_line_end { 0 } else { characters(&bytes[..first]) };
                self.last = characters(&bytes[last + 1..]);
                self.has_line_end = true;
            }
            _ => {
                let more = characters(bytes);
                self.first += if self.has_line_end { 0 } else { more };
                self.last += more;
            }
        }
    }

    /// The lengths of the lines that were cut: that at the end of the beginning, and that at the beginning of the end.
    fn cut_lines(&self, head: &[u8], tail: &[u8]) -> CutLines {
        let before = characters(&head[memchr::memrchr(b'\n', head).map_or(0, |at| at + 1)..]);
        let after = characters(&tail[..memchr::memchr(b'\n', tail).unwrap_or(tail.len())]);
        // The same line goes through what was dropped if that has no line end.
        let (before_length, after_length) = match self.has_line_end {
            true => (before + self.first, self.last + after),
            false => (before + self.last + after, before + self.last + after),
        };
        let is_before = before > 0 && before_length > before;
        CutLines {
            before: is_before.then_some(before_length),
            after: (after_length > after).then_some(after_length),
        }
    }
}

/// Number of characters of UTF-8.
fn characters(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|byte| *byte & 0xc0 != 0x80).count() as u64
}

/// The content of a [`HeadTailBuffer`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HeadTail {
    /// The beginning of the stream.
    pub(super) head: Vec<u8>,
    /// The end of the stream; it directly follows `head` if nothing was left out.
    pub(super) tail: Vec<u8>,
    /// Number of bytes omitted between the two.
    pub(super) left_out: u64,
    /// The lines that were cut through.
    pub(super) cut_lines: CutLines,
}

impl HeadTailBuffer {
    /// A buffer of at most `cap` bytes.
    pub(super) fn new(cap: usize) -> Self {
        Self { cap, head: Vec::new(), tail: VecDeque::new(), total: 0, dropped: DroppedText::default() }
    }

    /// Appends bytes.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.cap / 2).saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let most = self.cap - self.cap / 2;
        let (passing, rest) = rest.split_at(rest.len().saturating_sub(most));
        let excess = (self.tail.len() + rest.len()).saturating_sub(most);
        let gone: Vec<u8> = self.tail.drain(..excess).collect();
        self.dropped.add(&gone);
        self.dropped.add(passing);
        self.tail.extend(rest);
    }

    /// Takes the content. While the stream continues, an incomplete UTF-8 character at the end stays in the buffer.
    pub(super) fn take(&mut self, goes_on: bool) -> HeadTail {
        let total = std::mem::take(&mut self.total);
        let (mut head, mut tail) =
            (std::mem::take(&mut self.head), Vec::from(std::mem::take(&mut self.tail)));
        let left_out = total - (head.len() + tail.len()) as u64;
        let dropped = std::mem::take(&mut self.dropped);
        let cut_lines = if left_out > 0 { dropped.cut_lines(&head, &tail) } else { CutLines::default() };
        if goes_on {
            let last = if tail.is_empty() { &mut head } else { &mut tail };
            let part = last.split_off(last.len() - half_character(last));
            self.push(&part);
        }
        HeadTail { head, tail, left_out, cut_lines }
    }
}

/// Length of an incomplete UTF-8 character at the end.
pub(super) fn half_character(bytes: &[u8]) -> usize {
    let needed = |byte: u8| match byte {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 0,
    };
    let at = bytes.iter().rev().take(3).position(|byte| byte & 0xc0 != 0x80);
    at.map(|at| at + 1).filter(|have| needed(bytes[bytes.len() - have]) > *have).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn kept(cap: usize, pieces: &[&str]) -> (String, String, u64) {
        let mut buffer = HeadTailBuffer::new(cap);
        pieces.iter().for_each(|piece| buffer.push(piece.as_bytes()));
        let HeadTail { head, tail, left_out, .. } = buffer.take(false);
        (String::from_utf8(head).unwrap(), String::from_utf8(tail).unwrap(), left_out)
    }

    #[test]
    fn up_to_the_cap_nothing_is_left_out() {
        assert_eq!(kept(5, &["ab", "cde"]), ("ab".into(), "cde".into(), 0));
        assert_eq!(kept(5, &["abcde", "f"]), ("ab".into(), "def".into(), 1));
        assert_eq!(kept(5, &["", "abcdefgh", "", "ijklmnop"]), ("ab".into(), "nop".into(), 11));
        assert_eq!(kept(0, &["abc"]), (String::new(), String::new(), 3));
    }

    #[test]
    fn half_a_character_waits_for_its_other_half() {
        let mut buffer = HeadTailBuffer::new(64);
        buffer.push(b"a\xe2\x9c");
        assert_eq!(buffer.take(true).head, b"a");
        assert_eq!(buffer.take(true), HeadTail::default());
        buffer.push(b"\x93b");
        assert_eq!(buffer.take(true).head, "✓b".as_bytes());
        buffer.push(b"\xe2");
        assert_eq!(buffer.take(false).head, b"\xe2");
        buffer.push(b"caf\xe9 \x93\xff");
        assert_eq!(buffer.take(true).head, b"caf\xe9 \x93\xff");
    }

    proptest! {
        #[test]
        fn the_lengths_of_cut_lines_are_those_of_the_whole_lines(
            cap in 0..20_usize, pieces in proptest::collection::vec("[ab\n]{0,9}", 0..8)
        ) {
            let whole = pieces.concat();
            let mut buffer = HeadTailBuffer::new(cap);
            pieces.iter().for_each(|piece| buffer.push(piece.as_bytes()));
            let kept = buffer.take(false);
            // The line that a place in the text is within, if it is neither at the beginning of one nor at the end.
            let line_at = |at: usize| {
                let start = whole[..at].rfind('\n').map_or(0, |end| end + 1);
                let end = whole[at..].find('\n').map_or(whole.len(), |end| at + end);
                (start, end)
            };
            let (head, tail) = (kept.head.len(), whole.len() - kept.tail.len());
            let expected = |at: usize, is_cut: &dyn Fn(usize, usize) -> bool| {
                let (start, end) = line_at(at);
                is_cut(start, end).then_some((end - start) as u64)
            };
            if kept.left_out == 0 {
                prop_assert_eq!(kept.cut_lines, CutLines::default());
            } else {
                prop_assert_eq!(kept.cut_lines.before, expected(head, &|start, end| start < head && end > head));
                prop_assert_eq!(kept.cut_lines.after, expected(tail, &|start, _| start < tail));
            }
        }

        #[test]
        fn what_is_kept_is_the_beginning_and_the_end(cap in 0..40_usize,
            pieces in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..30), 0..8)) {
            let whole = pieces.concat();
            let mut buffer = HeadTailBuffer::new(cap);
            pieces.iter().for_each(|piece| buffer.push(piece));
            let kept = buffer.take(false);
            prop_assert!(kept.head.len() + kept.tail.len() == cap.min(whole.len()));
            prop_assert!(whole.starts_with(&kept.head) && whole.ends_with(&kept.tail));
            prop_assert_eq!(kept.left_out as usize, whole.len() - kept.head.len() - kept.tail.len());
        }

        #[test]
        fn taken_out_piece_by_piece_it_is_the_same_text(text in ".{0,60}", cuts in proptest::collection::vec(1..5_usize, 0..60)) {
            let (mut buffer, mut taken, mut rest) = (HeadTailBuffer::new(1000), Vec::new(), text.as_bytes());
            for cut in cuts {
                let (piece, after) = rest.split_at(cut.min(rest.len()));
                buffer.push(piece);
                let kept = buffer.take(true);
                let part = [kept.head, kept.tail].concat();
                prop_assert!(std::str::from_utf8(&part).is_ok());
                taken.extend(part);
                rest = after;
            }
            buffer.push(rest);
            let kept = buffer.take(false);
            taken.extend([kept.head, kept.tail].concat());
            prop_assert_eq!(String::from_utf8(taken).unwrap(), text);
        }
    }
}
