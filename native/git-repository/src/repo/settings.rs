//! Reads the repository's and the host's settings. Settings that change what is compared are honoured; settings of
//! presentation (colours, formats, pagers, context) are not, so that output has a fixed form.

use super::super::fail::{GitError, GitResult};
use super::named_file::is_unfollowed;
use beamai_base::ToolError;
use beamai_git_config::system_directory;
use git2::{Config, ConfigLevel, ErrorCode};
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

/// `core.ignoreCase`: whether patterns distinguish the case of ASCII letters. Names of files are distinguished by it
/// either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LetterCase {
    /// They do.
    Counts,
    /// They do not, as on file systems of other systems.
    Ignored,
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
    /// How patterns match letters.
    pub(crate) case: LetterCase,
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
        let flag = |name: &str, default: bool| Ok::<_, GitError>(boolean(config, name)?.unwrap_or(default));
        if !flag("core.symlinks", true)? {
            return Err(unfollowed("core.symlinks", b"false").into());
        }
        Ok(Self {
            quote_path: flag("core.quotepath", true)?,
            abbrev: abbrev(config),
            file_mode: flag("core.filemode", true)?,
            case: if flag("core.ignorecase", false)? { LetterCase::Ignored } else { LetterCase::Counts },
            autocrlf: autocrlf(config)?,
            safecrlf: safecrlf(config)?,
            untracked: untracked(config),
            sparse: flag("core.sparsecheckout", false)?
                && !flag("sparse.expectfilesoutsideofpatterns", false)?,
            renames: renames(config)?,
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

/// A boolean setting; `None` if it is not set.
///
/// # Errors
/// `needs_shell` if it is no boolean: git does nothing then.
fn boolean(config: &Config, name: &str) -> GitResult<Option<bool>> {
    match config.get_bool(name) {
        Ok(is_on) => Ok(Some(is_on)),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
        Err(_) => {
            let entry = config.get_entry(name)?;
            Err(unfollowed(name, if entry.has_value() { entry.value_bytes() } else { b"" }).into())
        }
    }
}

fn autocrlf(config: &Config) -> GitResult<AutoCrlf> {
    match config.get_string("core.autocrlf") {
        Ok(text) if text.eq_ignore_ascii_case("input") => Ok(AutoCrlf::Input),
        _ if boolean(config, "core.autocrlf")? == Some(true) => Ok(AutoCrlf::True),
        _ => Ok(AutoCrlf::False),
    }
}

fn safecrlf(config: &Config) -> GitResult<bool> {
    match config.get_string("core.safecrlf") {
        Ok(text) if text.eq_ignore_ascii_case("warn") => Ok(false),
        _ => Ok(boolean(config, "core.safecrlf")? == Some(true)),
    }
}

fn untracked(config: &Config) -> Untracked {
    match config.get_string("status.showuntrackedfiles").as_deref() {
        Ok("all") => Untracked::All,
        Ok(_) if matches!(config.get_bool("status.showuntrackedfiles"), Ok(false)) => Untracked::No,
        _ => Untracked::Normal,
    }
}

fn renames(config: &Config) -> GitResult<bool> {
    match config.get_string("diff.renames").as_deref() {
        Ok("copies" | "copy") => Ok(true),
        _ => Ok(boolean(config, "diff.renames")?.unwrap_or(true)),
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
        return Err(unfollowed(setting, entry.value_bytes()).into());
    }
    Ok(config.get_path(setting).ok())
}

fn unfollowed(setting: &str, value: &[u8]) -> ToolError {
    let value = String::from_utf8_lossy(value);
    GitError::needs_shell(format!(
        "{setting} of the git settings is {value:?}, which this tool cannot follow; use the shell tool for git"
    ))
}

/// Has libgit2 read the machine's settings where the person's git has them. To be called once, before anything of
/// libgit2 runs.
pub fn use_system_settings() {
    // SAFETY: as the caller promises, nothing else uses libgit2 meanwhile.
    _ = unsafe { git2::opts::set_search_path(ConfigLevel::System, system_directory()) };
}

/// The machine's attributes file, which may be missing.
pub(crate) fn machine_attributes() -> Option<PathBuf> {
    search_dirs(ConfigLevel::System).first().map(|dir| dir.join("gitattributes"))
}

/// The directories where git looks for settings of a level.
pub(super) fn search_dirs(level: ConfigLevel) -> Vec<PathBuf> {
    // To git, an empty variable is none. To libgit2, which the worker keeps from seeing it, it is a directory.
    if level == ConfigLevel::XDG && std::env::var_os("XDG_CONFIG_HOME").is_some_and(|path| path.is_empty()) {
        return std::env::home_dir().map(|home| home.join(".config/git")).into_iter().collect();
    }
    // SAFETY: the search path is only read; nothing in this program changes it while calls run.
    let path = unsafe { git2::opts::get_search_path(level) };
    let path = path.ok().map(|path| OsString::from_vec(path.into_bytes())).unwrap_or_default();
    std::env::split_paths(&path).filter(|dir| dir.is_absolute()).collect()
}
