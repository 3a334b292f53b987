//! Paths that the host shows or makes writable although deny rules match them.

use beamai_path_rules::{PathRoots, PathRule};
use std::path::{Path, PathBuf};

/// The paths of the sandbox's options `readable` and `writable`, as rules see them. Each lifts the rules that match it,
/// and no others within it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct LiftedPaths {
    shown: Vec<PathBuf>,
    writable: Vec<PathBuf>,
}

impl LiftedPaths {
    /// Takes absolute paths. Writable paths are also readable.
    pub(super) fn new(readable: &[PathBuf], writable: &[PathBuf], roots: &PathRoots) -> Self {
        let seen = |path: &PathBuf| roots.meant(Path::new(""), path);
        Self {
            shown: readable.iter().chain(writable).map(seen).collect(),
            writable: writable.iter().map(seen).collect(),
        }
    }

    fn of(&self, to_write: bool) -> &[PathBuf] {
        if to_write { &self.writable } else { &self.shown }
    }

    /// Whether exactly this path is lifted.
    pub(super) fn contains(&self, path: &Path, to_write: bool) -> bool {
        self.of(to_write).iter().any(|lifted| lifted == path)
    }

    /// Whether a rule that matches a path is lifted there, because it matches the lifted path around it.
    pub(super) fn lifts(&self, rule: &PathRule, path: &Path, to_write: bool, roots: &PathRoots) -> bool {
        let around = self.of(to_write).iter().filter(|lifted| path.starts_with(lifted));
        around
            .max_by_key(|lifted| lifted.as_os_str().len())
            .is_some_and(|lifted| rule.matches(lifted, roots) || rule.covers(lifted, roots))
    }
}
