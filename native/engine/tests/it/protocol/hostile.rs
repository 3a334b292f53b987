//! Texts that are made to be slow.

use super::*;
use std::time::{Duration, Instant};

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
        ("quotes", fill("> ")),
        ("items", fill("- ")),
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

fn hostile_rules() -> ProtocolRules {
    let tool = json!({"name": "f", "parameters": {"a": {"type": "string"}, "path": {"type": "string"}}});
    let tool: ToolSpec = serde_json::from_value(tool).unwrap();
    ProtocolRules { repair: true, ..ProtocolRules::with_tools(ToolSet::from_iter([tool])) }
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
        for rules in
            [ProtocolRules::default(), hostile_rules(), ProtocolRules { fenced: true, ..hostile_rules() }]
        {
            let whole = time(|| drop(parse_all(response.as_bytes(), &rules)));
            assert!(whole < MOST, "{name} took {whole:?}");
            let pieces = time(|| {
                let mut stream = CallStream::new(rules.clone());
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
