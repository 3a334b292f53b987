//! Finds what a command leaves behind that the user's own git would run later, outside the sandbox.
//!
//! What exists when a command starts is protected by mounts, including files that git's settings include and the hooks
//! that they name ([`sources`]); where mounts are not allowed, it is compared at the end with what it was. What a command
//! creates can only be checked when it ends: in each new repository, settings that run programs are removed and hooks are
//! renamed; in each existing one, new `exec` commands of a rebase are removed. An ordinary clone stays unchanged.

mod config;
mod directory;
mod repository;
mod sequence;
mod settings;
mod sources;

use crate::{ProtectedPaths, protected_paths};
use beamai_isolation::Planted;
use beamai_policy::DeniedPaths;
use beamai_workspace::decode_path;
use directory::OpenDirectory;
use repository::Cleaner;
use sequence::SequenceCommands;
use sources::ConfigSources;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size of a file that is read, in bytes; no person writes larger ones.
const MOST: u64 = 1 << 20;

/// What existed when a command started, besides protected paths.
#[derive(Debug, Default)]
struct RepositoryBaseline {
    denied_paths: DeniedPaths,
    roots: Vec<SnapshotRoot>,
}

/// What existed before. All snapshots are equal: they must not make two confinements differ.
#[derive(Debug, Clone, Default)]
pub struct RepositorySnapshot(Arc<RepositoryBaseline>);

impl PartialEq for RepositorySnapshot {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for RepositorySnapshot {}

#[derive(Debug)]
struct SnapshotRoot {
    path: PathBuf,
    is_workspace: bool,
    found: Arc<ProtectedPaths>,
    /// Pending commands of a rebase or cherry-pick, by repository.
    steps: HashMap<String, SequenceCommands>,
    /// Repositories that no mount protects, with the settings and hooks that they had.
    unpinned: HashMap<String, BTreeSet<String>>,
    sources: ConfigSources,
    /// What settings name, where no mount keeps it as it is, with the settings and hooks in it.
    unpinned_sources: HashMap<PathBuf, BTreeSet<String>>,
}

impl RepositorySnapshot {
    /// Takes a snapshot. Also returns further paths that must be read-only. `is_held` says whether mounts will keep commands
    /// from changing what exists; otherwise that is part of the snapshot as well.
    pub fn now(
        found: &[Arc<ProtectedPaths>],
        workspace: &Path,
        denied_paths: &DeniedPaths,
        is_held: bool,
    ) -> (Self, Vec<OsString>) {
        let roots: Vec<SnapshotRoot> =
            found.iter().map(|found| SnapshotRoot::now(found, workspace, is_held)).collect();
        let present = roots.iter().flat_map(|root| &root.sources.present);
        let read_only = present.map(OsString::from).collect();
        (Self(Arc::new(RepositoryBaseline { denied_paths: denied_paths.clone(), roots })), read_only)
    }
}

impl SnapshotRoot {
    fn now(found: &Arc<ProtectedPaths>, workspace: &Path, is_held: bool) -> Self {
        let path = decode_path(&found.root);
        let mut root = Self {
            is_workspace: path == workspace,
            found: Arc::clone(found),
            steps: HashMap::new(),
            unpinned: HashMap::new(),
            sources: ConfigSources::default(),
            unpinned_sources: HashMap::new(),
            path,
        };
        let Ok(top) = OpenDirectory::root(&root.path) else { return root };
        root.sources = ConfigSources::of(&root.path, &top, &found.repositories);
        for repository in &found.repositories {
            let path = decode_path(repository);
            if let Ok(directory) = top.beneath(&path) {
                root.steps.extend(SequenceCommands::of(&directory).map(|steps| (repository.clone(), steps)));
            }
            if !is_held || repository::is_link(&top, &path) {
                let directory = repository::directory_of(&top, &root.path, &path);
                root.unpinned.insert(repository.clone(), repository::risky_settings(&directory));
            }
        }
        if !is_held {
            let present = root.sources.present.iter();
            root.unpinned_sources =
                present.map(|path| (path.clone(), repository::risky_settings_of_source(path))).collect();
        }
        root
    }
}

/// Checks what a command has created, after its end, and removes what runs programs.
pub fn remove_planted(before: &RepositorySnapshot, writable: &[PathBuf]) -> Vec<Planted> {
    let before = &before.0;
    let mut all = Vec::new();
    for root in &before.roots {
        // The call has ended, so nothing can cancel this.
        let now = protected_paths(&root.path, root.is_workspace, &before.denied_paths, &|| Ok(()));
        match (now, OpenDirectory::root(&root.path)) {
            (Ok(now), Ok(top)) => {
                if let (None, Some(cut)) = (&root.found.cut, &now.cut) {
                    all.push(unchecked(&root.path, &format!("not completely: {cut}")));
                }
                Cleaner::new(root, &top, &now, writable, &mut all).clean();
            }
            (Err(error), _) => all.push(unchecked(&root.path, &error.message)),
            (_, Err(errno)) => all.push(unchecked(&root.path, &errno.to_string())),
        }
    }
    all
}

/// The result if the changes of a command cannot be determined.
fn unchecked(root: &Path, why: &str) -> Planted {
    Planted {
        path: root.display().to_string(),
        setting: "unknown".to_owned(),
        outcome: format!(
            "could not be checked: {why}; look for new git repositories before you use git there"
        ),
    }
}
