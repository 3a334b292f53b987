//! Results for people: a one-line summary, and a body.
//!
//! Both are derived from the result alone, by the meaning of its keys, so they work for the tools of every dialect and
//! for custom tools. Control characters are made visible: the content of a file or the output of a program must not
//! control the terminal.

mod body;
mod colour;
mod summary;

use beamai_text::visible;
use serde::Serialize;
use serde_json::{Map, Value};

/// Maximum characters of a line; longer lines are cut and marked.
const MOST_IN_LINE: usize = 400;

/// A result for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Display {
    /// One line without colour: the tool, its subject, and the outcome.
    pub summary: String,
    /// The details, such as a diff or a program's output; every line ends in a line feed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

impl Display {
    /// A successful result.
    pub fn of_result(tool: &str, args: &Map<String, Value>, result: &Value) -> Self {
        Self { summary: summary::of(tool, args, result), body: body::of(result) }
    }

    /// An error in the form of [`ToolError::to_value`](beamai_base::ToolError::to_value). The body is the output of a
    /// command that timed out.
    pub fn of_error(tool: &str, args: &Map<String, Value>, error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str).unwrap_or_default();
        let head = summary::head(tool, args);
        let summary = clean_line(&format!("{head}: {}: {}", text("error_type"), text("message")));
        Self { summary, body: error.get("details").and_then(body::of_output) }
    }

    /// The whole text; coloured if the terminal supports it.
    pub fn text(&self, with_colour: bool) -> String {
        let body = self.body.as_deref().unwrap_or_default();
        match with_colour {
            true => format!("{}\n{}", colour::bold(&self.summary), colour::diff(body)),
            false => format!("{}\n{body}", self.summary),
        }
    }
}

/// Makes control characters visible and cuts long lines.
fn clean(text: &str) -> String {
    text.lines().map(|line| clean_line(line) + "\n").collect()
}

fn clean_line(line: &str) -> String {
    let mut clean: String = line.chars().take(MOST_IN_LINE).map(visible).collect();
    if line.chars().nth(MOST_IN_LINE).is_some() {
        clean.push('…');
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_base::{Reason, ToolError};
    use serde_json::json;

    fn shown(tool: &str, args: Value, result: Value) -> Display {
        Display::of_result(tool, args.as_object().unwrap(), &result)
    }

    #[test]
    fn an_edit_is_its_counts_and_its_diff() {
        let result = json!({"replacements": 1, "additions": 2, "deletions": 1, "diff": "@@\n-a\n+b\n+c\n", "hash": "0"});
        let display = shown("file_edit", json!({"path": "a.rs", "old_string": "a"}), result);
        assert_eq!(display.summary, "file_edit a.rs: 1 replacement, +2 -1");
        assert_eq!(display.body.unwrap(), "@@\n-a\n+b\n+c\n");
    }

    #[test]
    fn a_command_is_its_exit_code_and_its_output() {
        let result = json!({"exit_code": 2, "stdout": "out\n", "stderr": "bad\u{1b}[2Jend", "duration_ms": 12, "truncated": true});
        let display = shown("shell_exec", json!({"command": "ls\nx"}), result);
        assert_eq!(display.summary, "shell_exec ls…: exit code 2, 12 ms, truncated");
        assert_eq!(display.body.unwrap(), "out\nstderr:\nbad␛[2Jend\n");
    }

    #[test]
    fn matches_are_shown_by_place() {
        let result = json!({"matches": [{"file": "a", "line_number": 3, "content": "x"}], "total_matches": 1, "truncated": false});
        let display = shown("file_grep", json!({"pattern": "x"}), result);
        assert_eq!(display.summary, "file_grep x: 1 match");
        assert_eq!(display.body.unwrap(), "a:3: x\n");
    }

    #[test]
    fn names_are_listed_one_by_line() {
        let display = shown("file_glob", json!({"pattern": "*"}), json!({"files": ["a", "b"], "count": 2}));
        assert_eq!(
            (display.summary.as_str(), display.body.as_deref()),
            ("file_glob *: 2 found", Some("a\nb\n"))
        );
        let entries = json!({"entries": [{"name": "d", "path": "d", "type": "directory"}], "count": 1});
        assert_eq!(shown("file_list", json!({}), entries).body.unwrap(), "d/\n");
    }

    #[test]
    fn a_number_is_said_once_and_counts_are_shown() {
        let result =
            json!({"matches": [], "files": ["a"], "counts": {"a": 3}, "total_matches": 3, "count": 0});
        let display = shown("grep", json!({"pattern": "x"}), result);
        assert_eq!(
            (display.summary.as_str(), display.body.as_deref()),
            ("grep x: 3 matches", Some("a: 3\n"))
        );
        let todos = json!({"todos": [{"content": "a", "status": "pending"}], "count": 1});
        assert_eq!(shown("todowrite", json!({}), todos).summary, "todowrite: 1 todo");
        let skills = json!({"skills": [{"name": "a", "description": "b"}], "broken": []});
        assert_eq!(shown("skill", json!({}), skills).summary, "skill: 1 skill");
    }

    #[test]
    fn where_nothing_was_found_the_summary_says_all() {
        let result =
            json!({"matches": [], "total_matches": 0, "coverage": {"complete": true, "searched": 0}});
        let display = shown("file_grep", json!({"pattern": "x"}), result);
        assert_eq!((display.summary.as_str(), display.body), ("file_grep x: 0 matches", None));
    }

    #[test]
    fn what_is_not_known_is_shown_as_it_is() {
        assert_eq!(shown("own", json!({}), json!("done")).summary, "own: done");
        assert_eq!(shown("own", json!({}), json!("two\nlines")).body.unwrap(), "two\nlines\n");
        assert_eq!(
            shown("own", json!({}), json!({"a": {"b": 1}})).body.unwrap(),
            "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n"
        );
    }

    #[test]
    fn an_error_says_its_kind_and_keeps_the_output() {
        let error = ToolError::new(Reason::Timeout, "the command ran out of time").with("stdout", "half\n");
        let args = json!({"command": "sleep 9"});
        let display = Display::of_error("shell_exec", args.as_object().unwrap(), &error.to_value());
        assert_eq!(display.summary, "shell_exec sleep 9: timeout: the command ran out of time");
        assert_eq!(display.body.unwrap(), "half\n");
    }

    #[test]
    fn colour_is_for_diffs_and_only_on_demand() {
        let display = Display { summary: "edit".into(), body: Some("@@ -1 +1 @@\n-a\n+b\n".into()) };
        assert_eq!(display.text(false), "edit\n@@ -1 +1 @@\n-a\n+b\n");
        assert!(display.text(true).contains("\u{1b}[31m-a\u{1b}[0m\n\u{1b}[32m+b\u{1b}[0m\n"));
    }

    #[test]
    fn direction_marks_and_long_lines_are_tamed() {
        assert_eq!(clean_line("a\u{202e}b"), "a\u{fffd}b");
        assert_eq!(clean_line(&"x".repeat(500)).chars().count(), MOST_IN_LINE + 1);
    }
}
