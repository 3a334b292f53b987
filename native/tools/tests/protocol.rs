//! The text protocol: the specification's examples, cases, tests and conversations, by its own headings, and the
//! properties that hold for any text.

use beamai_tools::protocol::{
    Call, Format, Invalid, Piece, Rules, Stream, Tool, ToolSet, check, format_error, format_result, parse,
    parse_all, system_prompt,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The tools that the specification's prompt lists.
fn spec_tools() -> ToolSet {
    let tools = json!([
        {"name": "read_file", "description": "Read content of a file",
         "parameters": {"path": {"type": "string", "required": true}}},
        {"name": "write_file", "description": "Write content to a file",
         "parameters": {"path": {"type": "string", "required": true},
                        "content": {"type": "string", "required": true}}},
        {"name": "list_files", "description": "List files in directory",
         "parameters": {"directory": {"type": "string", "required": true}, "pattern": {"type": "string"}}},
        {"name": "search_code", "description": "Search code in codebase",
         "parameters": {"query": {"type": "string", "required": true}, "options": {"type": "object"}}},
        {"name": "get_diagnostics", "description": "Get errors and warnings",
         "parameters": {"file": {"type": "string"}}},
    ]);
    serde_json::from_value::<Vec<Tool>>(tools).unwrap().into_iter().collect()
}

fn known() -> Rules {
    Rules::with_tools(spec_tools())
}

fn format_only(text: &str) -> Piece {
    parse(text.as_bytes(), &Rules::default())
}

fn validated(text: &str) -> Piece {
    parse(text.as_bytes(), &known())
}

fn all(text: &str) -> Vec<Piece> {
    parse_all(text.as_bytes(), &known())
}

fn text(text: &str) -> Piece {
    Piece::Text(text.as_bytes().to_owned())
}

#[track_caller]
fn call(piece: Piece) -> Call {
    match piece {
        Piece::Call(call) => call,
        other => panic!("expected a call, got {other:?}"),
    }
}

#[track_caller]
fn message(piece: Piece) -> String {
    match piece {
        Piece::Invalid(Invalid { message, .. }) => message,
        other => panic!("expected an invalid call, got {other:?}"),
    }
}

fn args(value: Value) -> serde_json::Map<String, Value> {
    value.as_object().unwrap().clone()
}

mod protocol_format {
    use super::*;

    #[test]
    fn tool_call_request() {
        let request = r#"<TOOL_CALL>
{
  "tool": "tool_name",
  "args": {
    "param1": "value1",
    "param2": "value2"
  },
  "reasoning": "Optional explanation why this tool is needed"
}
</TOOL_CALL>"#;
        let call = call(format_only(request));
        assert_eq!(call.tool, "tool_name");
        assert_eq!(call.args, args(json!({"param1": "value1", "param2": "value2"})));
        assert_eq!(call.reasoning.as_deref(), Some("Optional explanation why this tool is needed"));
        assert_eq!(call.format, Format::Tag);
    }

    #[test]
    fn tool_result_response() {
        assert_eq!(
            format_result(Ok(&json!({"content": "1.0.0"}))),
            "TOOL_RESULT: {\n  \"success\": true,\n  \"data\": {\n    \"content\": \"1.0.0\"\n  },\n  \"error\": null\n}"
        );
    }

    #[test]
    fn final_answer() {
        let answer = "Based on the file content, the version is 1.0.0";
        assert_eq!(format_only(answer), text(answer));
        assert_eq!(validated(answer), text(answer));
    }
}

mod system_prompt_template {
    use super::*;

    #[test]
    fn lists_the_tools_and_gives_the_format_the_rules_and_the_examples() {
        let prompt = system_prompt(&spec_tools());
        for part in [
            "You are an AI coding assistant with access to these tools:\n\nAVAILABLE TOOLS:\n",
            "- read_file(path: string): Read content of a file\n",
            "- write_file(path: string, content: string): Write content to a file\n",
            "- list_files(directory: string, pattern?: string): List files in directory\n",
            "- search_code(query: string, options?: object): Search code in codebase\n",
            "- get_diagnostics(file?: string): Get errors and warnings\n",
            "\nTOOL CALLING PROTOCOL:\nWhen you need to use a tool, respond with this EXACT format:\n\n<TOOL_CALL>\n{\n  \"tool\": \"tool_name\",\n  \"args\": {\"arg1\": \"value1\"},\n  \"reasoning\": \"why you need this tool\"\n}\n</TOOL_CALL>\n",
            "\nIMPORTANT RULES:\n1. Use ONLY ONE tool call per response\n2. JSON inside <TOOL_CALL> must be valid\n3. \"tool\" must match exactly one of the available tools\n4. \"args\" must include all required parameters\n5. After receiving TOOL_RESULT, you can make another tool call or provide final answer\n6. When you have the final answer, respond normally without any tags\n",
            "EXAMPLES:\nUser: \"What's in package.json?\"\nYou: <TOOL_CALL>\n{\n  \"tool\": \"read_file\",\n  \"args\": {\"path\": \"package.json\"},\n  \"reasoning\": \"Need to read package.json to answer\"\n}\n</TOOL_CALL>\n\nSystem: TOOL_RESULT: {\"success\": true, \"data\": {\"content\": \"{\\\"version\\\": \\\"1.0.0\\\"}\"}}\n\nYou: The package.json contains version 1.0.0\n",
        ] {
            assert!(prompt.contains(part), "{part}\n\nis not in\n\n{prompt}");
        }
    }

    #[test]
    fn signatures_are_typed() {
        let tool = json!([{"name": "t", "description": "Does\n  things.", "parameters": {
            "mode": {"type": "string", "enum": ["a", "b"], "default": "a", "required": true},
            "edits": {"type": "array", "required": true, "description": "What to change.", "items": {
                "type": "object", "properties": {"old": {"type": "string", "required": true}, "new": {"type": "string"}}}},
            "limit": {"type": "integer", "minimum": 1, "maximum": 9}}}, {"name": "u"}]);
        let tools: Vec<Tool> = serde_json::from_value(tool).unwrap();
        let prompt = system_prompt(&tools.into_iter().collect());
        let listed = "- t(edits: ({old: string, new?: string})[], limit?: integer, mode?: \"a\" | \"b\"): Does things.\n    \
                      edits: What to change.\n    limit: From 1 to 9.\n    mode: Default: \"a\"\n- u(…)\n";
        assert!(prompt.contains(listed), "{prompt}");
    }

    #[test]
    fn without_tools_there_are_no_examples() {
        assert!(!system_prompt(&ToolSet::default()).contains("EXAMPLES"));
    }
}

mod error_handling {
    use super::*;

    #[test]
    fn parse_errors_are_treated_as_text() {
        let response = "<TOOL_CALL>{\"tool\": }</TOOL_CALL>";
        assert_eq!(format_only(response), text(response));
    }

    #[test]
    fn validation_errors_are_sent_back() {
        let why = message(validated("<TOOL_CALL>{\"tool\": \"rm\", \"args\": {}}</TOOL_CALL>"));
        assert_eq!(format_error(&why), "TOOL_ERROR: Unknown tool: rm. Please try again with correct format.");
    }

    #[test]
    fn execution_errors_are_results_without_success() {
        assert_eq!(
            format_result(Err("File not found: missing-file.txt")),
            "TOOL_RESULT: {\n  \"success\": false,\n  \"data\": null,\n  \"error\": \"File not found: missing-file.txt\"\n}"
        );
    }
}

mod conversation_flow {
    use super::*;

    fn data(result: Value) -> String {
        format_result(Ok(&result))
    }

    #[test]
    fn example_1_single_tool_call() {
        let first = call(validated(
            "<TOOL_CALL>\n{\n  \"tool\": \"read_file\",\n  \"args\": {\"path\": \"package.json\"},\n  \"reasoning\": \"Need to read package.json to get version\"\n}\n</TOOL_CALL>",
        ));
        assert_eq!((first.tool.as_str(), first.args), ("read_file", args(json!({"path": "package.json"}))));
        let content = "{\n  \"name\": \"my-app\",\n  \"version\": \"1.0.0\"\n}";
        let result = data(json!({"content": content, "lines": 4}));
        let shown = r#"TOOL_RESULT: {
  "success": true,
  "data": {
    "content": "{\n  \"name\": \"my-app\",\n  \"version\": \"1.0.0\"\n}",
    "lines": 4
  },"#;
        assert!(result.starts_with(shown), "{result}");
        let last = "The version in package.json is 1.0.0";
        assert_eq!(validated(last), text(last));
    }

    #[test]
    fn example_2_multiple_tool_calls() {
        let first = call(validated(
            "<TOOL_CALL>\n{\n  \"tool\": \"list_files\",\n  \"args\": {\"directory\": \".\", \"pattern\": \"**/*.ts\"},\n  \"reasoning\": \"Need to list all TypeScript files first\"\n}\n</TOOL_CALL>",
        ));
        assert_eq!(first.args, args(json!({"directory": ".", "pattern": "**/*.ts"})));
        let result = data(json!({"files": ["src/index.ts", "src/utils.ts", "test/test.ts"], "count": 3}));
        let shown = r#"TOOL_RESULT: {
  "success": true,
  "data": {
    "files": ["src/index.ts", "src/utils.ts", "test/test.ts"],
    "count": 3
  },"#;
        assert!(result.starts_with(shown), "{result}");
        let last = "I found 3 TypeScript files:\n1. src/index.ts\n2. src/utils.ts\n3. test/test.ts";
        assert_eq!(validated(last), text(last));
    }

    #[test]
    fn example_3_tool_call_with_error() {
        let first = call(validated(
            "<TOOL_CALL>\n{\n  \"tool\": \"read_file\",\n  \"args\": {\"path\": \"missing-file.txt\"},\n  \"reasoning\": \"Need to read the file content\"\n}\n</TOOL_CALL>",
        ));
        assert_eq!(first.args, args(json!({"path": "missing-file.txt"})));
        let last =
            "I cannot read missing-file.txt because the file does not exist. Would you like me to create it?";
        assert_eq!(validated(last), text(last));
    }
}

mod parsing_rules {
    use super::*;

    #[test]
    fn valid_tool_call() {
        let valid = "<TOOL_CALL>\n{\"tool\": \"read_file\", \"args\": {\"path\": \"test.ts\"}}\n</TOOL_CALL>";
        assert_eq!(call(format_only(valid)), call(validated(valid)));
        assert_eq!(call(validated(valid)).reasoning, None);
    }

    /// Text by format alone; with the tools, what is wrong.
    fn invalid(response: &str, why: &str) {
        assert_eq!(format_only(response), text(response));
        assert_eq!(all(response).len(), 1);
        assert!(message(validated(response)).starts_with(why), "{:?}", validated(response));
    }

    #[test]
    fn invalid_tool_calls_missing_closing_tag() {
        invalid("<TOOL_CALL>\n{\"tool\": \"read_file\"}\n", "Missing closing tag </TOOL_CALL>");
    }

    #[test]
    fn invalid_tool_calls_invalid_json() {
        invalid(
            "<TOOL_CALL>\n{tool: \"read_file\", args: {path: \"test.ts\"}}\n</TOOL_CALL>",
            "Failed to parse tool call JSON: key must be a string at line 1 column 2",
        );
    }

    #[test]
    fn invalid_tool_calls_unknown_tool() {
        let response = "<TOOL_CALL>\n{\"tool\": \"unknown_tool\", \"args\": {}}\n</TOOL_CALL>";
        assert_eq!(message(validated(response)), "Unknown tool: unknown_tool");
        assert_eq!(call(format_only(response)).tool, "unknown_tool");
    }

    #[test]
    fn invalid_tool_calls_missing_required_args() {
        let response = "<TOOL_CALL>\n{\"tool\": \"read_file\", \"args\": {}}\n</TOOL_CALL>";
        assert_eq!(message(validated(response)), "Missing required parameter: path");
        assert_eq!(call(format_only(response)).args, args(json!({})));
    }
}

mod implementation_details {
    use super::*;

    #[test]
    fn regex_pattern_takes_any_white_space_around_the_json() {
        let json = "{\"tool\":\"a\",\"args\":{}}";
        for space in ["", " ", "\n\n\t", "\r\n", "\u{a0}\u{feff}\u{2028}", "\u{b}\u{c}\u{3000}"] {
            let response = format!("<TOOL_CALL>{space}{json}{space}</TOOL_CALL>");
            assert_eq!(call(format_only(&response)).tool, "a", "{space:?}");
        }
    }

    #[test]
    fn parser_logic_invalid_tool_call_format() {
        for (json, why) in [
            ("{\"tool\": \"read_file\"}", "Invalid tool call format: \"args\" is missing"),
            ("{\"args\": {}}", "Invalid tool call format: \"tool\" is missing"),
            ("{\"tool\": \"\", \"args\": {}}", "Invalid tool call format: \"tool\" must be"),
            ("{\"tool\": \"read_file\", \"args\": null}", "Invalid tool call format: \"args\" must be"),
            ("{\"tool\": \"read_file\", \"args\": [1]}", "Invalid tool call format: \"args\" must be"),
            ("[]", "Failed to parse tool call JSON: expected an object"),
            ("null", "Failed to parse tool call JSON: expected an object"),
        ] {
            let response = format!("Before <TOOL_CALL>{json}</TOOL_CALL> after");
            assert_eq!(format_only(&response), text(&response));
            assert!(message(validated(&response)).starts_with(why), "{:?}", validated(&response));
        }
    }

    #[test]
    fn parser_logic_the_first_match_decides() {
        let response = "<TOOL_CALL>{bad}</TOOL_CALL><TOOL_CALL>{\"tool\":\"a\",\"args\":{}}</TOOL_CALL>";
        assert_eq!(format_only(response), text(response));
    }

    #[test]
    fn validation_rules_check_parameter_types() {
        let response = "<TOOL_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": 7}}</TOOL_CALL>";
        assert!(message(validated(response)).starts_with("\"path\" must be string, not 7"));
        let response =
            "<TOOL_CALL>{\"tool\": \"read_file\", \"args\": {\"path\": \"a\", \"x\": 1}}</TOOL_CALL>";
        assert!(message(validated(response)).starts_with("\"x\" is not an argument"));
    }
}

