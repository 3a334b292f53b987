//! Parses server-sent events.

use crate::diagnostics::LONGEST;
use memchr::memchr2;
use sse_stream::Sse;
use std::collections::VecDeque;

/// Minimum and maximum of a server's reconnection time, in milliseconds.
const PAUSE: std::ops::RangeInclusive<u64> = 500..=30_000;

/// Parses events. The buffer for an incomplete event is bounded.
#[derive(Default)]
pub(super) struct SseParser {
    line: Vec<u8>,
    event: Sse,
    /// The last byte was a CR, and a line feed after it ends no further line.
    after_return: bool,
    has_begun: bool,
    whole: VecDeque<Sse>,
}

/// An event exceeds the maximum size.
#[derive(Debug)]
pub(super) struct EventTooLong;

impl SseParser {
    /// Parses more bytes of the stream.
    ///
    /// # Errors
    /// The current event is too long.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<(), EventTooLong> {
        if self.after_return && !bytes.is_empty() {
            self.after_return = false;
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            self.keep(&bytes[..end])?;
            self.end_line();
            let rest = &bytes[end + 1..];
            bytes = match bytes[end] == b'\r' {
                true if rest.is_empty() => {
                    self.after_return = true;
                    rest
                }
                true => rest.strip_prefix(b"\n").unwrap_or(rest),
                false => rest,
            };
        }
        self.keep(bytes)
    }

    /// The next complete event.
    pub(super) fn next(&mut self) -> Option<Sse> {
        self.whole.pop_front()
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), EventTooLong> {
        let data = self.event.data.as_ref().map_or(0, String::len);
        if data + self.line.len() + bytes.len() > LONGEST {
            return Err(EventTooLong);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn end_line(&mut self) {
        // Frees the buffer of a long line.
        let line = std::mem::take(&mut self.line);
        let line = match std::mem::replace(&mut self.has_begun, true) {
            false => line.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&line),
            true => &line,
        };
        match line.is_empty() {
            true => self.end_event(),
            false => self.field(line),
        }
    }

    fn field(&mut self, line: &[u8]) {
        let colon = memchr::memchr(b':', line);
        let (name, value) = colon.map_or((line, &b""[..]), |at| (&line[..at], &line[at + 1..]));
        let value = String::from_utf8_lossy(value.strip_prefix(b" ").unwrap_or(value));
        match name {
            b"data" => match &mut self.event.data {
                Some(data) => {
                    data.push('\n');
                    data.push_str(&value);
                }
                none => *none = Some(value.into_owned()),
            },
            b"event" => self.event.event = Some(value.into_owned()),
            b"id" if !value.contains('\0') => self.event.id = Some(value.into_owned()),
            b"retry" => {
                let pause = value.parse::<u64>().ok();
                self.event.retry =
                    pause.map(|pause| pause.clamp(*PAUSE.start(), *PAUSE.end())).or(self.event.retry);
            }
            // Comments, and fields of later revisions.
            _ => {}
        }
    }

    fn end_event(&mut self) {
        let event = std::mem::take(&mut self.event);
        if event != Sse::default() {
            self.whole.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&[u8]]) -> Vec<Sse> {
        let mut events = SseParser::default();
        let mut read = Vec::new();
        for piece in pieces {
            events.push(piece).unwrap();
            read.extend(std::iter::from_fn(|| events.next()));
        }
        read
    }

    fn data(text: &str) -> Sse {
        Sse::default().data(text)
    }

    #[test]
    fn events_are_the_same_wherever_the_stream_is_cut() {
        let stream = b"\xEF\xBB\xBFid: 7\r\nevent: message\rdata: {\"a\":\r\ndata:1}\n\n: a comment\n\nretry: 700\n\ndata: \xC3\xA9\r\n\r\n";
        let expected =
            [data("{\"a\":\n1}").id("7").event("message"), Sse::default().retry(700), data("\u{e9}")];
        for cut in 0..stream.len() {
            let (one, two) = stream.split_at(cut);
            assert_eq!(read(&[one, two]), expected, "cut at {cut}");
        }
        let bytes: Vec<&[u8]> = stream.chunks(1).collect();
        assert_eq!(read(&bytes), expected);
    }

    #[test]
    fn fields_that_nobody_knows_and_lines_without_a_colon_are_passed_over() {
        assert_eq!(
            read(&[b"colour: red\nnonsense\ndata\ndata: x\nretry: soon\nid: a\0b\n\n"]),
            [data("\nx")]
        );
    }

    #[test]
    fn a_pause_is_neither_nothing_nor_for_ever() {
        assert_eq!(
            read(&[b"retry: 0\n\nretry: 99999999999\n\n"])
                .iter()
                .map(|event| event.retry)
                .collect::<Vec<_>>(),
            [Some(500), Some(30_000)]
        );
    }

    #[test]
    fn an_event_without_an_end_is_given_up() {
        let block = vec![b'x'; 1 << 20];
        let mut one_line = SseParser::default();
        assert!((0..=32).any(|_| one_line.push(&block).is_err()));
        let mut lines = SseParser::default();
        let line = [b"data:", &block[..], b"\n"].concat();
        assert!((0..=32).any(|_| lines.push(&line).is_err()));
        let mut events = SseParser::default();
        let event = [b"data:", &block[..], b"\n\n"].concat();
        assert!((0..100).all(|_| events.push(&event).is_ok() && events.next().is_some()));
    }
}
