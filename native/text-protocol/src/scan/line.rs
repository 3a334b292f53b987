//! Detects fences at the start of a line.

use super::probe::{ProbeResult, is_blank};

/// Maximum indentation, length of the fence and trailing space of a line that opens or closes a code block.
const MOST: usize = 256;

/// The characters that open a fenced code block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fence {
    mark: u8,
    count: usize,
}

impl Fence {
    /// Whether a line opens a block, from the text after its margin, and the length of the fence.
    pub(super) fn opens(text: &[u8]) -> ProbeResult<(Fence, usize)> {
        let Some(mark @ (b'`' | b'~')) = text.first().copied() else { return ProbeResult::No };
        let count = text.iter().take(MOST).take_while(|byte| **byte == mark).count();
        match text.get(count) {
            None if count < MOST => ProbeResult::More,
            _ if count >= 3 => ProbeResult::Yes((Fence { mark, count }, count)),
            _ => ProbeResult::No,
        }
    }

    /// Whether a line closes the block, from the text after its margin. A negative answer does not need the line break.
    pub(super) fn closes(self, text: &[u8]) -> ProbeResult<()> {
        let start = &text[..text.len().min(MOST)];
        let count = start.iter().take_while(|byte| **byte == self.mark).count();
        let after = start[count..].iter().find(|byte| !is_blank(**byte));
        match after {
            Some(b'\n' | b'\r') if count >= self.count => ProbeResult::Yes(()),
            None if text.len() < MOST => ProbeResult::More,
            _ => ProbeResult::No,
        }
    }

    /// A line that begins with backticks and has a further one is inline code, and opens no block.
    pub(super) fn spoiled_by(self, rest: &[u8]) -> bool {
        self.mark == b'`' && memchr::memchr(b'`', rest).is_some()
    }
}

/// The length of the white space at the start of a line, at most [`MOST`].
pub(super) fn indent(line: &[u8]) -> usize {
    line.iter().take(MOST).take_while(|byte| is_blank(**byte)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_three_marks_or_more() {
        assert!(matches!(Fence::opens(b"```rust\n"), ProbeResult::Yes((Fence { count: 3, .. }, 3))));
        assert!(matches!(Fence::opens(b"~~~~\n"), ProbeResult::Yes((Fence { count: 4, .. }, 4))));
        for none in [&b"``x"[..], b"-```", b"a ```"] {
            assert_eq!(Fence::opens(none), ProbeResult::No, "{none:?}");
        }
        assert_eq!(Fence::opens(b"``"), ProbeResult::More);
    }

    #[test]
    fn a_fence_is_closed_by_as_many_marks_alone() {
        let fence = Fence { mark: b'`', count: 3 };
        assert_eq!(fence.closes(b"````  \r\n"), ProbeResult::Yes(()));
        assert_eq!(fence.closes(b"> ```\n"), ProbeResult::No);
        assert_eq!(fence.closes(b"``\n"), ProbeResult::No);
        assert_eq!(fence.closes(b"```x"), ProbeResult::No);
        assert_eq!(fence.closes(b"```"), ProbeResult::More);
    }
}