mod best_practices {
    use super::*;

    #[test]
    fn case_sensitivity() {
        let response = "<TOOL_CALL>{\"tool\": \"Read_File\", \"args\": {\"path\": \"a\"}}</TOOL_CALL>";
        assert_eq!(message(validated(response)), "Unknown tool: Read_File");
        let response = "<tool_call>{\"tool\": \"read_file\", \"args\": {\"path\": \"a\"}}</tool_call>";
        assert_eq!(validated(response), text(response));
    }

    #[test]
    fn json_validation() {
        for json in
            ["{\"tool\":\"a\",\"args\":{\"n\":1e400}}", "{\"tool\":\"a\",\"args\":{\"s\":\"\\ud800\"}}"]
        {
            let response = format!("<TOOL_CALL>{json}</TOOL_CALL>");
            assert_eq!(format_only(&response), text(&response));
            assert!(message(validated(&response)).starts_with("Failed to parse tool call JSON"));
        }
    }
}

mod alternative_protocols {
    use super::*;

    fn package_json(response: &str, format: Format) {
        for piece in [format_only(response), validated(response)] {
            let call = call(piece);
            assert_eq!(call.tool, "read_file");
            assert_eq!(call.args, args(json!({"path": "package.json"})));
            assert_eq!(call.format, format);
        }
    }

