//! The results of all threads: exact totals, and as much text as the answer can need.

use super::OutputMode;
use super::output::GrepMatch;
use crate::remaining::PathCounts;
use beamai_base::ToolError;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum bytes of text in memory; text beyond it is read again if the answer needs it.
const MAX_HELD: usize = 32 << 20;

/// A file with matches.
pub(super) struct FileMatches {
    /// Number of matches.
    pub(super) count: u64,
    /// The first of them; `None` if they were not kept.
    pub(super) hits: Option<Vec<GrepMatch>>,
}

/// Files with matches. Only the first ones by path are kept: as many as needed to fill the page.
pub(super) struct MatchedFiles {
    mode: OutputMode,
    /// Number of matches, or files, up to the end of the page.
    page_end: usize,
    state: Mutex<MatchedFilesState>,
}

#[derive(Default)]
struct MatchedFilesState {
    files: BTreeMap<Box<[u8]>, FileMatches>,
    /// Number of matches, or files, in `files`.
    units: usize,
    held: usize,
    total_matches: u64,
    total_files: u64,
    /// Number of matches by file, also of those that are not kept.
    counts: PathCounts,
}

impl MatchedFiles {
    pub(super) fn new(mode: OutputMode, page_end: usize) -> Self {
        Self { mode, page_end, state: Mutex::default() }
    }

    /// How much a file with `count` matches adds to offset and limit.
    pub(super) fn units(mode: OutputMode, count: u64) -> usize {
        match mode {
            OutputMode::Content => usize::try_from(count).unwrap_or(usize::MAX),
            _ => 1,
        }
    }

    /// Number of matches up to the end of the page.
    pub(super) fn page_end(&self) -> usize {
        self.page_end
    }

    /// Whether matches in a file can still get into the answer.
    pub(super) fn wants(&self, path: &[u8]) -> bool {
        self.mode == OutputMode::Content && self.lock().can_use(path, self.page_end)
    }

    /// Adds a file with matches.
    pub(super) fn add(&self, path: &[u8], count: u64, hits: Option<Vec<GrepMatch>>) {
        let mut state = self.lock();
        state.total_matches += count;
        state.total_files += 1;
        state.counts.add(path, count);
        if !state.can_use(path, self.page_end) {
            return;
        }
        let size = hits.iter().flatten().map(GrepMatch::size).sum::<usize>();
        let hits = hits.filter(|_| state.held + size <= MAX_HELD);
        state.held += if hits.is_some() { size } else { 0 };
        state.units = state.units.saturating_add(Self::units(self.mode, count));
        state.files.insert(path.into(), FileMatches { count, hits });
        state.drop_surplus(self.mode, self.page_end);
    }

    /// Total number of matches, and of files with matches.
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.lock();
        (state.total_matches, state.total_files)
    }

    /// The number of matches by file.
    pub(super) fn take_counts(&self) -> PathCounts {
        std::mem::take(&mut self.lock().counts)
    }

    /// The kept files, by path.
    pub(super) fn take(&self) -> BTreeMap<Box<[u8]>, FileMatches> {
        std::mem::take(&mut self.lock().files)
    }

    /// Adds the results so far to an error.
    pub(super) fn so_far(&self, error: ToolError) -> ToolError {
        let (matches, files) = self.totals();
        error.with("total_matches", matches).with("total_files", files)
    }

    fn lock(&self) -> MutexGuard<'_, MatchedFilesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MatchedFilesState {
    /// Whether a file can be on the page; files found later can only push it further back.
    fn can_use(&self, path: &[u8], page_end: usize) -> bool {
        self.units < page_end || self.files.last_key_value().is_some_and(|(last, _)| *path < **last)
    }

    fn drop_surplus(&mut self, mode: OutputMode, page_end: usize) {
        while let Some((_, last)) = self.files.last_key_value() {
            let units = MatchedFiles::units(mode, last.count);
            if self.units - units < page_end {
                break;
            }
            self.units -= units;
            self.held -= last.hits.iter().flatten().map(GrepMatch::size).sum::<usize>();
            self.files.pop_last();
        }
    }
}
