//! Parses a complete response.

use super::ProtocolRules;
use super::call::{CallFormat, InvalidCall, ParsedCall, ResponsePiece};
use super::machine::{ResponseScanner, ScanStep};
use super::stream::CallStream;

/// The first call of a response, as the specification's parser finds it; `Text` with the complete response if there is
/// none. If a malformed call between tags comes first, the complete response is text, or `InvalidCall` if the tools are
/// known.
pub fn parse(response: &[u8], rules: &ProtocolRules) -> ResponsePiece {
    find(response, rules).unwrap_or_else(|| ResponsePiece::Text(response.to_owned()))
}

/// As [`parse`], but `None` for a response that is text.
pub fn find(response: &[u8], rules: &ProtocolRules) -> Option<ResponsePiece> {
    let mut first = None;
    walk(response, rules, &mut |part| match part {
        ResponsePart::Text(_) => true,
        ResponsePart::Call(call) => {
            first = Some(ResponsePiece::Call(call));
            false
        }
        ResponsePart::Invalid(invalid) if rules.tools.is_some() => {
            first = Some(ResponsePiece::Invalid(invalid));
            false
        }
        ResponsePart::Invalid(invalid) => invalid.format != CallFormat::Tag,
    });
    first
}

/// All parts of a response, in order. Adjacent texts are merged.
pub fn parse_all(response: &[u8], rules: &ProtocolRules) -> Vec<ResponsePiece> {
    let mut pieces = Vec::new();
    walk(response, rules, &mut |part| {
        match part {
            ResponsePart::Text(text) => add_text(&mut pieces, text),
            ResponsePart::Call(call) => pieces.push(ResponsePiece::Call(call)),
            ResponsePart::Invalid(invalid) if rules.tools.is_some() => {
                pieces.push(ResponsePiece::Invalid(invalid))
            }
            ResponsePart::Invalid(invalid) => add_text(&mut pieces, &invalid.raw),
        }
        true
    });
    pieces
}

fn add_text(pieces: &mut Vec<ResponsePiece>, text: &[u8]) {
    match pieces.last_mut() {
        Some(ResponsePiece::Text(before)) => before.extend_from_slice(text),
        _ => pieces.push(ResponsePiece::Text(text.to_owned())),
    }
}

enum ResponsePart<'a> {
    Text(&'a [u8]),
    Call(ParsedCall),
    Invalid(InvalidCall),
}

/// Calls `each` for every part, until it returns `false`.
fn walk<'a>(response: &'a [u8], rules: &ProtocolRules, each: &mut dyn FnMut(ResponsePart<'a>) -> bool) {
    let mut machine = ResponseScanner::default();
    let mut rest = response;
    while !rest.is_empty() {
        let (len, part) = match machine.step(rest, true, rules) {
            ScanStep::Text(len) => (len, ResponsePart::Text(&rest[..len])),
            ScanStep::Call(len, call) => (len, ResponsePart::Call(*call)),
            ScanStep::Invalid(len, format, message) => {
                (len, ResponsePart::Invalid(InvalidCall { message, raw: rest[..len].to_owned(), format }))
            }
        };
        rest = &rest[len..];
        if !each(part) {
            return;
        }
    }
}

/// Fuzzing entry: parses any bytes at once and in pieces, with and without tools, and compares the results.
///
/// # Panics
/// If the results differ, which is a bug.
pub fn check(bytes: &[u8]) {
    let tools =
        ["read_file", "f"].map(|name| super::ToolSpec { name: name.to_owned(), ..Default::default() });
    let known = ProtocolRules { repair: true, ..ProtocolRules::with_tools(tools.into_iter().collect()) };
    let fenced = ProtocolRules { fenced: true, ..known.clone() };
    for rules in [ProtocolRules::default(), known, fenced] {
        let whole = parse_all(bytes, &rules);
        for size in [1, 2, 7] {
            assert_eq!(whole, in_pieces(bytes.chunks(size), &rules), "in chunks of {size}");
        }
        assert_eq!(whole, in_pieces(uneven(bytes), &rules), "in uneven pieces");
    }
}

/// Pieces of uneven size, which depends on the bytes only.
fn uneven(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut state = bytes.len() as u64;
    std::iter::from_fn(move || {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(u64::from(*bytes.first()?) + 1);
        let (piece, rest) = bytes.split_at(bytes.len().min((state >> 59) as usize));
        bytes = rest;
        Some(piece)
    })
}

fn in_pieces<'b>(chunks: impl Iterator<Item = &'b [u8]>, rules: &ProtocolRules) -> Vec<ResponsePiece> {
    let mut stream = CallStream::new(rules.clone());
    let came = chunks.flat_map(|chunk| stream.feed(chunk)).collect::<Vec<_>>();
    let mut pieces = Vec::new();
    for piece in came.into_iter().chain(stream.end()) {
        match piece {
            ResponsePiece::Text(text) => add_text(&mut pieces, &text),
            piece => pieces.push(piece),
        }
    }
    pieces
}
