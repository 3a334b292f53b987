//! What contains the blocks of Markdown: quotes and list items.

use super::margin::Margin;
use super::probe::is_blank;

/// More columns of white space than this make a line code.
pub(super) const MOST_INDENT: usize = 3;

/// How much a reading of Markdown forgives.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    /// Nothing: as CommonMark says.
    Strict,
    /// Whatever is indented below the mark of an item belongs to it, and marks and fences may be indented anyhow.
    Loose,
}

impl Reading {
    fn most_indent(self) -> usize {
        if self == Self::Strict { MOST_INDENT } else { usize::MAX }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Container {
    Quote,
    /// The least columns of white space that continue it, and the columns up to its text.
    Item {
        least: usize,
        width: usize,
    },
}

impl Container {
    /// Whether a line continues the container; if so, takes its part of the margin. `None` if more of the line is needed.
    pub(super) fn continues(self, margin: &mut Margin, reading: Reading) -> Option<bool> {
        let (indent, text) = margin.indent()?;
        let next = text.byte(0)?;
        match self {
            Self::Quote => quote(margin, reading),
            Self::Item { .. } if next == b'\n' => Some(true),
            Self::Item { least, width } => {
                if indent >= least {
                    margin.take(indent.min(width));
                }
                Some(indent >= least)
            }
        }
    }

    /// The container that begins here; takes its mark. A paragraph is interrupted by fewer marks.
    pub(super) fn opens(margin: &mut Margin, reading: Reading, in_paragraph: bool) -> Option<Option<Self>> {
        if quote(margin, reading)? {
            return Some(Some(Self::Quote));
        }
        let (indent, mut text) = margin.indent()?;
        let len = item_mark(&text)?;
        if indent > reading.most_indent() || len == 0 || text.is_break()? {
            return Some(None);
        }
        let mut after = text;
        after.mark(len);
        let (spaces, first) = after.indent()?;
        let is_empty = first.byte(0)? == b'\n';
        let number =
            text.rest()[..len - 1].iter().fold(0, |number, digit| number * 10 + u32::from(digit - b'0'));
        let is_first = len == 1 || number == 1;
        if reading == Reading::Strict && in_paragraph && (is_empty || !is_first) {
            return Some(None);
        }
        let spaces = if is_empty || spaces > 4 { 1 } else { spaces };
        if !is_empty {
            after.take(spaces);
        }
        *margin = after;
        let width = indent + len + spaces;
        let least = if reading == Reading::Strict { width } else { indent + 1 };
        Some(Some(Self::Item { least, width }))
    }
}

fn quote(margin: &mut Margin, reading: Reading) -> Option<bool> {
    let (indent, mut text) = margin.indent()?;
    if text.byte(0)? != b'>' || indent > reading.most_indent() {
        return Some(false);
    }
    text.mark(1);
    if is_blank(text.byte(0)?) {
        text.take(1);
    }
    *margin = text;
    Some(true)
}

/// The length of the mark of a list item; 0 if there is none.
fn item_mark(text: &Margin) -> Option<usize> {
    let mut digits = 0;
    while digits < 10 && text.byte(digits)?.is_ascii_digit() {
        digits += 1;
    }
    let len = match (digits, text.byte(digits)?) {
        (0, b'-' | b'*' | b'+') => 1,
        (1..10, b'.' | b')') => digits + 1,
        _ => return Some(0),
    };
    let after = text.byte(len)?;
    Some(if is_blank(after) || after == b'\n' { len } else { 0 })
}

/// The length of the box of a task, and 0 if there is none. A model that writes a fence after it means a fence.
pub(super) fn task_box(text: &Margin) -> Option<usize> {
    let is_box = text.byte(0)? == b'['
        && matches!(text.byte(1)?, b' ' | b'x' | b'X')
        && text.byte(2)? == b']'
        && is_blank(text.byte(3)?);
    Some(if is_box { 3 } else { 0 })
}
