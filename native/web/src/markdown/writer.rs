//! Writes Markdown. Line breaks, prefixes and delimiters are written only when text follows.

use super::marks::InlineFormat;

/// Maximum nesting of quotes and lists that is shown: prefixes are repeated on every line.
const DEEPEST: usize = 8;

/// Writes Markdown.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    /// Line breaks to write before the next text.
    breaks: usize,
    /// Whether to write a space before the next text.
    space: bool,
    /// Formats that were opened but have no text yet.
    pending: Vec<InlineFormat>,
    /// Prefix of the line of the next text, such as the marker of a heading.
    lead: &'static str,
    /// Marker of the list item that the next text starts.
    item: Option<String>,
    /// Separator between the previous and the next text, if they are on the same line.
    separator: &'static str,
    quotes: usize,
    lists: usize,
    /// Whether line breaks are suppressed, as in links and table cells.
    pub(super) is_inline: bool,
    /// Whether the writer is in a table cell, where `|` must be escaped.
    pub(super) in_cell: bool,
}

impl Writer {
    /// Number of bytes written.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    pub(super) fn into_text(self) -> String {
        self.out
    }

    /// Starts a new block.
    pub(super) fn block(&mut self) {
        self.break_lines(2);
    }

    /// Starts a new line.
    pub(super) fn line(&mut self) {
        self.break_lines(1);
    }

    fn break_lines(&mut self, breaks: usize) {
        match self.is_inline {
            true => self.space = true,
            // The content of a list item starts on the line of its marker.
            false if self.item.is_some() => {}
            false => self.breaks = self.breaks.max(breaks),
        }
    }

    /// Marks a word boundary.
    pub(super) fn space(&mut self) {
        self.space = true;
    }

    /// Removes a word boundary.
    pub(super) fn forget_space(&mut self) {
        self.space = false;
    }

    /// Sets a prefix for the line of the next text; it is dropped if there is no text.
    pub(super) fn lead(&mut self, lead: &'static str) {
        self.lead = lead;
    }

    /// Starts a list item with the next text.
    pub(super) fn item(&mut self, mark: String) {
        self.line();
        self.item = Some(mark);
    }

    pub(super) fn separate(&mut self, separator: &'static str) {
        self.separator = separator;
    }

    pub(super) fn quote(&mut self, deeper: bool) {
        self.quotes = if deeper { self.quotes + 1 } else { self.quotes.saturating_sub(1) };
    }

    pub(super) fn list(&mut self, deeper: bool) {
        self.lists = if deeper { self.lists + 1 } else { self.lists.saturating_sub(1) };
        self.item = None;
    }

    /// Writes text with white space collapsed.
    pub(super) fn text(&mut self, text: &str) {
        if text.starts_with(|c: char| c.is_ascii_whitespace()) {
            self.space = true;
        }
        for (at, word) in text.split_ascii_whitespace().enumerate() {
            self.space |= at > 0;
            self.word(word);
        }
        if text.ends_with(|c: char| c.is_ascii_whitespace()) {
            self.space = true;
        }
    }

    fn word(&mut self, word: &str) {
        self.write_pending();
        match self.in_cell && word.contains('|') {
            true => self.out.push_str(&word.replace('|', "\\|")),
            false => self.out.push_str(word),
        }
    }

    /// Writes text unchanged on the current line.
    pub(super) fn literal(&mut self, text: &str) {
        self.write_pending();
        self.out.push_str(text);
    }

    /// Appends text directly to the previous text.
    pub(super) fn append(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Writes lines unchanged, each with the prefixes of quotes and lists.
    pub(super) fn lines<'a>(&mut self, lines: impl Iterator<Item = &'a str>) {
        for line in lines {
            self.line();
            self.write_pending();
            self.out.push_str(line);
        }
    }

    pub(super) fn open(&mut self, mark: InlineFormat) {
        self.pending.push(mark);
    }

    /// Closes a format. Returns whether its opening delimiter was written, so that a closing one is needed.
    pub(super) fn close(&mut self, mark: InlineFormat) -> bool {
        match self.pending.iter().position(|pending| *pending == mark) {
            Some(at) => {
                self.pending.remove(at);
                false
            }
            None => true,
        }
    }

    /// Writes everything that is pending before text.
    fn write_pending(&mut self) {
        let begins_line = self.out.is_empty() || self.breaks > 0;
        if begins_line {
            self.begin_line();
        } else if !self.separator.is_empty() {
            self.out.push_str(self.separator);
        } else if self.space && !self.out.ends_with([' ', '\n']) {
            self.out.push(' ');
        }
        (self.breaks, self.space, self.separator) = (0, false, "");
        self.out.push_str(std::mem::take(&mut self.lead));
        for mark in self.pending.drain(..) {
            self.out.push_str(mark.text());
        }
    }

    fn begin_line(&mut self) {
        if !self.out.is_empty() {
            self.out.push_str(if self.breaks > 1 { "\n\n" } else { "\n" });
        }
        let lists = self.lists.min(DEEPEST);
        self.out.push_str(&"> ".repeat(self.quotes.min(DEEPEST)));
        match self.item.take() {
            Some(mark) => {
                self.out.push_str(&"  ".repeat(lists.saturating_sub(1)));
                self.out.push_str(&mark);
            }
            None => self.out.push_str(&"  ".repeat(lists)),
        }
    }
}