    #[test]
    fn yaml_style() {
        package_json("TOOL: read_file\nARGS:\n  path: package.json", Format::Yaml);
        package_json("TOOL: read_file\r\nARGS:\r\n  path: package.json\r\n\r\n", Format::Yaml);
        package_json(
            "I read it.\n\nTOOL: read_file\nARGS: {\"path\": \"package.json\"}\nDone.",
            Format::Yaml,
        );
    }

    #[test]
    fn function_call_style() {
        package_json("read_file(path=\"package.json\")", Format::Function);
        package_json("Reading.\nread_file( path = 'package.json', )  \nDone.", Format::Function);
    }

    #[test]
    fn xml_style() {
        package_json(
            "<tool name=\"read_file\">\n  <arg name=\"path\">package.json</arg>\n</tool>",
            Format::Xml,
        );
        package_json("So: <tool name='read_file'><arg name='path'>package.json</arg></tool>.", Format::Xml);
    }

    #[test]
    fn text_around_them_is_kept() {
        let response = "A\nTOOL: read_file\nARGS:\n  path: a\n\nB\nread_file(path=\"b\")\nC <tool name=\"read_file\">\
                        <arg name=\"path\">c</arg></tool> D";
        let pieces = all(response);
        let texts: Vec<_> = pieces.iter().filter(|piece| matches!(piece, Piece::Text(_))).cloned().collect();
        assert_eq!(texts, [text("A\n"), text("\n\nB\n"), text("\nC "), text(" D")]);
        assert_eq!(pieces.len(), 7);
    }

