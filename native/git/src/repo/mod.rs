//! A repository that was found, looked over and opened.
//!
//! libgit2 reads and writes the repository's own directory and the host's git settings, and nothing else: every
//! file of the work tree is opened by handle. The worker sees files that rules deny; opened by a path that somebody
//! exchanges meanwhile, one of them could be shown under another name. It runs no program: no hook, no filter, no file
//! system monitor, no pager, no signing.

mod guard;
mod includes;
pub(crate) mod locate;
mod names;
mod settings;

use locate::RepoLocation;
pub(super) use names::HashAbbreviator;
pub(super) use settings::{AutoCrlf, GitSettings, Untracked};

use super::fail::{GitError, GitResult};
use super::tree::dirs::Dirs;
use crate::call::GitCall;
use beamai_port_tools::git::path::shown;
use beamai_tool::CallContext;
use beamai_workspace::Workspace;
use git2::{Config, ErrorCode, Index, IndexEntry, Oid, Repository, RepositoryOpenFlags};
use rustix::fs::Stat;
use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Largest file of the repository's own directory that is read here.
const MAX_ADMIN_BYTES: u64 = 4 << 20;

/// An open repository.
pub(super) struct Repo {
    /// libgit2's handle.
    pub(super) git: Repository,
    /// Where it is.
    pub(super) located: RepoLocation,
    /// What its settings say.
    pub(super) settings: GitSettings,
    /// All settings.
    pub(super) config: Config,
}

/// The staging area as it was read.
pub(super) struct Staging {
    /// libgit2's index; it knows no repository, so that it never looks into the work tree.
    pub(super) index: Index,
    /// Its entries in order.
    pub(super) entries: Vec<IndexEntry>,
    /// What the file was when it was read.
    pub(super) stat: Option<Stat>,
}

/// Whether the workspace is a repository that could be opened.
pub(super) fn probe(workspace: &Workspace) -> GitResult<()> {
    Repo::open(&GitCall::here(&CallContext::new(workspace.clone())), None).map(|_| ())
}

impl Repo {
    /// Opens the repository that a path, relative to the workspace and without `..`, belongs to.
    pub(super) fn open(cx: &GitCall, path: Option<&[u8]>) -> GitResult<Self> {
        // libgit2 takes paths, so the directory must still be the one that was pinned.
        cx.workspace.expect_in_place()?;
        // What git keeps is read whatever rules say of its files: nothing of it is shown but what rules let be read.
        let located = locate::locate(&cx.workspace, path)?;
        guard::check(&located, cx)?;
        let root = located.root.absolute();
        let no_ceilings: [&OsStr; 0] = [];
        let git = Repository::open_ext(&root, RepositoryOpenFlags::NO_SEARCH, no_ceilings)
            .map_err(|error| refused(&root, &error, &located))?;
        verify(&git, &root, &located)?;
        let config = git.config()?.snapshot()?;
        let settings = GitSettings::read(&config)?;
        Ok(Self { git, located, settings, config })
    }

    /// Reads the staging area.
    pub(super) fn staging(&self) -> GitResult<Staging> {
        let file = self.located.git_dir.join(Path::new("index"));
        let stat = file.stat().ok();
        let index = Index::open(&self.git.path().join("index")).map_err(|error| unreadable(&error))?;
        let entries = index.iter().collect();
        Ok(Staging { index, entries, stat })
    }

    /// The work tree's directories.
    pub(super) fn dirs(&self, cx: &GitCall) -> GitResult<Dirs> {
        let top = self.located.root.open_dir()?;
        Ok(if cx.denied.is_none() { Dirs::new(top) } else { Dirs::judged(top) })
    }

    /// The commit that HEAD names; `None` before the first one.
    pub(super) fn head(&self) -> GitResult<Option<Oid>> {
        match self.git.refname_to_id("HEAD") {
            Ok(oid) => Ok(Some(oid)),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The content of a file in the repository's own directory.
    pub(super) fn admin(&self, name: &str) -> Option<Vec<u8>> {
        let (file, _) = self.located.git_dir.join(Path::new(name)).open_file().ok()?;
        let mut bytes = Vec::new();
        file.take(MAX_ADMIN_BYTES).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// The bytes of a blob; `None` if it is larger than `limit` or cannot be read.
    pub(super) fn blob(&self, id: Oid, limit: u64) -> Option<Vec<u8>> {
        let (size, _) = self.git.odb().ok()?.read_header(id).ok()?;
        if size as u64 > limit {
            return None;
        }
        Some(self.git.find_blob(id).ok()?.content().to_vec())
    }

    /// Whether the repository's own directory has something of that name.
    pub(super) fn has_admin(&self, name: &str) -> bool {
        self.located.git_dir.join(Path::new(name)).stat().is_ok()
    }

    /// Says which lock files libgit2 is about to make: in the work tree's own directory, and in the shared one. Should
    /// this process be ended in the middle, they are removed.
    pub(super) fn tell_locks(&self, cx: &GitCall, own: &[&str], shared: &[&str]) -> GitResult<()> {
        let common = self.located.common_dir.absolute();
        let own = own.iter().map(|name| self.located.git_dir.absolute().join(name));
        let absent = own.chain(shared.iter().map(|name| common.join(name)));
        let absent = absent.filter(|path| path.symlink_metadata().is_err());
        let relative =
            |path: std::path::PathBuf| Some(path.strip_prefix(&common).ok()?.as_os_str().as_bytes().to_vec());
        Ok(cx.tell_locks(&absent.filter_map(relative).collect::<Vec<_>>())?)
    }

    /// How hashes are abbreviated.
    pub(super) fn names(&self) -> GitResult<HashAbbreviator<'_>> {
        HashAbbreviator::new(self)
    }
}

fn refused(root: &Path, error: &git2::Error, located: &RepoLocation) -> GitError {
    let format = includes::setting(&located.common_dir, "config", b"extensions", b"objectformat");
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
        root.display()
    )
}

/// Why an index cannot be read. Two of its forms are git's alone.
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

/// Fails unless libgit2 opened what was looked over.
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
        let why = not_owned(Path::new("/w"));
        assert!(why.contains("git config --global --add safe.directory /w"), "{why}");
    }
}
