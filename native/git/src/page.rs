//! Output text of limited length, and the answer when there is no repository.

use beamai_port_tools::git::GitText;

/// Text of limited length, and whether it was cut.
#[derive(Debug)]
pub(crate) struct LimitedText {
    text: String,
    /// Lines that are still to be left out at the beginning.
    skip: u64,
    limit: usize,
    truncated: bool,
    notes: Vec<String>,
}

impl LimitedText {
    /// An empty text for up to `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self { text: String::new(), skip: 0, limit, truncated: false, notes: Vec::new() }
    }

    /// The same text without its first lines.
    pub(crate) fn without_first(self, lines: u64) -> Self {
        Self { skip: lines, ..self }
    }

    /// Appends a line, or marks the text as full if it does not fit. The first line always fits: of one that is too long,
    /// the beginning is appended, and its length.
    pub(crate) fn line(&mut self, line: &str) {
        if self.skip > 0 {
            self.skip -= 1;
            return;
        }
        let fits = self.text.len() + line.len() < self.limit;
        if self.truncated || !fits && !self.text.is_empty() {
            self.truncated = true;
            return;
        }
        self.text.push_str(&line[..line.floor_char_boundary(if fits { line.len() } else { self.limit / 2 })]);
        if !fits {
            self.text.push_str(&format!("… [cut: the line has {} characters]", line.chars().count()));
        }
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