    #[test]
    fn unknown_tools_and_missing_arguments_are_named() {
        for (response, why) in [
            ("TOOL: rm\nARGS:\n  path: a\n", "Unknown tool: rm"),
            ("TOOL: read_file\nARGS:\n", "Missing required parameter: path"),
            ("read_file()\n", "Missing required parameter: path"),
            ("read_file(\"a\")\n", "Invalid tool call format: expected a named argument"),
            ("<tool name=\"rm\"/>", "Unknown tool: rm"),
            ("<tool name=\"read_file\"></tool>", "Missing required parameter: path"),
            ("<tool name=\"read_file\"><path>a</path></tool>", "Invalid tool call format: expected <arg"),
            (
                "<tool name=\"read_file\"><arg name=\"path\">a</tool>",
                "Missing closing tag </arg> of \"path\"",
            ),
        ] {
            assert_eq!(
                message(validated(response)),
                why.to_owned() + message(validated(response)).split_at(why.len()).1
            );
        }
    }

    #[test]
    fn text_takes_the_declared_type() {
        let tools = json!([{"name": "t", "parameters": {
            "n": {"type": "integer"}, "b": {"type": "boolean"}, "s": {"type": "string"}, "l": {"type": "array"}}}]);
        let tools: Vec<Tool> = serde_json::from_value(tools).unwrap();
        let rules = Rules::with_tools(tools.into_iter().collect());
        let expected = args(json!({"n": 7, "b": true, "s": "1.0", "l": [1]}));
        for response in [
            "<tool name=\"t\"><arg name=\"n\"> 7 </arg><arg name=\"b\">True</arg><arg name=\"s\">1.0</arg><arg name=\"l\">[1]</arg></tool>",
            "TOOL: t\nARGS:\n  n: 7\n  b: True\n  s: 1.0\n  l: [1]\n",
        ] {
            assert_eq!(call(parse(response.as_bytes(), &rules)).args, expected);
        }
        let wrong = parse(b"<tool name=\"t\"><arg name=\"n\">seven</arg></tool>", &rules);
        assert!(message(wrong).starts_with("\"n\" must be integer, not \"seven\""));
    }

