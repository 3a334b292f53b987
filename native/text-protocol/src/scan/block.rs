//! The blocks of Markdown that are open at a line: containers, and a fenced block or a paragraph in them.

use super::container::{self, Container, MOST_INDENT, Reading};
use super::line::Fence;
use super::margin::Margin;
use super::probe::{ProbeResult, is_blank};

/// What a line is. It is not part of the state before [`OpenBlocks::pass`].
pub(super) struct Line {
    /// How many of the open containers it continues.
    continued: usize,
    /// The containers that begin in it.
    begun: Vec<Container>,
    pub(super) kind: LineKind,
}

pub(super) enum LineKind {
    Blank,
    /// Text of a paragraph.
    Paragraph,
    /// A line that is a block of its own, or ends a paragraph.
    Single,
    /// It begins an HTML comment.
    Comment,
    /// It opens a fenced block; the length of the line up to the end of the fence.
    Fence(Fence, usize),
    /// In the fenced block or the comment.
    Inside,
    /// It closes the fenced block.
    Closing,
}

pub(super) struct OpenBlocks {
    reading: Reading,
    containers: Vec<Container>,
    /// Whether the last line was text that the next one may continue.
    in_paragraph: bool,
    /// Whether the last container is an item of which only an empty line has come.
    is_bare: bool,
    fence: Option<Fence>,
    /// Whether a fenced block has ended with its container, without its closing line.
    is_cut: bool,
    is_comment: bool,
}

impl OpenBlocks {
    pub(super) fn new(reading: Reading) -> Self {
        Self {
            reading,
            containers: Vec::new(),
            in_paragraph: false,
            is_bare: false,
            fence: None,
            is_cut: false,
            is_comment: false,
        }
    }

    pub(super) fn is_code(&self) -> bool {
        self.fence.is_some()
    }

    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    pub(super) fn is_comment(&self) -> bool {
        self.is_comment
    }

    /// Whether no container is open.
    pub(super) fn is_at_margin(&self) -> bool {
        self.containers.is_empty()
    }

    pub(super) fn end_comment(&mut self) {
        self.is_comment = false;
    }

    /// What a line is, from its beginning; `None` if more of it is needed.
    pub(super) fn line(&self, text: &[u8], is_whole: bool) -> Option<Line> {
        let mut margin = Margin::new(text, is_whole);
        let continued = self.continued(&mut margin)?;
        let mut line = Line { continued, begun: Vec::new(), kind: LineKind::Blank };
        if continued == self.containers.len() {
            if let Some(fence) = self.fence {
                line.kind = code(fence, &margin, is_whole)?;
                return Some(line);
            }
            if self.is_comment {
                line.kind = LineKind::Inside;
                return Some(line);
            }
        }
        while let Some(begun) = Container::opens(&mut margin, self.reading, self.interrupts(&line))? {
            line.begun.push(begun);
        }
        line.kind = self.kind(&mut line, margin, is_whole)?;
        Some(line)
    }

    fn continued(&self, margin: &mut Margin) -> Option<usize> {
        let is_blank = margin.indent()?.1.byte(0)? == b'\n';
        for (at, container) in self.containers.iter().enumerate() {
            let is_empty_item = self.is_bare && is_blank && at + 1 == self.containers.len();
            let goes_on = is_blank && !is_empty_item && matches!(container, Container::Item { .. });
            if is_empty_item || !goes_on && !container.continues(margin, self.reading)? {
                return Some(at);
            }
        }
        Some(self.containers.len())
    }

    /// Whether a mark would interrupt a paragraph of the same containers.
    fn interrupts(&self, line: &Line) -> bool {
        self.in_paragraph && line.begun.is_empty() && line.continued == self.containers.len()
    }

    fn kind(&self, line: &mut Line, margin: Margin, is_whole: bool) -> Option<LineKind> {
        let (indent, mut text) = margin.indent()?;
        let first = text.byte(0)?;
        if first == b'\n' {
            return Some(LineKind::Blank);
        }
        let is_indented = indent > MOST_INDENT;
        if matches!(line.begun.last(), Some(Container::Item { .. })) {
            let boxed = container::task_box(&text)?;
            let mut after = text;
            after.mark(boxed);
            let (_, after) = after.indent()?;
            if boxed > 0 && matches!(after.byte(0)?, b'`' | b'~') {
                text = after;
            }
        }
        if !is_indented || self.reading == Reading::Loose {
            match Fence::opens(text.rest()).at_end(is_whole) {
                ProbeResult::More => return None,
                ProbeResult::Yes((fence, len)) => {
                    if is_indented {
                        line.begun.push(Container::Item { least: MOST_INDENT + 1, width: indent });
                    }
                    return Some(LineKind::Fence(fence, text.len() + len));
                }
                ProbeResult::No => {}
            }
        }
        if !is_indented && self.reading == Reading::Strict && begins_comment(&text)? {
            return Some(LineKind::Comment);
        }
        let is_single = match is_indented {
            true => !self.in_paragraph || !line.begun.is_empty(),
            false => {
                is_heading(&text)? || self.interrupts(line) && is_underline(&text)? || text.is_break()?
            }
        };
        Some(if is_single { LineKind::Single } else { LineKind::Paragraph })
    }

    /// Passes a line. What seemed to open a block may turn out to be inline code.
    pub(super) fn pass(&mut self, line: Line, is_inline: bool) {
        match line.kind {
            LineKind::Inside => {}
            LineKind::Closing => {
                self.fence = None;
                self.containers.truncate(line.continued);
            }
            kind => self.pass_text(line.continued, line.begun, kind, is_inline),
        }
    }

    fn pass_text(&mut self, continued: usize, begun: Vec<Container>, kind: LineKind, is_inline: bool) {
        let is_text = is_inline || matches!(kind, LineKind::Paragraph);
        let is_lazy = is_text && self.in_paragraph && begun.is_empty();
        self.is_bare =
            matches!(kind, LineKind::Blank) && matches!(begun.last(), Some(Container::Item { .. }));
        if !is_lazy {
            self.containers.truncate(continued);
            self.containers.extend(begun);
        }
        self.in_paragraph = is_text;
        self.is_cut |= self.fence.is_some();
        self.is_comment = matches!(kind, LineKind::Comment);
        self.fence = match kind {
            LineKind::Fence(fence, _) if !is_inline => Some(fence),
            _ => None,
        };
    }
}

fn code(fence: Fence, margin: &Margin, is_whole: bool) -> Option<LineKind> {
    let (indent, text) = margin.indent()?;
    match fence.closes(text.rest()).at_end(is_whole) {
        _ if indent > MOST_INDENT => Some(LineKind::Inside),
        ProbeResult::More => None,
        ProbeResult::Yes(()) => Some(LineKind::Closing),
        ProbeResult::No => Some(LineKind::Inside),
    }
}

fn is_heading(text: &Margin) -> Option<bool> {
    let mut count = 0;
    while text.byte(count)? == b'#' {
        count += 1;
    }
    let after = text.byte(count)?;
    Some((1..=6).contains(&count) && (is_blank(after) || after == b'\n'))
}

fn begins_comment(text: &Margin) -> Option<bool> {
    for (at, byte) in b"<!--".iter().enumerate() {
        if text.byte(at)? != *byte {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether the line makes a heading of the paragraph above it.
fn is_underline(text: &Margin) -> Option<bool> {
    let mark = text.byte(0)?;
    let mut count = 0;
    while matches!(mark, b'=' | b'-') && text.byte(count)? == mark {
        count += 1;
    }
    Some(count > 0 && text.ends_after(count)?)
}
