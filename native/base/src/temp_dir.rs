//! The system's directory for temporary files.

use std::path::PathBuf;

/// `TMPDIR`, if that is an absolute path; otherwise `/tmp`. `std` takes any value: an empty one would mean the current
/// directory.
#[must_use]
pub fn temp_dir() -> PathBuf {
    let named = std::env::temp_dir();
    if named.is_absolute() { named } else { "/tmp".into() }
}
