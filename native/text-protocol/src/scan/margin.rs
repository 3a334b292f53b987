//! What stands before the text of a line, and the list item that the line belongs to.

use super::probe::is_blank;

/// Maximum length of a margin in bytes.
const MOST: usize = 256;

/// The white space, marks of quotes and marks of list items at the start of a line.
#[derive(Clone, Copy)]
pub(super) struct Margin {
    /// Its length in bytes.
    pub(super) len: usize,
    /// The columns of white space at its start.
    indent: usize,
    first: Option<Mark>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Quote,
    Item,
}

impl Margin {
    /// The margin of a line; `None` if more of the line is needed.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let mut margin = Self { len: 0, indent: 0, first: None };
        while margin.len < MOST {
            let rest = &line[margin.len..];
            margin.len += match *rest.first()? {
                byte if is_blank(byte) => {
                    margin.widen(byte);
                    1
                }
                b'>' => {
                    margin.first.get_or_insert(Mark::Quote);
                    1
                }
                _ => match item_mark(rest, margin.first.is_some())? {
                    0 => return Some(margin),
                    len => {
                        margin.first.get_or_insert(Mark::Item);
                        len
                    }
                },
            };
        }
        (margin.len < line.len()).then_some(margin)
    }

    fn widen(&mut self, blank: u8) {
        if self.first.is_none() {
            self.indent += if blank == b'\t' { 4 - self.indent % 4 } else { 1 };
        }
    }
}

/// The length of the mark of a list item, or of the box of a task after one; 0 if there is none, `None` if more of the line is needed.
fn item_mark(rest: &[u8], is_after_mark: bool) -> Option<usize> {
    let digits = rest.iter().take(9).take_while(|byte| byte.is_ascii_digit()).count();
    let len = match (digits, rest.get(digits)?) {
        (0, b'-' | b'*' | b'+') => 1,
        (1.., b'.' | b')') => digits + 1,
        (0, b'[') if is_after_mark && matches!(rest.get(1)?, b' ' | b'x' | b'X') && *rest.get(2)? == b']' => {
            3
        }
        _ => return Some(0),
    };
    Some(if is_blank(*rest.get(len)?) || matches!(rest[len], b'\n' | b'\r') { len } else { 0 })
}

/// The outermost list item that is open.
#[derive(Clone, Copy, Default)]
pub(super) struct ListItem {
    /// The column of its mark; `None` if no item is open.
    column: Option<usize>,
    /// Whether the last line was text: the next line of text belongs to the item, however it is indented.
    has_text: bool,
}

impl ListItem {
    /// Passes a line that opens no block; an empty one has a margin only.
    pub(super) fn text(&mut self, margin: Margin, is_empty: bool) {
        if margin.first.is_some() || !is_empty {
            self.line(margin, self.has_text);
        }
        self.has_text = !is_empty;
    }

    /// Passes a line that opens a fenced block, and returns whether the block is at the answer's own margin: in no list item
    /// and in no quote.
    pub(super) fn fence(&mut self, margin: Margin) -> bool {
        self.line(margin, false);
        self.has_text = false;
        self.column.is_none() && margin.first.is_none()
    }

    /// Whatever is indented below the mark belongs to the item.
    fn line(&mut self, margin: Margin, is_continued: bool) {
        match (self.column, margin.first) {
            (Some(column), _) if margin.indent > column => {}
            (_, Some(Mark::Item)) => self.column = Some(margin.indent),
            _ if is_continued => {}
            _ => self.column = None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_own(before: &[&str], fence: &str) -> bool {
        let mut item = ListItem::default();
        for line in before {
            let margin = Margin::of(line.as_bytes()).unwrap();
            item.text(margin, line[margin.len..].starts_with(['\n', '\r']));
        }
        item.fence(Margin::of(fence.as_bytes()).unwrap())
    }

    #[test]
    fn a_fence_at_or_below_the_mark_of_a_list_item_or_quote_is_in_it() {
        for fence in [
            "- ```",
            "* ```",
            "1) ```",
            "- - ```",
            "- [ ] ```",
            "2. [x] ```",
            "> ```",
            "> - ```",
            "  - > ```",
        ] {
            assert!(!is_own(&[], fence), "{fence}");
        }
        for (before, fence) in [
            (&["- a\n"][..], "  ```"),
            (&["- a\n"], " ```"),
            (&["- a\n", "\n", "\r\n"], "\t```"),
            (&["-\n"], "  ```"),
            (&["1. a\n", "goes on\n"], "   ```"),
            (&["- a\n", "\n", "  b\n", "\n"], "  ```"),
            (&["- a\n", "  - b\n"], "  ```"),
            (&["   - a\n"], "\t```"),
        ] {
            assert!(!is_own(before, fence), "{before:?} {fence}");
        }
    }

    #[test]
    fn a_fence_after_a_list_or_a_quote_is_in_neither() {
        for (before, fence) in [
            (&[][..], "   ```"),
            (&["- a\n"], "```"),
            (&[" - a\n"], " ```"),
            (&["- a\n", "\n", "b\n"], "  ```"),
            (&["> a\n"], "  ```"),
            (&["-a\n", "1.a\n", "--- a\n", "[ ] a\n", "1234567890. a\n"], "  ```"),
        ] {
            assert!(is_own(before, fence), "{before:?} {fence}");
        }
    }

    #[test]
    fn a_margin_that_may_go_on_needs_more() {
        for more in ["", " ", "1", "1.", "- ", "-", "> ", "- [", "- [x"] {
            assert!(Margin::of(more.as_bytes()).is_none(), "{more:?}");
        }
        assert!(Margin::of(&[b' '; MOST]).is_none());
        assert_eq!(Margin::of(&[b' '; MOST + 1]).unwrap().len, MOST);
    }
}
