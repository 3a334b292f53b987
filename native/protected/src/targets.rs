//! The targets of a scan.

use super::{BOUNDS_OF_PATTERNS, BOUNDS_OF_REPOSITORIES, ScanBounds};
use beamai_policy::DeniedPaths;
use rustix::fs::FileType;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::Path;

/// Maximum depth of submodules' repositories in a repository's `modules`.
const DEPTH_OF_MODULES: u8 = 4;

/// Maximum bytes of a directory's path beneath the root under rules that may match. Longer ones are hidden: Linux
/// opens no path of 4,096 bytes, so that files further down could not be found. There is room for one more name.
pub(super) const LONGEST_PATH: usize = 3_584;

/// Names that make a directory a repository.
const MARKS: [&str; 4] = ["HEAD", "commondir", "objects", "refs"];

/// The role of a directory in a scan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DirectoryRole {
    /// An ordinary directory.
    Plain {
        /// Whether it is read-only, with everything in it.
        is_read_only: bool,
    },
    /// A hidden directory. Commands may have made a repository there before it was.
    Hidden,
    /// The directory of a git repository.
    Repository,
    /// In the directory of a git repository. Commands may have made a repository of its own there.
    Inside,
    /// A repository's `objects`.
    Objects,
    /// One of the directories in it that have only files, so that it is entered only if it has directories after all.
    ObjectFiles,
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
    /// Whether its parent directory is one but for a name or two.
    pub(super) begins_repository: bool,
    pub(super) is_hidden: bool,
    pub(super) is_read_only: bool,
    /// Whether the two are about what it leads to: it is a link, over which nothing can be mounted.
    pub(super) is_link: bool,
    /// The role to scan it with.
    pub(super) descend: Option<DirectoryRole>,
}

/// The targets of a scan.
pub(super) struct ScanTargets<'a> {
    root: &'a Path,
    is_workspace: bool,
    denied_paths: &'a DeniedPaths,
    /// Those that reach into `.git`.
    denied_in_git: DeniedPaths,
    pub(super) rules: Vec<&'a str>,
}

impl<'a> ScanTargets<'a> {
    pub(super) fn new(root: &'a Path, is_workspace: bool, denied_paths: &'a DeniedPaths) -> Self {
        let (rules, denied_in_git) = (denied_paths.rules_in(root), denied_paths.within_repositories());
        Self { root, is_workspace, denied_paths, denied_in_git, rules }
    }

    pub(super) fn root(&self) -> &Path {
        self.root
    }

    pub(super) fn bounds(&self) -> ScanBounds {
        if self.rules.is_empty() { BOUNDS_OF_REPOSITORIES } else { BOUNDS_OF_PATTERNS }
    }

    /// Whether rules may match in the directories of repositories.
    pub(super) fn reaches_into_git(&self) -> bool {
        !self.denied_in_git.is_empty()
    }

