//! An entry point for fuzzers: arbitrary patches on arbitrary files.

use super::parser;
use beamai_text::{Charset, FileBytes};

/// Parses a patch and fits each of its parts to the same bytes.
///
/// # Panics
/// If an edit is outside of the file or overlaps another one, which is a bug.
pub fn check(patch: &str, file: &[u8]) {
    let Ok(diffs) = parser::parse(patch) else { return };
    for diff in &diffs {
        for label in ["utf-8", "utf-16le", "shift_jis"] {
            let charset = Charset::labelled(label, file).expect("a known label");
            let Ok(fitted) = super::fit::fit(diff, FileBytes::Memory(file), charset, &|| Ok(())) else {
                continue;
            };
            assert_eq!(fitted.hunks.len(), diff.hunks.len(), "a verdict on each hunk");
            if fitted.hunks.iter().any(|hunk| hunk.problem.is_some()) {
                continue;
            }
            let mut end = 0;
            for cut in &fitted.cuts {
                let range = &cut.range;
                assert!(end <= range.start && range.start <= range.end, "{range:?} after {end}");
                end = range.end;
            }
            assert!(end <= file.len() as u64, "{end} is beyond the file");
        }
    }
}
