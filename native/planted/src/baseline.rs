//! What existed when a command started. While commands overlap, a later one starts with what was there before the earlier
//! ones that still run: what those have left is not known yet, and each command checks everything since then at its end.

use super::SnapshotRoot;
use super::budget::ChangeTime;
use super::hooks::RelativeHooks;
use super::sources::TrustedPath;
use super::way::KnownLinks;
use beamai_base::Entry;
use beamai_policy::DeniedPaths;
use beamai_protected::ProtectedPaths;
use beamai_workspace::decode_path;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What existed when a command started, besides protected paths.
#[derive(Debug, Default)]
pub(super) struct RepositoryBaseline {
    pub(super) denied_paths: DeniedPaths,
    pub(super) roots: Vec<SnapshotRoot>,
    /// What has not changed since then is as it was before the oldest command that still ran.
    pub(super) since: ChangeTime,
    /// Whether the command has ended and was cleaned up after.
    pub(super) is_over: AtomicBool,
}

/// Those of running commands, oldest first.
static RUNNING: Mutex<Vec<Weak<RepositoryBaseline>>> = Mutex::new(Vec::new());

/// Those of the commands that run now, oldest first.
pub(super) struct RunningBaselines(Vec<Arc<RepositoryBaseline>>);

impl RunningBaselines {
    /// Taken before anything is looked at: a command that ends later is cleaned up after by then, or counts as running.
    pub(super) fn now() -> Self {
        let mut all = Vec::new();
        RUNNING.lock().unwrap_or_else(PoisonError::into_inner).retain(|running| {
            let running = running.upgrade().filter(|running| !running.is_over.load(Ordering::Acquire));
            let is_running = running.is_some();
            all.extend(running);
            is_running
        });
        Self(all)
    }

    /// Links as they were before these commands.
    pub(super) fn links(&self) -> KnownLinks {
        let mut links = KnownLinks::new();
        for (path, target) in self.0.iter().flat_map(|running| running.links()) {
            links.entry(path.clone()).or_insert_with(|| target.clone());
        }
        links
    }

    /// When the oldest one started.
    pub(super) fn since(&self) -> Option<ChangeTime> {
        self.0.iter().map(|running| running.since).min()
    }

    /// The oldest state of a directory.
    pub(super) fn earliest(&self, path: &Path) -> Option<&SnapshotRoot> {
        self.0.iter().flat_map(|running| &running.roots).find(|root| root.path == path)
    }
}

impl RepositoryBaseline {
    /// Makes it known to commands that start later.
    pub(super) fn begin(self: &Arc<Self>) {
        if !self.roots.is_empty() {
            RUNNING.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(self));
        }
    }

    /// The relative paths of hooks that the settings of all directories name.
    pub(super) fn relative_hooks(&self) -> RelativeHooks {
        let mut all = RelativeHooks::new();
        for (path, directories) in self.roots.iter().flat_map(|root| &root.sources.relative_hooks) {
            all.entry(path.clone()).or_default().extend(directories.iter().cloned());
        }
        all
    }

    /// The links by which git finds settings and hooks.
    fn links(&self) -> impl Iterator<Item = (&PathBuf, &OsString)> {
        let trusted = self.roots.iter().flat_map(|root| &root.sources.trusted);
        trusted.flat_map(|trusted| &trusted.way.steps).filter_map(|step| match &step.entry {
            Entry::Link(target) => Some((&step.path, target)),
            _ => None,
        })
    }
}

impl SnapshotRoot {
    /// The protected paths of this state, without repositories that are gone now, and with those that its command could
    /// neither see nor write.
    pub(super) fn still_found(&self, now: &Arc<ProtectedPaths>) -> Arc<ProtectedPaths> {
        let there: BTreeSet<&String> = now.repositories.iter().collect();
        let is_gone = |path: &String| now.cut.is_none() && !there.contains(path);
        let is_out_of_reach = |path: &&String| !self.settings.contains(path) && self.denies(path);
        let added: Vec<String> = now.repositories.iter().filter(is_out_of_reach).cloned().collect();
        if added.is_empty() && !self.found.repositories.iter().any(is_gone) {
            return Arc::clone(&self.found);
        }
        let mut found = ProtectedPaths::clone(&self.found);
        found.repositories.retain(|path| !is_gone(path));
        found.repositories.extend(added);
        Arc::new(found)
    }

    /// Whether rules kept a path from the command.
    fn denies(&self, path: &str) -> bool {
        let mut denied = self.found.hidden.iter().chain(&self.found.read_only);
        denied.any(|denied| decode_path(path).starts_with(decode_path(denied)))
    }

    /// Takes the contents of a repository from an earlier state. Returns false if it has none.
    pub(super) fn takes(&mut self, repository: &str, earlier: &Self) -> bool {
        self.steps.take(repository, &earlier.steps);
        self.files.take(repository, &earlier.files);
        self.begun.take(repository, &earlier.begun);
        self.settings.take(repository, &earlier.settings);
        self.settings.contains(repository) || self.begun.contains(repository)
    }

    /// Takes the contents of trusted paths from an earlier state, as far as it has them.
    pub(super) fn take_trusted(&mut self, earlier: &Self) {
        for trusted in &mut self.sources.trusted {
            let is_same =
                |other: &&TrustedPath| other.kind == trusted.kind && other.way.end == trusted.way.end;
            if let Some(other) = earlier.sources.trusted.iter().find(is_same) {
                trusted.known.clone_from(&other.known);
            }
        }
    }
}

/// Contents by repository, which states share.
#[derive(Debug)]
pub(super) struct ByRepository<T>(HashMap<String, Arc<T>>);

impl<T> Default for ByRepository<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T> ByRepository<T> {
    pub(super) fn get(&self, repository: &str) -> Option<&T> {
        self.0.get(repository).map(Arc::as_ref)
    }

    pub(super) fn contains(&self, repository: &str) -> bool {
        self.0.contains_key(repository)
    }

    pub(super) fn insert(&mut self, repository: &str, content: T) {
        self.0.insert(repository.to_owned(), Arc::new(content));
    }

    fn take(&mut self, repository: &str, earlier: &Self) {
        self.0.extend(earlier.0.get(repository).map(|content| (repository.to_owned(), Arc::clone(content))));
    }
}
