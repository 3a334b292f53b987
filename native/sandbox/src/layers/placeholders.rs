//! Placeholders created on the machine as mount points.

use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::ffi::OsString;
use std::path::Path;

/// An empty file or directory that a mount covers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placeholder {
    pub(super) path: OsString,
    /// Whether the reaper created it; otherwise it existed and was empty, possibly created by another reaper.
    pub(super) is_made: bool,
}

/// The launcher's reference counts of placeholders. A mount disappears if the file below it is removed, so an empty
/// placeholder is kept until the last reaper that covers it has exited.
#[derive(Default)]
pub struct PlaceholderCounts {
    counts: HashMap<OsString, usize>,
    needed: HashMap<Pid, Vec<OsString>>,
}

impl PlaceholderCounts {
    /// Counts the placeholders of a reaper.
    pub fn add(&mut self, reaper: Pid, covered: &[Placeholder]) {
        for Placeholder { path, is_made } in covered {
            if *is_made || self.counts.contains_key(path) {
                *self.counts.entry(path.clone()).or_default() += 1;
                self.needed.entry(reaper).or_default().push(path.clone());
            }
        }
    }

    /// Removes placeholders that are no longer used after a reaper has exited.
    pub fn remove(&mut self, reaper: Pid) {
        for path in self.needed.remove(&reaper).unwrap_or_default() {
            if let Some(count) = self.counts.get_mut(&path) {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&path);
                    remove_empty(Path::new(&path));
                }
            }
        }
    }

    /// Removes all, when the launcher exits.
    pub fn remove_all(&mut self) {
        self.needed.clear();
        self.counts.drain().for_each(|(path, _)| remove_empty(Path::new(&path)));
    }
}

/// Removes a file or directory, unless something has been put into it.
fn remove_empty(path: &Path) {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => _ = std::fs::remove_dir(path),
        Ok(found) if found.is_file() && found.len() == 0 => _ = std::fs::remove_file(path),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placeholder_stays_until_the_last_who_needs_it_has_ended_and_for_ever_once_it_is_used() {
        let dir = tempfile::tempdir().unwrap();
        let [hooks, config] = ["hooks", "config"].map(|name| dir.path().join(name));
        std::fs::create_dir(&hooks).unwrap();
        std::fs::write(&config, "").unwrap();
        let covered = |path: &Path, is_made| Placeholder { path: path.into(), is_made };
        let [first, second] = [1, 2].map(|pid| Pid::from_raw(pid).unwrap());
        let mut placeholders = PlaceholderCounts::default();
        placeholders.add(first, &[covered(&hooks, true), covered(&config, true)]);
        placeholders.add(second, &[covered(&hooks, false), covered(dir.path(), false)]);
        std::fs::write(&config, "[core]").unwrap();
        placeholders.remove(first);
        assert!(hooks.exists() && config.exists());
        placeholders.remove(second);
        assert!(!hooks.exists() && dir.path().exists());
    }
}
