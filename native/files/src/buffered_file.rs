//! A file as it is before an operation reads it or changes it.

use super::IN_MEMORY;
use beamai_base::{Reason, Result, ToolError};
use beamai_text::{Charset, ContentKind, FileBytes, HEAD, sniff};
use beamai_workspace::WorkspacePath;
use rustix::fs::Stat;
use std::fs::File;

/// An open file, small ones with their content.
#[derive(Debug)]
pub struct BufferedFile {
    pub(super) stat: Stat,
    pub(super) size: u64,
    file: File,
    content: Option<Vec<u8>>,
}

impl BufferedFile {
    /// Takes a file that was just opened.
    pub fn new(path: &WorkspacePath, (file, stat): (File, Stat)) -> Result<Self> {
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        let content = if size <= IN_MEMORY { Some(read_whole(path, &file, size)?) } else { None };
        let size = content.as_ref().map_or(size, |content| content.len() as u64);
        Ok(Self { stat, size, file, content })
    }

    /// Takes a small file that was found in memory; `None` where it is more than plain text, which takes longer to
    /// make sense of.
    pub(super) fn cached((file, stat, content): (File, Stat, Vec<u8>)) -> Option<Self> {
        let size = content.len() as u64;
        let is_plain = std::str::from_utf8(&content).is_ok();
        is_plain.then_some(Self { stat, size, file, content: Some(content) })
    }

    /// Its bytes.
    pub fn bytes(&self) -> FileBytes<'_> {
        match &self.content {
            Some(content) => FileBytes::Memory(content),
            None => FileBytes::File(&self.file, self.size),
        }
    }

    /// Hands out the content of a small file.
    pub(super) fn take_content(&mut self) -> Option<Vec<u8>> {
        self.content.take()
    }

    /// Reads all of the file.
    pub(super) fn into_content(mut self, path: &WorkspacePath) -> Result<Vec<u8>> {
        match self.take_content() {
            Some(content) => Ok(content),
            None => read_whole(path, &self.file, self.size),
        }
    }

    /// What the file is.
    pub(super) fn sniff(&self) -> Result<ContentKind> {
        match &self.content {
            Some(content) => Ok(sniff(content, true)),
            None => Ok(sniff(self.bytes().read(0..EVIDENCE, &mut Vec::new())?, false)),
        }
    }

    /// The charset of a text file; anything else is refused. `advice` says what to do with it instead.
    pub(super) fn charset(&self, path: &WorkspacePath, advice: &str) -> Result<Charset> {
        match self.sniff()? {
            ContentKind::Text(charset) => Ok(charset),
            ContentKind::Image(kind) => Err(no_text(path, self.size, kind, advice)),
            ContentKind::Binary(kind) => Err(no_text(path, self.size, kind, advice)),
        }
    }

    /// As `BufferedFile::charset`, of a text file of which a part is to be changed.
    pub fn charset_for_parts(&self, path: &WorkspacePath, advice: &str) -> Result<Charset> {
        let charset = self.charset(path, advice)?;
        if !charset.is_stateful() {
            return Ok(charset);
        }
        let shown = path.display();
        let message = format!(
            "{shown} is in {}, of which no part can be changed alone; convert it first, or write the whole file",
            charset.name()
        );
        Err(ToolError::new(Reason::InvalidEncoding, message).file(shown))
    }
}

/// Bytes of a large file that its encoding is guessed from.
const EVIDENCE: u64 = 256 << 10;
const _: () = assert!(EVIDENCE >= HEAD as u64);

/// The error about a file that is no text.
pub(super) fn no_text(path: &WorkspacePath, size: u64, kind: &str, advice: &str) -> ToolError {
    let shown = path.display();
    let message = format!("{shown} is no text but {kind} ({size} bytes); {advice}");
    ToolError::new(Reason::BinaryFile, message).file(shown).with("size", size).with("content_kind", kind)
}

/// Reads as many bytes as the file was said to have, in one read where the operating system plays along. What
/// says 0 is read to its end: files that are made up as they are read say so.
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
        format!("{shown} says that it is empty and gives more than {IN_MEMORY} bytes; it is no plain file");
    ToolError::new(Reason::NotAFile, message).file(shown)
}
