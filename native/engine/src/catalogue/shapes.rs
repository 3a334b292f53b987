//! Results in shapes that several dialects have.

use beamai_search::grep::{GrepMatch, GrepOutput};
use beamai_walk::SearchCoverage;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

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
    /// The files with a match; absent where the matches themselves are given.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
    /// Matching lines per file, in output mode count.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<BTreeMap<String, u64>>,
    /// Whether there are more matches, or files, than are given.
    truncated: bool,
    /// What was searched and what was left out.
    coverage: SearchCoverage,
}

impl From<GrepOutput> for Matches {
    fn from(grepped: GrepOutput) -> Self {
        let GrepOutput { matches, files, counts, total_matches, truncated, coverage, .. } = grepped;
        let files = (matches.is_empty() && total_matches > 0).then_some(files);
        Self { count: matches.len(), matches, total_matches, files, counts, truncated, coverage }
    }
}
