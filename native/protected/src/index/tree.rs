//! The directories that a survey has walked, and what it found in them.

use super::scan::{self, DirectoryStamp, Scan};
use super::targets::{DirectoryRole, EntryMeaning, ScanTargets, is_mark};
use super::watch::{DirectoryEvent, EventOverflow, InotifyWatch};
use super::{ScanBounds, texts};
use crate::ProtectedPaths;
use beamai_base::{Result, ToolError};
use beamai_workspace::{encode_path, is_local};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time after which a walk that was cut short is tried again, once something has happened.
const PATIENCE: Duration = Duration::from_secs(10);

/// The directories beneath a root, by relative path.
pub(super) struct DirectoryIndex {
    root: OwnedFd,
    stamp: DirectoryStamp,
    bounds: ScanBounds,
    watch: Option<InotifyWatch>,
    directories: BTreeMap<PathBuf, IndexedDirectory>,
    /// Which directory the kernel means.
    watched: HashMap<i32, PathBuf>,
    /// Directories that are compared by their dates.
    dated: BTreeMap<PathBuf, DirectoryStamp>,
    repositories: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    read_only: BTreeSet<PathBuf>,
    /// Names that were read.
    names: usize,
    cut: Option<ScanCutoff>,
}

/// Where the walk was given up.
struct ScanCutoff {
    why: String,
    when: Instant,
}

/// Without what is beneath another one.
fn topmost(paths: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut top: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !top.last().is_some_and(|above| path.starts_with(above)) {
            top.push(path);
        }
    }
    top
}

struct IndexedDirectory {
    role: DirectoryRole,
    watch: Option<i32>,
}

impl DirectoryIndex {
    /// Looks at everything.
    ///
    /// # Errors
    /// Those of the look's check. What else goes wrong is said in what is found.
    pub(super) fn walk(path: &Path, bounds: ScanBounds, scan: &Scan<'_>) -> Result<Self> {
        let opened = scan::open_root(path).and_then(|root| Ok((scan::stamp(&root)?, root)));
        let (stamp, root) = opened.map_err(|errno| ToolError::io("look into", encode_path(path), errno))?;
        // Elsewhere, names come and go without this machine's kernel.
        let watch = if is_local(&root) { InotifyWatch::new().ok() } else { None };
        let mut tree = Self {
            root,
            stamp,
            bounds,
            watch,
            directories: BTreeMap::new(),
            watched: HashMap::new(),
            dated: BTreeMap::new(),
            repositories: BTreeSet::new(),
            hidden: BTreeSet::new(),
            read_only: BTreeSet::new(),
            names: 0,
            cut: None,
        };
        tree.descend(PathBuf::new(), DirectoryRole::Plain { is_read_only: false }, scan)?;
        Ok(tree)
    }

    /// Whether the directory at a path is still the one that was walked.
    pub(super) fn stands_for(&self, path: &Path) -> bool {
        scan::stamp_of(path).is_ok_and(|now| now.is_same_directory(&self.stamp))
    }

    pub(super) fn found(&self, targets: &ScanTargets<'_>) -> ProtectedPaths {
        ProtectedPaths {
            root: encode_path(targets.root()),
            repositories: texts(&self.repositories),
            hidden: texts(&self.hidden),
            read_only: texts(&self.read_only),
            cut: self.cut.as_ref().map(|cut| cut.why.clone()),
        }
    }

    /// Takes in what has happened since the last time. False when something that is sought may have come or gone.
    ///
    /// # Errors
    /// Those of the look's check, after which the tree is not to be used.
    pub(super) fn is_current(&mut self, scan: &Scan<'_>) -> Result<bool> {
        let Ok((names, directories)) = self.news(scan) else {
            self.start_again(scan)?;
            return Ok(false);
        };
        if names.is_empty() && directories.is_empty() {
            return Ok(true);
        }
        let directories = topmost(directories);
        // A directory that was moved has the same watch in both places, so what is gone goes first.
        for path in &directories {
            self.forget(path);
        }
        for path in names.iter().chain(&directories) {
            (scan.check)()?;
            self.look_again(path, scan)?;
        }
        if self.cut.as_ref().is_some_and(|cut| cut.when.elapsed() > PATIENCE) {
            self.start_again(scan)?;
        }
        Ok(false)
    }