    /// Whether a name that is not a directory's can matter.
    pub(super) fn concerns(&self, parent: DirectoryRole, name: &OsStr) -> bool {
        match parent {
            DirectoryRole::Plain { .. } => name == ".git" || is_mark(name) || !self.rules.is_empty(),
            _ if parent.is_of_repository() && self.reaches_into_git() => true,
            DirectoryRole::Repository => name == ".git",
            // Its links count.
            DirectoryRole::Hidden => true,
            _ => name == ".git" || is_mark(name),
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
        let meaning = self.meaning_for_git(parent, path, kind, exists);
        let is_in_git = parent.is_of_repository() || path.file_name().is_some_and(|name| name == ".git");
        if !is_in_git || kind == FileType::Symlink || !self.reaches_into_git() {
            return meaning;
        }
        let (seen, is_directory) = (self.seen(path), kind == FileType::Directory);
        let is_hidden = self.denied_in_git.hides(&seen, is_directory);
        let is_read_only = !is_hidden && self.denied_in_git.protects(&seen, is_directory);
        EntryMeaning { is_hidden, is_read_only, ..meaning }
    }

    /// How to treat an entry but for the rules that reach into `.git`.
    fn meaning_for_git(
        &self,
        parent: DirectoryRole,
        path: &Path,
        kind: FileType,
        exists: impl Fn(&Path) -> bool,
    ) -> EntryMeaning {
        let is_directory = kind == FileType::Directory;
        let name = path.file_name().unwrap_or_default();
        match self.lifted(parent, path) {
            DirectoryRole::Plain { is_read_only } => {
                let is_mark = is_mark(name);
                let makes_repository = is_mark && makes_repository(path, &exists);
                let begins_repository = is_mark && !makes_repository && begins_repository(path, &exists);
                let plain = self.meaning_in_plain(is_read_only, path, kind);
                EntryMeaning { makes_repository, begins_repository, ..plain }
            }
            _ if name == ".git" => EntryMeaning {
                is_repository: true,
                descend: is_directory.then_some(DirectoryRole::Repository),
                ..EntryMeaning::default()
            },
            // Its own names make a repository what it is.
            DirectoryRole::Repository => self.meaning_inside(parent, path, kind, &exists),
            _ => EntryMeaning {
                makes_repository: is_mark(name) && makes_repository(path, &exists),
                ..self.meaning_inside(parent, path, kind, &exists)
            },
        }
    }

    /// The role of a parent for an entry, which is an ordinary one for what the host lifts in a hidden or read-only
    /// directory.
    fn lifted(&self, parent: DirectoryRole, path: &Path) -> DirectoryRole {
        let is_lifted = |to_write| self.denied_paths.is_lifted(&self.seen(path), to_write);
        match parent {
            DirectoryRole::Hidden if is_lifted(false) => DirectoryRole::Plain { is_read_only: false },
            DirectoryRole::Plain { is_read_only: true } if is_lifted(true) => {
                DirectoryRole::Plain { is_read_only: false }
            }
            parent => parent,
        }
    }

    /// How to treat an entry in a hidden directory, or in the directory of a repository.
    fn meaning_inside(
        &self,
        parent: DirectoryRole,
        path: &Path,
        kind: FileType,
        exists: &impl Fn(&Path) -> bool,
    ) -> EntryMeaning {
        let name = path.file_name().unwrap_or_default();
        let repository =
            || EntryMeaning { is_repository: true, ..EntryMeaning::descend_as(DirectoryRole::Repository) };
        match parent {
            // A rule about a directory is about all that is in it.
            DirectoryRole::Hidden if kind == FileType::Symlink => {
                EntryMeaning { is_hidden: true, is_link: true, ..EntryMeaning::default() }
            }
            _ if kind != FileType::Directory => EntryMeaning::default(),
            DirectoryRole::Repository => EntryMeaning::descend_as(match name.as_encoded_bytes() {
                b"modules" => DirectoryRole::Modules(DEPTH_OF_MODULES),
                b"worktrees" => DirectoryRole::WorkTrees,
                b"objects" => DirectoryRole::Objects,
                _ => DirectoryRole::Inside,
            }),
            DirectoryRole::Objects if has_only_files(name) && !self.reaches_into_git() => {
                EntryMeaning::descend_as(DirectoryRole::ObjectFiles)
            }
            DirectoryRole::Modules(_) if exists(&path.join("HEAD")) => repository(),
            DirectoryRole::WorkTrees => repository(),
            DirectoryRole::Modules(depth) if depth > 0 => {
                EntryMeaning::descend_as(DirectoryRole::Modules(depth - 1))
            }
            DirectoryRole::Hidden => EntryMeaning::descend_as(DirectoryRole::Hidden),
            _ => EntryMeaning::descend_as(DirectoryRole::Inside),
        }
    }

    fn meaning_in_plain(&self, is_read_only: bool, path: &Path, kind: FileType) -> EntryMeaning {
        let is_directory = kind == FileType::Directory;
        if path.file_name().is_some_and(|name| name == ".git") {
            // Also where all is read-only: it may not have been when a command made this.
            let descend = is_directory.then_some(DirectoryRole::Repository);
            return EntryMeaning { is_repository: true, descend, ..EntryMeaning::default() };
        }
        if kind == FileType::Symlink {
            return self.meaning_of_link(is_read_only, path);
        }
        if !self.rules.is_empty() {
            let is_too_deep = is_directory && path.as_os_str().len() > LONGEST_PATH;
            let path = self.seen(path);
            if is_too_deep || self.denied_paths.hides(&path, is_directory) {
                let descend = is_directory.then_some(DirectoryRole::Hidden);
                return EntryMeaning { is_hidden: true, descend, ..EntryMeaning::default() };
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

    /// How to treat a link, which may lead to a directory.
    fn meaning_of_link(&self, is_read_only: bool, path: &Path) -> EntryMeaning {
        let path = self.seen(path);
        let is_hidden = self.denied_paths.hides(&path, true);
        let is_read_only = !is_hidden && (is_read_only || self.denied_paths.protects(&path, true));
        EntryMeaning { is_hidden, is_read_only, is_link: true, ..EntryMeaning::default() }
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
    MARKS.iter().any(|mark| name == *mark)
}

/// Whether the parent directory of a path is a repository without a `.git`: a bare one, or one that shares its objects
/// with another.
fn makes_repository(path: &Path, exists: &impl Fn(&Path) -> bool) -> bool {
    let has = |name: &str| exists(&path.with_file_name(name));
    has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

/// Whether little is missing for that: a name that no tool asks about could complete it later.
fn begins_repository(path: &Path, exists: &impl Fn(&Path) -> bool) -> bool {
    MARKS.iter().filter(|mark| exists(&path.with_file_name(mark))).count() > 1
}

/// Whether git keeps only files in a directory of this name in `objects`.
fn has_only_files(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.len() == 2 && name.iter().all(u8::is_ascii_hexdigit)
}

impl DirectoryRole {
    /// Whether only repositories are looked for in it, with limits of their own: it is hidden, or of a git repository.
    pub(super) fn is_inside(self) -> bool {
        !matches!(self, Self::Plain { .. })
    }

    /// Whether it is the directory of a git repository, or in one.
    pub(super) fn is_of_repository(self) -> bool {
        self.is_inside() && self != Self::Hidden
    }
}

impl EntryMeaning {
    fn descend_as(role: DirectoryRole) -> Self {
        Self { descend: Some(role), ..Self::default() }
    }
}
