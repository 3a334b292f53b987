//! Where a call ends, what stands in it unquoted, and what is mended.

use super::*;

const WRITE: &str = "<TOOL_CALL>\n{\"tool\": \"write_file\", \"args\": {\"path\": \"a\"";

#[test]
fn a_closing_tag_inside_a_json_string_does_not_end_the_call() {
    let response =
        format!("{WRITE}, \"content\": \"x </TOOL_CALL> \\\" </TOOL_CALL>\"}}}}\n</TOOL_CALL> after");
    let pieces = all(&response);
    assert_eq!(call(pieces[0].clone()).args["content"], json!("x </TOOL_CALL> \" </TOOL_CALL>"));
    assert_eq!(pieces[1], text(" after"));
}

#[test]
fn where_the_json_is_not_valid_the_first_closing_tag_ends_the_call() {
    let response = format!("{WRITE}, \"content\": \"x\n</TOOL_CALL> after \"quoted\"");
    let pieces = all(&response);
    assert!(message(pieces[0].clone()).contains("a line break inside a string"));
    assert_eq!(pieces[1], text(" after \"quoted\""));
}

#[test]
fn a_carriage_return_ends_a_line() {
    let tag = "<TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"a\"}}</TOOL_CALL>";
    let calls = [
        tag,
        "read_file(path=\"a\")",
        "TOOL: read_file\nARGS:\n  path: a",
        "<TOOL_CALL>\n{\"tool\": \"read_file\"}\npath <<-END\na\nEND\n</TOOL_CALL>",
    ];
    for (before, after, is_example) in [
        ("Write it so:\n```\n", "\n```\nThat is how.\n", true),
        ("```\nx\n", "\n```\n", true),
        ("```\nx\n```\n\n", "\nx\n", false),
        ("- ```\n  x\n  ```\n", "\n", false),
        ("Text:\n", "\n", false),
    ] {
        for (call_text, line_break) in calls.iter().flat_map(|call| [(call, "\r"), (call, "\r\n")]) {
            let response = format!("{before}{call_text}{after}").replace('\n', line_break);
            check(response.as_bytes());
            let pieces = all(&response);
            if is_example {
                assert_eq!(pieces, [text(&response)], "{response:?}");
            } else {
                assert_eq!(call(pieces[1].clone()).args, args(json!({"path": "a"})), "{response:?}");
            }
        }
    }
    let broken = all("read_file(path=\"a\rb\")\rread_file(path=\"c\")");
    assert!(message(broken[0].clone()).contains("a line break inside a string"));
    assert_eq!(call(broken[2].clone()).args["path"], "c");
}

#[test]
fn what_a_broken_off_call_contains_is_never_a_call() {
    let inner = "<tool name='read_file'><arg name='path'>a</arg></tool> </TOOL_CALL> read_file(path='a')";
    for response in [
        format!("{WRITE}, \"content\": \"{inner}"),
        format!(
            "{WRITE}}}}}\ncontent <<END\n{inner}\n<TOOL_CALL>{{\"tool\":\"read_file\",\"args\":{{\"path\":\"a\"}}}}</TOOL_CALL>"
        ),
    ] {
        let pieces = all(&response);
        assert_eq!(pieces.len(), 1);
        assert!(message(pieces[0].clone()).starts_with("Missing closing tag"));
    }
}

#[test]
fn a_tag_in_markdown_code_is_text() {
    let call = "<TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"a\"}}</TOOL_CALL>";
    let function = "read_file(path=\"a\")";
    for response in [
        format!("```xml\n{call}\n{function}\n```\n"),
        format!("  ~~~~\n{call}\n~~~\n{call}\n  ~~~~  \n"),
        format!("`{call}`"),
        format!("```{call}```"),
        format!("```\n{call}"),
        format!("- item\n\n    ```\n    {call}\n    ```\n"),
    ] {
        assert_eq!(all(&response), [text(&response)], "{response}");
        let after = format!("{response}\n{call}");
        let is_open = response == format!("```\n{call}");
        assert_eq!(all(&after).len(), if is_open { 1 } else { 2 }, "{after}");
    }
}

#[test]
fn a_call_that_begins_a_fenced_block_is_one_if_the_rules_say_so() {
    let fenced = ProtocolRules { fenced: true, ..known() };
    let pieces = |response: &str| parse_all(response.as_bytes(), &fenced);
    let tag = "<TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"a\"}}</TOOL_CALL>";
    for (open, close) in
        [("```json", "```"), ("````", "````"), ("~~~", "~~~"), ("  ```\n\n ", "  ```"), ("```\r", "```")]
    {
        let found = pieces(&format!("Words.\n{open}\n{tag}\n{close}\n"));
        assert_eq!(found[0], text(&format!("Words.\n{open}\n")), "{open}");
        assert_eq!(call(found[1].clone()).args["path"], "a");
        assert_eq!(found[2..], [text(&format!("\n{close}\n"))]);
    }
    let raw = "```\n~~~\nTOOL_RESULT: x\n";
    let inside = format!("```\n{WRITE}}}}}\ncontent <<END\n{raw}{tag}\nEND\n</TOOL_CALL>\n```");
    let found = pieces(&inside);
    assert_eq!(call(found[1].clone()).args["content"], format!("{raw}{tag}\n"));
    assert_eq!(found.len(), 3);
    for other in [
        format!("```\nFor example:\n{tag}\n```"),
        format!("```\n```\n`{tag}`"),
        format!("``` x `\n`{tag}`"),
        format!("```\n`{tag}`\n```"),
    ] {
        assert_eq!(pieces(&other), [text(&other)], "{other}");
    }
}

