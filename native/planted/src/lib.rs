//! Finds what a command leaves behind that the user's own git would run later, outside the sandbox.
//!
//! Mounts protect what exists when a command starts, including files that git's settings include and the hooks that
//! they name (`sources`). Where mounts are not allowed or were lifted, it is compared at the end (`known`) with its
//! state before the oldest command that was still running (`baseline`). Links in the paths to these files (`way`) can
//! be replaced meanwhile, and are put back at the end (`trusted`).
//!
//! What a command creates can only be checked when it ends. Each new repository keeps the settings that are known to be
//! harmless (`settings`), and its hooks are renamed. In each existing one, new `exec` commands of a rebase are removed,
//! and so is other state that git would not have made (`files`, `sequence`). An ordinary clone stays unchanged.
//!
//! For Linux only; empty elsewhere.

#![cfg(target_os = "linux")]
#![forbid(unsafe_code)]

mod baseline;
mod budget;
mod change;
mod config;
mod directory;
mod environment;
mod files;
mod findings;
mod hooks;
mod index;
mod known;
mod layout;
mod links;
mod named;
mod nested;
mod packs;
mod parts;
mod pathname;
mod pointers;
mod references;
mod refused;
mod repository;
mod rights;
mod sequence;
mod settings;
mod shared;
mod sources;
mod state;
mod trees;
mod trusted;
mod unwritable;
mod way;

use baseline::{ByRepository, RepositoryBaseline, RunningBaselines};
use beamai_base::Result;
use beamai_isolation::Planted;
use beamai_policy::DeniedPaths;
use beamai_protected::{ProtectedPaths, protected_paths, protected_paths_anew};
use beamai_workspace::{decode_path, encode_path};
use budget::{BudgetScope, ChangeTime};
use directory::OpenDirectory;
use files::KnownFiles;
use findings::Findings;
use known::KnownSettings;
use pointers::{TreesOfPointers, trees_of_pointers};
use repository::{Cleaner, still_there};
use sequence::SequenceCommands;
use sources::ConfigSources;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use way::KnownLinks;

/// Maximum size of a file that is read, in bytes; no person writes larger ones.
const MOST: u64 = 1 << 20;

/// Maximum depth of a path, in directories.
const MOST_LEVELS: usize = 2_048;

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
    steps: ByRepository<SequenceCommands>,
    /// Indexes and remotes, by repository.
    files: ByRepository<KnownFiles>,
    /// Settings and hooks, by repository.
    settings: ByRepository<KnownSettings>,
    /// Work trees of repositories that lie elsewhere.
    pointers: TreesOfPointers,
    /// Directories that a name or two would make repositories, with those that they had.
    begun: ByRepository<BTreeSet<String>>,
    sources: ConfigSources,
}

impl RepositorySnapshot {
    /// Takes a snapshot. Also returns further paths that must be read-only. `is_held` says whether mounts will keep commands
    /// from changing what exists, unless somebody else does.
    pub fn now(
        found: &[Arc<ProtectedPaths>],
        workspace: &Path,
        denied_paths: &DeniedPaths,
        is_held: bool,
    ) -> (Self, Vec<OsString>) {
        let real = |found: &Arc<ProtectedPaths>| {
            let path = decode_path(&found.root);
            path.canonicalize().unwrap_or(path)
        };
        let writable: Vec<PathBuf> = found.iter().map(real).collect();
        let running = RunningBaselines::now();
        let links = running.links();
        let at_start = Start { writable: &writable, links: &links, is_held };
        let roots = found.iter().zip(&writable);
        let roots: Vec<SnapshotRoot> =
            roots.map(|(found, real)| at_start.root(found, real, workspace, &running)).collect();
        let present = roots.iter().flat_map(|root| root.sources.present(&writable));
        let read_only: BTreeSet<OsString> = present.map(OsString::from).collect();
        let denied_paths = denied_paths.clone();
        let since = running.since().unwrap_or_else(ChangeTime::now);
        let is_over = AtomicBool::new(false);
        let baseline = Arc::new(RepositoryBaseline { denied_paths, roots, since, is_over });
        baseline.begin();
        (Self(baseline), read_only.into_iter().collect())
    }

    /// Whether it is of no directory.
    pub fn is_empty(&self) -> bool {
        self.0.roots.is_empty()
    }

    /// The result for a command whose changes are not looked at, and why.
    pub fn unchecked(&self, why: &str) -> Vec<Planted> {
        self.0.roots.iter().map(|root| unchecked(&root.path, why)).collect()
    }
}

