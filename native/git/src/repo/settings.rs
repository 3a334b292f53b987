//! What the repository's and the host's settings say. Settings that change what is compared are honoured;
//! those of taste (colours, formats, pagers, how much context) are not, so that answers have one shape.

use super::super::fail::GitResult;
use git2::{Config, ConfigLevel};
use std::path::PathBuf;

/// `core.autocrlf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AutoCrlf {
    /// Line endings are left alone.
    #[default]
    False,
    /// They are LF in the repository and CRLF in the work tree.
    True,
    /// They are LF in the repository.
    Input,
}

/// Which untracked files are listed: `status.showUntrackedFiles`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Untracked {
    /// None.
    No,
    /// Those whose directory has tracked files, and the other directories.
    #[default]
    Normal,
    /// Every one.
    All,
}

/// Settings as git reads them, host and repository together.
#[derive(Debug)]
pub(crate) struct GitSettings {
    /// Whether bytes beyond ASCII in file names are escaped.
    pub quote_path: bool,
    /// Length of abbreviated hashes; `None` is by the number of objects.
    pub abbrev: Option<usize>,
    /// Whether the work tree's executable bit counts.
    pub file_mode: bool,
    /// `core.autocrlf`.
    pub autocrlf: AutoCrlf,
    /// `core.safecrlf` is `true`: a change of line endings that cannot be undone is refused.
    pub safecrlf: bool,
    /// `status.showUntrackedFiles`.
    pub untracked: Untracked,
    /// Whether renames are looked for.
    pub renames: bool,
    /// Most files on a side that are compared for renames with changes.
    pub rename_limit: usize,
    /// The host's ignore file.
    pub excludes: Option<PathBuf>,
    /// The host's attributes file.
    pub attributes: Option<PathBuf>,
}

impl GitSettings {
    /// Reads a snapshot of the settings.
    pub(super) fn read(config: &Config) -> GitResult<Self> {
        let flag = |name: &str, default: bool| config.get_bool(name).unwrap_or(default);
        Ok(Self {
            quote_path: flag("core.quotepath", true),
            abbrev: abbrev(config),
            file_mode: flag("core.filemode", true),
            autocrlf: autocrlf(config),
            safecrlf: flag("core.safecrlf", false),
            untracked: untracked(config),
            renames: renames(config),
            rename_limit: usize::try_from(config.get_i64("diff.renamelimit").unwrap_or(1000)).unwrap_or(1000),
            excludes: host_file(config, "core.excludesfile", "ignore"),
            attributes: host_file(config, "core.attributesfile", "attributes"),
        })
    }
}

fn abbrev(config: &Config) -> Option<usize> {
    match config.get_string("core.abbrev").ok()?.to_ascii_lowercase().as_str() {
        "no" | "off" | "false" => Some(40),
        text => text.parse::<usize>().ok().map(|length| length.clamp(4, 40)),
    }
}

fn autocrlf(config: &Config) -> AutoCrlf {
    match config.get_string("core.autocrlf") {
        Ok(text) if text.eq_ignore_ascii_case("input") => AutoCrlf::Input,
        Ok(_) if config.get_bool("core.autocrlf").unwrap_or(false) => AutoCrlf::True,
        _ => AutoCrlf::False,
    }
}

fn untracked(config: &Config) -> Untracked {
    match config.get_string("status.showuntrackedfiles").as_deref() {
        Ok("no" | "false" | "off" | "0") => Untracked::No,
        Ok("all") => Untracked::All,
        _ => Untracked::Normal,
    }
}

fn renames(config: &Config) -> bool {
    match config.get_string("diff.renames").as_deref() {
        Ok("copies" | "copy") => true,
        _ => config.get_bool("diff.renames").unwrap_or(true),
    }
}

/// A file of patterns that the host's own settings name, or the one git looks for without. A repository's
/// settings name none: they could name any file there is.
fn host_file(config: &Config, name: &str, default: &str) -> Option<PathBuf> {
    match config.get_entry(name) {
        Ok(entry) => {
            let is_host = !matches!(entry.level(), ConfigLevel::Local | ConfigLevel::Worktree);
            is_host.then(|| config.get_path(name).ok()).flatten()
        }
        Err(_) => Some(xdg_dir()?.join(default)),
    }
}

/// Where libgit2 looks for the user's git settings.
fn xdg_dir() -> Option<PathBuf> {
    // SAFETY: the search path is only read; nothing in this program changes it while calls run.
    let path = unsafe { git2::opts::get_search_path(ConfigLevel::XDG) }.ok()?;
    std::env::split_paths(path.to_str().ok()?).next()
}
