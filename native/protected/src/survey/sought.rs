//! What a survey looks for.

use super::{BOUNDS_OF_PATTERNS, BOUNDS_OF_REPOSITORIES, Bounds};
use beamai_policy::Sealed;
use rustix::fs::FileType;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

/// How deep beneath a repository's `modules` the repositories of submodules are looked for.
const DEPTH_OF_MODULES: u8 = 4;

/// What a directory is to a survey.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
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
pub(super) struct Meaning {
    pub(super) is_repository: bool,
    /// Whether it makes the directory that it is in a repository.
    pub(super) makes_repository: bool,
    pub(super) is_hidden: bool,
    pub(super) is_read_only: bool,
    /// As what it is looked into.
    pub(super) descend: Option<Role>,
}

/// What a survey looks for.
pub(super) struct Sought<'a> {
    root: &'a Path,
    is_workspace: bool,
    sealed: &'a Sealed,
    pub(super) rules: Vec<&'a str>,
}

impl<'a> Sought<'a> {
    pub(super) fn new(root: &'a Path, is_workspace: bool, sealed: &'a Sealed) -> Self {
        Self { root, is_workspace, sealed, rules: sealed.rules_in(root) }
    }

    pub(super) fn root(&self) -> &Path {
        self.root
    }

    pub(super) fn bounds(&self) -> Bounds {
        if self.rules.is_empty() { BOUNDS_OF_REPOSITORIES } else { BOUNDS_OF_PATTERNS }
    }

    /// Whether a name in a directory can mean anything, if it is not a directory's.
    pub(super) fn concerns(&self, parent: Role, name: &OsStr) -> bool {
        match parent {
            Role::Plain { .. } => name == ".git" || is_mark(name) || !self.rules.is_empty(),
            Role::Modules(_) => name == "HEAD",
            Role::Repository | Role::WorkTrees => false,
        }
    }

    /// What something in a directory means. `exists` tells whether something lies at a path.
    pub(super) fn meaning(
        &self,
        parent: Role,
        path: &Path,
        kind: FileType,
        exists: impl Fn(&Path) -> bool,
    ) -> Meaning {
        let is_directory = kind == FileType::Directory;
        let name = path.file_name().unwrap_or_default();
        match parent {
            Role::Plain { is_read_only } => {
                let makes_repository = is_mark(name) && !is_read_only && makes_repository(path, exists);
                Meaning { makes_repository, ..self.in_plain(is_read_only, path, kind) }
            }
            Role::Repository if !is_directory => Meaning::default(),
            Role::Repository if name == "modules" => Meaning::look_into(Role::Modules(DEPTH_OF_MODULES)),
            Role::Repository if name == "worktrees" => Meaning::look_into(Role::WorkTrees),
            Role::Repository => Meaning::default(),
            Role::Modules(_) if is_directory && exists(&path.join("HEAD")) => {
                Meaning { is_repository: true, ..Meaning::look_into(Role::Repository) }
            }
            Role::Modules(depth) if is_directory && depth > 0 => Meaning::look_into(Role::Modules(depth - 1)),
            Role::WorkTrees if is_directory => Meaning { is_repository: true, ..Meaning::default() },
            Role::Modules(_) | Role::WorkTrees => Meaning::default(),
        }
    }

    fn in_plain(&self, is_read_only: bool, path: &Path, kind: FileType) -> Meaning {
        let is_directory = kind == FileType::Directory;
        if path.file_name().is_some_and(|name| name == ".git") {
            // What cannot be changed anyway needs no further protection.
            let descend = (is_directory && !is_read_only).then_some(Role::Repository);
            return Meaning { is_repository: !is_read_only, descend, ..Meaning::default() };
        }
        if kind == FileType::Symlink {
            // Nothing can be put over a link, and where it leads to has a name of its own.
            return Meaning::default();
        }
        if !self.rules.is_empty() {
            let path = self.seen(path);
            if self.sealed.hides(&path, is_directory) {
                return Meaning { is_hidden: true, ..Meaning::default() };
            }
            if !is_read_only && self.sealed.protects(&path, is_directory) {
                let descend = is_directory.then_some(Role::Plain { is_read_only: true });
                return Meaning { is_read_only: true, descend, ..Meaning::default() };
            }
        }
        Meaning { descend: is_directory.then_some(Role::Plain { is_read_only }), ..Meaning::default() }
    }

    /// What a directory means that cannot be looked into: everything may be in it.
    pub(super) fn of_closed(&self) -> Meaning {
        let is_sought = !self.rules.is_empty();
        Meaning { is_hidden: is_sought, ..Meaning::default() }
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

impl Meaning {
    fn look_into(role: Role) -> Self {
        Self { descend: Some(role), ..Self::default() }
    }
}
