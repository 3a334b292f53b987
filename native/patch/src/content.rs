//! The content that hunks are applied to.

use beamai_base::Result;
use beamai_files::{buffered_file::BufferedFile, missing};
use beamai_text::{Charset, FileBytes};
use beamai_workspace::WorkspacePath;
use rustix::fs::{Mode, Stat};
use rustix::io::Errno;
use std::fs::File;

const ADVICE: &str = "only text can be patched";

/// The content of a file on disk, or produced by an earlier part of the patch.
pub(super) enum FileSource {
    OnDisk { path: WorkspacePath, file: Box<BufferedFile> },
    Draft { file: Option<File>, size: u64, charset: Result<Charset> },
}

impl FileSource {
    /// Opens a file whose metadata was read before.
    ///
    /// # Errors
    /// `stale` if it is a different file now; otherwise as [`missing::open`].
    pub(super) fn open(path: &WorkspacePath, seen: Option<&Stat>) -> Result<Self> {
        let opened = missing::open(path)?;
        let is_same = |seen: &Stat| {
            (seen.st_dev, seen.st_ino, seen.st_size, seen.st_mtime, seen.st_mtime_nsec)
                == (
                    opened.1.st_dev,
                    opened.1.st_ino,
                    opened.1.st_size,
                    opened.1.st_mtime,
                    opened.1.st_mtime_nsec,
                )
        };
        if !seen.is_some_and(is_same) {
            return Err(path.stale());
        }
        Ok(Self::OnDisk { file: Box::new(BufferedFile::new(path, opened)?), path: path.clone() })
    }

    /// The content of a draft, with its encoding, or why it cannot be changed in parts.
    pub(super) fn draft(file: Option<File>, size: u64, charset: Result<Charset>) -> Self {
        Self::Draft { file, size, charset }
    }

    /// The content.
    pub(super) fn bytes(&self) -> FileBytes<'_> {
        match self {
            Self::OnDisk { file, .. } => file.bytes(),
            Self::Draft { file: Some(file), size, .. } => FileBytes::File(file, *size),
            Self::Draft { file: None, .. } => FileBytes::Memory(b""),
        }
    }

    /// The encoding.
    ///
    /// # Errors
    /// `binary_file` if it is not text, `invalid_encoding` if parts of it cannot be changed.
    pub(super) fn charset(&self) -> Result<Charset> {
        match self {
            Self::OnDisk { path, file } => file.charset_for_parts(path, ADVICE),
            Self::Draft { charset, .. } => {
                let charset = charset.clone()?;
                // The patch may have added or removed a byte order mark.
                let mut scratch = Vec::new();
                let bytes = self.bytes();
                Ok(Charset::labelled(&charset.name(), bytes.read(0..4, &mut scratch)?).unwrap_or(charset))
            }
        }
    }
}

/// Sets the executable bit for everyone who may read the file, or clears it.
pub(super) fn set_executable(file: &File, is_executable: bool) -> Result<(), Errno> {
    let mode = rustix::fs::fstat(file)?.st_mode;
    let mode = if is_executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    rustix::fs::fchmod(file, Mode::from_raw_mode(mode))
}