    #[test]
    fn prose_about_calls_is_prose() {
        for prose in [
            "read_file(path: string): Read content of a file",
            "read_file(path) reads a file.",
            "read_file(path=\"a\") is what I would call.",
            "Use read_file(path=\"a\") now.",
            "TOOL: a hammer\nARGS: none",
            "TOOL: read_file\n\nARGS:",
            "<tool> and <toolbox name=\"x\"> are elements.",
            "print(\"x\")",
            "foo()",
        ] {
            assert_eq!(validated(prose), text(prose));
            assert_eq!(format_only(prose), text(prose));
        }
    }

    #[test]
    fn long_text_needs_no_escapes() {
        let code = "if a < b && c {\n    \"x\"\n}\n";
        for response in [
            format!("write_file(path=\"a\", content='''{code}''')"),
            format!(
                "<tool name=\"write_file\"><arg name=\"path\">a</arg><arg name=\"content\"><![CDATA[{code}]]></arg></tool>"
            ),
            format!(
                "<tool name=\"write_file\"><arg name=\"path\">a</arg><arg name=\"content\">{code}</arg></tool>"
            ),
            "TOOL: write_file\nARGS:\n  path: a\n  content: |\n    if a < b && c {\n        \"x\"\n    }\n"
                .to_owned(),
        ] {
            assert_eq!(call(validated(&response)).args, args(json!({"path": "a", "content": code})));
        }
    }
}

mod testing {
    use super::*;

    #[test]
    fn should_parse_valid_tool_call() {
        let response = "<TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"test.ts\"}}</TOOL_CALL>";
        assert_eq!(call(format_only(response)).tool, "read_file");
    }

    #[test]
    fn should_handle_malformed_json() {
        let response = "<TOOL_CALL>{invalid json}</TOOL_CALL>";
        assert_eq!(format_only(response), text(response));
    }
}

mod future_enhancements {
    use super::*;

