//! What a journal says.

use crate::{PinnedRoot, path};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The first byte of a journal of which some files may not have their places yet, and of one that was sealed.
pub(super) const OPEN: u8 = b'U';
pub(super) const SEALED: u8 = b'F';
/// The first of a journal's formats. Another version's journal is left to that version.
const VERSION: u32 = 1;

/// All that is needed to undo a change, or to bring it to its end.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// The directories that paths are beneath.
    pub(super) roots: Vec<RootRecord>,
    /// What is done, in this order.
    pub(super) steps: Vec<JournalStep>,
}

/// A directory that was pinned.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RootRecord {
    pub(super) path: String,
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// A path beneath one of the directories, without links on the way.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JournalPath {
    pub(super) root: usize,
    pub(super) path: String,
}

/// How a file is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
}

/// One file's part.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JournalStep {
    /// New content comes to a path.
    Replace {
        at: JournalPath,
        /// How many of the directories above are made for it.
        missing: usize,
        /// The new content.
        draft: FileIdentity,
        /// The file that stood there.
        old: Option<FileIdentity>,
        /// Temporary names of the two, in the last directory that was there before.
        names: [String; 2],
    },
    /// A file leaves its path.
    Relocate {
        from: JournalPath,
        to: JournalPath,
        /// How many of the directories above its new path are made for it.
        missing: usize,
        file: FileIdentity,
        /// Whether it is to be gone: then its new name is a temporary one.
        is_removal: bool,
    },
}

impl FileIdentity {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, clippy::cast_possible_wrap)]
    pub(crate) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        }
    }

    /// Whether both are one file, whatever it holds.
    pub(super) fn is_file(&self, stat: &Stat) -> bool {
        let other = Self::of(stat);
        (self.device, self.inode) == (other.device, other.inode)
    }
}

impl Default for Record {
    fn default() -> Self {
        Self { version: VERSION, roots: Vec::new(), steps: Vec::new() }
    }
}

impl Record {
    /// A path beneath a directory, all links followed.
    pub(crate) fn journal_path(&mut self, root: &Arc<PinnedRoot>, resolved: &Path) -> JournalPath {
        let same = |known: &RootRecord| (known.device, known.inode) == (root.device, root.inode);
        let at = self.roots.iter().position(same).unwrap_or_else(|| {
            let PinnedRoot { path, device, inode, .. } = &**root;
            self.roots.push(RootRecord { path: path::encode(path), device: *device, inode: *inode });
            self.roots.len() - 1
        });
        JournalPath { root: at, path: path::encode(resolved) }
    }

    /// Adds what is done next.
    pub(crate) fn add(&mut self, step: JournalStep) {
        self.steps.push(step);
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![OPEN, b'\n'];
        // Writing to memory cannot fail, and there are no maps with other keys than text.
        _ = serde_json::to_writer(&mut bytes, self);
        bytes
    }

    /// Reads a journal: whether it was sealed, and what it says. `Ok(None)` is another version's.
    ///
    /// # Errors
    /// What is wrong with it. No program of ours has written it then.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<(bool, Self)>, String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let is_sealed = match bytes.first() {
            Some(&OPEN) => false,
            Some(&SEALED) => true,
            _ => return Err("it does not begin as one".to_owned()),
        };
        let text = &bytes[1..];
        let versioned: Versioned = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        if versioned.version != VERSION {
            return Ok(None);
        }
        let record: Self = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        record.check()?;
        Ok(Some((is_sealed, record)))
    }

    /// Whatever could lead elsewhere is refused as a whole, before anything is done.
    fn check(&self) -> Result<(), String> {
        for step in &self.steps {
            match step {
                JournalStep::Replace { at, missing, names, .. } => {
                    self.check_spot(at, *missing)?;
                    names.iter().try_for_each(|name| check_temporary(Path::new(name)))?;
                }
                JournalStep::Relocate { from, to, missing, is_removal, .. } => {
                    self.check_spot(from, 0)?;
                    self.check_spot(to, *missing)?;
                    if *is_removal {
                        let (old, new) = (from.decoded(), to.decoded());
                        check_temporary(Path::new(new.file_name().unwrap_or_default()))?;
                        if (from.root, old.parent()) != (to.root, new.parent()) {
                            return Err(format!("{} is not beside {}", to.path, from.path));
                        }
                    }
                }
            }
        }
        Ok(())
    }

    fn check_spot(&self, journal_path: &JournalPath, missing: usize) -> Result<(), String> {
        let path = journal_path.decoded();
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        let depth = path.components().count();
        if journal_path.root >= self.roots.len()
            || !is_plain
            || depth <= missing
            || path.as_os_str().is_empty()
        {
            return Err(format!("{} is no path beneath the workspace", journal_path.path));
        }
        Ok(())
    }
}

impl JournalPath {
    pub(super) fn decoded(&self) -> PathBuf {
        path::decode(&self.path)
    }
}

/// Only names that drafts get are ever renamed or removed for good.
fn check_temporary(name: &Path) -> Result<(), String> {
    let text = name.to_string_lossy();
    if name.components().count() == 1 && text.starts_with(".beamai-") && text.ends_with(".tmp") {
        return Ok(());
    }
    Err(format!("{text} is no temporary name"))
}
