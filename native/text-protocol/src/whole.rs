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
            assert_eq!(whole, in_pieces(bytes.chunks(size), &rules), "in chunks of {size}");
        }
        assert_eq!(whole, in_pieces(uneven(bytes), &rules), "in uneven pieces");
    }
}

/// Pieces that end anywhere, but for the same bytes at the same places.
fn uneven(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut state = bytes.len() as u64;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(u64::from(*bytes.first()?) + 1);
        let (piece, rest) = bytes.split_at(bytes.len().min((state >> 59) as usize));
        bytes = rest;
        Some(piece)
    })
}

fn in_pieces<'b>(chunks: impl Iterator<Item = &'b [u8]>, rules: &Rules) -> Vec<Piece> {
    let mut stream = Stream::new(rules.clone());
    let came = chunks.flat_map(|chunk| stream.feed(chunk)).collect::<Vec<_>>();
    let mut pieces = Vec::new();
    for piece in came.into_iter().chain(stream.end()) {
        match piece {
            Piece::Text(text) => add_text(&mut pieces, &text),
            piece => pieces.push(piece),
        }
    }
    pieces
}
