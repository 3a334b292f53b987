//! Output text of limited length, and the answer when there is no repository.

use beamai_port_tools::git::GitText;

/// Text of limited length, and whether it was cut.
#[derive(Debug)]
pub(crate) struct LimitedText {
    text: String,
    limit: usize,
    truncated: bool,
    notes: Vec<String>,
}

impl LimitedText {
    /// An empty text for up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { text: String::new(), limit, truncated: false, notes: Vec::new() }
    }

    /// Appends a line, or marks the text as full if it does not fit.
    pub(crate) fn line(&mut self, line: &str) {
        if self.truncated || self.text.len() + line.len() + 1 > self.limit {
            self.truncated = true;
            return;
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Whether the limit was reached.
    pub(crate) fn is_full(&self) -> bool {
        self.truncated
    }

    /// Adds a note about the text; duplicates are ignored.
    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Converts the text to an answer.
    pub(crate) fn answer(mut self) -> GitText {
        if self.truncated {
            self.text.push_str("[output truncated]\n");
        }
        GitText { content: self.text, available: true, truncated: self.truncated, notes: self.notes }
    }
}

/// The answer when there is no usable repository.
pub(crate) fn unavailable(why: &str) -> GitText {
    GitText { content: hint(why), ..GitText::default() }
}

/// Explains why there is no usable repository, and what to do instead.
pub(crate) fn hint(why: &str) -> String {
    let program = match crate::availability::program() {
        true => "Use the shell tool (shell_exec, bash) and the git program there if it is needed",
        false => "The git program is not installed either, so the shell tool (shell_exec, bash) has no git",
    };
    format!("There is no git repository that this tool can use: {why}. {program}.")
}
