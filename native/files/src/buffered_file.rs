//! A file that is read or changed, with its content if it is small.

use super::IN_MEMORY;
use beamai_base::{Reason, Result, ToolError};
use beamai_text::{Charset, Check, ContentKind, FileBytes, HEAD, sniff, summarize};
use beamai_workspace::WorkspacePath;
use rustix::fs::Stat;
use std::fs::File;

/// An open file, with its content if it is small.
#[derive(Debug)]
pub struct BufferedFile {
    /// Its metadata when it was opened.
    pub stat: Stat,
    pub(super) size: u64,
    file: File,
    content: Option<Vec<u8>>,
}

impl BufferedFile {
    /// Buffers a file that was just opened.
    pub fn new(path: &WorkspacePath, (file, stat): (File, Stat)) -> Result<Self> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let content = if size <= IN_MEMORY { Some(read_whole(path, &file, size)?) } else { None };
        let size = content.as_ref().map_or(size, |content| content.len() as u64);
        Ok(Self { stat, size, file, content })
    }

    /// Wraps a small file from the page cache; `None` unless it is UTF-8, since other encodings take
    /// longer to classify.
    pub(super) fn cached((file, stat, content): (File, Stat, Vec<u8>)) -> Option<Self> {
        let size = content.len() as u64;
        let is_plain = std::str::from_utf8(&content).is_ok();
        is_plain.then_some(Self { stat, size, file, content: Some(content) })
    }

    /// The content.
    pub fn bytes(&self) -> FileBytes<'_> {
        match &self.content {
            Some(content) => FileBytes::Memory(content),
            None => FileBytes::File(&self.file, self.size),
        }
    }

    /// The BLAKE3 hash of the content.
    ///
    /// # Errors
    /// Those of reading, and of `check`.
    pub fn hash(&self, check: Check<'_>) -> Result<blake3::Hash> {
        Ok(summarize(&self.bytes(), Charset::UTF8, check)?.hash())
    }

    /// Takes the content of a small file.
    pub(super) fn take_content(&mut self) -> Option<Vec<u8>> {
        self.content.take()
    }

    /// Reads the whole file.
    pub(super) fn into_content(mut self, path: &WorkspacePath) -> Result<Vec<u8>> {
        match self.take_content() {
            Some(content) => Ok(content),
            None => read_whole(path, &self.file, self.size),
        }
    }

    /// Detects the type of the content.
    pub(super) fn sniff(&self) -> Result<ContentKind> {
        match &self.content {
            Some(content) => Ok(sniff(content, true)),
            None => Ok(sniff(self.bytes().read(0..EVIDENCE, &mut Vec::new())?, false)),
        }
    }

    /// The charset of a text file; an error for other types. `advice` tells what to do with those instead.
    pub(super) fn charset(&self, path: &WorkspacePath, advice: &str) -> Result<Charset> {
        match self.sniff()? {
            ContentKind::Text(charset) => Ok(charset),
            ContentKind::Image(kind) => Err(no_text(path, self.size, kind, advice)),
            ContentKind::Binary(kind) => Err(no_text(path, self.size, kind, advice)),
        }
    }

    /// As `BufferedFile::charset`, for a file that is to be changed in part.
    pub fn charset_for_parts(&self, path: &WorkspacePath, advice: &str) -> Result<Charset> {
        let charset = self.charset(path, advice)?;
        if !charset.is_stateful() {
            return Ok(charset);
        }
        let shown = path.display();
        let message = format!(
            "{shown} is in {}, an encoding in which parts cannot be changed; convert it first, or write the whole file",
            charset.name()
        );
        Err(ToolError::new(Reason::InvalidEncoding, message).file(shown))
    }
}

/// Number of bytes from which the encoding of a large file is detected.
const EVIDENCE: u64 = 256 << 10;
const _: () = assert!(EVIDENCE >= HEAD as u64);

/// The error for a file that is not text.
pub(super) fn no_text(path: &WorkspacePath, size: u64, kind: &str, advice: &str) -> ToolError {
    let shown = path.display();
    let message = format!("{shown} is not text but {kind} ({size} bytes); {advice}");
    ToolError::new(Reason::BinaryFile, message).file(shown).with("size", size).with("content_kind", kind)
}

/// Reads the file with one read call of its reported size, if possible. Files that report size 0 are read to their end,
/// because generated files, as in procfs, report that.
fn read_whole(path: &WorkspacePath, file: &File, size: u64) -> Result<Vec<u8>> {
    let wanted = usize::try_from(size).unwrap_or(usize::MAX);
    let mut bytes = Vec::with_capacity(wanted);
    while bytes.len() < wanted || size == 0 {
        if bytes.len() == bytes.capacity() {
            bytes.reserve(64 << 10);
        }
        match rustix::io::read(file, rustix::buffer::spare_capacity(&mut bytes)) {
            Ok(0) => break,
            Ok(_) if bytes.len() as u64 > IN_MEMORY.max(size) => return Err(endless(path)),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(path.error("read", error)),
        }
    }
    Ok(bytes)
}

fn endless(path: &WorkspacePath) -> ToolError {
    let shown = path.display();
    let message =
        format!("{shown} reports size 0 but contains more than {IN_MEMORY} bytes; it is not a regular file");
    ToolError::new(Reason::NotAFile, message).file(shown)
}
