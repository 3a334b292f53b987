//! Finds changes of tracked files: the work tree compared with the staging area.

use super::content::{EXECUTABLE, FILE, LINK, SUBMODULE, WorkTreeReader, failed, stage};
use super::dirs::{Dirs, join, split};
use super::lookahead::{Lookahead, helpers};
use crate::{
    changes::{BlobVersion, ChangeKind, FileChange, NO_ID, is_below},
    fail::GitResult,
    repo::Repo,
};
use beamai_base::Result;
use beamai_port_tools::git::path::shown;
use git2::{IndexEntry, IndexEntryExtendedFlag, IndexEntryFlag, Oid};
use rustix::fs::{FileType, Stat};
use rustix::io::Errno;

/// Entries compared between two checks for timeout and cancellation.
const CHECK_EVERY: usize = 256;

/// What an entry is compared with, besides its file.
#[derive(Clone, Copy)]
pub(super) struct IndexComparison {
    /// When the index was written.
    index: Option<Stat>,
    trusts_mode: bool,
}

impl IndexComparison {
    /// Whether the entry's file has the metadata of the index, so that its content need not be read. False for entries
    /// that need more than a look at the file.
    pub(super) fn is_unchanged(&self, entry: &IndexEntry, dirs: &mut Dirs) -> bool {
        let is_plain = stage(entry) == 0 && entry.mode != SUBMODULE && !is_intended(entry);
        is_plain
            && !is_left_alone(entry)
            && dirs.lstat(&entry.path).is_ok_and(|stat| {
                mode(&stat, entry.mode, self.trusts_mode) == Some(entry.mode) && self.has_kept(entry, &stat)
            })
    }

    /// Whether metadata show that the content is the staged one.
    fn has_kept(&self, entry: &IndexEntry, stat: &Stat) -> bool {
        is_same_stat(entry, stat) && !self.index.is_none_or(|index| is_racy(entry, &index))
    }
}

impl WorkTreeReader<'_> {
    /// Lets other threads look at the files for [`changes`](Self::changes) from now on, if those of the whole work tree
    /// are wanted.
    pub fn look_ahead(&mut self, index: Option<&Stat>, below: &[u8]) {
        if below.is_empty() {
            self.ahead = self.lookahead(0, self.comparison(index));
        }
    }

    fn lookahead(&self, from: usize, comparison: IndexComparison) -> Option<Lookahead> {
        Lookahead::start(self.entries, from, comparison, || self.repo.dirs(self.cx).ok())
    }

    fn comparison(&self, index: Option<&Stat>) -> IndexComparison {
        IndexComparison { index: index.copied(), trusts_mode: self.repo.settings.file_mode }
    }

    /// The changes below a path, sorted by path, without conflicted paths.
    ///
    /// # Errors
    /// If files cannot be read, and `cancelled` and `timeout`.
    pub fn changes(&mut self, index: Option<&Stat>, below: &[u8]) -> GitResult<Vec<FileChange>> {
        let comparison = self.comparison(index);
        let count = self.entries.len();
        // This thread looks at its share itself.
        let own = count / (helpers(count) + 1);
        let mut ahead = match self.ahead.take() {
            None if below.is_empty() => self.lookahead(own, comparison),
            started => started,
        };
        let mut unchanged = Vec::new();
        let mut changes = Vec::new();
        for (at, entry) in self.entries.iter().enumerate() {
            if at % CHECK_EVERY == 0 {
                self.cx.check()?;
            }
            if ahead.as_ref().is_some_and(|ahead| ahead.begins_at(at)) {
                unchanged = ahead.take().map_or_else(Vec::new, Lookahead::unchanged);
            }
            let is_unchanged = unchanged.get(at) == Some(&true);
            if !is_unchanged && stage(entry) == 0 && is_below(&entry.path, below) {
                changes.extend(self.change(entry, comparison)?);
            }
        }
        Ok(changes)
    }

    /// The change of one entry; `None` if it is unchanged.
    fn change(&mut self, entry: &IndexEntry, comparison: IndexComparison) -> GitResult<Option<FileChange>> {
        if is_left_alone(entry) {
            return Ok(None);
        }
        let old = BlobVersion { mode: entry.mode, id: entry.id };
        let change = |kind, new: Option<BlobVersion>| {
            let old = (kind != ChangeKind::Added).then_some(old);
            Some(FileChange { path: entry.path.clone(), kind, old, new })
        };
        let stat = match self.dirs.lstat(&entry.path) {
            Ok(stat) => stat,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(change(ChangeKind::Deleted, None)),
            Err(Errno::NAMETOOLONG) => {
                self.note(format!("{}: nested too deeply to be read", shown(&entry.path)));
                return Ok(None);
            }
            // Like git, which shows nothing of such a file and says so.
            Err(Errno::ACCESS | Errno::PERM) => {
                let dir = split(&entry.path).0;
                self.note(format!("{}: not permitted to look into it", shown(dir)));
                return Ok(None);
            }
            Err(error) => return Err(failed("look at", &entry.path, error).into()),
        };
        if entry.mode == SUBMODULE && FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
            return Ok(self.submodule(entry)?.and_then(|new| change(ChangeKind::Modified, Some(new))));
        }
        let Some(mode) = mode(&stat, entry.mode, comparison.trusts_mode) else {
            // git takes a repository with a commit for a submodule.
            return Ok(match self.submodule(entry)? {
                None => change(ChangeKind::Deleted, None),
                new => change(ChangeKind::TypeChanged, new),
            });
        };
        let new = |id| Some(BlobVersion { mode, id });
        Ok(if is_intended(entry) {
            change(ChangeKind::Added, new(NO_ID))
        } else if mode & 0o170_000 != entry.mode & 0o170_000 {
            change(ChangeKind::TypeChanged, new(NO_ID))
        } else if mode != entry.mode {
            change(ChangeKind::Modified, new(NO_ID))
        } else {
            self.content_change(entry, &stat, comparison)?
                .and_then(|id| change(ChangeKind::Modified, new(id)))
        })
    }

    /// The hash of changed content; all zeros if it was not needed. `None` also if the content may not be read.
    fn content_change(
        &mut self,
        entry: &IndexEntry,
        stat: &Stat,
        comparison: IndexComparison,
    ) -> Result<Option<Oid>> {
        if comparison.has_kept(entry, stat) {
            return Ok(None);
        }
        // git decides by size too, even if converting line endings would make the sizes equal.
        if entry.file_size != 0 && entry.file_size != size(stat) {
            return Ok(Some(NO_ID));
        }
        let id = self.id(&entry.path, entry.mode)?;
        let is_known = id.is_some() || !self.unread().contains(&entry.path);
        Ok((is_known && id != Some(entry.id)).then(|| id.unwrap_or(NO_ID)))
    }

    /// The current commit of a submodule, if it differs from the staged one.
    fn submodule(&mut self, entry: &IndexEntry) -> GitResult<Option<BlobVersion>> {
        if self.dirs.lstat(&join(&entry.path, b".git")).is_err() {
            return Ok(None);
        }
        let path = join(&self.repo.located.outside(&entry.path), b".git");
        let id = match Repo::open(self.cx, Some(&path)).and_then(|repo| repo.head()) {
            Ok(head) => head.filter(|head| *head != entry.id),
            Err(_) => {
                self.note(format!("submodule {}: its repository cannot be used here", shown(&entry.path)));
                return Ok(None);
            }
        };
        self.note(format!("submodule {}: changes inside it are not shown", shown(&entry.path)));
        Ok(id.map(|id| BlobVersion { mode: SUBMODULE, id }))
    }

    /// The file or link at a path, not hashed; `None` if there is none. `like` is the mode that counts where file modes
    /// do not.
    pub fn work_version(&mut self, path: &[u8], like: u32) -> Option<BlobVersion> {
        let stat = self.dirs.lstat(path).ok()?;
        let mode = mode(&stat, like, self.repo.settings.file_mode)?;
        Some(BlobVersion { mode, id: NO_ID })
    }

    /// Whether a file's content differs from the staged content although its metadata, with timestamps in whole seconds
    /// as most builds of git compare them, is the same.
    ///
    /// # Errors
    /// If the file cannot be read, and `cancelled` and `timeout`.
    pub fn is_racily_changed(&mut self, entry: &IndexEntry, index: &Stat) -> Result<bool> {
        let is_racy = low(entry.mtime.seconds()) >= low(index.st_mtime);
        if stage(entry) > 0 || is_left_alone(entry) || entry.mode == SUBMODULE || !is_racy {
            return Ok(false);
        }
        let Ok(stat) = self.dirs.lstat(&entry.path) else { return Ok(false) };
        Ok(entry.file_size == size(&stat) && self.id(&entry.path, entry.mode)? != Some(entry.id))
    }
}

