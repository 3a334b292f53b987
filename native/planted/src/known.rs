//! Settings and hooks as they were when a command started: what in them runs programs, and stamps by which a change is
//! noticed without reading them again. A mount keeps them as they are, unless the person replaces a file: that lifts its
//! mount in the commands that run.

use super::SnapshotRoot;
use super::directory::{FileStamp, OpenDirectory};
use super::pointers::directory_of;
use super::repository::{is_run, risky_settings_in};
use super::shared::SETTINGS;
use super::sources::{TrustedKind, TrustedPath};
use super::trusted::risky_content;
use rustix::fs::FileType;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of cached contents.
const MOST_KEPT: usize = 4_096;

/// Stamps of files by their paths, relative to where they were looked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct SettingsStamp(BTreeMap<PathBuf, FileStamp>);

/// The settings and hooks of one place.
#[derive(Debug, Clone)]
pub(super) struct KnownSettings {
    /// What runs programs.
    pub(super) kept: Arc<BTreeSet<String>>,
    stamp: SettingsStamp,
    /// Whether a mount keeps it as it is.
    pub(super) is_held: bool,
}

impl SettingsStamp {
    /// That of a repository, of which a path is found in a directory.
    fn of_repository(top: &OpenDirectory, root: &Path, path: &Path) -> (Option<OpenDirectory>, Self) {
        let mut stamp = Self::default();
        let opened = top.beneath(path).or_else(|_| {
            // A file, or a link, that leads to it.
            stamp.note(top, path);
            OpenDirectory::root(&directory_of(top, root, path))
        });
        let Ok(directory) = opened else { return (None, stamp) };
        SETTINGS.iter().for_each(|name| stamp.note(&directory, Path::new(name)));
        stamp.note_hooks(&directory, Path::new("hooks"));
        (Some(directory), stamp)
    }

    /// That of a trusted path.
    fn of_trusted(trusted: &TrustedPath) -> Self {
        let mut stamp = Self::default();
        let Ok(top) = OpenDirectory::root(Path::new("/")) else { return stamp };
        match trusted.kind {
            TrustedKind::Hooks => stamp.note_hooks(&top, &trusted.way.end),
            _ => stamp.note(&top, &trusted.way.end),
        }
        stamp
    }

    fn note(&mut self, directory: &OpenDirectory, path: &Path) {
        self.0.extend(directory.stamp(path).map(|stamp| (path.to_owned(), stamp)));
    }

    fn note_hooks(&mut self, directory: &OpenDirectory, path: &Path) {
        self.note(directory, path);
        // The directory's own stamp says nothing of the contents of its files.
        let Ok(hooks) = directory.within(path) else { return };
        for hook in hooks.names().into_iter().filter(|hook| is_run(hook)) {
            self.0.extend(hooks.stamp(&hook).map(|stamp| (path.join(hook), stamp)));
        }
    }

    /// Whether these files, and those that have a stamp, are as they were. New names in a directory change its own stamp.
    fn holds_in<'p>(&'p self, directory: &OpenDirectory, others: impl IntoIterator<Item = &'p Path>) -> bool {
        let mut all = self.0.keys().map(PathBuf::as_path).chain(others);
        all.all(|path| directory.stamp(path).as_ref() == self.0.get(path))
    }

    /// Whether a file of a repository has more than one name, so that a mount on one of them does not keep it.
    fn is_shared(&self) -> bool {
        self.0.values().any(FileStamp::is_shared)
    }
}

impl KnownSettings {
    /// Those of a repository. `is_held` says whether mounts keep what has one name only, and is no link.
    pub(super) fn of_repository(top: &OpenDirectory, root: &Path, path: &Path, is_held: bool) -> Self {
        let (directory, stamp) = SettingsStamp::of_repository(top, root, path);
        let is_held = is_held && !stamp.is_shared() && top.kind(path) != Some(FileType::Symlink);
        let read = || directory.as_ref().map(risky_settings_in).unwrap_or_default();
        let kept = if is_held { cached((root.join(path), None), &stamp, read) } else { Arc::new(read()) };
        Self { kept, stamp, is_held }
    }

    /// Those of a trusted path. `is_root` says whether it is a whole writable directory.
    pub(super) fn of_trusted(trusted: &TrustedPath, is_root: bool, is_held: bool) -> Self {
        let is_held = is_held && !is_root;
        let read = || risky_content(trusted, is_root);
        if !is_held {
            return Self { kept: Arc::new(read()), stamp: SettingsStamp::default(), is_held };
        }
        let stamp = SettingsStamp::of_trusted(trusted);
        Self { kept: cached((trusted.way.end.clone(), Some(trusted.kind)), &stamp, read), stamp, is_held }
    }

    /// Whether a mount has kept a trusted path as it was.
    pub(super) fn has_kept(&self, trusted: &TrustedPath) -> bool {
        let is_as_it_was = |top: OpenDirectory| self.stamp.holds_in(&top, [trusted.way.end.as_path()]);
        self.is_held && OpenDirectory::root(Path::new("/")).is_ok_and(is_as_it_was)
    }
}

impl SnapshotRoot {
    /// Whether a repository was there before, and a mount has kept its settings and hooks as they were.
    pub(super) fn has_kept(&self, top: &OpenDirectory, text: &str, path: &Path) -> bool {
        let Some(known) = self.settings.get(text).filter(|known| known.is_held) else { return false };
        match top.beneath(path) {
            Ok(directory) => {
                known.stamp.holds_in(&directory, SETTINGS.iter().chain(&["hooks"]).map(Path::new))
            }
            Err(_) => known.stamp == SettingsStamp::of_repository(top, &self.path, path).1,
        }
    }
}

/// The cached content for a place and stamp; reads it if there is none.
fn cached(
    place: (PathBuf, Option<TrustedKind>),
    stamp: &SettingsStamp,
    read: impl FnOnce() -> BTreeSet<String>,
) -> Arc<BTreeSet<String>> {
    type Kept = HashMap<(PathBuf, Option<TrustedKind>), (SettingsStamp, Arc<BTreeSet<String>>)>;
    static KEPT: Mutex<Option<Kept>> = Mutex::new(None);
    let lock = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((then, content)) = lock().get_or_insert_default().get(&place)
        && then == stamp
    {
        return Arc::clone(content);
    }
    let content = Arc::new(read());
    let mut all = lock();
    let all = all.get_or_insert_default();
    if all.len() >= MOST_KEPT {
        all.clear();
    }
    all.insert(place, (stamp.clone(), Arc::clone(&content)));
    content
}
