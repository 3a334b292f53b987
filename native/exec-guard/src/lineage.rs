//! Which start each process comes from, and what that start covers.

use super::task::{self, FileId, ProcessInfo, ProgramImage};
use beamai_isolation::{StartCoverage, Starter};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Once this many processes have pending starts, those of dead processes are dropped.
const MAX_PENDING: usize = 1_024;
/// Maximum number of images whose start is remembered, and of files whose least coverage is.
const MAX_KNOWN: usize = 4_096;
/// Maximum number of ancestors to inspect.
const MAX_ANCESTORS: usize = 64;
/// Bytes of arguments that are kept: for messages, and for the judge, which checks whether they name what is started.
const MAX_ARGUMENTS: usize = 2_048;

/// A start that was allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AllowedStart {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) has_all_arguments: bool,
    pub(super) coverage: StartCoverage,
}

impl AllowedStart {
    /// `is_all` says whether `arguments` is complete.
    pub(super) fn new(
        program: PathBuf,
        mut arguments: Vec<OsString>,
        is_all: bool,
        coverage: StartCoverage,
    ) -> Self {
        let mut room = MAX_ARGUMENTS;
        let cut = arguments.iter().position(|word| {
            room = room.saturating_sub(word.len() + 1);
            room == 0
        });
        arguments.truncate(cut.unwrap_or(arguments.len()));
        Self { program, has_all_arguments: is_all && cut.is_none(), arguments, coverage }
    }

    /// A process that comes from it.
    pub(super) fn starter(&self, pid: i32) -> Starter {
        let Self { program, arguments, has_all_arguments, coverage } = self.clone();
        Starter { pid, program, arguments, has_all_arguments, directory: None, coverage }
    }

    /// The coverage of a process that comes from one of the two starts, when it is unknown which.
    fn least(self: &Arc<Self>, other: &Arc<Self>) -> Arc<Self> {
        let coverage = self.coverage.least(other.coverage);
        match (coverage == self.coverage, coverage == other.coverage) {
            (true, _) => Arc::clone(self),
            (_, true) => Arc::clone(other),
            _ => Arc::new(Self { coverage, ..Self::clone(self) }),
        }
    }
}

/// A start that was allowed; the system call may still fail.
#[derive(Debug, Clone)]
pub(super) struct PendingStart {
    pub(super) thread: i32,
    /// The process before the start.
    pub(super) task: ProcessInfo,
    /// The file that the process runs if the start succeeds.
    pub(super) file: FileId,
    pub(super) origin: Arc<AllowedStart>,
}

impl PendingStart {
    fn is_of(&self, task: &ProcessInfo) -> bool {
        (self.task.pid, self.task.started) == (task.pid, task.started)
    }
}

/// The starts of one order.
#[derive(Default)]
pub(super) struct Lineage {
    /// Successful starts by the image they led to, with the time of the last lookup.
    known: HashMap<ProgramImage, (Arc<AllowedStart>, u64)>,
    /// By the number of their process: every start looks here, so it must not cost more with many of them.
    pending: HashMap<i32, Vec<PendingStart>>,
    /// For starts of which only the file is still known: the least coverage of any of them.
    least: HashMap<FileId, Arc<AllowedStart>>,
    clock: u64,
    /// How many processes had pending starts after dead ones were last dropped.
    left: usize,
}

impl Lineage {
    /// Records an allowed start.
    pub(super) fn expect(&mut self, pending: PendingStart) {
        self.forget_predecessors(&pending.task);
        let of_process = self.pending.entry(pending.task.pid).or_default();
        // A thread has one: it asks again only if its last start has failed.
        of_process.retain(|known| known.thread != pending.thread);
        of_process.push(pending);
        if self.pending.len() >= self.left * 2 + MAX_PENDING {
            self.forget_the_dead();
        }
    }

    /// Drops the pending starts of earlier processes with the number of this one.
    fn forget_predecessors(&mut self, task: &ProcessInfo) {
        let Some(of_number) = self.pending.get_mut(&task.pid) else { return };
        let dead: Vec<_> = of_number.extract_if(.., |pending| !pending.is_of(task)).collect();
        for pending in dead {
            self.keep_least(pending.file, &pending.origin);
        }
    }

