//! Opens repositories.
//!
//! libgit2 reads and writes only the repository's own directory and the host's git settings; work-tree files are opened
//! by handle. The worker can read files that rules deny: if libgit2 opened them by path, an exchanged path could show
//! one under another name. No program is run: no hook, filter, file system monitor, pager or signing.

mod format;
mod guard;
mod host_settings;
mod includes;
mod locate;
mod named_file;
mod names;
mod settings;
mod settings_file;

pub use host_settings::HostSettings;
pub(crate) use host_settings::open_host_file;
pub use locate::{MOST_SYMBOLIC, RepoLocation, locate, nested};
pub use names::HashAbbreviator;
pub(crate) use settings::{AutoCrlf, LetterCase, PatternFile, machine_attributes};
pub use settings::{GitSettings, Untracked, path as setting_path, use_system_settings};

use super::fail::{GitError, GitResult};
use super::tree::Dirs;
use crate::call::GitCall;
use beamai_base::{Reason, Result, ToolError};
use beamai_port_tools::git::path::shown;
use beamai_tool::CallContext;
use beamai_workspace::{Workspace, WorkspacePath};
use git2::{
    Config, ErrorCode, Index, IndexEntry, IndexEntryExtendedFlag, Oid, Repository, RepositoryOpenFlags,
};
use rustix::fs::Stat;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of a file in the repository's own directory.
const MAX_ADMIN_BYTES: u64 = 4 << 20;

/// An open repository.
pub struct Repo {
    /// libgit2's handle.
    pub git: Repository,
    /// Its location.
    pub located: RepoLocation,
    /// The settings that matter here.
    pub settings: GitSettings,
    /// All settings.
    pub config: Config,
}

/// The staging area, as read.
pub struct Staging {
    /// libgit2's index, not attached to a repository, so that it never reads the work tree.
    pub index: Index,
    /// Its entries, sorted.
    pub entries: Arc<[IndexEntry]>,
    /// Metadata of the index file when it was read.
    pub stat: Option<Stat>,
}

/// Whether the workspace is in a usable repository.
///
/// # Errors
/// [`GitError::Unavailable`] says why it is not.
pub fn probe(workspace: &Workspace) -> GitResult<()> {
    Repo::open(&GitCall::here(&CallContext::new(workspace.clone())), None).map(|_| ())
}

impl Repo {
    /// Opens the repository of a path, which is relative to the workspace and has no `..`.
    ///
    /// # Errors
    /// [`GitError::Unavailable`] if there is no repository that may be used.
    pub fn open(cx: &GitCall, path: Option<&[u8]>) -> GitResult<Self> {
        // libgit2 works with paths, so the workspace must still be the pinned directory.
        cx.workspace.expect_in_place()?;
        // Rules do not keep libgit2 from reading `.git`; they apply to the paths and contents in the result.
        let located = locate(&cx.workspace, path)?;
        located.expect_plain_head()?;
        guard::check(&located, cx)?;
        cx.host.expect_read_alike()?;
        let root = located.root.absolute();
        let no_ceilings: [&OsStr; 0] = [];
        let git = Repository::open_ext(&root, RepositoryOpenFlags::NO_SEARCH, no_ceilings)
            .map_err(|error| refused(&root, error, &located))?;
        verify(&git, &root, &located)?;
        let config = git.config()?.snapshot()?;
        cx.host.expect_followed(&config, &located)?;
        format::expect_own(&config)?;
        let settings = GitSettings::read(&config)?;
        Ok(Self { git, located, settings, config })
    }

    /// Reads the staging area.
    ///
    /// # Errors
    /// If the index cannot be read, such as a sparse or split one.
    pub fn staging(&self, cx: &GitCall) -> GitResult<Staging> {
        let file = self.located.git_dir.join(Path::new("index"));
        let stat = file.stat().ok();
        // libgit2 would say that it no longer exists.
        if file.open_file().is_err_and(|error| error.reason == Reason::AccessDenied) {
            return Err(GitError::unreadable(file.display()).into());
        }
        let index = Index::open(&self.git.path().join("index")).map_err(|error| unreadable(&error))?;
        let mut dirs = self.dirs(cx)?;
        let entries = index.iter().map(|entry| self.checked_out(entry, &mut dirs)).collect();
        Ok(Staging { index, entries, stat })
    }

    /// The entry without skip-worktree if a sparse checkout left it out and it is there nevertheless: git reads the index
    /// like that.
    fn checked_out(&self, mut entry: IndexEntry, dirs: &mut Dirs) -> IndexEntry {
        if self.is_outside_sparse_checkout(&entry) && dirs.lstat(&entry.path).is_ok() {
            entry.flags_extended &= !IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
        }
        entry
    }

    /// Whether a sparse checkout leaves the entry out of the work tree.
    pub fn is_outside_sparse_checkout(&self, entry: &IndexEntry) -> bool {
        self.settings.sparse && entry.flags_extended & IndexEntryExtendedFlag::SKIP_WORKTREE.bits() != 0
    }

    /// The work tree's directories.
    ///
    /// # Errors
    /// If the top of the work tree cannot be opened.
    pub fn dirs(&self, cx: &GitCall) -> GitResult<Dirs> {
        let top = self.located.root.open_dir()?;
        Ok(if cx.denied.is_none() { Dirs::new(top) } else { Dirs::judged(top) })
    }

