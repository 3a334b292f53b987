//! Reads a response while it comes.

use super::ProtocolRules;
use super::call::{InvalidCall, ResponsePiece};
use super::machine::{ResponseScanner, ScanStep};

/// A response that is on its way. Text comes out as soon as it can be nothing else; a call comes out when it is
/// whole. Pieces are those of [`super::parse_all`], but that a text may come in several.
pub struct CallStream {
    rules: ProtocolRules,
    machine: ResponseScanner,
    /// What has come and is not yet accounted for.
    held: Vec<u8>,
}

impl CallStream {
    /// A stream at its beginning.
    pub fn new(rules: ProtocolRules) -> Self {
        Self { rules, machine: ResponseScanner::default(), held: Vec::new() }
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes the next bytes; they may end anywhere, in the middle of a character, too. Each text that comes out is
    /// whole characters, as far as the response is UTF-8.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<ResponsePiece> {
        self.held.extend_from_slice(bytes);
        self.drain(false)
    }

    /// Says that the response has ended, and gives what was held back.
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