#[test]
fn a_fence_in_a_list_item_or_a_quote_is_an_example() {
    let fenced = ProtocolRules { fenced: true, ..known() };
    let tag = "<TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"a\"}}</TOOL_CALL>";
    for (first, indent) in [
        ("- ", "  "),
        ("* ", "  "),
        ("+ ", "    "),
        ("1. ", "   "),
        ("1) ", "   "),
        ("- - ", "    "),
        ("- [ ] ", "  "),
        ("> ", "> "),
        ("> - ", ">   "),
        ("- > ", "  > "),
        ("- item\n  ", "  "),
        ("-\n  ", "  "),
        ("- item\n\n    ", "    "),
        ("- item\ngoes on\n  ", "  "),
        ("1. item\n\n\t", "\t"),
    ] {
        let example = format!("Two ways:\n{first}```json\n{indent}{tag}\n{indent}```\n");
        for rules in [&fenced, &known()] {
            assert_eq!(parse_all(example.as_bytes(), rules), [text(&example)], "{example}");
        }
        let after = format!("{example}\nSo:\n```\n{tag}\n```");
        assert_eq!(parse_all(after.as_bytes(), &fenced).len(), 3, "{after}");
    }
    for before in ["- item\n", "1. item\n\nSo:\n  ", "> quote\n"] {
        let response = format!("{before}```\n{tag}\n```");
        assert_eq!(parse_all(response.as_bytes(), &fenced).len(), 3, "{response}");
    }
}

mod raw_text {
    use super::*;

    fn content(after_head: &str) -> ResponsePiece {
        validated(&format!("{WRITE}}}}}\n{after_head}\n</TOOL_CALL>"))
    }

    #[test]
    fn needs_no_escapes() {
        let code = "print(\"\\n\")\n</TOOL_CALL>\n\t'''END'''\nENDING\n END\n";
        assert_eq!(call(content(&format!("content <<END\n{code}END"))).args["content"], json!(code));
    }

    #[test]
    fn keeps_or_drops_its_last_line_break() {
        assert_eq!(call(content("content <<E\na\nE")).args["content"], json!("a\n"));
        assert_eq!(call(content("content <<-E\na\nE")).args["content"], json!("a"));
        assert_eq!(call(content("content <<E\nE")).args["content"], json!(""));
        assert_eq!(call(content("content <<-E\nE")).args["content"], json!(""));
        assert_eq!(call(content("content <<'E_1'\r\na\r\nE_1\r")).args["content"], json!("a\r\n"));
    }

    #[test]
    fn several_may_follow_each_other() {
        let response =
            "<TOOL_CALL>{\"tool\": \"write_file\"}\npath <<-P\na b\nP\n\ncontent <<C\nP\nC\n</TOOL_CALL>";
        assert_eq!(call(validated(response)).args, args(json!({"path": "a b", "content": "P\n"})));
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert!(message(content("path <<E\na\nE")).ends_with("\"path\" is given twice"));
        assert!(
            message(content("and more")).contains("expected </TOOL_CALL>, or a line such as: content <<END")
        );
        assert!(message(content("content <<E\na")).ends_with("is not ended by a line E"));
    }
}

mod repairs {
    use super::*;

    fn mended(inside: &str) -> ResponsePiece {
        parse(
            format!("<TOOL_CALL>\n{inside}\n</TOOL_CALL>").as_bytes(),
            &ProtocolRules { repair: true, ..known() },
        )
    }

    #[test]
    fn are_off_by_default() {
        assert!(matches!(
            validated("<TOOL_CALL>{'tool': 'read_file', 'args': {}}</TOOL_CALL>"),
            ResponsePiece::Invalid(_)
        ));
    }

    #[test]
    fn are_always_reported() {
        for (inside, repairs) in [
            ("```json\n{\"tool\": \"read_file\", \"args\": {\"path\": \"a\"}}\n```", 1),
            ("{tool: 'read_file', args: {path: \"a\",},}", 3),
            ("{\"tool\": \"read_file\", \"args\": {\"path\": 'a'}, \"x\": None}", 2),
        ] {
            let call = call(mended(inside));
            assert_eq!((call.args["path"].as_str(), call.repairs.len()), (Some("a"), repairs), "{inside}");
        }
        let call =
            call(mended("{\"tool\": \"write_file\", \"args\": {\"path\": \"a\", \"content\": \"x\ny\"}}"));
        assert_eq!(call.args["content"], json!("x\ny"));
        assert_eq!(call.repairs, ["line breaks inside strings were escaped"]);
    }

    #[test]
    fn good_json_has_none_and_hopeless_json_stays_invalid() {
        assert_eq!(call(mended("{\"tool\": \"read_file\", \"args\": {\"path\": \"a\"}}")).repairs, [""; 0]);
        assert!(matches!(mended("{\"tool\": \"read_file\", \"args\": "), ResponsePiece::Invalid(_)));
    }
}
