//! A patch from anywhere, over a file from anywhere.

use super::parser;
use beamai_text::{Charset, FileBytes};

/// Reads a patch and fits each of its files to the same bytes.
///
/// # Panics
/// When what would be exchanged is not in the file, or overlaps: a defect.
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
