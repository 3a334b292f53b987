//! Reads work-tree files as blobs: with line endings and `$Id$` converted.

use super::attributes::{AttributeStates, Attributes};
use super::convert::Conversion;
use super::dirs::Dirs;
use super::lookahead::Lookahead;
use crate::call::GitCall;
use crate::{
    fail::GitResult,
    repo::{Repo, Staging},
};
use beamai_base::{Reason, Result, ToolError};
use beamai_port_tools::git::path::shown;
use git2::{IndexEntry, ObjectType, Oid};
use rustix::fs::Stat;
use rustix::io::Errno;
use sha1::{Digest, Sha1};
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::sync::Arc;

/// Mode of a regular file in a tree.
pub const FILE: u32 = 0o100_644;
/// Mode of an executable file in a tree.
pub(super) const EXECUTABLE: u32 = 0o100_755;
/// Mode of a symbolic link in a tree.
pub const LINK: u32 = 0o120_000;
/// Mode of a submodule in a tree.
pub const SUBMODULE: u32 = 0o160_000;

/// Maximum number of paths named in a message.
const NAMED: usize = 10;

/// Bytes hashed between two checks for timeout and cancellation.
const CHUNK: usize = 1 << 20;

/// Reads files of one work tree.
pub struct WorkTreeReader<'r> {
    /// The repository.
    pub repo: &'r Repo,
    /// The environment of the operation.
    pub cx: &'r GitCall,
    /// The work tree's directories.
    pub dirs: Dirs,
    /// The entries of the staging area.
    pub entries: &'r Arc<[IndexEntry]>,
    attributes: Attributes<'r>,
    /// The files that other threads look at meanwhile.
    pub(super) ahead: Option<Lookahead>,
    /// What is treated differently from the git program.
    notes: Vec<String>,
    /// Paths whose content may not be read.
    unread: BTreeSet<Vec<u8>>,
}

impl<'r> WorkTreeReader<'r> {
    /// A reader for a repository's work tree.
    ///
    /// # Errors
    /// If files with attributes cannot be read.
    pub fn new(repo: &'r Repo, staging: &'r Staging, cx: &'r GitCall) -> GitResult<Self> {
        let entries = &staging.entries;
        let attributes = Attributes::new(repo, entries, cx)?;
        let (notes, unread) = (Vec::new(), BTreeSet::new());
        Ok(Self { repo, cx, dirs: repo.dirs(cx)?, entries, attributes, ahead: None, notes, unread })
    }

    /// The attributes of a path.
    ///
    /// # Errors
    /// If files with attributes cannot be read.
    pub fn attributes(&mut self, path: &[u8]) -> Result<AttributeStates> {
        self.attributes.of(&mut self.dirs, path)
    }

    /// The conversion of a file on its way into the repository.
    ///
    /// # Errors
    /// If files with attributes cannot be read.
    pub fn conversion(&mut self, path: &[u8]) -> Result<Conversion> {
        Ok(Conversion::new(&self.attributes(path)?, &self.repo.settings))
    }

    /// The hash of the file or link as a blob; `None` if it cannot be read.
    ///
    /// # Errors
    /// If the file cannot be read, and `cancelled` and `timeout`.
    pub fn id(&mut self, path: &[u8], mode: u32) -> Result<Option<Oid>> {
        if mode == LINK {
            let link = self.dirs.read_link(path).ok();
            return Ok(link.and_then(|link| Oid::hash_object(ObjectType::Blob, &link).ok()));
        }
        let Some((file, stat)) = self.opened(path) else { return Ok(None) };
        let conversion = self.own_conversion(path)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if conversion.is_none() || size > self.cx.limits.whole_file_bytes {
            if !conversion.is_none() {
                self.note(format!("{}: too large to convert its line endings", shown(path)));
            }
            return hash(file, size, self.cx);
        }
        let Some(bytes) = self.read(file, size)? else { return Ok(None) };
        let blob = self.clean(path, &conversion, bytes);
        Ok(Oid::hash_object(ObjectType::Blob, &blob).ok())
    }

    /// The content of the file or link as a blob; `None` if it cannot be read.
    ///
    /// # Errors
    /// `too_large` for files beyond the limit.
    pub fn blob(&mut self, path: &[u8], mode: u32) -> Result<Option<Vec<u8>>> {
        if mode == LINK {
            return Ok(self.dirs.read_link(path).ok());
        }
        let Some((file, stat)) = self.opened(path) else { return Ok(None) };
        let conversion = self.own_conversion(path)?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > self.cx.limits.whole_file_bytes {
            return Err(too_large(path, size, self.cx.limits.whole_file_bytes));
        }
        let bytes = self.read(file, size)?;
        Ok(bytes.map(|bytes| self.clean(path, &conversion, bytes)))
    }

