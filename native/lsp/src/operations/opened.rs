//! A file that is open in its server.

use crate::{
    DocumentText, Lease, PositionEncoding, ServerCapabilities, ServerPlan, Unavailable, lease, uri_of,
    wire::Position,
};
use beamai_base::{Reason, Result, ToolError};
use beamai_tool::{CallContext, for_model::quantity};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

/// A file that is open in its server, with current content.
pub(super) struct ServedFile<'a> {
    pub(super) cx: &'a CallContext,
    pub(super) server: Lease,
    /// The server's capabilities.
    pub(super) can: Arc<ServerCapabilities>,
    /// Absolute, links resolved.
    pub(super) path: PathBuf,
    /// As results show it.
    pub(super) shown: String,
    pub(super) text: Arc<DocumentText>,
}

impl<'a> ServedFile<'a> {
    /// Opens the file in its server. `check` inspects the text before that; its result is returned.
    ///
    /// # Errors
    /// The outer one: of the path, of reading, of `check` and of the call's end. The inner one: there is no server.
    pub(super) fn open<T>(
        cx: &'a CallContext,
        path: &str,
        check: impl FnOnce(&str, &DocumentText) -> Result<T>,
    ) -> Result<Result<(Self, T), Unavailable>> {
        let file = cx.workspace.parse_path(path)?.resolve_links()?;
        let shown = file.display();
        let (text, _) = DocumentText::read(&file)?;
        let checked = check(&shown, &text)?;
        let (plan, id) = match ServerPlan::of(cx, file.relative(), &text) {
            Ok(plan) => plan,
            Err(unavailable) => return Ok(Err(unavailable)),
        };
        let server = lease(cx, plan)?;
        let can = match server.ready(cx)? {
            Ok(can) => can,
            Err(unavailable) => return Ok(Err(unavailable)),
        };
        let text = server.open(cx, &file, &id)?;
        Ok(Ok((Self { cx, server, can, path: file.absolute(), shown, text }, checked)))
    }

    /// The file's identifier in requests.
    pub(super) fn document(&self) -> Value {
        json!({"uri": uri_of(&self.path)})
    }
}

/// A position in a file, counted from zero in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TextPosition {
    line: usize,
    character: usize,
}

impl TextPosition {
    /// Converts a position that is counted from 1.
    ///
    /// # Errors
    /// `invalid_argument` if the file does not have it.
    pub(super) fn of(file: &str, text: &DocumentText, (line, character): (u64, u64)) -> Result<Self> {
        let refuse = |message: String| Err(ToolError::new(Reason::InvalidArgument, message).file(file));
        let index = |number: u64| usize::try_from(number - 1).unwrap_or(usize::MAX);
        let Some(content) = text.line(index(line)) else {
            // A final line break ends the last line and begins no other one, as in the tools that read files.
            let count = text.lines();
            let is_ended = text.line(count - 1).is_some_and(str::is_empty);
            let lines = count - usize::from(is_ended);
            let lines = quantity(lines as u64, "line", "lines");
            return refuse(format!("line {line} is beyond the end of {file}, which has {lines}"));
        };
        let length = content.chars().count();
        if index(character) > length {
            let start: String = content.trim_start().chars().take(80).collect();
            let length = quantity(length as u64, "character", "characters");
            return refuse(format!(
                "character {character} is beyond the end of line {line} of {file}, which has {length} and begins with \
                 {start:?}"
            ));
        }
        Ok(Self { line: index(line), character: index(character) })
    }

    /// The position in the server's units.
    pub(super) fn position(self, text: &DocumentText, encoding: PositionEncoding) -> Position {
        let line = text.line(self.line).unwrap_or_default();
        let units = encoding.units(line, self.character);
        Position { line: self.line as u64, character: units as u64 }
    }

    /// The word at the position; empty if there is none.
    pub(super) fn word(self, text: &DocumentText) -> String {
        let line = text.line(self.line).unwrap_or_default();
        let is_word = |char: &char| char.is_alphanumeric() || *char == '_';
        let chars: Vec<char> = line.chars().collect();
        let at = self.character.min(chars.len());
        let before = chars[..at].iter().rev().take_while(|char| is_word(char)).count();
        let after = chars[at..].iter().take_while(|char| is_word(char)).count();
        chars[at - before..at + after].iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> DocumentText {
        DocumentText::new("def f(x):\n    😀 = naïve_1(x)\n".to_owned())
    }

    #[test]
    fn a_point_that_the_file_does_not_have_is_refused() {
        let error = TextPosition::of("a.py", &text(), (9, 1)).unwrap_err();
        assert!(error.message.contains("line 9 is beyond the end of a.py, which has 2 lines"), "{error}");
        let error = TextPosition::of("a.py", &text(), (1, 11)).unwrap_err();
        assert!(error.message.contains("has 9 characters and begins with \"def f(x):\""), "{error}");
        TextPosition::of("a.py", &text(), (1, 10)).unwrap();
        TextPosition::of("a.py", &text(), (3, 1)).unwrap();
    }

    #[test]
    fn a_point_counts_as_the_server_does() {
        let point = TextPosition::of("a.py", &text(), (2, 12)).unwrap();
        let characters = [PositionEncoding::Utf8, PositionEncoding::Utf16, PositionEncoding::Utf32]
            .map(|one| point.position(&text(), one).character);
        assert_eq!(characters, [15, 12, 11]);
    }

    #[test]
    fn the_word_at_a_point_is_found_from_everywhere_in_it() {
        for character in [9, 12, 16] {
            assert_eq!(TextPosition::of("a.py", &text(), (2, character)).unwrap().word(&text()), "naïve_1");
        }
        assert_eq!(TextPosition::of("a.py", &text(), (2, 7)).unwrap().word(&text()), "");
    }
}
