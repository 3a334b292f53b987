//! What all threads of a search have found: exact totals, and as much of the rest as the answer can need.

use super::OutputMode;
use super::output::GrepMatch;
use beamai_base::ToolError;
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Bytes of text that are held at most; what goes beyond is read again if the answer needs it.
const MAX_HELD: usize = 32 << 20;

/// A file with matches.
pub(super) struct FileMatches {
    /// How many it has.
    pub(super) count: u64,
    /// The first of them; `None` where they were not kept.
    pub(super) hits: Option<Vec<GrepMatch>>,
}

/// Files with matches. Only the first ones by path are kept: as many as the page's end needs.
pub(super) struct MatchedFiles {
    mode: OutputMode,
    /// Matches, or files, up to the end of the page.
    need: usize,
    state: Mutex<MatchedFilesState>,
}

#[derive(Default)]
struct MatchedFilesState {
    files: BTreeMap<Box<[u8]>, FileMatches>,
    /// Units in `files`.
    units: usize,
    held: usize,
    total_matches: u64,
    total_files: u64,
}

impl MatchedFiles {
    pub(super) fn new(mode: OutputMode, need: usize) -> Self {
        Self { mode, need, state: Mutex::default() }
    }

    /// What a file with that many matches counts as in offset and limit.
    pub(super) fn units(mode: OutputMode, count: u64) -> usize {
        match mode {
            OutputMode::Content => usize::try_from(count).unwrap_or(usize::MAX),
            _ => 1,
        }
    }

    /// Matches up to the end of the page.
    pub(super) fn permission(&self) -> usize {
        self.need
    }

    /// Whether the text of matches in a file can still get into the answer.
    pub(super) fn wants(&self, path: &[u8]) -> bool {
        self.mode == OutputMode::Content && self.lock().can_use(path, self.need)
    }

    /// Takes a file with matches.
    pub(super) fn add(&self, path: &[u8], count: u64, hits: Option<Vec<GrepMatch>>) {
        let mut state = self.lock();
        state.total_matches += count;
        state.total_files += 1;
        if !state.can_use(path, self.need) {
            return;
        }
        let size = hits.iter().flatten().map(GrepMatch::size).sum::<usize>();
        let hits = hits.filter(|_| state.held + size <= MAX_HELD);
        state.held += if hits.is_some() { size } else { 0 };
        state.units = state.units.saturating_add(Self::units(self.mode, count));
        state.files.insert(path.into(), FileMatches { count, hits });
        state.drop_surplus(self.mode, self.need);
    }

    /// Matches, and files with matches, in all.
    pub(super) fn totals(&self) -> (u64, u64) {
        let state = self.lock();
        (state.total_matches, state.total_files)
    }

    /// The files that were kept, by path.
    pub(super) fn take(&self) -> BTreeMap<Box<[u8]>, FileMatches> {
        std::mem::take(&mut self.lock().files)
    }

    /// An error with what was found until then.
    pub(super) fn so_far(&self, error: ToolError) -> ToolError {
        let (matches, files) = self.totals();
        error.with("total_matches", matches).with("total_files", files)
    }

    fn lock(&self) -> MutexGuard<'_, MatchedFilesState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl MatchedFilesState {
    /// Whether the page can reach a file; files that come later can only push it further back.
    fn can_use(&self, path: &[u8], need: usize) -> bool {
        self.units < need || self.files.last_key_value().is_some_and(|(last, _)| *path < **last)
    }

    fn drop_surplus(&mut self, mode: OutputMode, need: usize) {
        while let Some((_, last)) = self.files.last_key_value() {
            let units = MatchedFiles::units(mode, last.count);
            if self.units - units < need {
                break;
            }
            self.units -= units;
            self.held -= last.hits.iter().flatten().map(GrepMatch::size).sum::<usize>();
            self.files.pop_last();
        }
    }
}