/// The circumstances of a snapshot.
struct Start<'s> {
    writable: &'s [PathBuf],
    links: &'s KnownLinks,
    is_held: bool,
}

impl Start<'_> {
    /// Records the state of a directory before a command. If other commands are still running there, their state from
    /// before them counts. `real` is the path of the directory without links.
    fn root(
        &self,
        found: &Arc<ProtectedPaths>,
        real: &Path,
        workspace: &Path,
        running: &RunningBaselines,
    ) -> SnapshotRoot {
        let path = decode_path(&found.root);
        let earliest = running.earliest(&path);
        let found = earliest.map_or_else(|| Arc::clone(found), |earliest| earliest.still_found(found));
        let mut root = SnapshotRoot {
            is_workspace: path == workspace,
            found,
            steps: ByRepository::default(),
            files: ByRepository::default(),
            settings: ByRepository::default(),
            pointers: TreesOfPointers::default(),
            begun: ByRepository::default(),
            sources: ConfigSources::default(),
            path,
        };
        let Ok(top) = OpenDirectory::root(&root.path) else { return root };
        root.note_trusted(&top, real, self);
        root.pointers = trees_of_pointers(&top, real, &root.found.repositories);
        root.note_contents(&top, self.is_held, earliest);
        root
    }
}

impl SnapshotRoot {
    /// The path of the directory, links resolved.
    fn real(&self) -> PathBuf {
        self.path.canonicalize().unwrap_or_else(|_| self.path.clone())
    }

    /// A path as results name it: paths of other directories are absolute. `real` is that of this one.
    fn told(&self, real: &Path, path: &Path) -> String {
        let path = path.strip_prefix(real).unwrap_or(path);
        let path = if self.is_workspace { path.to_owned() } else { self.path.join(path) };
        encode_path(&path)
    }

    /// Records the files that git's settings name.
    fn note_trusted(&mut self, top: &OpenDirectory, real: &Path, start: &Start<'_>) {
        let repositories = &self.found.repositories;
        self.sources = ConfigSources::of(real, start.writable, top, repositories, start.links, start.is_held);
        for trusted in self.sources.trusted.iter_mut().filter(|trusted| trusted.way.exists()) {
            // A mount does not make these read-only.
            let is_root = start.writable.contains(&trusted.way.end);
            trusted.known = Some(KnownSettings::of_trusted(trusted, is_root, start.is_held));
        }
    }

    /// Records what is in repositories, or was in them earlier.
    fn note_contents(&mut self, top: &OpenDirectory, is_held: bool, earlier: Option<&Self>) {
        let found = Arc::clone(&self.found);
        for repository in &found.repositories {
            if !earlier.is_some_and(|earlier| self.takes(repository, earlier)) {
                self.note_repository(top, repository, is_held);
            }
        }
        for repository in &found.begun {
            if !earlier.is_some_and(|earlier| self.takes(repository, earlier)) {
                let path = decode_path(repository);
                if let Ok(directory) = top.beneath(&path) {
                    self.files.insert(repository, KnownFiles::of(&path, &directory, self));
                }
                let settings = repository::risky_settings_of_begun(&self.path.join(path));
                self.begun.insert(repository, settings);
            }
        }
        if let Some(earlier) = earlier {
            self.take_trusted(earlier);
        }
    }

    fn note_repository(&mut self, top: &OpenDirectory, repository: &str, is_held: bool) {
        let path = decode_path(repository);
        if let Ok(directory) = top.beneath(&path) {
            self.files.insert(repository, KnownFiles::of(&path, &directory, self));
            SequenceCommands::of(&directory)
                .into_iter()
                .for_each(|steps| self.steps.insert(repository, steps));
        } else if let Some(known) = KnownFiles::of_gitfile(&path, top, &self.path) {
            self.files.insert(repository, known);
        }
        let settings = KnownSettings::of_repository(top, &self.path, &path, is_held);
        self.settings.insert(repository, settings);
    }
}

impl SnapshotRoot {
    /// The protected paths after a command. If the command has taken away the right to list a directory, that right is
    /// restored first: git opens files in such a directory by their names.
    fn now_that_all_is_listed(&self, denied_paths: &DeniedPaths) -> Result<Arc<ProtectedPaths>> {
        let look = || protected_paths(&self.path, self.is_workspace, denied_paths, &|| Ok(()));
        let with_all_open = |mut now: Arc<ProtectedPaths>| {
            for _ in 0..MOST_LEVELS {
                let Ok(top) = OpenDirectory::root(&self.path) else { break };
                let opened =
                    self.closed(&now).filter(|path| top.made_readable(&decode_path(path)).is_ok()).count();
                if opened == 0 {
                    break;
                }
                now = look()?;
            }
            Ok(now)
        };
        let now = with_all_open(look()?)?;
        if now.cut.is_none() || now.skipped == self.found.skipped {
            return Ok(now);
        }
        with_all_open(protected_paths_anew(&self.path, self.is_workspace, denied_paths, &self.found)?)
    }