    /// The start that a process comes from; `None` if its image is unknown.
    ///
    /// A process gets the coverage of a start only when `/proc` shows the new image. Until then, and if the start failed, it
    /// still has its previous image. Child processes keep the image of their parent until they start a program themselves,
    /// even if the parent has started another one since.
    pub(super) fn origin(&mut self, task: &ProcessInfo) -> Option<Arc<AllowedStart>> {
        self.clock += 1;
        if let Some((known, _)) = self.known.get(&task.image) {
            let known = Arc::clone(known);
            self.remember(task.image, &known);
            return Some(known);
        }
        // Without address randomisation, other starts of the program have the same layout.
        if !task.has_random_layout() {
            return self.of_file(task.image.file);
        }
        self.forget_predecessors(task);
        let found = match self.pending.remove(&task.pid).filter(|own| !own.is_empty()) {
            // The running file may differ from the one that was judged.
            Some(own) => least_of(own.iter().filter(|pending| pending.file == task.image.file)),
            None => self.inherited(task),
        };
        let origin = found?;
        self.remember(task.image, &origin);
        Some(origin)
    }

    /// The origin of a process that has had no start of its own allowed.
    fn inherited(&self, task: &ProcessInfo) -> Option<Arc<AllowedStart>> {
        let mut parent = task.parent;
        for _ in 0..MAX_ANCESTORS {
            let Ok(above) = ProcessInfo::of(parent) else { break };
            let of_above = self.pending.get(&above.pid).into_iter().flatten();
            let is_meant = |pending: &&PendingStart| pending.is_of(&above) && pending.file == task.image.file;
            if above.image == task.image
                && let Some(origin) = least_of(of_above.filter(is_meant))
            {
                return Some(origin);
            }
            parent = above.parent;
        }
        // Its ancestor has ended, or has started another program since.
        self.of_file(task.image.file)
    }

    /// The least coverage among all starts of a file.
    fn of_file(&self, file: FileId) -> Option<Arc<AllowedStart>> {
        let any = least_of(self.pending.values().flatten().filter(|pending| pending.file == file));
        match (any, self.least.get(&file)) {
            (Some(one), Some(other)) => Some(one.least(other)),
            (one, other) => one.or_else(|| other.cloned()),
        }
    }

    fn remember(&mut self, image: ProgramImage, origin: &Arc<AllowedStart>) {
        self.known.insert(image, (Arc::clone(origin), self.clock));
        if self.known.len() > MAX_KNOWN {
            self.forget_the_unused();
        }
    }

    /// Drops the half of the images that was not looked up recently, keeping the least coverage of their files.
    fn forget_the_unused(&mut self) {
        let mut times: Vec<u64> = self.known.values().map(|(_, time)| *time).collect();
        let middle = times.len() / 2;
        let (_, limit, _) = times.select_nth_unstable(middle);
        let limit = *limit;
        let old: Vec<_> = self.known.extract_if(|_, (_, time)| *time < limit).collect();
        for (image, (origin, _)) in old {
            self.keep_least(image.file, &origin);
        }
    }

    /// Drops the pending starts of dead processes. If another process has the number by now, they are kept until that
    /// process starts something.
    fn forget_the_dead(&mut self) {
        let dead: Vec<_> = self.pending.extract_if(|pid, _| !task::is_number_taken(*pid)).collect();
        for pending in dead.into_iter().flat_map(|(_, pending)| pending) {
            self.keep_least(pending.file, &pending.origin);
        }
        self.left = self.pending.len();
    }

    fn keep_least(&mut self, file: FileId, origin: &Arc<AllowedStart>) {
        // Beyond the limit the origin becomes unknown, which covers nothing.
        if self.least.len() >= MAX_KNOWN && !self.least.contains_key(&file) {
            return;
        }
        let least = self.least.get(&file).map_or_else(|| Arc::clone(origin), |known| known.least(origin));
        self.least.insert(file, least);
    }
}

/// The least coverage among pending starts; `None` if there are none.
fn least_of<'p>(pending: impl Iterator<Item = &'p PendingStart>) -> Option<Arc<AllowedStart>> {
    pending.fold(None, |least: Option<Arc<AllowedStart>>, pending| {
        let origin = &pending.origin;
        Some(least.map_or_else(|| Arc::clone(origin), |least| least.least(origin)))
    })
}
