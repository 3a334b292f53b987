//! The directories of an index, and the protected paths in them.

use super::mounts::Mounts;
use super::scan::{self, DirectoryStamp, Scan};
use super::targets::{DirectoryRole, EntryMeaning, ScanTargets, is_mark};
use super::watch::{DirectoryEvent, EventOverflow, InotifyWatch};
use super::{ScanBounds, texts};
use crate::ProtectedPaths;
use beamai_base::{Result, ToolError, identity_at, is_local, mount_at, mount_of};
use beamai_workspace::encode_path;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::ops::Bound;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Maximum number of known repositories, to which the other limits do not apply. Each takes mounts and time before each
/// command.
const MOST_KNOWN: usize = 2_000;
/// Number of those that are known for longest, which stay known although they are not found for a while.
const NEVER_FORGOTTEN: usize = 1_000;
/// Time before a walk that hit a limit is repeated, if something has changed.
const PATIENCE: Duration = Duration::from_secs(10);

/// The directories beneath a root, by relative path.
pub(super) struct DirectoryIndex {
    root: OwnedFd,
    stamp: DirectoryStamp,
    bounds: ScanBounds,
    watch: Option<InotifyWatch>,
    /// The mount that its path led to.
    mount: Option<u64>,
    mounts: Mounts,
    directories: BTreeMap<PathBuf, IndexedDirectory>,
    /// Directories by inotify watch.
    watched: HashMap<i32, PathBuf>,
    /// Directories that are compared by their timestamps.
    dated: BTreeMap<PathBuf, DirectoryStamp>,
    /// Directories that had only files, with their timestamps then.
    with_files: BTreeMap<PathBuf, DirectoryStamp>,
    repositories: BTreeSet<PathBuf>,
    begun: BTreeSet<PathBuf>,
    /// Links in the directories of repositories.
    links: BTreeSet<PathBuf>,
    /// Directories that could not be listed.
    closed: BTreeSet<PathBuf>,
    /// Directories outside of repositories that a limit kept from being looked into.
    skipped: Arc<BTreeSet<PathBuf>>,
    hidden: BTreeSet<PathBuf>,
    read_only: BTreeSet<PathBuf>,
    /// Links whose targets cannot be read.
    hidden_links: BTreeSet<PathBuf>,
    /// Links whose targets cannot be written.
    read_only_links: BTreeSet<PathBuf>,
    /// Repositories that were found before, those first that have been known for longest.
    known: Vec<PathBuf>,
    /// The same with the directories above them: no limit applies to these.
    exempt: HashSet<PathBuf>,
    /// Maximum number of protected paths.
    most_found: usize,
    plain: Extent,
    /// The limit by which not all that rules match is listed, if that is another one.
    unmatched: Option<ScanCutoff>,
    /// The directories of repositories and hidden ones, which have a limit of their own.
    inside: Extent,
}

/// What was read of a kind of directories.
#[derive(Default)]
struct Extent {
    directories: usize,
    names: usize,
    cut: Option<ScanCutoff>,
}

/// A limit that ended the walk.
struct ScanCutoff {
    why: String,
    when: Instant,
}

/// Removes paths beneath other ones.
fn topmost(paths: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    let mut top: Vec<PathBuf> = Vec::new();
    for path in paths {
        if !top.last().is_some_and(|above| path.starts_with(above)) {
            top.push(path);
        }
    }
    top
}

impl Extent {
    fn note_cutoff(&mut self, why: &str) {
        self.cut.get_or_insert_with(|| ScanCutoff { why: why.to_owned(), when: Instant::now() });
    }

    /// Whether a limit has been hit.
    fn is_over(&mut self, bounds: ScanBounds) -> bool {
        if self.directories >= bounds.directories {
            self.note_cutoff(&format!("it has more than {} directories", bounds.directories));
        } else if self.names > bounds.names {
            self.note_cutoff(&format!("it has more than {} files", bounds.names));
        }
        self.cut.is_some()
    }
}

