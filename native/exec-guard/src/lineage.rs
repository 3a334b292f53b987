//! Which start a process comes from, and what that covers.

use super::task::{FileId, ProcessInfo, ProgramImage};
use beamai_isolation::StartCoverage;
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// Starts that may not have happened yet are looked through when there are as many.
const MAX_PENDING: usize = 1_024;
/// Most images of which the start is remembered, and most files of which the least coverage is.
const MAX_KNOWN: usize = 4_096;
/// Most processes that are looked at on the way up.
const MAX_ANCESTORS: usize = 64;
/// Bytes of arguments that are kept: people see them, and the judge looks whether they name what is started.
const MAX_ARGUMENTS: usize = 2_048;

/// A start that was let go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AllowedStart {
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<OsString>,
    pub(super) has_all_arguments: bool,
    pub(super) coverage: StartCoverage,
}

impl AllowedStart {
    /// `is_all`: whether these are all of its arguments.
    pub(super) fn new(
        program: PathBuf,
        arguments: &[OsString],
        is_all: bool,
        coverage: StartCoverage,
    ) -> Self {
        let mut room = MAX_ARGUMENTS;
        let fits = |word: &&OsString| {
            room = room.saturating_sub(word.len() + 1);
            room > 0
        };
        let kept: Vec<OsString> = arguments.iter().take_while(fits).cloned().collect();
        let has_all_arguments = is_all && kept.len() == arguments.len();
        Self { program, has_all_arguments, arguments: kept, coverage }
    }

    /// What a process has that comes from one of the two.
    fn least(self: &Arc<Self>, other: &Arc<Self>) -> Arc<Self> {
        let coverage = self.coverage.least(other.coverage);
        match (coverage == self.coverage, coverage == other.coverage) {
            (true, _) => Arc::clone(self),
            (_, true) => Arc::clone(other),
            _ => Arc::new(Self { coverage, ..Self::clone(self) }),
        }
    }
}

/// A start that was let go on and may happen or fail.
#[derive(Debug, Clone)]
pub(super) struct PendingStart {
    pub(super) thread: i32,
    /// The process, as it was before.
    pub(super) task: ProcessInfo,
    /// The file that it runs if the start happens.
    pub(super) file: FileId,
    pub(super) origin: Arc<AllowedStart>,
}

impl PendingStart {
    fn is_of(&self, task: &ProcessInfo) -> bool {
        (self.task.pid, self.task.started) == (task.pid, task.started)
    }
}

/// What is known of the starts of one order.
#[derive(Default)]
pub(super) struct Lineage {
    /// The starts that happened, and when they were last asked for.
    known: HashMap<ProgramImage, (Arc<AllowedStart>, u64)>,
    pending: Vec<PendingStart>,
    /// The least that starts cover of which only the file is known.
    least: HashMap<FileId, Arc<AllowedStart>>,
    clock: u64,
    /// How many pending ones were left when they were last looked through.
    left: usize,
}

impl Lineage {
    /// Notes a start that is let go on.
    pub(super) fn expect(&mut self, pending: PendingStart) {
        // Of one thread there is one: it asks again only where the one before has failed.
        self.pending.retain(|known| known.thread != pending.thread || !known.is_of(&pending.task));
        self.pending.push(pending);
        if self.pending.len() >= self.left * 2 + MAX_PENDING {
            self.forget_the_dead();
        }
    }

    /// Where a process comes from; `None` where nothing is known of its image.
    ///
    /// A process has the coverage of a start only once it shows the image of one: before that, and where the start failed,
    /// it has the image that it had. Its children have the same image until they start something themselves, whatever
    /// their parents have become.
    pub(super) fn origin(
        &mut self,
        task: &ProcessInfo,
        processes: &impl ProcessTable,
    ) -> Option<Arc<AllowedStart>> {
        self.clock += 1;
        if let Some((known, _)) = self.known.get(&task.image) {
            let known = Arc::clone(known);
            self.remember(task.image, &known);
            return Some(known);
        }
        // Other starts of the program have the same addresses.
        if !processes.is_random(task.pid) {
            return self.of_file(task.image.file);
        }
        let has_started = self.pending.iter().any(|pending| pending.is_of(task));
        let found = match has_started {
            // What runs may not be the file that was judged.
            true => self.expected(|pending| pending.is_of(task) && pending.file == task.image.file),
            false => self.inherited(task, processes),
        };
        self.pending.retain(|pending| !pending.is_of(task));
        let origin = found?;
        self.remember(task.image, &origin);
        Some(origin)
    }

    /// The origin of a process that has never been let start anything.
    fn inherited(&self, task: &ProcessInfo, processes: &impl ProcessTable) -> Option<Arc<AllowedStart>> {
        let mut parent = task.parent;
        for _ in 0..MAX_ANCESTORS {
            let Some(above) = processes.task(parent) else { break };
            if above.image == task.image
                && let Some(origin) =
                    self.expected(|pending| pending.is_of(&above) && pending.file == task.image.file)
            {
                return Some(origin);
            }
            parent = above.parent;
        }
        // Whoever it comes from is gone, or has started something else since.
        self.of_file(task.image.file)
    }

    /// The least of the starts of a file that may be any process's that runs it.
    fn of_file(&self, file: FileId) -> Option<Arc<AllowedStart>> {
        let any = self.expected(|pending| pending.file == file);
        match (any, self.least.get(&file)) {
            (Some(one), Some(other)) => Some(one.least(other)),
            (one, other) => one.or_else(|| other.cloned()),
        }
    }

    /// The least of the pending starts that are meant.
    fn expected(&self, is_meant: impl Fn(&PendingStart) -> bool) -> Option<Arc<AllowedStart>> {
        let origins = self.pending.iter().filter(|pending| is_meant(pending)).map(|pending| &pending.origin);
        origins.fold(None, |least: Option<Arc<AllowedStart>>, origin| {
            Some(least.map_or_else(|| Arc::clone(origin), |least| least.least(origin)))
        })
    }

    fn remember(&mut self, image: ProgramImage, origin: &Arc<AllowedStart>) {
        self.known.insert(image, (Arc::clone(origin), self.clock));
        if self.known.len() > MAX_KNOWN {
            self.forget_the_unused();
        }
    }

    /// Keeps of the images that were not asked for lately only what their files have at least.
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

    fn forget_the_dead(&mut self) {
        let (living, dead): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.pending).into_iter().partition(|pending| pending.task.lives());
        for pending in dead {
            self.keep_least(pending.file, &pending.origin);
        }
        self.left = living.len();
        self.pending = living;
    }

    fn keep_least(&mut self, file: FileId, origin: &Arc<AllowedStart>) {
        // What is forgotten altogether is unknown, which covers nothing.
        if self.least.len() >= MAX_KNOWN && !self.least.contains_key(&file) {
            return;
        }
        let least = self.least.get(&file).map_or_else(|| Arc::clone(origin), |known| known.least(origin));
        self.least.insert(file, least);
    }
}

/// A look at the processes that there are.
pub(super) trait ProcessTable {
    /// A process that may be looked into.
    fn task(&self, pid: i32) -> Option<ProcessInfo>;

    /// Whether the kernel gives the programs of a process random addresses.
    fn is_random(&self, pid: i32) -> bool;
}
