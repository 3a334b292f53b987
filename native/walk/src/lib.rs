//! Parallel walk of a directory tree: directories are listed by handle, links are not followed, and ignore files are
//! applied.

pub mod coverage;
pub mod globs;
mod listing;
mod queue;
mod rules;
#[cfg(test)]
mod tests;

pub use coverage::{SearchCoverage, Skipped, Tally};
pub use globs::*;

use beamai_base::{Reason, Result, ToolError, panics};
use beamai_tool::{CallContext, ProgressReporter};
use beamai_workspace::Tree;
use coverage::counted;
use listing::{Listing, Unlisted};
use queue::Queue;
use rules::{DirectoryMarkers, IgnoreMatch, IgnoreRuleReader, IgnoreRules};
use rustix::fs::{AtFlags, FileType, statat};
use std::ffi::CStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// Maximum number of threads of a walk.
const MAX_THREADS: usize = 12;
/// Levels whose directory handles stay open while their subdirectories are pending.
const MAX_HELD: usize = 16;
/// Files of one directory that are visited between two progress reports.
const REPORT_EVERY: usize = 64;
/// Files of one directory that one thread always visits itself, even if other threads are idle.
const SMALL_SHARE: usize = 8;

/// Selects entries. Paths are relative to the tree. Every thread has its own copy, since compiled patterns have mutable
/// caches.
pub trait Select: Clone + Sync {
    /// Whether an entry that is not a directory is selected.
    fn file(&self, path: &[u8]) -> bool;
    /// Whether a directory can contain selected entries.
    fn directory(&self, path: &[u8]) -> bool;
    /// Whether a hidden entry is selected explicitly by its name.
    fn names_hidden(&self, name: &[u8]) -> bool;
}

/// Selects everything; hidden names only if the walk includes them.
#[derive(Clone)]
pub struct Everything;

impl Select for Everything {
    fn file(&self, _: &[u8]) -> bool {
        true
    }

    fn directory(&self, _: &[u8]) -> bool {
        true
    }

    fn names_hidden(&self, _: &[u8]) -> bool {
        false
    }
}

/// Receives the entries of a walk; one instance per thread.
pub trait Visit: Send {
    /// Whether files are opened. Then the files of one directory are shared among threads, and the visitor counts what
    /// it has searched; otherwise every listed file counts as searched.
    const OPENS_FILES: bool;

    /// Called for each selected entry that is not a directory.
    ///
    /// # Errors
    /// Any error ends the walk.
    fn visit(&mut self, entry: &WalkEntry<'_>, tally: &mut Tally) -> Result<()>;

    /// Called for each selected directory, before it is entered.
    fn pass(&mut self, _path: &[u8]) {}
}

/// An entry of a directory that is not a directory itself.
pub struct WalkEntry<'a> {
    /// The directory that contains it.
    pub dir: BorrowedFd<'a>,
    /// Its name.
    pub name: &'a CStr,
    /// Its path, relative to the tree.
    pub path: &'a [u8],
    /// Its type, links not followed.
    pub kind: FileType,
}

/// Options of a walk.
pub struct Walk<'a, S> {
    /// The directory to walk.
    pub tree: &'a Tree,
    /// Which entries to visit.
    pub select: &'a S,
    /// Whether to include names that begin with a dot.
    pub hidden: bool,
    /// Whether to include names that ignore files exclude.
    pub ignored: bool,
    /// Maximum depth: 1 is the tree's own directory. `None` is unlimited.
    pub depth: Option<usize>,
    /// Deadline and cancellation.
    pub cx: &'a CallContext,
}

/// The result of a walk.
pub struct WalkResult<V> {
    /// The visitors of all threads.
    pub visitors: Vec<V>,
    /// What was visited and left out.
    pub tally: Tally,
    /// Why it ended early, if it did.
    pub error: Option<ToolError>,
}

impl<V> WalkResult<V> {
    fn empty() -> Self {
        Self { visitors: Vec::new(), tally: Tally::default(), error: None }
    }

