//! Compares the metadata of tracked files with the index in other threads, while this one is busy, as git does with
//! `core.preloadIndex`. Almost all files are unchanged, and looking at them takes most of the time of a status.

use super::dirs::Dirs;
use super::tracked::IndexComparison;
use git2::IndexEntry;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Minimum number of entries per thread; a thread for fewer costs more than it saves.
const LEAST: usize = 500;
/// Maximum number of threads.
const MOST: usize = 8;
/// Entries compared between two checks of whether anybody still waits.
const CHECK_EVERY: usize = 256;

/// Threads that look at parts of the index. They end early when it is dropped.
pub(super) struct Lookahead {
    from: usize,
    parts: Vec<JoinHandle<Vec<bool>>>,
    is_dropped: Arc<AtomicBool>,
}

/// How many threads besides the calling one are worth starting for this many entries.
pub(super) fn helpers(entries: usize) -> usize {
    let others = std::thread::available_parallelism().map_or(0, |all| all.get() - 1);
    others.min(entries / LEAST).min(MOST)
}

impl Lookahead {
    /// Starts the threads for the entries from position `from` on; `None` if it is not worth it, or if there can be none.
    /// `dirs` opens the work tree once for each thread.
    pub(super) fn start(
        entries: &Arc<[IndexEntry]>,
        from: usize,
        comparison: IndexComparison,
        dirs: impl Fn() -> Option<Dirs>,
    ) -> Option<Self> {
        let count = entries.len() - from;
        // `None` without helpers.
        let length = count.checked_div(helpers(count))? + 1;
        let mut started = Self { from, parts: Vec::new(), is_dropped: Arc::default() };
        for start in (from..entries.len()).step_by(length) {
            let (mut dirs, entries) = (dirs()?, Arc::clone(entries));
            let is_dropped = Arc::clone(&started.is_dropped);
            let look = move || {
                let part = &entries[start..entries.len().min(start + length)];
                let some = part.chunks(CHECK_EVERY).take_while(|_| !is_dropped.load(Ordering::Relaxed));
                some.flatten().map(|entry| comparison.is_unchanged(entry, &mut dirs)).collect()
            };
            let thread = std::thread::Builder::new().name("beamai-git-lookahead".to_owned());
            started.parts.push(thread.spawn(look).ok()?);
        }
        Some(started)
    }

    /// Whether the threads look at the entries from this position on.
    pub(super) fn begins_at(&self, at: usize) -> bool {
        self.from == at
    }

    /// Waits for the threads. Whether the entry at each position is known to be unchanged; positions that nobody looked
    /// at are missing at the end.
    pub(super) fn unchanged(mut self) -> Vec<bool> {
        let mut all = vec![false; self.from];
        for part in self.parts.drain(..) {
            let Ok(part) = part.join() else { break };
            all.extend(part);
        }
        all
    }
}

impl Drop for Lookahead {
    fn drop(&mut self) {
        self.is_dropped.store(true, Ordering::Relaxed);
    }
}
