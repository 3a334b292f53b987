//! Reads the repository's and the host's settings. Settings that change what is compared are honoured; settings of
//! presentation (colours, formats, pagers, context) are not, so that output has a fixed form.

use super::super::fail::{GitError, GitResult};
use super::named_file::is_unfollowed;
use git2::{Config, ConfigLevel};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// `core.autocrlf`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum AutoCrlf {
    /// Line endings are kept.
    #[default]
    False,
    /// LF in the repository, CRLF in the work tree.
    True,
    /// LF in the repository.
    Input,
}

/// Which untracked files are listed: `status.showUntrackedFiles`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Untracked {
    /// None.
    No,
    /// Files in directories with tracked files, and whole untracked directories.
    #[default]
    Normal,
    /// All files.
    All,
}

/// Settings of host and repository, combined as in git.
#[derive(Debug)]
pub struct GitSettings {
    /// Whether non-ASCII bytes in file names are escaped.
    pub quote_path: bool,
    /// Length of abbreviated hashes; `None` depends on the number of objects.
    pub(crate) abbrev: Option<usize>,
    /// Whether the executable bit of work-tree files counts.
    pub file_mode: bool,
    /// `core.autocrlf`.
    pub(crate) autocrlf: AutoCrlf,
    /// Whether `core.safecrlf` is `true`: irreversible changes of line endings are refused.
    pub safecrlf: bool,
    /// `status.showUntrackedFiles`.
    pub untracked: Untracked,
    /// Whether entries with skip-worktree are left out of the work tree by a sparse checkout that git maintains.
    pub(super) sparse: bool,
    /// Whether renames are detected.
    pub renames: bool,
    /// Maximum number of files per side in inexact rename detection.
    pub rename_limit: usize,
    /// The ignore file.
    pub(crate) excludes: Option<PatternFile>,
    /// The attributes file.
    pub(crate) attributes: Option<PatternFile>,
}

/// A pattern file that settings name.
#[derive(Debug)]
pub(crate) struct PatternFile {
    /// The setting.
    pub(crate) setting: &'static str,
    /// Its path.
    pub(crate) path: PathBuf,
    /// Whether the host's settings name it, or nobody's, and not those of the repository, which could name any file.
    pub(crate) is_hosts: bool,
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
            sparse: flag("core.sparsecheckout", false) && !flag("sparse.expectfilesoutsideofpatterns", false),
            renames: renames(config),
            rename_limit: usize::try_from(config.get_i64("diff.renamelimit").unwrap_or(1000)).unwrap_or(1000),
            excludes: pattern_file(config, "core.excludesFile", "ignore")?,
            attributes: pattern_file(config, "core.attributesFile", "attributes")?,
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

/// The pattern file that a setting names, or the default one.
fn pattern_file(config: &Config, setting: &'static str, default: &str) -> GitResult<Option<PatternFile>> {
    let usual = || search_dirs(ConfigLevel::XDG).first().map(|dir| dir.join(default));
    let found = match config.get_entry(setting) {
        Ok(entry) => {
            let is_hosts = !matches!(entry.level(), ConfigLevel::Local | ConfigLevel::Worktree);
            path(config, setting)?.map(|path| (path, is_hosts))
        }
        Err(_) => usual().map(|path| (path, true)),
    };
    let found = found.filter(|(path, _)| !path.as_os_str().is_empty());
    Ok(found.map(|(path, is_hosts)| PatternFile { setting, path, is_hosts }))
}

/// The path of a setting.
///
/// # Errors
/// `needs_shell` if it has a form that libgit2 does not know.
pub fn path(config: &Config, setting: &str) -> GitResult<Option<PathBuf>> {
    let Ok(entry) = config.get_entry(setting) else { return Ok(None) };
    if entry.has_value() && is_unfollowed(entry.value_bytes()) {
        let value = String::from_utf8_lossy(entry.value_bytes());
        let message = format!(
            "{setting} of the git settings is {value}, which this tool cannot follow; use the shell tool for git"
        );
        return Err(GitError::needs_shell(message).into());
    }
    Ok(config.get_path(setting).ok())
}

/// The directories where libgit2 looks for settings of a level.
pub(super) fn search_dirs(level: ConfigLevel) -> Vec<PathBuf> {
    // SAFETY: the search path is only read; nothing in this program changes it while calls run.
    let path = unsafe { git2::opts::get_search_path(level) };
    let path = path.ok().map(|path| OsString::from_vec(path.into_bytes())).unwrap_or_default();
    std::env::split_paths(&path).filter(|dir| dir.is_absolute()).collect()
}
