//! Values without a renderer: results of custom tools, and objects for the text protocol.

use super::ModelCall;
use super::page::{EMPTY, cut};
use serde_json::{Map, Value};
use std::fmt::Write;

/// Minimum length of an integer list that counts as an Erlang string because most elements are letters.
const CHARACTERS: usize = 8;
/// Minimum length of an integer list inside a result that counts as an Erlang string because it ends in a line feed.
const LINE: usize = 4;
/// Keys of no use to a model: no tool of the dialects that get objects takes their values.
const SILENT: [&str; 6] = ["hash", "encoding", "line_ending", "size", "bytes_written", "success"];
/// Key for notes on what was cut from an object.
const CUT: &str = "cut";

/// The result of a custom tool as text: text unchanged, also that of an object whose only key is `text` (as tools of
/// MCP servers return it); anything else as JSON; cut at `limit` characters.
///
/// # Errors
/// For an Erlang string (a list of integers), also inside maps and lists: where it is, and what to return instead.
pub fn own(result: &Value, limit: usize) -> Result<String, String> {
    if let Some(path) = charlist_within(result) {
        return Err(refusal(&path));
    }
    let text = match result {
        Value::String(text) => text.clone(),
        Value::Array(items) if is_charlist(items) => return Err(refusal(&[])),
        Value::Object(map) if map.len() == 1 && map.get("text").is_some_and(Value::is_string) => {
            map["text"].as_str().unwrap_or_default().to_owned()
        }
        other => other.to_string(),
    };
    Ok(if text.is_empty() { EMPTY.to_owned() } else { shortened(text, limit) })
}

/// An Erlang string arrives as a list of integers, so this is a heuristic: a list that ends in a line feed, as output
/// of commands does, or has many letters counts as a string.
fn is_charlist(items: &[Value]) -> bool {
    let Some(text) = printable(items) else { return false };
    let words = text.chars().filter(|char| char.is_alphabetic() || *char == ' ').count();
    let has_words = items.len() >= CHARACTERS && words * 4 >= items.len() * 3;
    has_words || items.len() > 1 && text.ends_with('\n')
}

/// The same for a list inside a result. There, lists of scores, ages or years are more likely than strings, and refusing one
/// fails the call: at least half must be lower-case letters, with a separator of words or paths among them.
fn is_nested_charlist(items: &[Value]) -> bool {
    let Some(text) = printable(items) else { return false };
    let letters = text.chars().filter(|char| char.is_lowercase()).count();
    let is_long = items.len() >= if text.ends_with('\n') { LINE } else { CHARACTERS };
    is_long && letters * 2 >= items.len() && text.contains([' ', '\n', '/', '.', '-', '_', ':', ','])
}

fn printable(items: &[Value]) -> Option<String> {
    let character = |item: &Value| char::from_u32(u32::try_from(item.as_u64()?).ok()?);
    let text = items.iter().map(character).collect::<Option<String>>()?;
    text.chars().all(|char| !char.is_control() || "\n\t\r\u{1b}".contains(char)).then_some(text)
}

/// The keys that lead to the first Erlang string inside a result.
fn charlist_within(value: &Value) -> Option<Vec<String>> {
    let within = |key: String, value: &Value| match value {
        Value::Array(items) if is_nested_charlist(items) => Some(vec![key]),
        _ => {
            let mut path = charlist_within(value)?;
            path.insert(0, key);
            Some(path)
        }
    };
    match value {
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| within(index.to_string(), item))
        }
        Value::Object(map) => map.iter().find_map(|(key, value)| within(key.clone(), value)),
        _ => None,
    }
}

fn refusal(path: &[String]) -> String {
    let place = if path.is_empty() { String::new() } else { format!(" in \"{}\"", path.join(".")) };
    format!(
        "the tool returned an Erlang string (a charlist){place}, which is a list of integers and neither text nor JSON: \
         return a binary, as unicode:characters_to_binary and List.to_string make it"
    )
}

fn shortened(text: String, limit: usize) -> String {
    let size = text.chars().count();
    if size <= limit {
        return text;
    }
    let note = format!("\n[cut: the result has {size} characters and {limit} are given; ask for less]");
    let kept = limit.saturating_sub(note.chars().count());
    let at = text.char_indices().nth(kept).map_or(text.len(), |(at, _)| at);
    format!("{}{note}", &text[..at])
}

