//! Output of a command since its last progress event.

use super::head_tail::half_character;
use beamai_process::OutputStream;
use serde_json::{Map, Value, json};

/// Maximum bytes of each stream per event. Of longer output, the end is kept.
const CAP: usize = 16 << 10;

/// The output of both streams since it was last taken.
#[derive(Debug, Default)]
pub(super) struct RecentOutput {
    stdout: Recent,
    stderr: Recent,
}

#[derive(Debug, Default)]
struct Recent {
    bytes: Vec<u8>,
    /// Number of bytes that were dropped before these.
    left_out: u64,
}

impl RecentOutput {
    /// Appends new output.
    pub(super) fn push(&mut self, source: OutputStream, bytes: &[u8]) {
        match source {
            OutputStream::Stdout => self.stdout.push(bytes),
            OutputStream::Stderr => self.stderr.push(bytes),
        }
    }

    /// Takes the output: `stdout` and `stderr` if not empty, and the number of bytes that were dropped.
    pub(super) fn take(&mut self) -> Map<String, Value> {
        let mut fields = Map::new();
        for (name, recent) in [("stdout", &mut self.stdout), ("stderr", &mut self.stderr)] {
            let (text, left_out) = recent.take();
            if !text.is_empty() {
                fields.insert(name.to_owned(), text.into());
            }
            if left_out > 0 {
                fields.insert(format!("{name}_left_out"), json!(left_out));
            }
        }
        fields
    }
}

impl Recent {
    fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(&bytes[bytes.len().saturating_sub(CAP)..]);
        let excess = self.bytes.len().saturating_sub(CAP);
        self.bytes.drain(..excess);
        self.left_out += (excess + bytes.len().saturating_sub(CAP)) as u64;
    }

    /// An incomplete character at the end is kept for the next event.
    fn take(&mut self) -> (String, u64) {
        let rest = self.bytes.split_off(self.bytes.len() - half_character(&self.bytes));
        let taken = std::mem::replace(&mut self.bytes, rest);
        (String::from_utf8_lossy(&taken).into_owned(), std::mem::take(&mut self.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_event_has_what_is_new() {
        let mut recent = RecentOutput::default();
        recent.push(OutputStream::Stdout, b"one ");
        recent.push(OutputStream::Stdout, "zw\u{f6}lf".as_bytes());
        recent.push(OutputStream::Stderr, b"oops");
        assert_eq!(Value::Object(recent.take()), json!({"stdout": "one zw\u{f6}lf", "stderr": "oops"}));
        assert_eq!(Value::Object(recent.take()), json!({}));
    }

    #[test]
    fn a_character_is_not_torn() {
        let mut recent = RecentOutput::default();
        recent.push(OutputStream::Stdout, b"a\xc3");
        assert_eq!(Value::Object(recent.take()), json!({"stdout": "a"}));
        recent.push(OutputStream::Stdout, b"\xb6");
        assert_eq!(Value::Object(recent.take()), json!({"stdout": "\u{f6}"}));
    }

    #[test]
    fn what_is_too_much_is_counted() {
        let mut recent = RecentOutput::default();
        recent.push(OutputStream::Stdout, &[b'x'; CAP]);
        recent.push(OutputStream::Stdout, b"yy");
        recent.push(OutputStream::Stderr, &[b'z'; CAP + 5]);
        let taken = Value::Object(recent.take());
        assert_eq!((&taken["stdout_left_out"], &taken["stderr_left_out"]), (&json!(2), &json!(5)));
        assert!(taken["stdout"].as_str().unwrap().ends_with("xyy"));
        assert_eq!(taken["stdout"].as_str().unwrap().len(), CAP);
    }
}
