//! Reads a response that is there in full.

use super::Rules;
use super::call::{Call, Format, Invalid, Piece};
use super::machine::{Machine, Step};
use super::stream::Stream;

/// The first call of a response, as the specification's parser finds it: `Text` with the whole response where there
/// is none. A malformed call between tags that comes first makes the whole response text; where the tools are known
/// it is `Invalid`.
pub fn parse(response: &[u8], rules: &Rules) -> Piece {
    find(response, rules).unwrap_or_else(|| Piece::Text(response.to_owned()))
}

/// As [`parse`], with `None` for a response that is text.
pub fn find(response: &[u8], rules: &Rules) -> Option<Piece> {
    let mut first = None;
    walk(response, rules, &mut |part| match part {
        Part::Text(_) => true,
        Part::Call(call) => {
            first = Some(Piece::Call(call));
            false
        }
        Part::Invalid(invalid) if rules.tools.is_some() => {
            first = Some(Piece::Invalid(invalid));
            false
        }
        Part::Invalid(invalid) => invalid.format != Format::Tag,
    });
    first
}

/// Everything in a response, in order. No two texts come one after the other.
pub fn parse_all(response: &[u8], rules: &Rules) -> Vec<Piece> {
    let mut pieces = Vec::new();
    walk(response, rules, &mut |part| {
        match part {
            Part::Text(text) => add_text(&mut pieces, text),
            Part::Call(call) => pieces.push(Piece::Call(call)),
            Part::Invalid(invalid) if rules.tools.is_some() => pieces.push(Piece::Invalid(invalid)),
            Part::Invalid(invalid) => add_text(&mut pieces, &invalid.raw),
        }
        true
    });
    pieces
}

fn add_text(pieces: &mut Vec<Piece>, text: &[u8]) {
    match pieces.last_mut() {
        Some(Piece::Text(before)) => before.extend_from_slice(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

enum Part<'a> {
    Text(&'a [u8]),
    Call(Call),
    Invalid(Invalid),
}

/// Hands every part to `each`, until it says `false`.
fn walk<'a>(response: &'a [u8], rules: &Rules, each: &mut dyn FnMut(Part<'a>) -> bool) {
    let mut machine = Machine::default();
    let mut rest = response;
    while !rest.is_empty() {
        let (len, part) = match machine.step(rest, true, rules) {
            Step::Text(len) => (len, Part::Text(&rest[..len])),
            Step::Call(len, call) => (len, Part::Call(*call)),
            Step::Invalid(len, format, message) => {
                (len, Part::Invalid(Invalid { message, raw: rest[..len].to_owned(), format }))
            }
        };
        rest = &rest[len..];
        if !each(part) {
            return;
        }
    }
}

/// Reads bytes from anywhere whole and in pieces, with and without tools, and compares: an entry for fuzzers.
///
/// # Panics
/// When the two readings differ: a defect.
pub fn check(bytes: &[u8]) {
    let tools = ["read_file", "f"].map(|name| super::Tool { name: name.to_owned(), ..Default::default() });
    let known = Rules { repair: true, ..Rules::with_tools(tools.into_iter().collect()) };
    for rules in [Rules::default(), known] {
        let whole = parse_all(bytes, &rules);
        for size in [1, 2, 7] {
            let mut stream = Stream::new(rules.clone());
            let mut pieces = Vec::new();
            let chunks = bytes.chunks(size).flat_map(|chunk| stream.feed(chunk)).collect::<Vec<_>>();
            for piece in chunks.into_iter().chain(stream.end()) {
                match piece {
                    Piece::Text(text) => add_text(&mut pieces, &text),
                    piece => pieces.push(piece),
                }
            }
            assert_eq!(whole, pieces, "in chunks of {size}");
        }
    }
}