    /// The commit that HEAD refers to; `None` before the first commit.
    ///
    /// # Errors
    /// If the reference cannot be read.
    pub fn head(&self) -> GitResult<Option<Oid>> {
        match self.git.refname_to_id("HEAD") {
            Ok(oid) => Ok(Some(oid)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What git replaces in the history and libgit2 does not, as a note.
    pub fn replacements(&self) -> Option<&'static str> {
        let grafts = self.located.common_dir.join(Path::new("info/grafts"));
        let has_refs =
            self.git.references_glob("refs/replace/*").is_ok_and(|mut refs| refs.names().next().is_some());
        (has_refs || grafts.stat().is_ok())
            .then_some("commits are shown as they are, without the replacements of `git replace` or grafts")
    }

    /// The content of a file in the work tree's git directory; `None` if it does not exist.
    ///
    /// # Errors
    /// `access_denied` if rules or its mode keep it from being read.
    pub fn admin(&self, name: &str) -> Result<Option<Vec<u8>>> {
        content(&self.located.git_dir, name)
    }

    /// As [`Repo::admin`], in the directory that work trees share.
    pub(crate) fn shared(&self, name: &str) -> Result<Option<Vec<u8>>> {
        content(&self.located.common_dir, name)
    }

    /// The content of a blob; `None` if it is larger than `limit` or cannot be read.
    pub fn blob(&self, id: Oid, limit: u64) -> Option<Vec<u8>> {
        let (size, _) = self.git.odb().ok()?.read_header(id).ok()?;
        if size as u64 > limit {
            return None;
        }
        Some(self.git.find_blob(id).ok()?.content().to_vec())
    }

    /// Whether the repository's own directory has an entry of this name.
    pub fn has_admin(&self, name: &str) -> bool {
        self.located.git_dir.join(Path::new(name)).stat().is_ok()
    }

    /// Announces the lock files that libgit2 is about to create in the git directory and in the common directory, so
    /// that they can be removed if this process is killed.
    ///
    /// # Errors
    /// If nobody receives the announcement any more.
    pub fn tell_locks(&self, cx: &GitCall, own: &[&str], shared: &[&str]) -> GitResult<()> {
        let common = self.located.common_dir.absolute();
        let own = own.iter().map(|name| self.located.git_dir.absolute().join(name));
        let absent = own.chain(shared.iter().map(|name| common.join(name)));
        let absent = absent.filter(|path| path.symlink_metadata().is_err());
        let relative =
            |path: std::path::PathBuf| Some(path.strip_prefix(&common).ok()?.as_os_str().as_bytes().to_vec());
        Ok(cx.tell_locks(&absent.filter_map(relative).collect::<Vec<_>>())?)
    }

    /// Abbreviates hashes of this repository.
    ///
    /// # Errors
    /// If the object database cannot be opened.
    pub fn names(&self) -> GitResult<HashAbbreviator<'_>> {
        HashAbbreviator::new(self)
    }
}

fn content(dir: &WorkspacePath, name: &str) -> Result<Option<Vec<u8>>> {
    let file = dir.join(Path::new(name));
    let mut bytes = Vec::new();
    let read = file.open_file().and_then(|(open, _)| {
        let read = open.take(MAX_ADMIN_BYTES).read_to_end(&mut bytes);
        read.map_err(|error| ToolError::io("read", file.display(), error))
    });
    match read {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.reason == Reason::AccessDenied => Err(GitError::unreadable(file.display())),
        Err(error) if error.reason == Reason::Io => Err(error),
        // git takes anything but a file for none, too.
        Err(_) => Ok(None),
    }
}

fn refused(root: &Path, error: git2::Error, located: &RepoLocation) -> GitError {
    if error.code() == ErrorCode::Locked {
        return error.into();
    }
    let format =
        includes::setting(&located.common_dir.join(Path::new("config")), "extensions", "objectformat");
    GitError::Unavailable(match (error.code(), format) {
        (ErrorCode::Owner, _) => not_owned(root),
        (_, Ok(Some(format))) if format != b"sha1" => {
            format!("its objects are named by SHA-256 ({}), which these tools do not read", shown(&format))
        }
        _ => format!("it cannot be opened ({})", error.message()),
    })
}

fn not_owned(root: &Path) -> String {
    format!(
        "it belongs to another user, and git works in it only after a person runs `git config --global --add \
         safe.directory {}`",
        // git compares it as text.
        root.components().collect::<PathBuf>().display()
    )
}

/// Explains why an index cannot be read. Sparse and split indexes are supported only by git itself.
fn unreadable(error: &git2::Error) -> GitError {
    let why = match error.message() {
        text if text.contains("sdir") => {
            "it is a sparse index, which `git sparse-checkout reapply --no-sparse-index` expands".to_owned()
        }
        text if text.contains("link") => {
            "it is a split index, which `git update-index --no-split-index` joins".to_owned()
        }
        text => text.to_owned(),
    };
    GitError::Unavailable(format!("its index cannot be read ({why})"))
}

/// Fails if libgit2 opened anything but the repository that was checked.
fn verify(git: &Repository, root: &Path, located: &RepoLocation) -> GitResult<()> {
    let Some(work_tree) = git.workdir() else {
        return Err(GitError::Unavailable("it has no work tree (core.bare)".to_owned()));
    };
    if work_tree != root {
        let why = "its settings place the work tree elsewhere (core.worktree)";
        return Err(GitError::Unavailable(why.to_owned()));
    }
    if git.path() != located.git_dir.absolute() || git.commondir() != located.common_dir.absolute() {
        return Err(GitError::Unavailable("its directory changed while it was opened; try again".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repository_of_another_user_says_who_can_permit_it() {
        for path in ["/w", "/w/./"] {
            let why = not_owned(Path::new(path));
            assert!(why.ends_with("git config --global --add safe.directory /w`"), "{why}");
        }
    }
}