/// Whether git was told to assume that the path is unchanged, or to leave it out of the work tree.
pub(crate) fn is_left_alone(entry: &IndexEntry) -> bool {
    entry.flags & IndexEntryFlag::VALID.bits() != 0
        || entry.flags_extended & IndexEntryExtendedFlag::SKIP_WORKTREE.bits() != 0
}

pub(crate) fn is_intended(entry: &IndexEntry) -> bool {
    entry.flags_extended & IndexEntryExtendedFlag::INTENT_TO_ADD.bits() != 0
}

/// The mode of a file in a tree; `None` for types that git does not track.
pub fn mode(stat: &Stat, like: u32, trusts_mode: bool) -> Option<u32> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if !trusts_mode && like & 0o170_000 == 0o100_000 => Some(like),
        FileType::RegularFile => {
            Some(if trusts_mode && stat.st_mode & 0o100 != 0 { EXECUTABLE } else { FILE })
        }
        FileType::Symlink => Some(LINK),
        _ => None,
    }
}

/// The low 32 bits: index entries store no more.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::unnecessary_cast)]
pub fn low(value: impl TryInto<i128>) -> u32 {
    value.try_into().unwrap_or_default() as u32
}

fn size(stat: &Stat) -> u32 {
    low(stat.st_size)
}

/// Whether the metadata is the same as when the file was staged.
fn is_same_stat(entry: &IndexEntry, stat: &Stat) -> bool {
    let times = |seconds: u32, nanoseconds: u32, time: &git2::IndexTime| {
        seconds == low(time.seconds()) && (time.nanoseconds() == 0 || nanoseconds == time.nanoseconds())
    };
    times(low(stat.st_mtime), low(stat.st_mtime_nsec), &entry.mtime)
        && times(low(stat.st_ctime), low(stat.st_ctime_nsec), &entry.ctime)
        && entry.ino == low(stat.st_ino)
        && entry.uid == stat.st_uid
        && entry.gid == stat.st_gid
        && entry.file_size == size(stat)
}

/// Whether the file may have changed after staging without a change of its metadata. Compares whole seconds if either
/// side has no fraction.
fn is_racy(entry: &IndexEntry, index: &Stat) -> bool {
    let staged = (low(entry.mtime.seconds()), entry.mtime.nanoseconds());
    let written = (low(index.st_mtime), low(index.st_mtime_nsec));
    staged >= written || (staged.0 == written.0 && (staged.1 == 0 || written.1 == 0))
}
