//! Errors as text for chat models.

use super::{Fields, ModelPage, StreamCut};
use beamai_base::CONFIGURE;
use serde_json::Value;

/// Keys of an error's details with the output of a command until it was stopped.
const STREAMS: [&str; 2] = ["stdout", "stderr"];
/// What ends such an output if it was cut. The line in place of what is left out says that already.
const TRUNCATED: &str = "[output truncated]";
/// Maximum characters of each of them if a file has all of it.
const OF_A_STREAM: usize = 4_000;

/// An error, as [`ToolError::to_value`](beamai_base::ToolError::to_value) returns it, as text of at most `limit`
/// characters: the message, which says what was wrong and what to do next, then the output of a command so far. Details
/// that the message repeats and those for programs are left out.
pub fn of_error(error: &Value, limit: usize) -> String {
    let mut page = ModelPage::new(limit);
    let fields = Fields::of(error);
    let details = fields.and_then(|fields| fields.object("details"));
    let message = fields.and_then(|fields| fields.non_empty("message"));
    let left_out =
        page.prose(message.map_or("the tool failed without a message", |it| for_the_model(it, details)));
    if left_out > 0 {
        page.note(&format!("cut: {left_out} more characters"));
    }
    let Some(details) = details else { return page.finish() };
    let mut is_cut = false;
    let has_file = ["output_file", "output_copy"].iter().any(|key| details.non_empty(key).is_some());
    let most = if has_file { OF_A_STREAM } else { limit };
    for key in STREAMS {
        if let Some(text) = details.non_empty(key) {
            page.line(&format!("[{key} so far]"));
            let room = (page.room() / 2).min(most);
            let text = text.strip_suffix(TRUNCATED).unwrap_or(text);
            is_cut |= page.both_ends(text, room, StreamCut::of(details, key));
        }
    }
    let copy = || details.non_empty("output_copy").filter(|_| is_cut);
    if let Some(file) = details.non_empty("output_file").or_else(copy) {
        page.note(&format!("all of its output: {file}"));
    }
    page.finish()
}

/// The message without its ending for the host.
fn for_the_model<'a>(message: &'a str, details: Option<Fields<'a>>) -> &'a str {
    let configure = details.and_then(|details| details.non_empty(CONFIGURE));
    let own = configure.and_then(|end| message.strip_suffix(end));
    own.map_or(message, |own| own.trim_end_matches([' ', ',', ';', ':', '.']))
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_base::{Reason, ToolError};

    #[test]
    fn an_error_is_its_message_and_what_a_command_printed() {
        let error =
            ToolError::new(Reason::Timeout, "time ran out").with("stdout", "a\nb\n").with("killed", 3);
        assert_eq!(of_error(&error.to_value(), 1_000), "time ran out\n[stdout so far]\na\nb");
    }

    #[test]
    fn of_much_output_that_a_file_has_the_last_lines_are_shown() {
        let output: String = (1..=3_000).map(|number| format!("line {number}\n")).collect();
        let error = |file: &str| {
            let output = format!("{output}[output truncated]");
            let error = ToolError::new(Reason::Timeout, "time ran out").with("stdout", output);
            of_error(&error.with(file, "/tmp/all").to_value(), 30_000)
        };
        for file in ["output_file", "output_copy"] {
            let text = error(file);
            assert!(text.chars().count() < 4_200 && text.matches("left out").count() == 1, "{text}");
            assert!(text.ends_with("line 3000\n[all of its output: /tmp/all]"), "{text}");
        }
        assert!(error("other").chars().count() > 10_000);
    }

    #[test]
    fn how_to_configure_the_host_is_not_for_the_model() {
        let error =
            ToolError::new(Reason::NeedsApproval, "a.txt: nobody can be asked; allow it with --allow Write")
                .with(CONFIGURE, "allow it with --allow Write");
        assert_eq!(of_error(&error.to_value(), 1_000), "a.txt: nobody can be asked");
    }

    #[test]
    fn a_long_error_keeps_the_limit() {
        let error = ToolError::new(Reason::Timeout, "x".repeat(90_000)).with("stderr", "a\n".repeat(90_000));
        let text = of_error(&error.to_value(), 1_000);
        assert!(text.chars().count() <= 1_000 && text.ends_with("[cut: 89251 more characters]"), "{text}");
    }
}
