//! Measures the text protocol's parser, in whole and in tokens: a row for each kind of text, with the bound that it
//! has to keep. Started by `make bench`.

use beamai_text_protocol::{CallStream, ProtocolRules, ResponsePiece, ToolSpec, parse_all};
use serde_json::json;
use std::time::Instant;

const BYTES: usize = 16 << 20;
const ROUNDS: usize = 9;
const LEAST_MB_PER_S: f64 = 200.0;

fn main() {
    let code = "    let value = compute(left, right)?; // \"quoted\" <b>, a < b && c\n";
    let body = code.repeat(BYTES / code.len());
    let write = |rest: String| {
        format!("I write it.\n<TOOL_CALL>\n{{\"tool\": \"write\", \"args\": {{\"path\": \"a\"{rest}")
    };
    let json_body = json!(body).to_string();
    let xml = body.replace('&', "&amp;").replace('<', "&lt;");
    let small = "Next, I read it.\n<TOOL_CALL>\n{\"tool\": \"write\", \"args\": {\"path\": \"a\", \"content\": \"b\"}}\n</TOOL_CALL>\n";
    let rows = [
        ("plain text", "Some words of an answer, line by line, as models write it.\n".repeat(BYTES / 59)),
        ("one line", "word ".repeat(BYTES / 5)),
        ("code in a fence", format!("```rust\n{body}```\n")),
        ("a call with JSON", write(format!(", \"content\": {json_body}}}}}\n</TOOL_CALL>\n"))),
        ("a call with raw text", write(format!("}}}}\ncontent <<END\n{body}END\n</TOOL_CALL>\n"))),
        (
            "a YAML call",
            format!(
                "TOOL: write\nARGS:\n  path: a\n  content: |\n{}",
                body.replace("    let", "        let")
            ),
        ),
        ("a function call", format!("write(path=\"a\", content='''{body}''')\n")),
        (
            "an XML call",
            format!(
                "<tool name=\"write\"><arg name=\"path\">a</arg><arg name=\"content\">{xml}</arg></tool>"
            ),
        ),
        (
            "an XML call with CDATA",
            format!(
                "<tool name=\"write\"><arg name=\"path\">a</arg><arg name=\"content\"><![CDATA[{body}]]></arg></tool>"
            ),
        ),
    ];
    for (name, text) in &rows {
        let calls = usize::from(name.contains("call"));
        row(&format!("parse {name} of 16 MB"), text, calls, |text| parse_all(text, &rules()), true);
    }
    let many = small.repeat(BYTES / small.len());
    row("parse many small calls", &many, BYTES / small.len(), |text| parse_all(text, &rules()), false);
    row("stream plain text in tokens of 4 bytes", &rows[0].1, 0, in_tokens, false);
    row("stream a call with JSON in tokens of 4 bytes", &rows[3].1, 1, in_tokens, false);
}

fn rules() -> ProtocolRules {
    let parameters = json!({"path": {"type": "string", "required": true}, "content": {"type": "string"}});
    let tool: ToolSpec =
        serde_json::from_value(json!({"name": "write", "parameters": parameters})).expect("a tool");
    ProtocolRules::with_tools([tool].into_iter().collect())
}

fn in_tokens(text: &[u8]) -> Vec<ResponsePiece> {
    let mut stream = CallStream::new(rules());
    let mut calls: Vec<ResponsePiece> = Vec::new();
    let mut keep = |pieces: Vec<ResponsePiece>| {
        calls.extend(pieces.into_iter().filter(|piece| !matches!(piece, ResponsePiece::Text(_))))
    };
    text.chunks(4).for_each(|token| keep(stream.feed(token)));
    keep(stream.end());
    calls
}

/// Prints the best speed, since whatever else the machine does can only slow it down; `bound` says whether it has one
/// to keep.
fn row(name: &str, text: &str, calls: usize, parse: impl Fn(&[u8]) -> Vec<ResponsePiece>, bound: bool) {
    let speed = (0..ROUNDS).map(|_| speed(text, calls, &parse)).fold(0.0, f64::max);
    let (least, mark) = match bound {
        true => (format!("{LEAST_MB_PER_S:.0} MB/s"), if speed < LEAST_MB_PER_S { " under" } else { "" }),
        false => (String::new(), ""),
    };
    println!("{name:<44} {speed:>7.0} MB/s {least:>28}{mark}");
}

fn speed(text: &str, calls: usize, parse: impl Fn(&[u8]) -> Vec<ResponsePiece>) -> f64 {
    let start = Instant::now();
    let pieces = parse(text.as_bytes());
    let seconds = start.elapsed().as_secs_f64();
    let found = pieces.iter().filter(|piece| matches!(piece, ResponsePiece::Call(_))).count();
    assert_eq!(found, calls, "the text is read as it was meant");
    text.len() as f64 / 1e6 / seconds
}
