//! Reads a line at the terminal key by key, to distinguish Esc from text.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use std::io::{Stdin, Write};

const ESCAPE: u8 = 0x1b;
/// How long the rest of an escape sequence may take after Esc.
const SEQUENCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 50_000_000 };

/// The input.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedLine {
    /// A line, without its line ending.
    Text(String),
    /// Esc, Ctrl-D, or the end of input.
    Cancelled,
}

/// Shows a prompt and reads a line.
pub(super) fn read(prompt: &str) -> TypedLine {
    let Some(mut keys) = RawTerminal::new() else { return TypedLine::Cancelled };
    echo(prompt.as_bytes());
    let line = keys.line();
    echo(b"\n");
    line
}

/// The terminal in raw mode without echo; restored on drop.
struct RawTerminal {
    input: Stdin,
    before: Termios,
}

impl RawTerminal {
    fn new() -> Option<Self> {
        let input = std::io::stdin();
        let before = tcgetattr(&input).ok()?;
        let mut single = before.clone();
        single.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
        single.special_codes[SpecialCodeIndex::VMIN] = 1;
        single.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(&input, OptionalActions::Flush, &single).ok()?;
        Some(Self { input, before })
    }

    fn line(&mut self) -> TypedLine {
        let mut typed = Vec::new();
        loop {
            match self.key() {
                None | Some(0x04) => return TypedLine::Cancelled,
                Some(b'\r' | b'\n') => return TypedLine::Text(String::from_utf8_lossy(&typed).into_owned()),
                Some(ESCAPE) if !self.skip_sequence() => return TypedLine::Cancelled,
                Some(0x08 | 0x7f) => erase(&mut typed),
                Some(key) if key >= b' ' => {
                    typed.push(key);
                    echo(&[key]);
                }
                Some(_) => {}
            }
        }
    }

    fn key(&mut self) -> Option<u8> {
        // Bypasses the buffer of `Stdin`, whose content cannot be polled.
        let mut key = [0];
        matches!(rustix::io::read(&self.input, &mut key), Ok(1)).then_some(key[0])
    }

    /// Reads the escape sequence of a cursor or function key after Esc; false if there is none.
    fn skip_sequence(&mut self) -> bool {
        let mut has_more = false;
        while self.follows() {
            has_more = true;
            // A sequence ends with a letter or a tilde.
            if self.key().is_none_or(|key| key.is_ascii_alphabetic() && key != b'O' || key == b'~') {
                break;
            }
        }
        has_more
    }

    fn follows(&self) -> bool {
        let mut ready = [PollFd::new(&self.input, PollFlags::IN)];
        poll(&mut ready, Some(&SEQUENCE)).is_ok_and(|count| count > 0)
    }
}

impl Drop for RawTerminal {
    fn drop(&mut self) {
        _ = tcsetattr(&self.input, OptionalActions::Now, &self.before);
    }
}

/// Removes the last character, which may have several bytes.
fn erase(typed: &mut Vec<u8>) {
    while let Some(byte) = typed.pop() {
        if byte & 0xc0 != 0x80 {
            echo(b"\x08 \x08");
            break;
        }
    }
}

fn echo(bytes: &[u8]) {
    let mut output = std::io::stderr();
    _ = output.write_all(bytes);
    _ = output.flush();
}
