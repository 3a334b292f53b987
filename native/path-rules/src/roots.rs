//! Paths of rules and commands, and the directories that they are relative to.

use beamai_base::{Entry, PathWay, without_parents};
use beamai_workspace::Workspace;
use std::path::{Component, Path, PathBuf};

/// The directories that patterns and paths are relative to.
#[derive(Debug, Clone, Default)]
pub struct PathRoots {
    workspace: Option<Workspace>,
    home: Option<PathBuf>,
    /// The home directory as commands have it in `HOME`, with `.` and empty names perhaps.
    written_home: Option<PathBuf>,
}

impl PathRoots {
    /// A workspace, and the home directory of this process's user, if `HOME` has an absolute path.
    pub fn of(workspace: &Workspace) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.map(without_parents);
        Self { workspace: Some(workspace.clone()), home: home.as_deref().map(clean), written_home: home }
    }

    /// The same with another home directory, which has to be absolute and without `.` and `..`.
    #[must_use]
    pub fn with_home(self, home: impl Into<PathBuf>) -> Self {
        let home = Some(home.into());
        Self { written_home: home.clone(), home, ..self }
    }

    /// The workspace, if there is one.
    pub fn workspace(&self) -> Option<&Workspace> {
        self.workspace.as_ref()
    }

    /// Resolves a path as a program gets it in `directory`, without `.` and `..`: relative if it is in the workspace.
    pub fn meant(&self, directory: &Path, path: impl AsRef<Path>) -> PathBuf {
        let path = clean(&directory.join(path));
        // One that leaves the workspace may come back.
        let path = match (is_outside(&path), self.top()) {
            (true, Some(top)) => clean(&top.join(path)),
            _ => path,
        };
        self.within(&path)
    }

    /// Where a path that a program gets in `directory` leads now: links are followed, also those before a `..`.
    /// Relative if it is in the workspace.
    pub fn leads(&self, directory: &Path, path: impl AsRef<Path>) -> PathBuf {
        let path = self.top().unwrap_or_else(|| "/".into()).join(directory).join(path);
        self.within(&PathWay::of(&path, Entry::at).end)
    }

    /// An absolute path as rules see it.
    fn within(&self, path: &Path) -> PathBuf {
        let inside = self.tops().find_map(|root| path.strip_prefix(root).ok());
        inside.unwrap_or(path).to_owned()
    }

    /// The home directory.
    pub fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The text that bash expands a tilde to; `None` if there is no home directory, or its path is not UTF-8.
    pub fn tilde(&self) -> Option<&str> {
        self.written_home.as_deref()?.to_str()
    }

    /// The absolute paths of the workspace.
    pub fn tops(&self) -> impl Iterator<Item = &Path> {
        self.workspace.iter().flat_map(Workspace::root_paths)
    }

    /// Absolute path of the workspace.
    pub fn top(&self) -> Option<PathBuf> {
        self.workspace.as_ref().map(|workspace| workspace.path().to_owned())
    }
}

/// Whether a path, once cleaned, is outside the workspace.
pub fn is_outside(path: &Path) -> bool {
    path.is_absolute() || path.components().next() == Some(Component::ParentDir)
}

/// A path without `.` and without `..`, except for leading ones.
pub fn clean(path: &Path) -> PathBuf {
    let mut parts: Vec<Component<'_>> = Vec::new();
    for part in path.components() {
        match (part, parts.last()) {
            (Component::CurDir, _) | (Component::ParentDir, Some(Component::RootDir)) => {}
            (Component::ParentDir, Some(Component::Normal(_))) => _ = parts.pop(),
            _ => parts.push(part),
        }
    }
    parts.iter().collect()
}
