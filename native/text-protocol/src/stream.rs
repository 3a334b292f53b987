//! Reads a response while it comes.

use super::Rules;
use super::call::{Invalid, Piece};
use super::machine::{Machine, Step};

/// A response that is on its way. Text comes out as soon as it can be nothing else; a call comes out when it is
/// whole. Pieces are those of [`super::parse_all`], but that a text may come in several.
pub struct Stream {
    rules: Rules,
    machine: Machine,
    /// What has come and is not yet accounted for.
    held: Vec<u8>,
}

impl Stream {
    /// A stream at its beginning.
    pub fn new(rules: Rules) -> Self {
        Self { rules, machine: Machine::default(), held: Vec::new() }
    }

    /// How many bytes are held back.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Takes the next bytes; they may end anywhere, in the middle of a character, too. Each text that comes out is
    /// whole characters, as far as the response is UTF-8.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Piece> {
        self.held.extend_from_slice(bytes);
        self.drain(false)
    }

    /// Says that the response has ended, and gives what was held back.
    pub fn end(mut self) -> Vec<Piece> {
        self.drain(true)
    }

    fn drain(&mut self, end: bool) -> Vec<Piece> {
        let mut pieces = Vec::new();
        let mut done = 0;
        while done < self.held.len() {
            let rest = &self.held[done..];
            let (len, piece) = match self.machine.step(rest, end, &self.rules) {
                Step::Text(0) => break,
                Step::Text(len) => (len, Piece::Text(rest[..len].to_owned())),
                Step::Call(len, call) => (len, Piece::Call(*call)),
                Step::Invalid(len, format, message) if self.rules.tools.is_some() => {
                    (len, Piece::Invalid(Invalid { message, raw: rest[..len].to_owned(), format }))
                }
                Step::Invalid(len, ..) => (len, Piece::Text(rest[..len].to_owned())),
            };
            pieces.push(piece);
            done += len;
        }
        self.held.drain(..done);
        pieces
    }
}
