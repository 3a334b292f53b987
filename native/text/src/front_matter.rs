//! Front matter of a Markdown file: YAML between two lines of three dashes.

use serde::de::DeserializeOwned;
use serde_saphyr::UserMessageFormatter;

/// Parses the front matter of a text, and returns it with the body; `None` if there is none.
///
/// # Errors
/// Front matter without an end or with invalid content; the message names the line of the text.
pub fn front_matter<T: DeserializeOwned>(text: &str) -> Result<Option<(T, &str)>, String> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| is_edge(line)) else { return Ok(None) };
    let mut end = first.len();
    for line in lines {
        if is_edge(line) {
            // The leading line break makes the parser count lines like the file.
            let head = format!("\n{}", &text[first.len()..end]);
            let keys = serde_saphyr::from_str(&head).map_err(|error| wrong(&error))?;
            return Ok(Some((keys, &text[end + line.len()..])));
        }
        end += line.len();
    }
    Err("its front matter has no end: add a line of three dashes".to_owned())
}

fn is_edge(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The message, without the excerpt below it.
fn wrong(error: &serde_saphyr::Error) -> String {
    let rendered = error.render_with_formatter(&UserMessageFormatter);
    let said = rendered.lines().next().unwrap_or_default();
    format!("its front matter is not valid: {}", said.trim_start_matches("error: "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn read(text: &str) -> Result<Option<(Value, &str)>, String> {
        front_matter(text)
    }

    #[test]
    fn the_head_and_what_follows_are_told_apart() {
        for (text, expected) in [
            ("---\na: 1\n---\nbody\n---\n", Some((json!({"a": 1}), "body\n---\n"))),
            (
                "\u{feff}--- \r\na: x # why\r\nb: [\"p, q\", r]\r\n---\t\r\nbody\r\n",
                Some((json!({"a": "x", "b": ["p, q", "r"]}), "body\r\n")),
            ),
            (
                "---\na: \"say \\\"hi\\\"\"\nb: 'it''s'\nc: |\n  one\n    two\n---",
                Some((json!({"a": "say \"hi\"", "b": "it's", "c": "one\n  two\n"}), "")),
            ),
            ("---\n---\nbody", Some((Value::Null, "body"))),
            ("no head\n---\na: 1\n---\n", None),
            ("----\na: 1\n---\n", None),
            ("", None),
        ] {
            assert_eq!(read(text), Ok(expected), "{text:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (text, said) in [
            ("---\na: 1\n", "no end"),
            ("---\na: 1\nb: [x\n---\n", "not valid"),
            ("---\na: 1\nnonsense\n---\n", "line 3"),
            ("---\na: 1\na: 2\n---\n", "line 3"),
            ("---\na: b: c\n---\n", "line 2"),
        ] {
            let error = read(text).unwrap_err();
            assert!(
                error.contains(said) && !error.contains('\n') && !error.contains("Options"),
                "{text:?}: {error}"
            );
        }
    }
}
