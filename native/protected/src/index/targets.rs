//! The targets of a scan.

use super::{BOUNDS_OF_PATTERNS, BOUNDS_OF_REPOSITORIES, ScanBounds};
use beamai_policy::DeniedPaths;
use rustix::fs::FileType;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

/// Maximum depth of submodules' repositories in a repository's `modules`.
const DEPTH_OF_MODULES: u8 = 4;

/// The role of a directory in a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryRole {
    /// An ordinary directory.
    Plain {
        /// Whether it is read-only, with everything in it.
        is_read_only: bool,
    },
    /// The directory of a git repository.
    Repository,
    /// It contains repositories of submodules, at most this many levels deep.
    Modules(u8),
    /// It contains directories of linked work trees.
    WorkTrees,
}

/// How to treat an entry.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EntryMeaning {
    pub(super) is_repository: bool,
    /// Whether it makes its parent directory a repository.
    pub(super) makes_repository: bool,
    pub(super) is_hidden: bool,
    pub(super) is_read_only: bool,
    /// The role to scan it with.
    pub(super) descend: Option<DirectoryRole>,
}

/// The targets of a scan.
pub(super) struct ScanTargets<'a> {
    root: &'a Path,
    is_workspace: bool,
    denied_paths: &'a DeniedPaths,
    pub(super) rules: Vec<&'a str>,
}

impl<'a> ScanTargets<'a> {
    pub(super) fn new(root: &'a Path, is_workspace: bool, denied_paths: &'a DeniedPaths) -> Self {
        Self { root, is_workspace, denied_paths, rules: denied_paths.rules_in(root) }
    }

    pub(super) fn root(&self) -> &Path {
        self.root
    }

    pub(super) fn bounds(&self) -> ScanBounds {
        if self.rules.is_empty() { BOUNDS_OF_REPOSITORIES } else { BOUNDS_OF_PATTERNS }
    }

    /// Whether a name that is not a directory's can matter.
    pub(super) fn concerns(&self, parent: DirectoryRole, name: &OsStr) -> bool {
        match parent {
            DirectoryRole::Plain { .. } => name == ".git" || is_mark(name) || !self.rules.is_empty(),
            DirectoryRole::Modules(_) => name == "HEAD",
            DirectoryRole::Repository | DirectoryRole::WorkTrees => false,
        }
    }

    /// How to treat an entry. `exists` checks whether a path exists.
    pub(super) fn meaning(
        &self,
        parent: DirectoryRole,
        path: &Path,
        kind: FileType,
        exists: impl Fn(&Path) -> bool,
    ) -> EntryMeaning {
        let is_directory = kind == FileType::Directory;
        let name = path.file_name().unwrap_or_default();
        match parent {
            DirectoryRole::Plain { is_read_only } => {
                let makes_repository = is_mark(name) && !is_read_only && makes_repository(path, exists);
                EntryMeaning { makes_repository, ..self.meaning_in_plain(is_read_only, path, kind) }
            }
            DirectoryRole::Repository if !is_directory => EntryMeaning::default(),
            DirectoryRole::Repository if name == "modules" => {
                EntryMeaning::descend_as(DirectoryRole::Modules(DEPTH_OF_MODULES))
            }
            DirectoryRole::Repository if name == "worktrees" => {
                EntryMeaning::descend_as(DirectoryRole::WorkTrees)
            }
            DirectoryRole::Repository => EntryMeaning::default(),
            DirectoryRole::Modules(_) if is_directory && exists(&path.join("HEAD")) => {
                EntryMeaning { is_repository: true, ..EntryMeaning::descend_as(DirectoryRole::Repository) }
            }
            DirectoryRole::Modules(depth) if is_directory && depth > 0 => {
                EntryMeaning::descend_as(DirectoryRole::Modules(depth - 1))
            }
            DirectoryRole::WorkTrees if is_directory => {
                EntryMeaning { is_repository: true, ..EntryMeaning::default() }
            }
            DirectoryRole::Modules(_) | DirectoryRole::WorkTrees => EntryMeaning::default(),
        }
    }

    fn meaning_in_plain(&self, is_read_only: bool, path: &Path, kind: FileType) -> EntryMeaning {
        let is_directory = kind == FileType::Directory;
        if path.file_name().is_some_and(|name| name == ".git") {
            // A read-only directory needs no further protection.
            let descend = (is_directory && !is_read_only).then_some(DirectoryRole::Repository);
            return EntryMeaning { is_repository: !is_read_only, descend, ..EntryMeaning::default() };
        }
        if kind == FileType::Symlink {
            // Nothing can be mounted over a link, and its target has a path of its own.
            return EntryMeaning::default();
        }
        if !self.rules.is_empty() {
            let path = self.seen(path);
            if self.denied_paths.hides(&path, is_directory) {
                return EntryMeaning { is_hidden: true, ..EntryMeaning::default() };
            }
            if !is_read_only && self.denied_paths.protects(&path, is_directory) {
                let descend = is_directory.then_some(DirectoryRole::Plain { is_read_only: true });
                return EntryMeaning { is_read_only: true, descend, ..EntryMeaning::default() };
            }
        }
        EntryMeaning {
            descend: is_directory.then_some(DirectoryRole::Plain { is_read_only }),
            ..EntryMeaning::default()
        }
    }

    /// How to treat a directory that cannot be opened: it might contain anything.
    pub(super) fn meaning_of_unreadable(&self) -> EntryMeaning {
        let is_sought = !self.rules.is_empty();
        EntryMeaning { is_hidden: is_sought, ..EntryMeaning::default() }
    }

    /// A path as rules see it.
    fn seen<'p>(&self, path: &'p Path) -> Cow<'p, Path> {
        if self.is_workspace { Cow::Borrowed(path) } else { Cow::Owned(self.root.join(path)) }
    }
}

/// Whether git accepts a directory with this name in it, and with others, as a repository.
pub(super) fn is_mark(name: &OsStr) -> bool {
    ["HEAD", "commondir", "objects", "refs"].iter().any(|mark| name == *mark)
}

/// Whether the parent directory of a path is a repository without a `.git`: a bare one, or one that shares its objects
/// with another.
fn makes_repository(path: &Path, exists: impl Fn(&Path) -> bool) -> bool {
    let has = |name: &str| exists(&path.with_file_name(name));
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

impl EntryMeaning {
    fn descend_as(role: DirectoryRole) -> Self {
        Self { descend: Some(role), ..Self::default() }
    }
}
