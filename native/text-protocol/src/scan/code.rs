//! Which lines are code.
//!
//! Each line is read twice: strictly, as CommonMark does, and loosely, as models often write. A call runs only if both
//! readings take it for text. CommonMark ends a fenced block with its list item or quote. Models often do not indent
//! the lines of such a block, and then its closing line looks like an opening one. So no later call of the answer runs
//! after a block that ended without its closing line.

use super::block::{Line, LineKind, OpenBlocks};
use super::container::Reading;
use super::line::Fence;

/// How a call at a place counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CodeState {
    /// As a call.
    Text,
    /// As text.
    Code,
    /// It may be an example: it does not run, and the model is told.
    Unsure,
}

pub(super) struct CodeBlocks {
    strict: OpenBlocks,
    loose: OpenBlocks,
    /// Whether a call may begin the block: it is in no container, and nothing but white space and calls have come since
    /// its fence.
    pub(super) is_lead: bool,
    /// Whether the block began with a call. Its closing line may be missing, so a later call in it is refused with a
    /// message instead of being passed over as text.
    has_call: bool,
}

/// A line in both readings.
pub(super) struct Lines {
    strict: Line,
    loose: Line,
}

impl Default for CodeBlocks {
    fn default() -> Self {
        Self {
            strict: OpenBlocks::new(Reading::Strict),
            loose: OpenBlocks::new(Reading::Loose),
            is_lead: false,
            has_call: false,
        }
    }
}

impl CodeBlocks {
    /// Reads the start of a line; `None` if more of it is needed.
    pub(super) fn lines(&self, text: &[u8], is_whole: bool) -> Option<Lines> {
        Some(Lines { strict: self.strict.line(text, is_whole)?, loose: self.loose.line(text, is_whole)? })
    }

    /// Passes a line. What seemed to open a block may turn out to be inline code.
    pub(super) fn pass(&mut self, lines: Lines, is_inline: bool) {
        let is_fence = !is_inline
            && matches!(lines.strict.kind, LineKind::Fence(..))
            && matches!(lines.loose.kind, LineKind::Fence(..));
        self.strict.pass(lines.strict, is_inline);
        self.loose.pass(lines.loose, is_inline);
        let is_still_lead = self.is_lead && self.strict.is_code() && self.loose.is_code();
        self.is_lead = is_still_lead || is_fence && self.strict.is_at_margin() && self.loose.is_at_margin();
        self.has_call &= self.strict.is_code() && self.loose.is_code();
    }

    pub(super) fn state(&self) -> CodeState {
        match (self.strict.is_code(), self.loose.is_code()) {
            _ if self.strict.is_cut() || self.loose.is_cut() => CodeState::Unsure,
            (true, true) if self.has_call && !self.is_lead => CodeState::Unsure,
            (true, true) => CodeState::Code,
            (false, false) => CodeState::Text,
            _ => CodeState::Unsure,
        }
    }

    /// Whether a line is in an HTML comment, where CommonMark has no fences.
    pub(super) fn is_comment(&self) -> bool {
        self.strict.is_comment()
    }

    /// A comment ends with the line that has its closing mark.
    pub(super) fn end_comment(&mut self) {
        self.strict.end_comment();
    }

    /// A call began the block, or came after one that did.
    pub(super) fn pass_call(&mut self) {
        (self.is_lead, self.has_call) = (true, true);
    }
}

impl Lines {
    /// The fence that may open a block, and the length of the line up to its end.
    pub(super) fn fence(&self) -> Option<(Fence, usize)> {
        [&self.strict, &self.loose].into_iter().find_map(|line| match line.kind {
            LineKind::Fence(fence, len) => Some((fence, len)),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(lines: &[&str]) -> CodeBlocks {
        let mut code = CodeBlocks::default();
        for line in lines {
            let read = code.lines(line.as_bytes(), true).unwrap();
            code.pass(read, false);
        }
        code
    }

    fn is_own(before: &[&str], fence: &str) -> bool {
        after(&[before, &[fence]].concat()).is_lead
    }

    #[test]
    fn a_fence_at_or_below_the_mark_of_a_list_item_or_quote_is_in_it() {
        for fence in [
            "- ```\n",
            "* ```\n",
            "1) ```\n",
            "- - ```\n",
            "- [ ] ```\n",
            "2. [x] ```\n",
            "> ```\n",
            "> - ```\n",
            "  - > ```\n",
        ] {
            assert!(!is_own(&[], fence), "{fence}");
            assert_eq!(after(&[fence]).state(), CodeState::Code, "{fence}");
        }
        for (before, fence) in [
            (&["- a\n"][..], "  ```\n"),
            (&["- a\n"], " ```\n"),
            (&["- a\n", "\n", "\r\n"], "\t```\n"),
            (&["-\n"], "  ```\n"),
            (&["1. a\n", "goes on\n"], "   ```\n"),
            (&["- a\n", "\n", "  b\n", "\n"], "  ```\n"),
            (&["- a\n", "  - b\n"], "  ```\n"),
            (&["   - a\n"], "\t```\n"),
        ] {
            assert!(!is_own(before, fence), "{before:?} {fence}");
        }
    }

    #[test]
    fn a_fence_after_a_list_or_a_quote_is_in_neither() {
        for (before, fence) in [
            (&[][..], "   ```\n"),
            (&["- a\n"], "```\n"),
            (&[" - a\n"], " ```\n"),
            (&["- a\n", "\n", "b\n"], "  ```\n"),
            (&["> a\n"], "  ```\n"),
            (&["-a\n", "1.a\n", "--- a\n", "[ ] a\n", "1234567890. a\n"], "  ```\n"),
            (&["- - -\n", "***\n", "a\n", "2. a\n", "-\n"], "```\n"),
        ] {
            assert!(is_own(before, fence), "{before:?} {fence}");
        }
    }

    #[test]
    fn a_line_of_the_same_containers_with_as_many_marks_closes_a_block() {
        for (lines, state) in [
            (&["```\n", "````  \r\n"][..], CodeState::Text),
            (&["```\n", "> ```\n"], CodeState::Code),
            (&["```\n", "    ```\n"], CodeState::Code),
            (&["````\n", "```\n"], CodeState::Code),
            (&["> ```\n", "> > ```\n"], CodeState::Code),
            (&["> ```\n", "> ```\n"], CodeState::Text),
            (&[">\t```\n", ">```\n"], CodeState::Text),
            (&["12) - ```\n", "      ```\n"], CodeState::Text),
            (&["- ```\n", "\n", "  ```\n"], CodeState::Text),
        ] {
            assert_eq!(after(lines).state(), state, "{lines:?}");
        }
    }

    #[test]
    fn a_line_that_may_go_on_needs_more() {
        let code = CodeBlocks::default();
        for more in ["", " ", "1", "1.", "- ", "-", "> ", "- [", "- [x", "- -", "``", "#"] {
            assert!(code.lines(more.as_bytes(), false).is_none(), "{more:?}");
        }
        for enough in ["a", "1a", "- a", "-a", "> [a", "```a", "#a"] {
            assert!(code.lines(enough.as_bytes(), false).is_some(), "{enough:?}");
        }
        for long in [" ", ">", "- ", "`"] {
            assert!(code.lines(long.repeat(300).as_bytes(), false).is_some(), "{long:?}");
        }
    }
}
