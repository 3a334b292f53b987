//! What a survey looks for.

use super::{BOUNDS_OF_PATTERNS, BOUNDS_OF_REPOSITORIES, ScanBounds};
use beamai_policy::DeniedPaths;
use rustix::fs::FileType;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

/// How deep beneath a repository's `modules` the repositories of submodules are looked for.
const DEPTH_OF_MODULES: u8 = 4;

/// What a directory is to a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryRole {
    /// Anything may be in it.
    Plain {
        /// Whether it cannot be changed, and all that is in it.
        is_read_only: bool,
    },
    /// The directory of a git repository.
    Repository,
    /// Repositories of submodules are in it, at most this deep.
    Modules(u8),
    /// Directories of linked work trees are in it.
    WorkTrees,
}

/// What is to be done about something.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EntryMeaning {
    pub(super) is_repository: bool,
    /// Whether it makes the directory that it is in a repository.
    pub(super) makes_repository: bool,
    pub(super) is_hidden: bool,
    pub(super) is_read_only: bool,
    /// As what it is looked into.
    pub(super) descend: Option<DirectoryRole>,
}

/// What a survey looks for.
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

    /// Whether a name in a directory can mean anything, if it is not a directory's.
    pub(super) fn concerns(&self, parent: DirectoryRole, name: &OsStr) -> bool {
        match parent {
            DirectoryRole::Plain { .. } => name == ".git" || is_mark(name) || !self.rules.is_empty(),
            DirectoryRole::Modules(_) => name == "HEAD",
            DirectoryRole::Repository | DirectoryRole::WorkTrees => false,
        }
    }

    /// What something in a directory means. `exists` tells whether something lies at a path.
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
                EntryMeaning { makes_repository, ..self.in_plain(is_read_only, path, kind) }
            }
            DirectoryRole::Repository if !is_directory => EntryMeaning::default(),
            DirectoryRole::Repository if name == "modules" => {
                EntryMeaning::look_into(DirectoryRole::Modules(DEPTH_OF_MODULES))
            }
            DirectoryRole::Repository if name == "worktrees" => {
                EntryMeaning::look_into(DirectoryRole::WorkTrees)
            }
            DirectoryRole::Repository => EntryMeaning::default(),
            DirectoryRole::Modules(_) if is_directory && exists(&path.join("HEAD")) => {
                EntryMeaning { is_repository: true, ..EntryMeaning::look_into(DirectoryRole::Repository) }
            }
            DirectoryRole::Modules(depth) if is_directory && depth > 0 => {
                EntryMeaning::look_into(DirectoryRole::Modules(depth - 1))
            }
            DirectoryRole::WorkTrees if is_directory => {
                EntryMeaning { is_repository: true, ..EntryMeaning::default() }
            }
            DirectoryRole::Modules(_) | DirectoryRole::WorkTrees => EntryMeaning::default(),
        }
    }

    fn in_plain(&self, is_read_only: bool, path: &Path, kind: FileType) -> EntryMeaning {
        let is_directory = kind == FileType::Directory;
        if path.file_name().is_some_and(|name| name == ".git") {
            // What cannot be changed anyway needs no further protection.
            let descend = (is_directory && !is_read_only).then_some(DirectoryRole::Repository);
            return EntryMeaning { is_repository: !is_read_only, descend, ..EntryMeaning::default() };
        }
        if kind == FileType::Symlink {
            // Nothing can be put over a link, and where it leads to has a name of its own.
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

    /// What a directory means that cannot be looked into: everything may be in it.
    pub(super) fn of_closed(&self) -> EntryMeaning {
        let is_sought = !self.rules.is_empty();
        EntryMeaning { is_hidden: is_sought, ..EntryMeaning::default() }
    }

    /// A path as rules see it.
    fn seen<'p>(&self, path: &'p Path) -> Cow<'p, Path> {
        if self.is_workspace { Cow::Borrowed(path) } else { Cow::Owned(self.root.join(path)) }
    }
}

/// Whether git takes a directory with this name in it, and with others, for a repository, whatever its own name is.
pub(super) fn is_mark(name: &OsStr) -> bool {
    ["HEAD", "commondir", "objects", "refs"].iter().any(|mark| name == *mark)
}

/// Whether the directory in which this lies is a repository without a `.git`: a bare one, or one that takes its objects
/// from elsewhere.
fn makes_repository(path: &Path, exists: impl Fn(&Path) -> bool) -> bool {
    let has = |name: &str| exists(&path.with_file_name(name));
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

impl EntryMeaning {
    fn look_into(role: DirectoryRole) -> Self {
        Self { descend: Some(role), ..Self::default() }
    }
}