    fn opened(&mut self, path: &[u8]) -> Option<(File, Stat)> {
        match self.dirs.open_file(path) {
            Ok(opened) => Some(opened),
            Err(error) => {
                if matches!(error, Errno::ACCESS | Errno::PERM) {
                    self.unread.insert(path.to_vec());
                }
                None
            }
        }
    }

    /// The paths whose content may not be read, of those looked at so far.
    pub fn unread(&self) -> &BTreeSet<Vec<u8>> {
        &self.unread
    }

    /// The unconverted content of a file, and its metadata from before the read.
    ///
    /// # Errors
    /// `too_large` for files beyond the limit.
    pub fn raw(&mut self, path: &[u8]) -> Result<(Stat, Vec<u8>)> {
        let (file, stat) = self.dirs.open_file(path).map_err(|error| failed("open", path, error))?;
        let size = u64::try_from(stat.st_size).unwrap_or(0);
        if size > self.cx.limits.whole_file_bytes {
            return Err(too_large(path, size, self.cx.limits.whole_file_bytes));
        }
        let bytes = self.read(file, size)?;
        Ok((stat, bytes.ok_or_else(|| failed("read", path, Errno::IO))?))
    }

    /// The supported part of a path's conversion. Notes the unsupported part.
    fn own_conversion(&mut self, path: &[u8]) -> Result<Conversion> {
        let conversion = self.conversion(path)?;
        if let Some(foreign) = &conversion.foreign {
            let note = format!("{} has the attribute {foreign}: it was compared without", shown(path));
            self.note(note);
        }
        Ok(conversion)
    }

    /// Applies a conversion.
    pub fn clean(&self, path: &[u8], conversion: &Conversion, bytes: Vec<u8>) -> Vec<u8> {
        conversion.clean(bytes, || self.repo.blob(self.staged(path)?.id, self.cx.limits.whole_file_bytes))
    }

    /// The index entry of a path; in a conflict, our version.
    pub fn staged(&self, path: &[u8]) -> Option<&'r IndexEntry> {
        let start = self.entries.partition_point(|entry| entry.path.as_slice() < path);
        let same = self.entries[start..].iter().take_while(|entry| entry.path == path);
        same.filter(|entry| matches!(stage(entry), 0 | 2)).last()
    }

    /// Reads a file to its end, checking for timeout and cancellation.
    fn read(&self, file: File, size: u64) -> Result<Option<Vec<u8>>> {
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        let mut file = file.take(self.cx.limits.whole_file_bytes);
        loop {
            self.cx.check()?;
            match (&mut file).take(CHUNK as u64).read_to_end(&mut bytes) {
                Ok(0) => return Ok(Some(bytes)),
                Ok(_) => {}
                Err(_) => return Ok(None),
            }
        }
    }

    /// Notes on what these tools treat differently from git, and on files that they could not compare.
    pub fn take_notes(&mut self) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.notes);
        let unread: Vec<Vec<u8>> = self.unread.iter().map(|path| self.repo.located.outside(path)).collect();
        if !unread.is_empty() {
            notes.push(format!(
                "{}: cannot be compared, because permission rules or the mode keep it from being read",
                named(&unread)
            ));
        }
        notes
    }

    /// Adds a note; duplicates are ignored.
    pub fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// The first of some paths, and the number of the others.
pub fn named(paths: &[Vec<u8>]) -> String {
    let rest = paths.len().saturating_sub(NAMED);
    let first: Vec<String> = paths.iter().take(NAMED).map(|path| shown(path)).collect();
    let more = if rest > 0 { format!(" and {rest} more") } else { String::new() };
    first.join(", ") + &more
}

/// The conflict stage of an entry: 0 none, 1 common ancestor, 2 ours, 3 theirs.
pub fn stage(entry: &IndexEntry) -> u16 {
    (entry.flags >> 12) & 3
}

fn too_large(path: &[u8], size: u64, limit: u64) -> ToolError {
    let message = format!(
        "{} has {size} bytes, more than the {limit} that are read here; use the shell tool to run git on it",
        shown(path)
    );
    ToolError::new(Reason::TooLarge, message).file(shown(path))
}

/// The hash of a file's content as a blob; `None` if it cannot be read or changes while being read.
fn hash(mut file: File, size: u64, cx: &GitCall) -> Result<Option<Oid>> {
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {size}\0"));
    let mut buffer = vec![0; CHUNK.min(usize::try_from(size).unwrap_or(CHUNK)).max(1)];
    let mut total = 0;
    loop {
        cx.check()?;
        match file.read(&mut buffer) {
            Ok(0) if total == size => return Ok(Oid::from_bytes(&hasher.finalize()).ok()),
            Ok(0) | Err(_) => return Ok(None),
            Ok(read) => {
                hasher.update(&buffer[..read]);
                total += read as u64;
            }
        }
    }
}

/// The error of an operation on a work-tree file.
pub fn failed(action: &str, path: &[u8], error: Errno) -> ToolError {
    ToolError::io(action, shown(path), error)
}