/// A result as an object of at most `limit` characters of JSON, for `TOOL_RESULT` of the text protocol: without keys of
/// no use to a model, and with the longest text or list cut if it is too large. What is cut, and the arguments of the call
/// that continues, are under the key `cut`.
pub fn object(result: &Value, call: &ModelCall<'_>, limit: usize) -> Value {
    let mut value = without_noise(result);
    note_rest(&mut value, call);
    let mut size = size_of(&value);
    while size > limit {
        let over = size - limit;
        if !shrink(&mut value, call, over + 200) {
            return Value::String(cut(&value.to_string(), limit / 8).into_owned());
        }
        size = size_of(&value);
    }
    value
}

/// Notes which elements of a list are given, if more follow that the tool did not return.
fn note_rest(value: &mut Value, call: &ModelCall<'_>) {
    let Value::Object(map) = value else { return };
    let is_truncated = map.get("truncated") == Some(&Value::Bool(true));
    let listed = LISTS.iter().find_map(|(key, total)| Some((*key, map.get(*key)?.as_array()?.len(), *total)));
    if let Some((key, count, _)) = listed.filter(|_| is_truncated) {
        let said = elements(map, key, count, call);
        note(map, key, said);
    }
}

/// The lists that a result may have a part of, with the keys of their whole length.
const LISTS: [(&str, &str); 2] = [("matches", "total_matches"), ("files", "count")];

/// How many elements of a list are given, and the arguments that continue.
fn elements(map: &Map<String, Value>, key: &str, count: usize, call: &ModelCall<'_>) -> String {
    let total = LISTS.iter().find(|(list, _)| *list == key).and_then(|(_, total)| map.get(*total)?.as_u64());
    let of = total.map_or(String::new(), |total| format!(" of {total}"));
    let first = call.skipped();
    let next =
        call.skipping(first + count as u64).map_or(String::new(), |next| format!("; continue with {next}"));
    match first {
        0 => format!("the first {count}{of} elements are given{next}"),
        _ => format!("the {count} elements after the first {first}{of} are given{next}"),
    }
}

/// The number of characters of a value as JSON.
fn size_of(value: &Value) -> usize {
    let mut count = CharCount(0);
    // Writing to it cannot fail.
    _ = write!(count, "{value}");
    count.0
}

/// Counts the characters that are written to it.
struct CharCount(usize);

impl std::fmt::Write for CharCount {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.0 += text.chars().count();
        Ok(())
    }
}

/// The value without null, false and empty members, search counts, and keys that no tool takes.
fn without_noise(value: &Value) -> Value {
    let Value::Object(map) = value else { return value.clone() };
    let is_telling = |(key, value): &(&String, &Value)| match value {
        Value::Null | Value::Bool(false) => false,
        Value::Object(map) if *key == "coverage" => map.get("complete") == Some(&Value::Bool(false)),
        _ => !SILENT.contains(&key.as_str()),
    };
    Value::Object(map.iter().filter(is_telling).map(|(key, value)| (key.clone(), value.clone())).collect())
}

/// Cuts about `over` characters from the object's longest text or list, and notes that in it; false if nothing is left
/// to cut.
fn shrink(value: &mut Value, call: &ModelCall<'_>, over: usize) -> bool {
    let Value::Object(map) = value else { return false };
    let longest = map.iter().max_by_key(|(_, value)| size_of(value)).map(|(key, _)| key.clone());
    let Some(key) = longest else { return false };
    let first = map.get("start_line").and_then(Value::as_u64).unwrap_or(1);
    let lines = map.get("lines").and_then(Value::as_u64).filter(|_| key == "content");
    let column = map.get("start_column").and_then(Value::as_u64).unwrap_or(1);
    let said = match map.get_mut(&key) {
        Some(Value::String(text)) => match lines {
            Some(total) => {
                cut_lines(text, over, first, total).or_else(|| cut_line(text, over, (first, column)))
            }
            None => cut_text(text, over).map(|keep| format!("the first {keep} characters are given")),
        },
        Some(Value::Array(items)) => cut_list(items, over).map(|count| elements(map, &key, count, call)),
        _ => None,
    };
    let Some(said) = said else { return false };
    note(map, &key, said);
    true
}

