//! Settings about a repository's format. git takes them from the repository's own settings file alone, without what it
//! includes (`setup.c`); libgit2 takes them from anywhere.

use crate::fail::{GitError, GitResult};
use git2::{Config, ConfigEntry, ConfigLevel};

/// Fails if libgit2 has found such a setting where git does not look for it, or a format that git does not have.
pub(super) fn expect_own(config: &Config) -> GitResult<()> {
    let mut elsewhere = None;
    config.entries(None)?.for_each(|entry| {
        if is_of_format(entry.name_bytes()) && !is_own(entry) {
            elsewhere.get_or_insert(String::from_utf8_lossy(entry.name_bytes()).into_owned());
        }
    })?;
    if let Some(name) = elsewhere {
        let message = format!(
            "{name} is set outside of the repository's own settings file, where git ignores it and this tool does not; use the \
             shell tool for git"
        );
        return Err(GitError::needs_shell(message).into());
    }
    match config.get_i64("core.repositoryformatversion") {
        Ok(version) if version < 0 => {
            Err(GitError::Unavailable(format!("its core.repositoryFormatVersion is {version}")))
        }
        _ => Ok(()),
    }
}

fn is_of_format(name: &[u8]) -> bool {
    name.starts_with(b"extensions.") || name == b"core.repositoryformatversion"
}

fn is_own(entry: &ConfigEntry<'_>) -> bool {
    entry.level() == ConfigLevel::Local && entry.include_depth() == 0
}
