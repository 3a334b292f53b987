//! The summary line of a displayed result.

use super::clean_line;
use serde_json::{Map, Value};

/// Arguments that name the subject of a call, in order of preference.
const SUBJECTS: [&str; 17] = [
    "command",
    "file_path",
    "path",
    "pattern",
    "url",
    "query",
    "name",
    "agent",
    "subagent_type",
    "filePath",
    "file",
    "directory",
    "operation",
    "action",
    "message",
    "id",
    "objective",
];
/// Maximum characters of the subject.
const MOST_OF_SUBJECT: usize = 80;

/// The tool and its subject.
pub(super) fn head(tool: &str, args: &Map<String, Value>) -> String {
    match SUBJECTS.iter().find_map(|key| args.get(*key)?.as_str()) {
        Some(subject) if !subject.is_empty() => format!("{tool} {}", short(subject)),
        _ => tool.to_owned(),
    }
}

/// The first line of a text, cut and marked if it is long.
fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let cut: String = line.chars().take(MOST_OF_SUBJECT).collect();
    if cut.len() < text.trim_end().len() { cut + "…" } else { cut }
}

/// The whole summary.
pub(super) fn of(tool: &str, args: &Map<String, Value>, result: &Value) -> String {
    let facts = match result {
        Value::Object(result) => facts(result),
        Value::String(text) if text.lines().count() == 1 => vec![short(text)],
        Value::Number(_) | Value::Bool(_) => vec![result.to_string()],
        Value::Array(items) => vec![counted(items.len() as u64, "item", "items")],
        Value::Null | Value::String(_) => vec![],
    };
    let facts = if facts.is_empty() { "done".to_owned() } else { facts.join(", ") };
    clean_line(&format!("{}: {facts}", head(tool, args)))
}

fn facts(result: &Map<String, Value>) -> Vec<String> {
    FACTS.iter().filter_map(|fact| fact(result)).collect()
}

type Fact = fn(&Map<String, Value>) -> Option<String>;

/// Facts about a result, in the order in which they are shown.
const FACTS: [Fact; 17] = [
    |r| Some(format!("exit code {}", r.get("exit_code")?.as_i64()?)),
    |r| Some(format!("status {}", r.get("status_code")?.as_u64()?)),
    |r| text(r, "operation"),
    |r| text(r, "outcome"),
    |r| text(r, "status"),
    |r| Some(if r.get("applied")?.as_bool()? { "applied" } else { "not applied" }.to_owned()),
    |r| Some(counted(r.get("replacements")?.as_u64()?, "replacement", "replacements")),
    |r| Some(format!("+{} -{}", r.get("additions")?.as_u64()?, r.get("deletions")?.as_u64()?)),
    lines,
    |r| Some(counted(r.get("total_matches").or_else(|| r.get("match_count"))?.as_u64()?, "match", "matches")),
    found,
    |r| listed(r, "diagnostics", "diagnostic", "diagnostics"),
    |r| listed(r, "todos", "todo", "todos"),
    |r| listed(r, "skills", "skill", "skills"),
    |r| Some(format!("{} bytes", r.get("bytes_written").or_else(|| r.get("size_bytes"))?.as_u64()?)),
    |r| Some(format!("{} ms", r.get("duration_ms")?.as_u64()?)),
    |r| r.get("truncated")?.as_bool()?.then(|| "truncated".to_owned()),
];

fn text(result: &Map<String, Value>, key: &str) -> Option<String> {
    Some(short(result.get(key)?.as_str()?))
}

/// The number of items, if no other fact states it.
fn found(result: &Map<String, Value>) -> Option<String> {
    let is_told = ["total_matches", "match_count", "todos"].iter().any(|key| result.contains_key(*key));
    let count = result.get("count")?.as_u64()?;
    (!is_told).then(|| format!("{count} found"))
}

fn lines(result: &Map<String, Value>) -> Option<String> {
    let (first, last) = (result.get("start_line")?.as_u64()?, result.get("end_line")?.as_u64()?);
    Some(match result.get("total_lines").and_then(Value::as_u64) {
        _ if last < first => "no lines".to_owned(),
        Some(total) => format!("lines {first} to {last} of {total}"),
        None => format!("lines {first} to {last}"),
    })
}

fn listed(result: &Map<String, Value>, key: &str, one: &str, many: &str) -> Option<String> {
    Some(counted(result.get(key)?.as_array()?.len() as u64, one, many))
}

fn counted(count: u64, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