    /// What has to be looked at again: names, and directories with all that is in them.
    fn news(&self, scan: &Scan<'_>) -> Result<(BTreeSet<PathBuf>, BTreeSet<PathBuf>), EventOverflow> {
        let (mut names, mut directories) = (BTreeSet::new(), BTreeSet::new());
        let mut told = HashSet::new();
        if let Some(watch) = &self.watch {
            watch.news(|news| {
                if self.is_of_interest(&news, scan) {
                    told.insert(news);
                }
            })?;
        }
        for DirectoryEvent { watch, name, is_directory } in told {
            let parent = &self.watched[&watch];
            let role = self.directories.get(parent).map(|directory| directory.role);
            match (role, is_directory) {
                // A repository has come to be, or is none any more.
                (Some(DirectoryRole::Modules(_)), false) => _ = directories.insert(parent.clone()),
                (_, true) => _ = directories.insert(parent.join(name)),
                (_, false) => _ = names.insert(parent.join(name)),
            }
        }
        let is_old = |(path, stamp): &(&PathBuf, &DirectoryStamp)| {
            stamp.is_fresh() || scan::stamp_at(&self.root, path) != Ok(**stamp)
        };
        directories.extend(self.dated.iter().filter(is_old).map(|(path, _)| path.clone()));
        Ok((names, directories))
    }

    fn is_of_interest(&self, news: &DirectoryEvent, scan: &Scan<'_>) -> bool {
        let parent = self.watched.get(&news.watch).and_then(|parent| self.directories.get(parent));
        parent.is_some_and(|parent| match news.is_directory {
            true => {
                parent.role != DirectoryRole::Repository
                    || ["modules", "worktrees"].iter().any(|of| news.name == *of)
            }
            false => scan.targets.concerns(parent.role, &news.name),
        })
    }

    fn start_again(&mut self, scan: &Scan<'_>) -> Result<()> {
        self.watch = self.watch.as_ref().and_then(|_| InotifyWatch::new().ok());
        self.forget(Path::new(""));
        (self.names, self.cut) = (0, None);
        self.descend(PathBuf::new(), DirectoryRole::Plain { is_read_only: false }, scan)
    }

    /// Forgets something and all that is in it.
    fn forget(&mut self, path: &Path) {
        let beneath = |set: &BTreeSet<PathBuf>| -> Vec<PathBuf> {
            let from = set.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
            from.take_while(|other| other.starts_with(path)).cloned().collect()
        };
        for set in [&mut self.repositories, &mut self.hidden, &mut self.read_only] {
            for gone in beneath(set) {
                set.remove(&gone);
            }
        }
        let from = self.directories.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        let gone: Vec<PathBuf> =
            from.map(|(other, _)| other).take_while(|other| other.starts_with(path)).cloned().collect();
        for path in gone {
            self.dated.remove(&path);
            if let Some(watch) = self.directories.remove(&path).and_then(|directory| directory.watch) {
                self.watched.remove(&watch);
                self.watch.iter().for_each(|bell| bell.remove(watch));
            }
        }
    }

