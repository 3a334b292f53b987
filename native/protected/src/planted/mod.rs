//! What a command leaves behind that the person's own git would run later, outside of the sandbox.
//!
//! What is there when a command starts is protected by mounts, with the files that its settings include and the hooks that
//! they name ([`sources`]); where there may be no mounts, it is compared at the end with what it was. What a command makes can be looked at only when it ends: in each repository that has come to
//! be, settings that run programs are taken out and hooks are set aside; in each one that was there, commands for a rebase
//! to run that were not there before. An ordinary clone stays as it is.

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

/// Most bytes of a file that is read; people write shorter ones.
const MOST: u64 = 1 << 20;

/// What was there when a command started, beside what is protected.
#[derive(Debug, Default)]
struct RepositoryBaseline {
    denied_paths: DeniedPaths,
    roots: Vec<SnapshotRoot>,
}

/// What was there before, beside a confinement that is the same whatever that was.
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
    /// What a rebase or a sequence of picks is to do, by repository.
    steps: HashMap<String, SequenceCommands>,
    /// Repositories that no mount keeps as they are, with the settings and hooks that they had.
    loose: HashMap<String, BTreeSet<String>>,
    sources: ConfigSources,
    /// What settings name, where no mount keeps it as it is, with the settings and hooks in it.
    loose_sources: HashMap<PathBuf, BTreeSet<String>>,
}

impl RepositorySnapshot {
    /// Notes what there is now. Gives what is to be read-only besides. `is_held` says whether mounts will keep commands from
    /// changing what is there; otherwise it is noted as well.
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
            loose: HashMap::new(),
            sources: ConfigSources::default(),
            loose_sources: HashMap::new(),
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
                root.loose.insert(repository.clone(), repository::dangers(&directory));
            }
        }
        if !is_held {
            let present = root.sources.present.iter();
            root.loose_sources =
                present.map(|path| (path.clone(), repository::dangers_of_source(path))).collect();
        }
        root
    }
}

/// Looks at what a command has made, now that it has ended, and takes out what runs programs.
pub fn take_out(before: &RepositorySnapshot, writable: &[PathBuf]) -> Vec<Planted> {
    let before = &before.0;
    let mut all = Vec::new();
    for root in &before.roots {
        // Somebody else's call ends; nothing ends this.
        let now = protected_paths(&root.path, root.is_workspace, &before.denied_paths, &|| Ok(()));
        match (now, OpenDirectory::root(&root.path)) {
            (Ok(now), Ok(top)) => {
                if let (None, Some(cut)) = (&root.found.cut, &now.cut) {
                    all.push(unseen(&root.path, &format!("not all of it: {cut}")));
                }
                Cleaner::new(root, &top, &now, writable, &mut all).clean();
            }
            (Err(error), _) => all.push(unseen(&root.path, &error.message)),
            (_, Err(errno)) => all.push(unseen(&root.path, &errno.to_string())),
        }
    }
    all
}

/// Where it cannot be told what a command has left.
fn unseen(root: &Path, why: &str) -> Planted {
    Planted {
        path: root.display().to_string(),
        setting: "unknown".to_owned(),
        outcome: format!(
            "could not be looked at: {why}; look for new git repositories before you use git there"
        ),
    }
}
