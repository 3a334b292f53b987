//! A repository's own config files.

use super::directory::OpenDirectory;
use beamai_git_config::{ConfigEntry, read};

/// Their names.
pub(super) const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// All entries of those that can be read.
pub(super) fn entries_of(repository: &OpenDirectory) -> impl Iterator<Item = ConfigEntry> {
    let texts = CONFIGS.into_iter().filter_map(|name| repository.read(name).ok());
    texts.filter_map(|text| read(&text).ok()).flatten()
}