/// What to look at again.
#[derive(Default)]
struct IndexChanges {
    names: BTreeSet<PathBuf>,
    /// Directories, with everything beneath them.
    directories: BTreeSet<PathBuf>,
    /// Directories of repositories, for links alone.
    of_files: BTreeSet<PathBuf>,
}

struct IndexedDirectory {
    role: DirectoryRole,
    watch: Option<i32>,
}

impl DirectoryIndex {
    /// Scans everything, and first the repositories that are known already: what a command has made does not push them out.
    ///
    /// # Errors
    /// Those of the scan's check. Other errors are reported in the result.
    pub(super) fn walk(
        path: &Path,
        bounds: ScanBounds,
        scan: &Scan<'_>,
        known: impl IntoIterator<Item = PathBuf>,
    ) -> Result<Self> {
        let opened = scan::open_root(path).and_then(|root| Ok((scan::stamp(&root)?, root)));
        let (stamp, root) = opened.map_err(|errno| ToolError::io("look into", encode_path(path), errno))?;
        // On other file systems, names change without the local kernel noticing.
        let is_watched = super::WATCHES.load(Ordering::Relaxed) && is_local(&root);
        let watch = if is_watched { InotifyWatch::new().ok() } else { None };
        let mount = mount_of(&root);
        let mut tree = Self {
            root,
            stamp,
            bounds,
            watch,
            mount,
            mounts: Mounts::beneath(path),
            directories: BTreeMap::new(),
            watched: HashMap::new(),
            dated: BTreeMap::new(),
            with_files: BTreeMap::new(),
            repositories: BTreeSet::new(),
            begun: BTreeSet::new(),
            links: BTreeSet::new(),
            closed: BTreeSet::new(),
            skipped: Arc::default(),
            hidden: BTreeSet::new(),
            read_only: BTreeSet::new(),
            hidden_links: BTreeSet::new(),
            read_only_links: BTreeSet::new(),
            known: Vec::new(),
            exempt: HashSet::new(),
            most_found: 0,
            plain: Extent::default(),
            unmatched: None,
            inside: Extent::default(),
        };
        tree.exempt(known);
        tree.descend(PathBuf::new(), DirectoryRole::Plain { is_read_only: false }, scan)?;
        Ok(tree)
    }

    /// Whether the directory at a path is still the one that was scanned.
    pub(super) fn is_of(&self, path: &Path) -> bool {
        let is_same = scan::stamp_of(path).is_ok_and(|now| now.is_same_directory(&self.stamp));
        is_same && mount_at(path) == self.mount
    }

    pub(super) fn found(&self, targets: &ScanTargets<'_>) -> ProtectedPaths {
        let all = self.repositories.iter().chain(&self.hidden).chain(&self.read_only);
        ProtectedPaths {
            identities: all.map(|path| identity_at(&targets.root().join(path))).collect(),
            root: encode_path(targets.root()),
            mounts: self.mounts.change,
            repositories: texts(&self.repositories),
            hidden: texts(&self.hidden),
            read_only: texts(&self.read_only),
            hidden_links: texts(&self.hidden_links),
            read_only_links: texts(&self.read_only_links),
            begun: texts(self.begun.difference(&self.repositories)),
            links: texts(&self.links),
            closed: texts(&self.closed),
            cut: self.plain.cut.as_ref().map(|cut| cut.why.clone()),
            unmatched: self.unmatched.as_ref().map(|cut| cut.why.clone()),
            skipped: Arc::clone(&self.skipped),
            cut_inside: self.inside.cut.as_ref().map(|cut| cut.why.clone()),
        }
    }

