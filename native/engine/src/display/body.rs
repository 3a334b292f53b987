//! The body of a displayed result.

use super::clean;
use serde_json::{Map, Value};

/// Keys whose text is the body, in order of preference.
const TEXTS: [&str; 6] = ["diff", "content", "text", "summary", "contents", "output"];
/// Keys whose items are the body, one per line.
const LISTS: [&str; 9] =
    ["matches", "files", "entries", "diagnostics", "todos", "results", "skills", "locations", "symbols"];

/// The body of a result; `None` if the summary says everything.
pub(super) fn of(result: &Value) -> Option<String> {
    match result {
        Value::String(text) if text.lines().count() > 1 => Some(clean(text)),
        Value::Array(items) => list(items),
        Value::Object(map) => of_output(result).or_else(|| of_map(map)),
        _ => None,
    }
}

/// A command's output, followed by its error output.
pub(super) fn of_output(result: &Value) -> Option<String> {
    let stream = |key| result.get(key).and_then(Value::as_str);
    let (stdout, stderr) = (stream("stdout"), stream("stderr").unwrap_or_default());
    let mut body = planted(result);
    body += &clean(stdout?);
    if !stderr.is_empty() {
        body += "stderr:\n";
        body += &clean(stderr);
    }
    (!body.is_empty()).then_some(body)
}

/// Files that a command planted for git, shown before its output.
fn planted(result: &Value) -> String {
    let items = result.get("planted").and_then(Value::as_array).into_iter().flatten();
    let part = |item: &Value, key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let line = |item: &Value| {
        let [path, setting, outcome] = ["path", "setting", "outcome"].map(|key| part(item, key));
        clean(&format!("planted for git: {path}: {setting}: {outcome}"))
    };
    items.map(line).collect()
}

fn of_map(result: &Map<String, Value>) -> Option<String> {
    if let Some(counts) = result.get("counts").and_then(Value::as_object).filter(|counts| !counts.is_empty())
    {
        return Some(counts.iter().map(|(name, count)| clean(&format!("{name}: {count}"))).collect());
    }
    let text = TEXTS.iter().find_map(|key| result.get(*key)?.as_str().filter(|text| !text.is_empty()));
    let items =
        || LISTS.iter().find_map(|key| result.get(*key)?.as_array().filter(|items| !items.is_empty()));
    match (text, items()) {
        (Some(text), _) => Some(clean(text)),
        (None, Some(items)) => list(items),
        (None, None) => result.iter().any(tells_more).then(|| pretty(result)),
    }
}

/// Whether a key adds information. If nothing was found, the summary says so, and the coverage is left out.
fn tells_more((key, value): (&String, &Value)) -> bool {
    value.is_object() && key != "coverage"
}

fn list(items: &[Value]) -> Option<String> {
    let lines: String = items.iter().map(|item| clean(&line(item))).collect();
    (!lines.is_empty()).then_some(lines)
}

fn line(item: &Value) -> String {
    match item {
        Value::String(text) => text.clone(),
        Value::Object(map) => placed(map).or_else(|| named(map)).unwrap_or_else(|| item.to_string()),
        other => other.to_string(),
    }
}

/// An item with a position in a file: `file:line: text`.
fn placed(item: &Map<String, Value>) -> Option<String> {
    let file = item.get("file").or_else(|| item.get("path"))?.as_str()?;
    let number = item.get("line_number").or_else(|| item.get("line"))?.as_u64()?;
    let text =
        ["content", "text", "message"].iter().find_map(|key| item.get(*key)?.as_str()).unwrap_or_default();
    Some(format!("{file}:{number}: {text}"))
}

/// An item with a name and a description.
fn named(item: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| item.get(key).and_then(Value::as_str);
    let name = ["path", "name", "title", "content", "url"].iter().find_map(|key| text(key))?;
    let name = if text("type") == Some("directory") { format!("{name}/") } else { name.to_owned() };
    let note = ["status", "operation", "description", "url"].iter().find_map(|key| text(key));
    Some(match note {
        Some(note) if note != name => format!("{name}  {note}"),
        _ => name,
    })
}

fn pretty(result: &Map<String, Value>) -> String {
    let json = serde_json::to_string_pretty(result).unwrap_or_default();
    clean(&json)
}