    /// The visitors and the counts.
    ///
    /// # Errors
    /// Why the walk ended early, with the counts so far.
    pub fn finish(self) -> Result<(Vec<V>, Tally)> {
        match self.error {
            None => Ok((self.visitors, self.tally)),
            Some(error) => Err(error.with("searched", self.tally.searched)),
        }
    }
}

enum WalkTask {
    /// List a directory and process its entries.
    Directory(PendingDirectory),
    /// Visit selected entries of a directory.
    Files { dir: Arc<OwnedFd>, path: Vec<u8>, names: Listing },
}

/// A directory to list.
struct PendingDirectory {
    /// The parent's handle, near the top of the tree. Deeper directories are opened by their whole path, so that depth
    /// does not exhaust the file descriptors.
    parent: Option<Arc<OwnedFd>>,
    path: Vec<u8>,
    /// Its level: 1 is the tree's own directory.
    depth: usize,
    /// The ignore rules of its parent.
    rules: Arc<IgnoreRules>,
}

impl PendingDirectory {
    fn open(&self, tree: &Tree) -> Result<OwnedFd, Unlisted> {
        let opened = match &self.parent {
            Some(parent) => tree.open_subdir(parent.as_fd(), &self.path),
            None => tree.open_dir(&self.path),
        };
        opened.map_err(Unlisted::from)
    }
}

impl<S: Select> Walk<'_, S> {
    /// Walks the tree to its end or to the first error, with one visitor per thread.
    pub fn run<V: Visit>(&self, make: impl Fn() -> V + Sync) -> WalkResult<V> {
        let stem = self.tree.path().into_os_string();
        let reader = IgnoreRuleReader::new(self.tree, stem.len());
        let mut walked = WalkResult::empty();
        let rules = match self.ignored {
            true => Arc::default(),
            false => reader.above(&mut walked.tally),
        };
        let threads = threads();
        let top = PendingDirectory { parent: None, path: Vec::new(), depth: 1, rules };
        let queue = Queue::new(threads, WalkTask::Directory(top));
        let done = Mutex::new(walked);
        let reporter = ProgressReporter::new(self.cx, |count| format!("{} searched", counted(count, "file")));
        let work = || {
            let mut worker = WalkWorker::new(self, &reader, &queue, &reporter, make(), stem.as_bytes());
            match panics::caught(|| worker.run()) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => queue.stop(error),
                Err(panic) => queue.stop(ToolError::new(Reason::Crash, format!("a search crashed: {panic}"))),
            }
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.tally.add(worker.tally);
            done.visitors.push(worker.visitor);
        };
        run_on(threads, &queue, &work);
        let mut walked = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        walked.error = queue.into_error();
        walked
    }
}

/// Runs `work` on this thread and `threads - 1` others until all have returned.
fn run_on(threads: usize, queue: &Queue<WalkTask>, work: &(impl Fn() + Sync)) {
    std::thread::scope(|scope| {
        for _ in 1..threads {
            let spawned = std::thread::Builder::new().name("beamai-walk".into()).spawn_scoped(scope, work);
            if spawned.is_err() {
                // The other threads do its work.
                queue.remove_thread();
            }
        }
        work();
    });
}

/// Threads per walk. Cached: asking the system costs more than opening a file.
fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS))
}

/// Whether the link's target is a directory; nothing in it is read.
fn leads_to_directory(dir: BorrowedFd<'_>, name: &[u8]) -> bool {
    statat(dir, name, AtFlags::NO_AUTOMOUNT)
        .is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::Directory)
}

struct WalkWorker<'a, S, V> {
    walk: &'a Walk<'a, S>,
    select: S,
    reader: &'a IgnoreRuleReader<'a>,
    queue: &'a Queue<WalkTask>,
    reporter: &'a ProgressReporter<'a>,
    visitor: V,
    tally: Tally,
    /// How many files the last progress report included.
    reported: u64,
    stack: Vec<WalkTask>,
    listing: Listing,
    /// The absolute path of the current entry. The first `stem` bytes are the tree's, the first `dir` bytes the
    /// directory's.
    path: Vec<u8>,
    stem: usize,
    dir: usize,
    is_guarded: bool,
}

