//! Undoes or finishes a change of several files whose process has died.
//!
//! The process may have died at any moment, also while undoing, and so may a process that recovered it before. So
//! nothing is assumed: each step looks at the files behind its names and does what is missing. Files that somebody else
//! has changed since are left alone.

use super::record::{FileIdentity, JournalPath, JournalStep, Record, RootRecord};
use crate::{
    PinnedRoot,
    names::{self, NameAt},
    path,
    relocation::prune,
    resolve,
    write::{lock_at, look},
};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fmt;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// What recovery did with a change.
#[derive(Debug)]
pub(super) struct UndoReport {
    workspace: String,
    files: usize,
    /// Whether the change was finished instead of undone.
    is_finished: bool,
    /// Files left alone, and why.
    pub kept: Vec<String>,
}

impl fmt::Display for UndoReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { workspace, files, is_finished, kept } = self;
        let files = if *files == 1 { "1 file".to_owned() } else { format!("{files} files") };
        write!(f, "a process ended while it changed {files} in {workspace}: ")?;
        match is_finished {
            true => f.write_str("the change was complete, and its temporary files have been removed")?,
            false => f.write_str("the change has been undone")?,
        }
        if kept.is_empty() { Ok(()) } else { write!(f, ", except for {}", kept.join("; ")) }
    }
}

/// Undoes the change, or finishes it. `None` when none of its directories exists. When only some are missing, such as a
/// session's temporary directory, their files are gone too and are skipped.
pub(super) fn recover_change(record: &Record, is_sealed: bool) -> Option<UndoReport> {
    let roots: Vec<Option<PinnedRoot>> = record.roots.iter().map(open).collect();
    if roots.iter().all(Option::is_none) {
        return None;
    }
    let act = if is_sealed { UndoRoots::finish } else { UndoRoots::undo };
    let steps = record.steps.iter().rev();
    let failed = steps.clone().filter_map(|step| {
        let (JournalStep::Replace { at: journal_path, .. }
        | JournalStep::Relocate { from: journal_path, .. }) = step;
        act(&UndoRoots { roots: &roots }, step).err().map(|why| format!("{} ({why})", journal_path.path))
    });
    let kept = failed.collect();
    if !is_sealed {
        steps.for_each(|step| remove_made(&roots, step));
    }
    let workspace = record.roots.first().map_or_else(String::new, |root| root.path.clone());
    Some(UndoReport { workspace, files: record.steps.len(), is_finished: is_sealed, kept })
}

fn open(record: &RootRecord) -> Option<PinnedRoot> {
    let root = PinnedRoot::open(&path::decode(&record.path)).ok()?;
    ((root.device, root.inode) == (record.device, record.inode)).then_some(root)
}

/// Why a file was left alone.
enum KeepReason {
    /// Somebody changed it.
    Changed(&'static str),
    /// Somebody changed it; the previous content is in a file of this name.
    KeptAs(String),
    /// The operating system refused.
    Failed(Errno),
}

impl fmt::Display for KeepReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(what) => f.write_str(what),
            Self::KeptAs(name) => {
                write!(f, "another program changed it since; what was there before is in {name}")
            }
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<Errno> for KeepReason {
    fn from(error: Errno) -> Self {
        Self::Failed(error)
    }
}

/// What exists at a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    Nothing,
    Draft,
    Old,
    Other,
}

struct UndoRoots<'r> {
    roots: &'r [Option<PinnedRoot>],
}

