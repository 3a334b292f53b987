//! Paths of rules and commands, and the directories that they are relative to.

use super::secret_paths::SecretPaths;
use beamai_workspace::{Workspace, decode_path};
use std::path::{Component, Path, PathBuf};

/// The directories that patterns and paths are relative to.
#[derive(Debug, Clone, Default)]
pub(super) struct PathRoots {
    workspace: Option<Workspace>,
    home: Option<PathBuf>,
}

impl PathRoots {
    pub(super) fn of(workspace: &Workspace) -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        let home = home.map(|home| clean(&home));
        Self { workspace: Some(workspace.clone()), home }
    }

    #[cfg(test)]
    pub(super) fn with_home(workspace: &Workspace, home: &str) -> Self {
        Self { workspace: Some(workspace.clone()), home: Some(home.into()) }
    }

    /// Resolves a path given by a command in `directory`, without `.` and `..`: relative if it is in the workspace.
    pub(super) fn meant(&self, directory: &Path, text: &str) -> PathBuf {
        let path = match (text.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')),
            _ if text == "~" => self.home.clone().unwrap_or_else(|| "/".into()),
            _ => directory.join(decode_path(text)),
        };
        let roots = self.workspace.iter().flat_map(Workspace::root_paths);
        let inside =
            roots.into_iter().find_map(|root| clean(&path).strip_prefix(root).ok().map(Path::to_owned));
        inside.unwrap_or_else(|| clean(&path))
    }

    /// The places of secrets in the workspace; `shown` are those that a sandbox shows.
    pub(super) fn secrets(&self, shown: &[String]) -> SecretPaths {
        self.workspace
            .as_ref()
            .map_or_else(SecretPaths::default, |workspace| SecretPaths::within(workspace, shown))
    }

    /// The home directory.
    pub(super) fn home(&self) -> Option<&Path> {
        self.home.as_deref()
    }

    /// The absolute paths of the workspace.
    pub(super) fn tops(&self) -> impl Iterator<Item = &Path> {
        self.workspace.iter().flat_map(Workspace::root_paths)
    }

    /// Absolute path of the workspace.
    pub(super) fn top(&self) -> Option<PathBuf> {
        self.workspace.as_ref().map(|workspace| workspace.path().to_owned())
    }

    /// The target of a path in the workspace; `None` if it leads outside.
    pub(super) fn lead(&self, path: &str) -> Option<PathBuf> {
        match &self.workspace {
            Some(workspace) => Some(decode_path(&workspace.parse_path(path).ok()?.destination().ok()?)),
            None => Some(decode_path(path)),
        }
    }

    /// The target of a path in the workspace with every link followed; `None` if it is the path itself.
    pub(super) fn resolved(&self, path: &Path) -> Option<PathBuf> {
        let text = beamai_workspace::encode_path(path);
        let resolved = self.workspace.as_ref()?.parse_path(&text).ok()?.destination().ok()?;
        let resolved = decode_path(&resolved);
        (resolved != path).then_some(resolved)
    }
}

/// Whether a path, once cleaned, is outside the workspace.
pub(super) fn is_outside(path: &Path) -> bool {
    path.is_absolute() || path.components().next() == Some(Component::ParentDir)
}

/// A path without `.` and without `..`, except for leading ones.
pub(super) fn clean(path: &Path) -> PathBuf {
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
