//! Text with line breaks, prefixes and marks put in only once there is something to put them before.

use super::marks::InlineFormat;

/// Deeper nesting of quotes or lists than this is not shown: a prefix costs its length on every line.
const DEEPEST: usize = 8;

/// Writes Markdown.
#[derive(Debug, Default)]
pub(super) struct Writer {
    out: String,
    /// Line breaks owed before the next text.
    breaks: usize,
    /// Whether a space is owed.
    space: bool,
    /// Formats that were opened and have no text yet.
    pending: Vec<InlineFormat>,
    /// What the next text's line begins with, such as the marks of a heading.
    lead: &'static str,
    /// Mark of the list item that the next text begins.
    item: Option<String>,
    /// What goes between the last text and the next, if they are on one line.
    separator: &'static str,
    quotes: usize,
    lists: usize,
    /// Whether everything is kept on one line: in links and cells of tables.
    pub(super) is_inline: bool,
    /// Whether a bar would end the cell that is being written.
    pub(super) in_cell: bool,
}

impl Writer {
    /// Bytes written.
    pub(super) fn len(&self) -> usize {
        self.out.len()
    }

    pub(super) fn into_text(self) -> String {
        self.out
    }

    /// What follows is a block of its own.
    pub(super) fn block(&mut self) {
        self.break_lines(2);
    }

    /// What follows is on a line of its own.
    pub(super) fn line(&mut self) {
        self.break_lines(1);
    }

    fn break_lines(&mut self, breaks: usize) {
        match self.is_inline {
            true => self.space = true,
            // An item begins behind its mark, whatever it begins with.
            false if self.item.is_some() => {}
            false => self.breaks = self.breaks.max(breaks),
        }
    }

    /// A word boundary.
    pub(super) fn space(&mut self) {
        self.space = true;
    }

    /// No word boundary after all: what follows brings its own.
    pub(super) fn forget_space(&mut self) {
        self.space = false;
    }

    /// The next text's line begins with this; nothing of it remains if there is no text.
    pub(super) fn lead(&mut self, lead: &'static str) {
        self.lead = lead;
    }

    /// The next text begins an item of a list.
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

    /// Text in which any white space is one space.
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

    /// Text as it is, on the line that is being written.
    pub(super) fn literal(&mut self, text: &str) {
        self.write_pending();
        self.out.push_str(text);
    }

    /// Text right behind the last one.
    pub(super) fn append(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Lines as they are, each with the prefix of its place.
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

    /// Takes an open format back. Whether it was written, and its end must be.
    pub(super) fn close(&mut self, mark: InlineFormat) -> bool {
        match self.pending.iter().position(|pending| *pending == mark) {
            Some(at) => {
                self.pending.remove(at);
                false
            }
            None => true,
        }
    }

    /// Writes whatever is owed before text.
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
