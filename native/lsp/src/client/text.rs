//! The text of a file, as it is sent to a server, indexed by lines.

use beamai_base::{Reason, Result, ToolError};
use beamai_text::{ContentKind, sniff};
use beamai_workspace::WorkspacePath;
use rustix::fs::Stat;
use std::io::Read;

/// Maximum size of a file that is sent to a server, in bytes.
const LARGEST: u64 = 16 << 20;

/// A text, indexed by lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DocumentText {
    text: String,
    /// Byte offset of each line.
    starts: Vec<usize>,
}

impl DocumentText {
    /// Indexes a text; every `\n` ends a line.
    pub(crate) fn new(text: String) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        let starts = [0].into_iter().chain(ends).collect();
        Self { text, starts }
    }

    /// Reads a file and decodes it; also returns its metadata when it was opened.
    ///
    /// # Errors
    /// Those of opening, `too_large` and `binary_file`.
    pub(crate) fn read(path: &WorkspacePath) -> Result<(Self, Stat)> {
        let (file, stat) = path.open_file()?;
        let mut bytes = Vec::new();
        file.take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| ToolError::io("read", path.display(), error))?;
        if bytes.len() as u64 > LARGEST {
            return Err(refused(path, Reason::TooLarge, &format!("is larger than {LARGEST} bytes")));
        }
        match sniff(&bytes, true) {
            ContentKind::Text(charset) => {
                bytes.drain(..charset.bom().len());
                Ok((Self::new(charset.decode_vec(bytes).0), stat))
            }
            ContentKind::Image(kind) => {
                Err(refused(path, Reason::BinaryFile, &format!("is an image ({kind})")))
            }
            ContentKind::Binary(kind) => {
                Err(refused(path, Reason::BinaryFile, &format!("is not text ({kind})")))
            }
        }
    }

    /// The whole text.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Number of lines; the one after the last line break counts.
    pub(crate) fn lines(&self) -> usize {
        self.starts.len()
    }

    /// The line at an index, without its end.
    pub(crate) fn line(&self, index: usize) -> Option<&str> {
        let start = *self.starts.get(index)?;
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        let line = self.text[start..end].trim_end_matches('\n');
        Some(line.strip_suffix('\r').unwrap_or(line))
    }
}

fn refused(path: &WorkspacePath, reason: Reason, why: &str) -> ToolError {
    let shown = path.display();
    ToolError::new(reason, format!("{shown} {why}; such files are not sent to language servers")).file(shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_workspace::Workspace;

    #[test]
    fn lines_come_without_their_ends() {
        let text = DocumentText::new("a\r\nb\n\nc".to_owned());
        let lines: Vec<_> = (0..5).map(|at| text.line(at)).collect();
        assert_eq!(lines, [Some("a"), Some("b"), Some(""), Some("c"), None]);
        assert_eq!(DocumentText::new(String::new()).lines(), 1);
    }

    #[test]
    fn text_is_decoded_and_other_content_refused() {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(dir.path().join("f"), bytes).unwrap();
            DocumentText::read(&workspace.parse_path("f").unwrap())
        };
        assert_eq!(read(b"\xEF\xBB\xBFa = 1\n").unwrap().0.as_str(), "a = 1\n");
        assert_eq!(read(b"\xFF\xFEa\0\n\0").unwrap().0.as_str(), "a\n");
        assert_eq!(read("été\n".as_bytes()).unwrap().0.as_str(), "été\n");
        assert_eq!(read(b"# d\xE9j\xE0 vu, caf\xE9\n").unwrap().0.as_str(), "# déjà vu, café\n");
        assert_eq!(read(b"\x7fELF\0\0").unwrap_err().reason, Reason::BinaryFile);
        let size = usize::try_from(LARGEST).unwrap() + 1;
        assert_eq!(read(&vec![b'x'; size]).unwrap_err().reason, Reason::TooLarge);
    }
}
