//! The content of a journal.

use crate::{PinnedRoot, path};
use rustix::fs::Stat;
use serde::{Deserialize, Serialize};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The first byte of a journal: the change may be incomplete, or it was sealed.
pub(super) const OPEN: u8 = b'U';
pub(super) const SEALED: u8 = b'F';
/// Version of the format. Journals of other versions are left alone.
const VERSION: u32 = 1;

/// Everything needed to undo a change, or to finish it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Record {
    version: u32,
    /// The directories that paths are relative to.
    pub(super) roots: Vec<RootRecord>,
    /// The steps of the change, in order.
    pub(super) steps: Vec<JournalStep>,
}

/// A directory that was pinned.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct RootRecord {
    pub(super) path: String,
    pub(super) device: u64,
    pub(super) inode: u64,
}

/// A path beneath one of the directories, links resolved.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JournalPath {
    pub(super) root: usize,
    pub(super) path: String,
}

/// Identifies a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, i64),
}

/// The change of one file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum JournalStep {
    /// New content replaces a file or creates it.
    Replace {
        at: JournalPath,
        /// How many parent directories are created for it.
        missing: usize,
        /// The new content.
        draft: FileIdentity,
        /// The replaced file.
        old: Option<FileIdentity>,
        /// Temporary names of the two, in the nearest parent directory that existed before.
        names: [String; 2],
    },
    /// A file is moved or removed.
    Relocate {
        from: JournalPath,
        to: JournalPath,
        /// How many parent directories of the new path are created for it.
        missing: usize,
        file: FileIdentity,
        /// Whether it is removed: its new name is a temporary one then.
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

    /// Whether both are the same file, whatever its content.
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
    /// A path beneath a directory, with links resolved.
    pub(crate) fn journal_path(&mut self, root: &Arc<PinnedRoot>, resolved: &Path) -> JournalPath {
        let same = |known: &RootRecord| (known.device, known.inode) == (root.device, root.inode);
        let at = self.roots.iter().position(same).unwrap_or_else(|| {
            let PinnedRoot { path, device, inode, .. } = &**root;
            self.roots.push(RootRecord { path: path::encode(path), device: *device, inode: *inode });
            self.roots.len() - 1
        });
        JournalPath { root: at, path: path::encode(resolved) }
    }

    /// Appends a step.
    pub(crate) fn add(&mut self, step: JournalStep) {
        self.steps.push(step);
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![OPEN, b'\n'];
        // Writing to a Vec cannot fail, and all map keys are strings.
        _ = serde_json::to_writer(&mut bytes, self);
        bytes
    }

    /// Parses a journal: whether it was sealed, and its record. `Ok(None)` for another version's.
    ///
    /// # Errors
    /// What is invalid. This program has not written it then.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<(bool, Self)>, String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let is_sealed = match bytes.first() {
            Some(&OPEN) => false,
            Some(&SEALED) => true,
            _ => return Err("it does not begin like one".to_owned()),
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

    /// Rejects the whole journal if any path or name in it could lead elsewhere, before anything is done.
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
            return Err(format!("{} is not a path beneath the workspace", journal_path.path));
        }
        Ok(())
    }
}

impl JournalPath {
    pub(super) fn decoded(&self) -> PathBuf {
        path::decode(&self.path)
    }
}

/// Only temporary names are ever renamed or removed for good.
fn check_temporary(name: &Path) -> Result<(), String> {
    let text = name.to_string_lossy();
    if name.components().count() == 1 && text.starts_with(".beamai-") && text.ends_with(".tmp") {
        return Ok(());
    }
    Err(format!("{text} is not a temporary name"))
}