impl UndoRoots<'_> {
    fn undo(&self, step: &JournalStep) -> Result<(), KeepReason> {
        match step {
            JournalStep::Replace { at, missing, draft, old, names } => {
                let Some(home) = self.dir(at, *missing)? else { return Ok(()) };
                let swap = Swap { home: &home, names, draft, old: old.as_ref() };
                match (old, self.dir(at, 0)?) {
                    (Some(_), _) => swap.put_back(name_of(&at.decoded()))?,
                    (None, Some(dir)) => swap.remove_new((dir.as_fd(), name_of(&at.decoded())))?,
                    (None, None) => {}
                }
                swap.clean_up()
            }
            JournalStep::Relocate { from, to, file, is_removal, .. } => {
                let Some(new_dir) = self.dir(to, 0)? else { return Ok(()) };
                let (old, new) = (from.decoded(), to.decoded());
                let new = (new_dir.as_fd(), name_of(&new));
                let Some(moved) = look(new.0, new.1)?.filter(|stat| file.is_file(stat)) else {
                    return Ok(());
                };
                let Some(old_dir) = self.dir(from, 0)? else {
                    return Err(KeepReason::KeptAs(to.path.clone()));
                };
                let old = (old_dir.as_fd(), name_of(&old));
                if *is_removal && FileIdentity::of(&moved) != *file {
                    return Err(KeepReason::KeptAs(to.path.clone()));
                }
                names::rename_to_nothing(new, old).map_err(|error| match error {
                    Errno::EXIST => KeepReason::KeptAs(to.path.clone()),
                    error => KeepReason::Failed(error),
                })
            }
        }
    }

    fn finish(&self, step: &JournalStep) -> Result<(), KeepReason> {
        match step {
            JournalStep::Replace { at, missing, draft, old, names } => {
                let Some(home) = self.dir(at, *missing)? else { return Ok(()) };
                for name in names {
                    let name = (home.as_fd(), OsStr::new(name));
                    let Some(stat) = look(name.0, name.1)? else { continue };
                    if draft.is_file(&stat) || old.as_ref().is_some_and(|old| old.is_file(&stat)) {
                        names::unlink(name)?;
                    }
                }
            }
            JournalStep::Relocate { from, to, file, is_removal, .. } => {
                if *is_removal && let Some(dir) = self.dir(to, 0)? {
                    let path = to.decoded();
                    let name = (dir.as_fd(), name_of(&path));
                    if look(name.0, name.1)?.is_some_and(|stat| file.is_file(&stat)) {
                        names::unlink(name)?;
                    }
                }
                if let Some(root) = &self.roots[from.root] {
                    prune(&root.anchor(), &from.decoded());
                }
            }
        }
        Ok(())
    }

    /// The directory `above` levels above the parent of a path; `None` if it does not exist.
    fn dir(&self, journal_path: &JournalPath, above: usize) -> Result<Option<OwnedFd>, Errno> {
        self.roots[journal_path.root]
            .as_ref()
            .map_or(Ok(None), |root| dir_of(root, &journal_path.decoded(), above))
    }
}

