//! Runs what is kept for a target.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

/// Tries each input, and names those that show a defect or take far too long.
pub(crate) fn walk(target: &str, entry: fn(&[u8])) {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let inputs = std::fs::read_dir(&directory).unwrap().map(|input| input.unwrap().path());
    let (mut count, mut faults) = (0, Vec::new());
    for input in inputs {
        let bytes = std::fs::read(&input).unwrap();
        let start = Instant::now();
        let is_sound = catch_unwind(AssertUnwindSafe(|| entry(&bytes))).is_ok();
        if !is_sound || start.elapsed() > Duration::from_secs(10) {
            faults.push(format!("{} after {:?}", input.display(), start.elapsed()));
        }
        count += 1;
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 10, "only {count} inputs are kept in {}", directory.display());
}