impl<'a, S: Select, V: Visit> WalkWorker<'a, S, V> {
    fn new(
        walk: &'a Walk<'a, S>,
        reader: &'a IgnoreRuleReader<'a>,
        queue: &'a Queue<WalkTask>,
        reporter: &'a ProgressReporter<'a>,
        visitor: V,
        stem: &[u8],
    ) -> Self {
        let (tally, listing, path) = (Tally::default(), Listing::default(), stem.to_vec());
        let (stack, stem) = (Vec::new(), stem.len());
        let select = walk.select.clone();
        let is_guarded = !walk.cx.guard.is_open();
        Self {
            walk,
            select,
            reader,
            queue,
            reporter,
            visitor,
            tally,
            reported: 0,
            stack,
            listing,
            path,
            stem,
            dir: stem,
            is_guarded,
        }
    }

    fn run(&mut self) -> Result<()> {
        while let Some(task) = self.stack.pop().or_else(|| self.queue.take()) {
            if self.queue.is_stopped() {
                break;
            }
            self.walk.cx.check()?;
            match task {
                WalkTask::Directory(below) => self.directory(&below)?,
                WalkTask::Files { dir, path, names } => self.files(&dir, &path, names)?,
            }
            self.report_progress();
            if self.queue.has_waiting_thread() {
                self.share();
            }
        }
        Ok(())
    }

    fn report_progress(&mut self) {
        self.reporter.add(self.tally.searched - self.reported);
        self.reported = self.tally.searched;
    }

    /// Gives the older half of the stack to waiting threads.
    fn share(&mut self) {
        let half = self.stack.len().div_ceil(2);
        if half > 0 {
            self.queue.give(self.stack.drain(..half));
        }
    }

    fn directory(&mut self, below: &PendingDirectory) -> Result<()> {
        let mut listing = std::mem::take(&mut self.listing);
        let opened = below.open(self.walk.tree);
        match opened.and_then(|dir| listing.read(dir.as_fd(), self.walk.cx).map(|()| Arc::new(dir))) {
            Ok(dir) => {
                let rules = self.rules_in(&listing, dir.as_fd(), below);
                self.select(&mut listing, &dir, below, &rules);
                self.listing = self.visit_all(&dir, &below.path, listing)?;
            }
            Err(Unlisted::Io(error)) => {
                self.tally.failed(self.walk.tree.display(&below.path), error);
                self.listing = listing;
            }
            Err(Unlisted::Stopped(error)) => return Err(error),
        }
        Ok(())
    }

    fn rules_in(
        &mut self,
        listing: &Listing,
        dir: BorrowedFd<'_>,
        below: &PendingDirectory,
    ) -> Arc<IgnoreRules> {
        let mut marks = DirectoryMarkers::default();
        if !self.walk.ignored {
            listing.iter().for_each(|(name, kind)| marks.see(name, kind));
        }
        self.reader.enter(&below.rules, dir, &below.path, marks, &mut self.tally)
    }

    /// Keeps the selected files in the listing and pushes the selected directories on the stack.
    fn select(
        &mut self,
        listing: &mut Listing,
        dir: &Arc<OwnedFd>,
        below: &PendingDirectory,
        rules: &Arc<IgnoreRules>,
    ) {
        let is_last = self.walk.depth.is_some_and(|last| below.depth >= last);
        let parent = (below.depth <= MAX_HELD).then_some(dir);
        self.set_directory(&below.path);
        listing.retain(|name, kind| {
            let is_dir = kind == FileType::Directory;
            self.set_name(name);
            let is_wanted = self.is_wanted(name, is_dir, rules);
            if is_wanted && is_dir {
                let path = self.path[self.stem + 1..].to_vec();
                self.visitor.pass(&path);
                if !is_last {
                    let (parent, depth, rules) = (parent.cloned(), below.depth + 1, Arc::clone(rules));
                    self.stack.push(WalkTask::Directory(PendingDirectory { parent, path, depth, rules }));
                }
            }
            if !is_wanted && kind == FileType::Symlink && !is_last {
                self.count_skipped_link(name, dir.as_fd(), rules);
            }
            is_wanted && !is_dir
        });
    }