    /// Looks at something that may have come to be, be gone, or be something else now.
    fn look_again(&mut self, path: &Path, scan: &Scan<'_>) -> Result<()> {
        self.forget(path);
        let Some(parent) = path.parent() else {
            return self.descend(PathBuf::new(), DirectoryRole::Plain { is_read_only: false }, scan);
        };
        // Where its directory is gone, so is this.
        let Some(role) = self.directories.get(parent).map(|parent| parent.role) else { return Ok(()) };
        if matches!(role, DirectoryRole::Plain { .. }) && path.file_name().is_some_and(is_mark) {
            // It may be what made its directory a repository; where it still does, that is noted again.
            self.repositories.remove(parent);
        }
        match scan::kind(&self.root, path).and_then(|kind| self.note(role, path, kind, scan)) {
            Some(role) => self.descend(path.to_owned(), role, scan),
            None => Ok(()),
        }
    }

    /// Notes what something means; says as what it is to be looked into.
    fn note(
        &mut self,
        parent: DirectoryRole,
        path: &Path,
        kind: FileType,
        scan: &Scan<'_>,
    ) -> Option<DirectoryRole> {
        let meaning = scan.targets.meaning(parent, path, kind, |path| scan::exists(&self.root, path));
        self.keep(path, meaning)
    }

    fn keep(&mut self, path: &Path, meaning: EntryMeaning) -> Option<DirectoryRole> {
        let EntryMeaning { is_repository, makes_repository, is_hidden, is_read_only, descend } = meaning;
        if let (true, Some(directory)) = (makes_repository, path.parent()) {
            self.repositories.insert(directory.to_owned());
        }
        let sets = [
            (is_repository, &mut self.repositories),
            (is_hidden, &mut self.hidden),
            (is_read_only, &mut self.read_only),
        ];
        for (is_wanted, set) in sets {
            if is_wanted {
                set.insert(path.to_owned());
            }
        }
        if self.repositories.len() + self.hidden.len() + self.read_only.len() > self.bounds.found {
            self.cut_at(&format!("more than {} files and directories were found", self.bounds.found));
        }
        descend
    }

    fn cut_at(&mut self, why: &str) {
        self.cut.get_or_insert_with(|| ScanCutoff { why: why.to_owned(), when: Instant::now() });
    }

    /// Looks into a directory and all that is in it, nearest first.
    fn descend(&mut self, path: PathBuf, role: DirectoryRole, scan: &Scan<'_>) -> Result<()> {
        let mut queue = VecDeque::from([(path, role)]);
        while let Some((path, role)) = queue.pop_front() {
            (scan.check)()?;
            if self.directories.len() >= self.bounds.directories {
                self.cut_at(&format!("it has more than {} directories", self.bounds.directories));
            } else if self.names > self.bounds.names {
                self.cut_at(&format!("it has more than {} files", self.bounds.names));
            }
            if self.cut.is_some() {
                break;
            }
            match self.enter(&path, role) {
                Ok(entries) => {
                    self.names += entries.len();
                    for (name, kind) in entries {
                        let path = path.join(name);
                        queue.extend(self.note(role, &path, kind, scan).map(|role| (path, role)));
                    }
                }
                // Gone since, or become something else, of which there is news.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
                Err(Errno::ACCESS | Errno::PERM) => _ = self.keep(&path, scan.targets.of_closed()),
                Err(errno) => self.cut_at(&format!("{} cannot be looked into: {errno}", encode_path(&path))),
            }
        }
        Ok(())
    }

    /// Begins to watch a directory, and lists it then, so that nothing slips through between the two.
    fn enter(
        &mut self,
        path: &Path,
        role: DirectoryRole,
    ) -> Result<Vec<(std::ffi::OsString, FileType)>, Errno> {
        let directory = scan::open(&self.root, path)?;
        let watch = self.watch.as_ref().and_then(|bell| bell.add(&directory).ok());
        // A directory that is mounted in two places has one watch; it is of the first.
        let watch = watch.filter(|watch| !self.watched.contains_key(watch));
        match watch {
            Some(watch) => _ = self.watched.insert(watch, path.to_owned()),
            None => _ = self.dated.insert(path.to_owned(), scan::stamp(&directory)?),
        }
        self.directories.insert(path.to_owned(), IndexedDirectory { role, watch });
        scan::entries(directory)
    }
}