    /// Processes all events. Returns false if protected paths may have changed.
    ///
    /// # Errors
    /// Those of the scan's check, after which the index must be discarded.
    pub(super) fn is_current(&mut self, scan: &Scan<'_>) -> Result<bool> {
        if self.mounts.may_have_changed() {
            self.rebuild(scan)?;
            return Ok(false);
        }
        let Ok(IndexChanges { names, directories, of_files }) = self.changes(scan) else {
            self.rebuild(scan)?;
            return Ok(false);
        };
        if names.is_empty() && directories.is_empty() && of_files.is_empty() {
            return Ok(true);
        }
        self.exempt(self.remembered());
        self.links.retain(|link| link.parent().is_none_or(|parent| !of_files.contains(parent)));
        of_files.iter().for_each(|path| self.note_links(path));
        let directories = topmost(directories);
        // A moved directory keeps its watch, so removals come first.
        for path in &directories {
            self.forget(path);
        }
        for path in names.iter().chain(&directories) {
            (scan.check)()?;
            self.rescan(path, scan)?;
        }
        let cuts = [&self.plain.cut, &self.unmatched, &self.inside.cut];
        if cuts.into_iter().flatten().any(|cut| cut.when.elapsed() > PATIENCE) {
            self.rebuild(scan)?;
        }
        Ok(false)
    }

    /// Records the links of a directory.
    fn note_links(&mut self, directory: &Path) {
        let entries = scan::open(&self.root, directory).and_then(scan::entries).unwrap_or_default();
        let links = entries.into_iter().filter(|(_, kind)| *kind == FileType::Symlink);
        self.links.extend(links.map(|(name, _)| directory.join(name)));
    }

    fn changes(&self, scan: &Scan<'_>) -> Result<IndexChanges, EventOverflow> {
        let IndexChanges { mut names, mut directories, mut of_files } = IndexChanges::default();
        let (mut events, mut modes) = (HashSet::new(), BTreeSet::new());
        if let Some(watch) = &self.watch {
            watch.read_events(|event| match self.watched.get(&event.watch) {
                Some(parent) if event.is_of_mode => _ = modes.insert(parent.join(event.name)),
                _ if self.is_of_interest(&event, scan) => _ = events.insert(event),
                Some(parent) if self.is_of_repository(parent) && !of_files.contains(parent) => {
                    of_files.insert(parent.clone());
                }
                _ => {}
            })?;
        }
        directories.extend(modes.into_iter().filter(|path| self.is_newly_closed(path)));
        for DirectoryEvent { watch, name, is_directory, .. } in events {
            let parent = &self.watched[&watch];
            let role = self.directories.get(parent).map(|directory| directory.role);
            match (role, is_directory) {
                // A directory has become a repository, or is none any more.
                (Some(DirectoryRole::Modules(_)), false) => _ = directories.insert(parent.clone()),
                (_, true) => _ = directories.insert(parent.join(name)),
                (_, false) => _ = names.insert(parent.join(name)),
            }
        }
        let is_old = |(path, stamp): &(&PathBuf, &DirectoryStamp)| {
            stamp.may_change_unseen() || scan::stamp_at(&self.root, path) != Ok(**stamp)
        };
        directories.extend(self.dated.iter().filter(is_old).map(|(path, _)| path.clone()));
        // Nothing tells when they can be.
        directories.extend(self.closed.iter().filter(|path| scan::enter(&self.root, path).is_ok()).cloned());
        self.note_new_directories(&mut directories);
        Ok(IndexChanges { names, directories, of_files })
    }

    /// Whether a directory could be listed and searched before, and cannot be now.
    fn is_newly_closed(&self, directory: &Path) -> bool {
        self.directories.contains_key(directory) && scan::enter(&self.root, directory).is_err()
    }

    fn is_of_repository(&self, directory: &Path) -> bool {
        self.directories.get(directory).is_some_and(|directory| directory.role.is_of_repository())
    }

    /// Adds directories that had only files, and may have others now.
    fn note_new_directories(&self, directories: &mut BTreeSet<PathBuf>) {
        // Those of one parent follow each other.
        let mut above: Option<(&Path, OwnedFd)> = None;
        for (path, stamp) in &self.with_files {
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else { continue };
            if above.as_ref().is_none_or(|(opened, _)| *opened != parent) {
                above = scan::open(&self.root, parent).ok().map(|fd| (parent, fd));
            }
            let Some((_, fd)) = &above else { continue };
            if scan::may_have_directories(fd, Path::new(name), Some(stamp)).0 {
                directories.insert(path.clone());
            }
        }
    }