    /// Counts the link at `self.path`, which is not selected itself, if its target is a directory that might contain
    /// matches.
    fn count_skipped_link(&mut self, name: &[u8], dir: BorrowedFd<'_>, rules: &IgnoreRules) {
        let below = &self.path[self.stem + 1..];
        if !self.select.file(below)
            && self.select.directory(below)
            && leads_to_directory(dir, name)
            && self.is_visible(name, false, rules)
        {
            self.tally.skipped.links += 1;
        }
    }

    /// Sets `self.path` to the path of a directory.
    fn set_directory(&mut self, path: &[u8]) {
        self.path.truncate(self.stem);
        self.dir = self.stem;
        if !path.is_empty() {
            self.set_name(path);
            self.dir = self.path.len();
        }
    }

    /// Sets `self.path` to the path of a name in the directory.
    fn set_name(&mut self, name: &[u8]) {
        self.path.truncate(self.dir);
        self.path.push(b'/');
        self.path.extend_from_slice(name);
    }

    /// Whether the entry at `self.path` is selected; if not, counts the reason where it matters to a caller.
    fn is_wanted(&mut self, name: &[u8], is_dir: bool, rules: &IgnoreRules) -> bool {
        let (select, below) = (&self.select, &self.path[self.stem + 1..]);
        self.tally.searched += u64::from(!V::OPENS_FILES && !is_dir);
        let is_selected = if is_dir { select.directory(below) } else { select.file(below) };
        if !is_selected {
            return false;
        }
        let is_visible = self.is_visible(name, is_dir, rules);
        if is_visible && self.is_guarded && self.is_denied() {
            self.tally.skipped.denied += 1;
            return false;
        }
        is_visible
    }

    /// Whether a permission rule denies reading the entry at `self.path`.
    fn is_denied(&self) -> bool {
        self.walk.cx.guard.hides_bytes(&self.walk.tree.inside(&self.path[self.stem + 1..]))
    }

    /// Whether the entry at `self.path` is neither ignored nor hidden, or is included anyway.
    fn is_visible(&mut self, name: &[u8], is_dir: bool, rules: &IgnoreRules) -> bool {
        match rules.verdict(&self.path, is_dir) {
            IgnoreMatch::Included => true,
            IgnoreMatch::Ignored => {
                self.tally.skipped.ignored += 1;
                false
            }
            IgnoreMatch::Silent => {
                let is_visible =
                    self.walk.hidden || !name.starts_with(b".") || self.select.names_hidden(name);
                self.tally.skipped.hidden += u64::from(!is_visible);
                self.tally.git_directories += u64::from(!is_visible && name == b".git");
                is_visible
            }
        }
    }

    fn files(&mut self, dir: &Arc<OwnedFd>, path: &[u8], names: Listing) -> Result<()> {
        self.visit_all(dir, path, names).map(|_| ())
    }

    /// Visits every name, or shares them with other threads; returns the listing so that its memory is reused.
    fn visit_all(&mut self, dir: &Arc<OwnedFd>, path: &[u8], mut names: Listing) -> Result<Listing> {
        let mut at = 0;
        self.set_directory(path);
        while at < names.len() {
            if V::OPENS_FILES && names.len() - at > SMALL_SHARE && self.queue.has_waiting_thread() {
                let rest = names.split_off(at + (names.len() - at) / 2);
                let task = WalkTask::Files { dir: Arc::clone(dir), path: path.to_vec(), names: rest };
                self.queue.give(std::iter::once(task));
            }
            let (name, kind) = (names.name(at), names.kind(at));
            self.set_name(name.to_bytes());
            let entry = WalkEntry { dir: dir.as_fd(), name, path: &self.path[self.stem + 1..], kind };
            self.visitor.visit(&entry, &mut self.tally)?;
            at += 1;
            if at % REPORT_EVERY == 0 {
                self.report_progress();
            }
        }
        Ok(names)
    }
}
