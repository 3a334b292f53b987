//! What the git tools return.

use schemars::JsonSchema;
use serde::Serialize;

/// Text as the git program prints it.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct Answer {
    /// The text; where `available` is false, why there is none and what to do instead.
    pub content: String,
    /// False where the workspace has no git repository that this tool may use.
    pub available: bool,
    /// Whether the text ends early because it would be too long.
    pub truncated: bool,
    /// What the text leaves out, or shows otherwise than the git program would.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Text of a limited length, and whether all of it found room.
#[cfg(feature = "port")]
#[derive(Debug)]
pub(super) struct Page {
    text: String,
    limit: usize,
    truncated: bool,
    notes: Vec<String>,
}

#[cfg(feature = "port")]
impl Page {
    /// An empty page for `limit` bytes.
    pub(super) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, truncated: false, notes: Vec::new() }
    }

    /// Adds a line, or ends the page where there is no room for it.
    pub(super) fn line(&mut self, line: &str) {
        if self.truncated || self.text.len() + line.len() + 1 > self.limit {
            self.truncated = true;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Whether nothing more finds room.
    pub(super) fn is_full(&self) -> bool {
        self.truncated
    }

    /// Says something about the text, once.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// The page as an answer.
    pub(super) fn answer(mut self) -> Answer {
        if self.truncated {
            self.text.push_str("[output truncated]\n");
        }
        Answer { content: self.text, available: true, truncated: self.truncated, notes: self.notes }
    }
}

#[cfg(feature = "port")]
impl Answer {
    /// The answer where there is no repository to use.
    pub(super) fn unavailable(why: &str) -> Self {
        Self { content: hint(why), ..Self::default() }
    }
}

/// Why there is no repository to use, and what to do instead.
#[cfg(feature = "port")]
pub(super) fn hint(why: &str) -> String {
    let program = match super::presence::program() {
        true => "Use the shell tool (shell_exec, bash) and the git program there if it is needed",
        false => "The git program is not installed either, so the shell tool (shell_exec, bash) has no git",
    };
    format!("There is no git repository that this tool can use: {why}. {program}.")
}