    fn is_of_interest(&self, event: &DirectoryEvent, scan: &Scan<'_>) -> bool {
        let parent = self.watched.get(&event.watch).and_then(|parent| self.directories.get(parent));
        parent.is_some_and(|parent| match event.is_directory {
            true => true,
            false => scan.targets.concerns(parent.role, &event.name),
        })
    }

    fn rebuild(&mut self, scan: &Scan<'_>) -> Result<()> {
        self.watch = self.watch.as_ref().and_then(|_| InotifyWatch::new().ok());
        self.exempt(self.remembered());
        self.forget(Path::new(""));
        (self.plain, self.unmatched, self.inside) = Default::default();
        self.descend(PathBuf::new(), DirectoryRole::Plain { is_read_only: false }, scan)
    }

    /// Removes a path and everything beneath it.
    fn forget(&mut self, path: &Path) {
        let beneath = |set: &BTreeSet<PathBuf>| -> Vec<PathBuf> {
            let from = set.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
            from.take_while(|other| other.starts_with(path)).cloned().collect()
        };
        let sets = [
            &mut self.repositories,
            &mut self.begun,
            &mut self.links,
            &mut self.closed,
            &mut self.hidden,
            &mut self.read_only,
            &mut self.hidden_links,
            &mut self.read_only_links,
        ];
        for set in sets {
            for gone in beneath(set) {
                set.remove(&gone);
            }
        }
        // Most often there are none, and the set is shared.
        if !self.skipped.is_empty() && !beneath(&self.skipped).is_empty() {
            Arc::make_mut(&mut self.skipped).retain(|other| !other.starts_with(path));
        }
        let from = self.with_files.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        let gone: Vec<PathBuf> =
            from.map(|(other, _)| other).take_while(|other| other.starts_with(path)).cloned().collect();
        for path in gone {
            self.with_files.remove(&path);
        }
        let from = self.directories.range::<Path, _>((Bound::Included(path), Bound::Unbounded));
        let gone: Vec<PathBuf> =
            from.map(|(other, _)| other).take_while(|other| other.starts_with(path)).cloned().collect();
        for path in gone {
            self.dated.remove(&path);
            let gone = self.directories.remove(&path);
            if let Some(directory) = &gone {
                self.extent(directory.role).directories -= 1;
            }
            if let Some(watch) = gone.and_then(|directory| directory.watch) {
                self.watched.remove(&watch);
                self.watch.iter().for_each(|inotify| inotify.remove(watch));
            }
        }
    }

    /// Checks a path that may have been created, removed or replaced.
    fn rescan(&mut self, path: &Path, scan: &Scan<'_>) -> Result<()> {
        self.forget(path);
        let Some(parent) = path.parent() else {
            return self.descend(PathBuf::new(), DirectoryRole::Plain { is_read_only: false }, scan);
        };
        // If its parent is gone, so is this path.
        let Some(role) = self.directories.get(parent).map(|parent| parent.role) else { return Ok(()) };
        if role != DirectoryRole::Repository && path.file_name().is_some_and(is_mark) {
            // It may have made its parent a repository; if it still does, that is recorded again.
            self.repositories.remove(parent);
            self.begun.remove(parent);
        }
        match scan::kind(&self.root, path).and_then(|kind| self.note(role, path, kind, scan)) {
            Some(role) => self.descend(path.to_owned(), role, scan),
            None => Ok(()),
        }
    }

