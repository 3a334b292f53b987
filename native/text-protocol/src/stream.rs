//! Parses a streamed response.

use super::ProtocolRules;
use super::call::{InvalidCall, ResponsePiece};
use super::machine::{ResponseScanner, ScanStep};

/// A streamed response. Text is returned as soon as it cannot be part of a call; a call is returned when it is
/// complete. The pieces are those of [`super::parse_all`], except that a text may be split.
pub struct CallStream {
    rules: ProtocolRules,
    machine: ResponseScanner,
    /// Input that has not been returned yet.
    held: Vec<u8>,
}

impl CallStream {
    /// A new stream.
    pub fn new(rules: ProtocolRules) -> Self {
        Self { rules, machine: ResponseScanner::default(), held: Vec::new() }
    }

    /// Number of bytes that are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Processes the next bytes, which may be split anywhere, even within a character. Returned texts consist of
    /// complete characters, if the response is valid UTF-8.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<ResponsePiece> {
        self.held.extend_from_slice(bytes);
        self.drain(false)
    }

    /// Ends the response, and returns what was held back.
    pub fn end(mut self) -> Vec<ResponsePiece> {
        self.drain(true)
    }

    fn drain(&mut self, end: bool) -> Vec<ResponsePiece> {
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < self.held.len() {
            let rest = &self.held[done..];
            let (len, piece) = match self.machine.step(rest, end, &self.rules) {
                ScanStep::Text(0) => break,
                ScanStep::Text(len) => (len, ResponsePiece::Text(rest[..len].to_owned())),
                ScanStep::Call(len, call) => (len, ResponsePiece::Call(*call)),
                ScanStep::Invalid(len, format, message) if self.rules.tools.is_some() => (
                    len,
                    ResponsePiece::Invalid(InvalidCall { message, raw: rest[..len].to_owned(), format }),
                ),
                ScanStep::Invalid(len, ..) => (len, ResponsePiece::Text(rest[..len].to_owned())),
            };
            pieces.push(piece);
            done += len;
        }
        self.held.drain(..done);
        pieces
    }
}
