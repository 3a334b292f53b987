//! Framing of messages: a header with the length, an empty line, JSON.

use beamai_base::json::parse_bounded;
use serde_json::Value;
use std::io::{BufRead, Read};

/// Maximum length of a header line in bytes.
const LONGEST_LINE: u64 = 4 << 10;
/// Maximum number of header lines.
const MOST_LINES: usize = 32;
/// Maximum size of a message in bytes.
const LONGEST: usize = 64 << 20;

/// Encodes a message with its header.
pub(super) fn encode(message: &Value) -> Vec<u8> {
    let body = message.to_string();
    format!("Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Reads the next message; `None` at the end of the stream.
///
/// # Errors
/// What is wrong with the frame or the stream, which is unusable afterwards.
pub(super) fn read(stream: &mut impl BufRead) -> Result<Option<Value>, String> {
    let Some(length) = header(stream)? else { return Ok(None) };
    if length > LONGEST {
        return Err(format!("it announced a message of {length} bytes, over the limit of {LONGEST}"));
    }
    let mut body = Vec::new();
    let read = stream.take(length as u64).read_to_end(&mut body).map_err(failed)?;
    if read < length {
        return Err("its output ended in the middle of a message".to_owned());
    }
    parse_bounded(&body)
        .map(Some)
        .map_err(|error| format!("it sent a message that cannot be parsed: {error}"))
}

/// The length in a header; `None` at the end of the stream.
fn header(stream: &mut impl BufRead) -> Result<Option<usize>, String> {
    let mut length = None;
    for count in 0..MOST_LINES {
        let mut line = Vec::new();
        stream.take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(failed)?;
        if line.is_empty() && count == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&line);
        if !text.ends_with('\n') {
            return Err(not_a_header(&text));
        }
        match text.trim_end() {
            "" => {
                return length.map(Some).ok_or_else(|| "it sent a header without Content-Length".to_owned());
            }
            text => length = field(text)?.or(length),
        }
    }
    Err(format!("it sent a header of more than {MOST_LINES} lines"))
}

/// The length, if the line is the Content-Length field.
fn field(line: &str) -> Result<Option<usize>, String> {
    let (name, value) = line.split_once(':').ok_or_else(|| not_a_header(line))?;
    if !name.trim().eq_ignore_ascii_case("content-length") {
        return Ok(None);
    }
    value.trim().parse().map(Some).map_err(|_| not_a_header(line))
}

fn not_a_header(line: &str) -> String {
    let start: String = line.trim_end().chars().take(80).collect();
    format!("it wrote {start:?} where the header of a message should be")
}

fn failed(error: std::io::Error) -> String {
    format!("its output cannot be read: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;
    use std::io::{BufReader, Cursor};

    /// Returns a few bytes at a time, as a pipe may.
    struct Dribble(Cursor<Vec<u8>>, usize);

    impl Read for Dribble {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let most = self.1.min(buffer.len());
            self.0.read(&mut buffer[..most])
        }
    }

    fn all(bytes: Vec<u8>, step: usize) -> Result<Vec<Value>, String> {
        let mut stream = BufReader::with_capacity(7, Dribble(Cursor::new(bytes), step));
        let mut messages = Vec::new();
        while let Some(message) = read(&mut stream)? {
            messages.push(message);
        }
        Ok(messages)
    }

    proptest! {
        #[test]
        fn messages_survive_however_they_are_split(texts in proptest::collection::vec(".*", 0..4), step in 1_usize..9) {
            let messages: Vec<Value> = texts.iter().map(|text| json!({"text": text})).collect();
            let bytes = messages.iter().flat_map(encode).collect();
            prop_assert_eq!(all(bytes, step).unwrap(), messages);
        }

        #[test]
        fn no_bytes_crash_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            _ = all(bytes, 3);
        }
    }

    #[test]
    fn other_fields_and_any_case_are_taken() {
        let bytes =
            b"content-length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}".to_vec();
        assert_eq!(all(bytes, 64).unwrap(), [json!({})]);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let long = format!("Content-Length: {}\r\n\r\n", usize::MAX).into_bytes();
        let endless = b"x".repeat(10_000);
        for (bytes, problem) in [
            (&b"Starting up...\n"[..], r#""Starting up...""#),
            (b"Content-Length: many\r\n\r\n", r#""Content-Length: many""#),
            (b"Content-Type: x\r\n\r\n{}", "without Content-Length"),
            (b"Content-Length: 5\r\n\r\n{}", "ended in the middle"),
            (b"Content-Length: 2\r\n\r\n{]", "cannot be parsed"),
            (b"Content-Length: 2", "should be"),
            (&long, "over the limit of 67108864"),
            (&endless, "should be"),
        ] {
            let said = all(bytes.to_vec(), 64).unwrap_err();
            assert!(said.contains(problem), "{said}");
        }
    }
}