    /// Records how to treat an entry; returns the role to scan it with.
    fn note(
        &mut self,
        parent: DirectoryRole,
        path: &Path,
        kind: FileType,
        scan: &Scan<'_>,
    ) -> Option<DirectoryRole> {
        if kind == FileType::Symlink && parent.is_of_repository() {
            self.links.insert(path.to_owned());
        }
        let mut meaning = scan.targets.meaning(parent, path, kind, |path| scan::exists(&self.root, path));
        if meaning.is_link && self.stays_denied(path, meaning.is_hidden) {
            return None;
        }
        if parent.is_of_repository() {
            // A rule about a directory matches all that is in it.
            let is_beneath =
                |set: &BTreeSet<PathBuf>| path.ancestors().skip(1).any(|above| set.contains(above));
            meaning.is_hidden &= !is_beneath(&self.hidden);
            meaning.is_read_only &= !is_beneath(&self.hidden) && !is_beneath(&self.read_only);
        }
        self.keep(path, meaning)
    }

    /// Whether a link leads to something in the denied directory that it lies in.
    fn stays_denied(&self, link: &Path, is_hidden: bool) -> bool {
        let denied = if is_hidden { &self.hidden } else { &self.read_only };
        let above = link.ancestors().skip(1).find(|above| denied.contains(*above));
        above.is_some_and(|above| scan::leads_within(&self.root, above, link))
    }

    fn keep(&mut self, path: &Path, meaning: EntryMeaning) -> Option<DirectoryRole> {
        let EntryMeaning {
            is_repository,
            makes_repository,
            begins_repository,
            is_hidden,
            is_read_only,
            is_link,
            descend,
        } = meaning;
        if let (true, Some(directory)) = (begins_repository, path.parent()) {
            self.begun.insert(directory.to_owned());
        }
        if let (true, Some(directory)) = (makes_repository, path.parent()) {
            self.repositories.insert(directory.to_owned());
        }
        if is_repository {
            self.repositories.insert(path.to_owned());
        }
        if self.repositories.len() + self.begun.len() > self.most_found {
            self.plain.note_cutoff(&format!("more than {} repositories were found", self.bounds.found));
        }
        let (hidden, read_only) = match is_link {
            true => (&mut self.hidden_links, &mut self.read_only_links),
            false => (&mut self.hidden, &mut self.read_only),
        };
        let is_full = hidden.len() + read_only.len() >= self.bounds.found;
        match is_full && (is_hidden || is_read_only) {
            // Repositories are looked for all the same.
            true => self.note_unmatched(&format!(
                "rules match more than {} files and directories",
                self.bounds.found
            )),
            false => {
                let sets = [(is_hidden, hidden), (is_read_only, read_only)];
                sets.into_iter()
                    .filter(|(is_wanted, _)| *is_wanted)
                    .for_each(|(_, set)| _ = set.insert(path.to_owned()));
            }
        }
        descend
    }

    /// Records that what rules match may not all be listed.
    fn note_unmatched(&mut self, why: &str) {
        self.unmatched.get_or_insert_with(|| ScanCutoff { why: why.to_owned(), when: Instant::now() });
    }

    fn extent(&mut self, role: DirectoryRole) -> &mut Extent {
        if role.is_inside() { &mut self.inside } else { &mut self.plain }
    }

    /// The repositories that later looks are to know of. Those that are gone may come back; the newest of them make room.
    pub(super) fn remembered(&self) -> Vec<PathBuf> {
        let found: BTreeSet<&PathBuf> = self.repositories.union(&self.begun).collect();
        let before: HashSet<&PathBuf> = self.known.iter().collect();
        let mut all: Vec<&PathBuf> = self.known.iter().collect();
        all.extend(found.iter().filter(|path| !before.contains(*path)));
        for at in (NEVER_FORGOTTEN.min(all.len())..all.len()).rev() {
            if all.len() > MOST_KNOWN && !found.contains(all[at]) {
                all.remove(at);
            }
        }
        all.into_iter().take(MOST_KNOWN).cloned().collect()
    }

    /// Exempts repositories from the limits of the next walk.
    fn exempt(&mut self, repositories: impl IntoIterator<Item = PathBuf>) {
        let mut seen = HashSet::new();
        let repositories = repositories.into_iter().filter(|path| seen.insert(path.clone()));
        self.known = repositories.take(MOST_KNOWN).collect();
        self.most_found = self.bounds.found + self.known.len();
        let with_above = self.known.iter().flat_map(|path| path.ancestors());
        self.exempt = with_above.map(Path::to_owned).collect();
    }