fn note(map: &mut Map<String, Value>, key: &str, said: String) {
    let notes = map.entry(CUT).or_insert_with(|| Value::Object(Map::new()));
    notes[key] = said.into();
}

/// Cuts the text of a file at the end of a line; `None` if not even the first line fits.
fn cut_lines(text: &mut String, over: usize, first: u64, total: u64) -> Option<String> {
    let mut shorter = text.clone();
    cut_text(&mut shorter, over)?;
    let end = shorter.rfind('\n')? + 1;
    text.truncate(end);
    let last = first + text.lines().count() as u64 - 1;
    Some(format!("lines {first} to {last} of {total} are given; continue with \"offset\":{}", last + 1))
}

/// Cuts the text of a file within its first line.
fn cut_line(text: &mut String, over: usize, (line, column): (u64, u64)) -> Option<String> {
    let length = column - 1 + text.lines().next().unwrap_or_default().chars().count() as u64;
    let end = column - 1 + cut_text(text, over)? as u64;
    Some(format!(
        "characters {column} to {end} of {length} of line {line} are given; continue with \"offset\":{line},\"column\":{}",
        end + 1
    ))
}

/// Returns the number of characters that are kept. JSON may encode a character as six, so this may cut more than needed.
fn cut_text(text: &mut String, over: usize) -> Option<usize> {
    let written = size_of(&Value::String(text.clone())).max(1);
    let size = text.chars().count();
    let keep = (size * written.saturating_sub(over) / written).min(size.saturating_sub(1));
    let (at, _) = text.char_indices().nth(keep)?;
    text.truncate(at);
    Some(keep)
}

/// Returns the number of elements that are kept.
fn cut_list(items: &mut Vec<Value>, over: usize) -> Option<usize> {
    let mut freed = 0;
    while freed <= over {
        freed += size_of(&items.pop()?) + 1;
    }
    Some(items.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_string_of_erlang_is_refused_and_numbers_are_not() {
        let string: Vec<u64> = "hello world\n".bytes().map(u64::from).collect();
        assert!(own(&json!(string), 1_000).unwrap_err().contains("unicode:characters_to_binary"));
        assert!(own(&json!([104, 105, 10]), 1_000).is_err());
        let said = own(&json!({"a": 1, "files": [{"output": string}]}), 1_000).unwrap_err();
        assert!(
            said.contains("an Erlang string (a charlist) in \"files.0.output\"") && !said.contains("os:cmd"),
            "{said}"
        );
        let path: Vec<u64> = "lib/app.ex".bytes().map(u64::from).collect();
        assert!(own(&json!({"path": path}), 1_000).unwrap_err().contains("\"path\""));
        for numbers in [
            json!([1, 2, 3]),
            json!([85, 92, 78, 90, 88, 76, 95, 89]),
            json!([98, 102, 110, 115, 99, 104, 108, 120]),
            json!([2019, 2020, 2021, 2022, 2023, 2024, 2025, 2026]),
            json!([50, 40, 10]),
        ] {
            let result = json!({"counts": numbers});
            assert_eq!(own(&result, 1_000).unwrap(), result.to_string());
        }
        for numbers in [json!([1, 2, 3]), json!([0, 1, 2, 3, 4, 5, 6, 7, 8]), json!([])] {
            assert_eq!(own(&numbers, 1_000).unwrap(), numbers.to_string());
        }
    }

    #[test]
    fn the_size_is_that_of_the_json_text_in_characters() {
        for value in
            [json!({"a": [1, null, "\n\"\u{1}"], "ä€😀": {"b": -1.5}}), json!("é"), json!([]), json!(true)]
        {
            assert_eq!(size_of(&value), value.to_string().chars().count(), "{value}");
        }
    }

    #[test]
    fn text_is_given_as_it_is_and_cut_at_the_limit() {
        assert_eq!(own(&json!("a\n\"b\""), 1_000).unwrap(), "a\n\"b\"");
        assert_eq!(own(&json!({"text": "a\nb"}), 1_000).unwrap(), "a\nb");
        let text = own(&json!({"a": "x".repeat(5_000)}), 1_000).unwrap();
        assert_eq!(text.chars().count(), 1_000);
        assert!(text.ends_with("[cut: the result has 5008 characters and 1000 are given; ask for less]"));
    }
}
