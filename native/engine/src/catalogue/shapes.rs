//! Results in shapes that several dialects have.

use beamai_search::grep::{GrepMatch, GrepOutput};
use beamai_walk::SearchCoverage;
use schemars::JsonSchema;
use serde::Serialize;

/// A result that begins with saying that it is one.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Succeeded<T> {
    /// True: what could not be done is an error.
    success: bool,
    #[serde(flatten)]
    result: T,
}

impl<T> From<T> for Succeeded<T> {
    fn from(result: T) -> Self {
        Self { success: true, result }
    }
}

/// Lines that match.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Matches {
    /// The matches, by path and line.
    matches: Vec<GrepMatch>,
    /// How many of them are given.
    count: usize,
    /// Matching lines in all files, those that are not given included.
    total_matches: u64,
    /// Whether there are more matches than are given.
    truncated: bool,
    /// What was searched and what was left out.
    coverage: SearchCoverage,
}

impl From<GrepOutput> for Matches {
    fn from(grepped: GrepOutput) -> Self {
        let GrepOutput { matches, total_matches, truncated, coverage, .. } = grepped;
        Self { count: matches.len(), matches, total_matches, truncated, coverage }
    }
}