    /// Scans a directory and everything beneath it, breadth first: known repositories first, the directories of repositories
    /// last.
    fn descend(&mut self, path: PathBuf, role: DirectoryRole, scan: &Scan<'_>) -> Result<()> {
        let mut queues = [VecDeque::new(), VecDeque::new(), VecDeque::new()];
        queues[self.rank(&path, role)].push_back((path, role));
        while let Some((path, role)) = queues.iter_mut().find_map(VecDeque::pop_front) {
            (scan.check)()?;
            if role == DirectoryRole::ObjectFiles && !self.has_directories(&path) {
                continue;
            }
            let (bounds, rank) = (self.bounds, self.rank(&path, role));
            if rank > 0 && self.extent(role).is_over(bounds) {
                if role.is_of_repository() && scan.targets.reaches_into_git() {
                    self.note_unmatched(
                        "the directories of its repositories are too many for rules about .git",
                    );
                }
                let rest = std::mem::take(&mut queues[rank]);
                if !role.is_inside() {
                    let skipped = Arc::make_mut(&mut self.skipped);
                    skipped.insert(path);
                    skipped.extend(rest.into_iter().map(|(path, _)| path));
                }
                continue;
            }
            match self.enter(&path, role) {
                Ok(entries) => {
                    self.extent(role).names += entries.len();
                    for (name, kind) in entries {
                        let path = path.join(name);
                        if let Some(role) = self.note(role, &path, kind, scan) {
                            queues[self.rank(&path, role)].push_back((path, role));
                        }
                    }
                }
                // Removed or replaced meanwhile, for which there is an event; or git cannot reach it either.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG) => {}
                Err(Errno::ACCESS | Errno::PERM) => {
                    _ = self.keep(&path, scan.targets.meaning_of_unreadable());
                    self.closed.insert(path);
                }
                Err(errno) => {
                    let why = format!("{} cannot be opened: {errno}", encode_path(&path));
                    self.extent(role).note_cutoff(&why);
                    if !role.is_inside() {
                        Arc::make_mut(&mut self.skipped).insert(path);
                    }
                }
            }
        }
        Ok(())
    }

    /// When a directory is entered, among those that wait for it.
    fn rank(&self, path: &Path, role: DirectoryRole) -> usize {
        match role.is_inside() {
            _ if self.exempt.contains(path) => 0,
            false => 1,
            true => 2,
        }
    }

    /// Whether a directory that should have only files has directories; if not, that is looked at again later.
    fn has_directories(&mut self, path: &Path) -> bool {
        let (has, stamp) = scan::may_have_directories(&self.root, path, None);
        if let (false, Some(stamp)) = (has, stamp) {
            self.with_files.insert(path.to_owned(), stamp);
        }
        has
    }

    /// Adds a watch before listing a directory, so that no change is missed.
    fn enter(
        &mut self,
        path: &Path,
        role: DirectoryRole,
    ) -> Result<Vec<(std::ffi::OsString, FileType)>, Errno> {
        let directory = scan::enter(&self.root, path)?;
        // Another file system may be mounted here.
        let is_watched = scan::stamp(&directory)?.is_on_device_of(&self.stamp) || is_local(&directory);
        let watch = self.watch.as_ref().filter(|_| is_watched);
        let watch = watch.and_then(|inotify| inotify.add(&directory).ok());
        // A directory mounted in two places has one watch, which belongs to the first.
        let watch = watch.filter(|watch| !self.watched.contains_key(watch));
        match watch {
            Some(watch) => _ = self.watched.insert(watch, path.to_owned()),
            None => _ = self.dated.insert(path.to_owned(), scan::stamp(&directory)?),
        }
        self.directories.insert(path.to_owned(), IndexedDirectory { role, watch });
        self.extent(role).directories += 1;
        scan::entries(directory)
    }
}