fn dir_of(root: &PinnedRoot, path: &Path, above: usize) -> Result<Option<OwnedFd>, Errno> {
    let dir = path.ancestors().nth(above + 1).filter(|dir| !dir.as_os_str().is_empty());
    let flags = OFlags::PATH | OFlags::DIRECTORY;
    match resolve::open_unlinked(root.dir.as_fd(), dir.unwrap_or(Path::new(".")), flags) {
        Ok(dir) => Ok(Some(dir)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The last component, which exists: `Record::check` rejects paths without one.
fn name_of(path: &Path) -> &OsStr {
    path.file_name().unwrap_or_default()
}

/// A file and its replacement.
struct Swap<'a> {
    /// The directory of the temporary names.
    home: &'a OwnedFd,
    names: &'a [String; 2],
    draft: &'a FileIdentity,
    old: Option<&'a FileIdentity>,
}

impl Swap<'_> {
    fn found(&self, (dir, name): NameAt<'_>) -> Result<FileState, Errno> {
        let Some(stat) = look(dir, name)? else { return Ok(FileState::Nothing) };
        let mark = FileIdentity::of(&stat);
        Ok(match () {
            () if mark == *self.draft => FileState::Draft,
            () if Some(&mark) == self.old => FileState::Old,
            () => FileState::Other,
        })
    }

    fn temporary(&self) -> impl Iterator<Item = NameAt<'_>> {
        self.names.iter().map(|name| (self.home.as_fd(), OsStr::new(name)))
    }

    /// The temporary name of the wanted file.
    fn kept(&self, wanted: FileState) -> Result<Option<NameAt<'_>>, Errno> {
        for name in self.temporary() {
            if self.found(name)? == wanted {
                return Ok(Some(name));
            }
        }
        Ok(None)
    }

    /// Restores the replaced file, if the new content is at the target.
    fn put_back(&self, name: &OsStr) -> Result<(), KeepReason> {
        let target = (self.home.as_fd(), name);
        let _lock = lock_at(target.0, target.1);
        let shown = |(_, name): NameAt<'_>| name.to_string_lossy().into_owned();
        match (self.found(target)?, self.kept(FileState::Old)?, self.kept(FileState::Other)?) {
            (FileState::Draft, Some(backup), _) => self.exchange(backup, target, FileState::Draft),
            (FileState::Nothing, Some(backup), _) => match names::rename_to_nothing(backup, target) {
                Err(Errno::EXIST) => Err(KeepReason::KeptAs(shown(backup))),
                done => Ok(done?),
            },
            (FileState::Other, Some(backup), _) => Err(KeepReason::KeptAs(shown(backup))),
            // The backup is only a second hard link.
            (FileState::Old, Some(backup), _) => Ok(names::unlink(backup)?),
            (FileState::Old, None, _) => Ok(()),
            (_, None, Some(backup)) => Err(KeepReason::KeptAs(shown(backup))),
            (FileState::Draft, None, None) => Err(KeepReason::Changed("what was there before is gone")),
            (FileState::Nothing | FileState::Other, None, None) => Ok(()),
        }
    }

    /// Exchanges the names, and checks that the files are the ones that were seen before.
    fn exchange(
        &self,
        temporary: NameAt<'_>,
        target: NameAt<'_>,
        expected: FileState,
    ) -> Result<(), KeepReason> {
        match names::exchange(temporary, target) {
            Err(error) if names::is_unknown(error) => return Ok(names::rename(temporary, target)?),
            done => done?,
        }
        if self.found(temporary)? == expected {
            return Ok(());
        }
        names::exchange(temporary, target)?;
        Err(KeepReason::KeptAs(temporary.1.to_string_lossy().into_owned()))
    }

    /// Removes the new content of a file that did not exist before. It gets a temporary name first, so that the file
    /// that is removed is the one that was checked.
    fn remove_new(&self, target: NameAt<'_>) -> Result<(), KeepReason> {
        if self.found(target)? != FileState::Draft {
            let is_changed = look(target.0, target.1)?.is_some_and(|stat| self.draft.is_file(&stat));
            return if is_changed {
                Err(KeepReason::Changed("another program changed it since"))
            } else {
                Ok(())
            };
        }
        self.clean_up()?;
        for aside in self.temporary() {
            match names::rename_to_nothing(target, aside) {
                Err(Errno::EXIST) => continue,
                done => done?,
            }
            if self.found(aside)? == FileState::Draft {
                return Ok(names::unlink(aside)?);
            }
            _ = names::rename_to_nothing(aside, target);
            return Err(KeepReason::Changed("another program changed it since"));
        }
        Err(KeepReason::Changed("its temporary names are taken"))
    }

    /// Removes the new content from its temporary names, and then from the target.
    fn clean_up(&self) -> Result<(), KeepReason> {
        for name in self.temporary() {
            if self.found(name)? == FileState::Draft {
                names::unlink(name)?;
            }
        }
        Ok(())
    }
}

/// Removes the directories that were created for a step, if they are empty.
fn remove_made(roots: &[Option<PinnedRoot>], step: &JournalStep) {
    let (JournalStep::Replace { at: journal_path, missing, .. }
    | JournalStep::Relocate { to: journal_path, missing, .. }) = step;
    let (path, Some(root)) = (journal_path.decoded(), &roots[journal_path.root]) else { return };
    for made in path.ancestors().skip(1).take(*missing) {
        if let Ok(Some(dir)) = dir_of(root, made, 0) {
            _ = names::remove_dir((dir.as_fd(), name_of(made)));
        }
    }
}
