//! Text as it comes, in pieces.

use super::*;

fn texts(pieces: &[ResponsePiece]) -> String {
    let text = |piece: &ResponsePiece| match piece {
        ResponsePiece::Text(text) => String::from_utf8(text.clone()).unwrap(),
        _ => String::new(),
    };
    pieces.iter().map(text).collect()
}

#[test]
fn text_comes_out_at_once_and_only_what_may_become_a_tag_is_held_back() {
    let mut stream = CallStream::new(known());
    for (token, shown) in [
        ("Hello", "Hello"),
        (" wor", " wor"),
        ("ld <", "ld "),
        ("TOOL", ""),
        ("BOX> ", "<TOOLBOX> "),
        ("é"[..0].into(), ""),
        ("\n", "\n"),
        ("re", ""),
        ("ading", "reading"),
        ("\nread_file", "\n"),
        (" is a tool", "read_file is a tool"),
    ] {
        assert_eq!(texts(&stream.feed(token.as_bytes())), shown, "{token:?}");
    }
    assert_eq!(stream.held(), 0);
}

#[test]
fn a_character_in_two_pieces_comes_out_whole() {
    let mut stream = CallStream::new(ProtocolRules::default());
    assert_eq!(stream.feed(b"a\xe2\x82"), [text("a")]);
    assert_eq!(stream.feed(b"\xac"), [text("€")]);
}

#[test]
fn a_call_comes_out_when_it_is_whole() {
    let mut stream = CallStream::new(known());
    let response = "Go. <TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"a\"}}</TOOL_CALL> on";
    let pieces: Vec<ResponsePiece> =
        response.chars().flat_map(|c| stream.feed(c.to_string().as_bytes())).collect();
    assert_eq!(texts(&pieces), "Go.  on");
    assert_eq!(pieces.iter().filter(|piece| matches!(piece, ResponsePiece::Call(_))).count(), 1);
    assert_eq!(stream.end(), []);
}