    #[test]
    fn support_multi_tool_calls_in_single_response() {
        let one = |path: &str| {
            format!("<TOOL_CALL>{{\"tool\":\"read_file\",\"args\":{{\"path\":\"{path}\"}}}}</TOOL_CALL>")
        };
        let response = format!("First {} then {}{}\nDone.", one("a"), one("b"), one("c"));
        let pieces = all(&response);
        let paths: Vec<_> = pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Call(call) => call.args["path"].as_str(),
                _ => None,
            })
            .collect();
        assert_eq!(paths, ["a", "b", "c"]);
        assert_eq!(
            (&pieces[0], &pieces[2], &pieces[5]),
            (&text("First "), &text(" then "), &text("\nDone."))
        );
    }
}

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

mod raw_text {
    use super::*;

    fn content(after_head: &str) -> Piece {
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

    fn mended(inside: &str) -> Piece {
        parse(format!("<TOOL_CALL>\n{inside}\n</TOOL_CALL>").as_bytes(), &Rules { repair: true, ..known() })
    }

    #[test]
    fn are_off_by_default() {
        assert!(matches!(
            validated("<TOOL_CALL>{'tool': 'read_file', 'args': {}}</TOOL_CALL>"),
            Piece::Invalid(_)
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
        assert!(matches!(mended("{\"tool\": \"read_file\", \"args\": "), Piece::Invalid(_)));
    }
}

mod streaming {
    use super::*;

    fn texts(pieces: &[Piece]) -> String {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => String::from_utf8(text.clone()).unwrap(),
            _ => String::new(),
        };
        pieces.iter().map(text).collect()
    }

    #[test]
    fn text_comes_out_at_once_and_only_what_may_become_a_tag_is_held_back() {
        let mut stream = Stream::new(known());
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
        let mut stream = Stream::new(Rules::default());
        assert_eq!(stream.feed(b"a\xe2\x82"), [text("a")]);
        assert_eq!(stream.feed(b"\xac"), [text("€")]);
    }

    #[test]
    fn a_call_comes_out_when_it_is_whole() {
        let mut stream = Stream::new(known());
        let response = "Go. <TOOL_CALL>{\"tool\":\"read_file\",\"args\":{\"path\":\"a\"}}</TOOL_CALL> on";
        let pieces: Vec<Piece> =
            response.chars().flat_map(|c| stream.feed(c.to_string().as_bytes())).collect();
        assert_eq!(texts(&pieces), "Go.  on");
        assert_eq!(pieces.iter().filter(|piece| matches!(piece, Piece::Call(_))).count(), 1);
        assert_eq!(stream.end(), []);
    }
}

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

fn joined(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut out: Vec<Piece> = Vec::new();
    for piece in pieces {
        match (out.last_mut(), piece) {
            (Some(Piece::Text(before)), Piece::Text(more)) => before.extend(more),
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
    ) {
        let rules = Rules { repair, ..if tools { known() } else { Rules::default() } };
        let bytes = response.as_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut stream = Stream::new(rules.clone());
        let mut pieces: Vec<Piece> =
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
        let rules = Rules { formats: vec![], ..known() };
        prop_assert_eq!(joined(parse_all(response.as_bytes(), &rules)), joined(vec![text(&response)]).into_iter()
            .filter(|piece| *piece != text("")).collect::<Vec<_>>());
        let length: usize = parse_all(response.as_bytes(), &known()).iter().map(|piece| match piece {
            Piece::Text(text) => text.len(),
            Piece::Invalid(invalid) => invalid.raw.len(),
            Piece::Call(_) => 0,
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

/// Texts that make careless parsers slow.
fn hostile(bytes: usize) -> Vec<(&'static str, String)> {
    let fill = |text: &str| text.repeat(bytes / text.len());
    let close = |open: &str, end: &str| fill(open) + end;
    vec![
        ("open tags", fill("<TOOL_CALL>")),
        ("open objects", fill("<TOOL_CALL>{")),
        ("half tags", fill("<TOOL_CAL")),
        ("deep objects", close("<TOOL_CALL>", "") + &fill("{\"a\":") + "</TOOL_CALL>"),
        ("deep lists", format!("<TOOL_CALL>{}", fill("["))),
        ("closers in strings", format!("<TOOL_CALL>{{\"a\":\"{}", fill("</TOOL_CALL>"))),
        ("open strings", fill("<TOOL_CALL>{\"</TOOL_CALL>")),
        ("escaped strings", fill("<TOOL_CALL>{\\\"</TOOL_CALL>")),
        ("strings in turn", fill("<TOOL_CALL>{\",\"</TOOL_CALL>")),
        ("late errors", close("<TOOL_CALL>{\"a\":\"</TOOL_CALL>\",", "\"x")),
        ("raw texts", fill("<TOOL_CALL>{}\na <<E\n</TOOL_CALL>\n")),
        ("raw texts, ended", close("<TOOL_CALL>{}\na <<E\n</TOOL_CALL>\n", "\nE\nx")),
        ("almost labels", format!("<TOOL_CALL>{{}}\na <<E\n{}", fill("E x\nE  \t "))),
        ("elements", fill("<tool name=\"f\"><arg name=\"a\">")),
        ("elements in data", close("<tool name=\"f\"><arg name=\"a\"><![CDATA[</tool>", "]]></arg>x")),
        (
            "arguments of elements",
            close("<tool name=\"f\">", "")
                + &(0..bytes / 30).map(|n| format!("<arg name=\"a{n}\">x</arg>\n")).collect::<String>()
                + "</tool>",
        ),
        ("functions", fill("f(a=\n")),
        ("functions, single quotes", fill("f(a='\\'x\n")),
        ("functions, quotes of all kinds", fill("f(a='''\nf(a=\"\"\"\nf(a='\\\nf(a=\"\\\n")),
        ("functions in lists", fill("f(a=[\n")),
        ("deep function", format!("f(a={}", fill("["))),
        ("tools of YAML", fill("TOOL: f\nARGS:\n")),
        (
            "deep YAML",
            "TOOL: f\nARGS:\n".to_owned()
                + &(1..2000).map(|n| " ".repeat(n.min(bytes / 2000)) + "a:\n").collect::<String>(),
        ),
        ("blank YAML", format!("TOOL: f\nARGS:\n{}", fill("   \n"))),
        ("fences", fill("```\n")),
        ("a long fence", fill("`")),
        ("space", fill(" ")),
        ("lines", fill("\n")),
        ("letters", fill("a")),
        ("angles", fill("<")),
        (
            "unknown arguments",
            format!(
                "<TOOL_CALL>{{\"tool\":\"f\",\"args\":{{{}\"z\":1}}}}</TOOL_CALL>",
                (0..bytes / 12).map(|n| format!("\"a{n}\":1,")).collect::<String>()
            ),
        ),
        (
            "a long name",
            format!("<TOOL_CALL>{{\"tool\":\"f\",\"args\":{{\"{}\":1}}}}</TOOL_CALL>", fill("p")),
        ),
    ]
}

fn hostile_rules() -> Rules {
    let tool = json!({"name": "f", "parameters": {"a": {"type": "string"}, "path": {"type": "string"}}});
    let tool: Tool = serde_json::from_value(tool).unwrap();
    Rules { repair: true, ..Rules::with_tools(ToolSet::from_iter([tool])) }
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

/// Unoptimised and on a busy machine this takes well under a second; anything quadratic takes minutes.
#[test]
fn hostile_text_takes_linear_time_in_whole_and_in_small_pieces() {
    const MOST: Duration = Duration::from_secs(10);
    for (name, response) in hostile(100_000) {
        for rules in [Rules::default(), hostile_rules()] {
            let whole = time(|| drop(parse_all(response.as_bytes(), &rules)));
            assert!(whole < MOST, "{name} took {whole:?}");
            let pieces = time(|| {
                let mut stream = Stream::new(rules.clone());
                response.as_bytes().chunks(3).for_each(|chunk| drop(stream.feed(chunk)));
                stream.end();
            });
            assert!(pieces < MOST, "{name} in pieces took {pieces:?}");
        }
    }
}

/// A dirty scheduler of the VM has 320 KiB.
#[test]
fn hostile_text_fits_a_small_stack() {
    let work = || {
        for (_, response) in hostile(200_000) {
            drop(parse_all(response.as_bytes(), &hostile_rules()));
        }
    };
    // Without optimisation frames are several times as large.
    let stack = if cfg!(debug_assertions) { 2 << 20 } else { 256 << 10 };
    std::thread::Builder::new().stack_size(stack).spawn(work).unwrap().join().unwrap();
}
