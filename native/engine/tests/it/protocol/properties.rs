//! What holds for any text, however it is split.

use super::*;
use proptest::prelude::*;

/// Pieces of which anything may be put together, so that chance finds the corners.
fn fragments() -> impl Strategy<Value = String> {
    let fragment = prop::sample::select(vec![
        "<TOOL_CALL>",
        "</TOOL_CALL>",
        "<TOOL",
        "{\"tool\":\"read_file\",\"args\":{\"path\":\"a\"}}",
        "{",
        "}",
        "[",
        "]",
        "\"",
        "\\",
        "'",
        "'''",
        "\"\"\"",
        "\n",
        "\r\n",
        "\r",
        "<!-- ",
        "--",
        ">",
        " ",
        "\t",
        ":",
        ",",
        "=",
        "(",
        ")",
        "read_file(path=",
        "f(a=",
        "read_file",
        "TOOL: f\n",
        "ARGS:",
        "  path: a\n",
        "  a: |\n",
        "    b\n",
        "- ",
        "<tool name=\"f\">",
        "</tool>",
        "<arg name=\"a\">",
        "</arg>",
        "<![CDATA[",
        "]]>",
        "&lt;",
        "```",
        "~~~",
        "`",
        "```rust\n",
        "1. ",
        "> ",
        "[ ] ",
        "\n  ```\n",
        "content <<E\n",
        "\nE\n",
        "<<",
        "E",
        "é",
        "\u{a0}",
        "😀",
        "x",
        "{\"tool\":\"f\",\"args\":{}}",
    ]);
    prop::collection::vec(fragment, 0..40).prop_map(|fragments| fragments.concat())
}

fn joined(pieces: Vec<ResponsePiece>) -> Vec<ResponsePiece> {
    let mut out: Vec<ResponsePiece> = Vec::new();
    for piece in pieces {
        match (out.last_mut(), piece) {
            (Some(ResponsePiece::Text(before)), ResponsePiece::Text(more)) => before.extend(more),
            (_, piece) => out.push(piece),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn split_anywhere_the_stream_gives_what_the_whole_gives(
        response in fragments(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
        tools in any::<bool>(),
        repair in any::<bool>(),
        fenced in any::<bool>(),
    ) {
        let rules = ProtocolRules { repair, fenced, ..if tools { known() } else { ProtocolRules::default() } };
        let bytes = response.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut stream = CallStream::new(rules.clone());
        let mut pieces: Vec<ResponsePiece> =
            cuts.windows(2).flat_map(|pair| stream.feed(&bytes[pair[0]..pair[1]])).collect();
        pieces.extend(stream.end());
        prop_assert_eq!(joined(pieces), parse_all(bytes, &rules));
    }

    #[test]
    fn byte_by_byte_the_stream_gives_what_the_whole_gives(response in fragments()) {
        check(response.as_bytes());
    }

    #[test]
    fn any_bytes_are_read_alike_in_every_split(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        check(&bytes);
    }

    #[test]
    fn nothing_is_lost(response in fragments()) {
        let rules = ProtocolRules { formats: vec![], ..known() };
        prop_assert_eq!(joined(parse_all(response.as_bytes(), &rules)), joined(vec![text(&response)]).into_iter()
            .filter(|piece| *piece != text("")).collect::<Vec<_>>());
        let length: usize = parse_all(response.as_bytes(), &known()).iter().map(|piece| match piece {
            ResponsePiece::Text(text) => text.len(),
            ResponsePiece::Invalid(invalid) => invalid.raw.len(),
            ResponsePiece::Call(_) => 0,
        }).sum();
        prop_assert!(length <= response.len());
    }

    #[test]
    fn any_arguments_survive(path in "\\PC{0,40}", content in "[ -~\\n<>/_A-Z]{0,60}") {
        let json = json!({"tool": "write_file", "args": {"path": path, "content": content}});
        let response = format!("Text <TOOL_CALL>{json:#}</TOOL_CALL>");
        prop_assert_eq!(Value::Object(call(validated(&response)).args), json["args"].clone());
    }
}