    /// Gives rights back that a command has taken away, so that settings can be read, and tells of those that could not
    /// be read.
    fn opened_again(&self) -> Findings {
        let (mut findings, real) = (Findings::default(), self.real());
        let mut record = |path: &Path, setting: &str, outcome: String| {
            let path = self.told(&real, path);
            findings.push(Planted { path, setting: setting.to_owned(), outcome });
        };
        for (path, done) in self.sources.modes.restore() {
            let outcome = match done {
                Ok(()) => "its mode is as it was".to_owned(),
                Err(errno) => still_there(errno),
            };
            record(&path, "keeps git's settings from being read", outcome);
        }
        for path in &self.sources.closed {
            let outcome = "could not be checked: nobody could read it when the command started; look at the hooks and files that \
                           it names before you use git";
            record(path, "unknown", outcome.to_owned());
        }
        for path in &self.sources.mistaken {
            let outcome = "git rejects this file as it was when the command started, so what its wrong lines name could not be \
                           checked: once it is corrected, look at the hooks and files that it names before you use git";
            record(path, "unknown", outcome.to_owned());
        }
        findings
    }

    /// What could not be looked at after a command.
    fn unchecked<'n>(&'n self, now: &'n ProtectedPaths) -> impl Iterator<Item = Planted> {
        let cuts = [(&self.found.cut, &now.cut), (&self.found.cut_inside, &now.cut_inside)];
        let cuts =
            cuts.into_iter().filter(|(before, _)| before.is_none()).filter_map(|(_, now)| now.as_ref());
        let cuts = cuts.map(|cut| unchecked(&self.path, &format!("not completely: {cut}")));
        let closed = self.closed(now).map(|path| self.path.join(decode_path(path)));
        cuts.chain(closed.map(|path| unchecked(&path, "it cannot be opened")))
    }

    /// Whether a directory was not looked into, although nothing is left out in repositories.
    fn has_skipped(&self, directory: &Path) -> bool {
        let is_known = |path: &Path| {
            let path = encode_path(path);
            self.settings.contains(&path) || self.begun.contains(&path)
        };
        // The limits of the search do not apply to the hooks of a known repository.
        let of_hooks =
            directory.parent().filter(|_| directory.file_name().is_some_and(|name| name == "hooks"));
        let directory = of_hooks.filter(|above| is_known(above)).unwrap_or(directory);
        let outside = directory.ancestors().take_while(|above| !is_known(above));
        outside.into_iter().any(|above| self.found.skipped.contains(above))
    }

    /// Directories that could be listed before.
    fn closed<'n>(&'n self, now: &'n ProtectedPaths) -> impl Iterator<Item = &'n String> {
        now.closed.iter().filter(|path| !self.found.closed.contains(path))
    }
}

/// Checks what a command has created, after its end, and removes what runs programs. `unwritable` are the paths in the
/// writable directories that commands could not write, or not see.
pub fn remove_planted(
    before: &RepositorySnapshot,
    writable: &[PathBuf],
    unwritable: impl Iterator<Item = PathBuf>,
) -> Vec<Planted> {
    let unwritable = unwritable::resolved_later(unwritable.collect());
    let before = &before.0;
    let (mut all, mut cleaners) = (Findings::default(), Vec::new());
    let hooks = before.relative_hooks();
    for root in &before.roots {
        all.extend(root.opened_again());
        // The call has ended, so nothing can cancel this.
        let now = root.now_that_all_is_listed(&before.denied_paths);
        match (now, OpenDirectory::root(&root.path)) {
            (Ok(now), Ok(top)) => {
                root.unchecked(&now).for_each(|unchecked| all.push(unchecked));
                cleaners.push(Cleaner::new(root, top, now, (writable, &unwritable), &hooks));
            }
            (Err(error), _) => all.push(unchecked(&root.path, &error.message)),
            (_, Err(errno)) => all.push(unchecked(&root.path, &errno.to_string())),
        }
    }
    let budget = BudgetScope::begin(before.since);
    Cleaner::clean(&mut cleaners);
    drop(budget);
    cleaners.into_iter().for_each(|cleaner| all.extend(cleaner.findings));
    before.is_over.store(true, Ordering::Release);
    all.into_list()
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
