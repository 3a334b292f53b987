//! Result types shared by several dialects.

use beamai_search::{
    grep::{GrepMatch, GrepOutput},
    remaining::Remaining,
};
use beamai_walk::SearchCoverage;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A result with a leading `success` field.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Succeeded<T> {
    /// Always true: failures are reported as errors.
    success: bool,
    #[serde(flatten)]
    result: T,
}

impl<T> From<T> for Succeeded<T> {
    fn from(result: T) -> Self {
        Self { success: true, result }
    }
}

/// Matching lines.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Matches {
    /// The matches, by path and line.
    matches: Vec<GrepMatch>,
    /// Number of matches returned.
    count: usize,
    /// Number of matching lines in all files, including those not returned.
    total_matches: u64,
    /// The files with a match; absent if the matches themselves are returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    files: Option<Vec<String>>,
    /// Number of files with a match, including those not returned; absent if the matches themselves are returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_files: Option<u64>,
    /// Matching lines per file; only in output mode count.
    #[serde(skip_serializing_if = "Option::is_none")]
    counts: Option<BTreeMap<String, u64>>,
    /// Whether there are more matches, or files; continue with offset.
    truncated: bool,
    /// Where the results after these are; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    remaining: Option<Remaining>,
    /// What was searched and what was left out.
    coverage: SearchCoverage,
}

impl From<GrepOutput> for Matches {
    fn from(grepped: GrepOutput) -> Self {
        let GrepOutput {
            matches,
            files,
            counts,
            total_matches,
            total_files,
            truncated,
            remaining,
            coverage,
            ..
        } = grepped;
        let has_files = matches.is_empty() && total_matches > 0;
        let (files, total_files) = (has_files.then_some(files), has_files.then_some(total_files));
        Self {
            count: matches.len(),
            matches,
            total_matches,
            files,
            total_files,
            counts,
            truncated,
            remaining,
            coverage,
        }
    }
}
