//! Cleans a repository that a command has created or could change.

use super::budget::{TOO_MUCH, UNREAD};
use super::config::{self, ConfigEntry, Malformed};
use super::directory::OpenDirectory;
use super::hooks::{RelativeHooks, way_of};
use super::settings::runs_programs;
use super::sources;
use super::{SnapshotRoot, sequence};
use crate::ProtectedPaths;
use beamai_isolation::Planted;
use beamai_workspace::{decode_path, encode_path};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// The hooks of githooks(5).
const HOOKS: [&str; 28] = [
    "applypatch-msg",
    "pre-applypatch",
    "post-applypatch",
    "pre-commit",
    "pre-merge-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "pre-rebase",
    "post-checkout",
    "post-merge",
    "pre-push",
    "pre-receive",
    "update",
    "proc-receive",
    "post-receive",
    "post-update",
    "reference-transaction",
    "push-to-checkout",
    "pre-auto-gc",
    "post-rewrite",
    "sendemail-validate",
    "fsmonitor-watchman",
    "p4-changelist",
    "p4-prepare-changelist",
    "p4-post-changelist",
    "p4-pre-submit",
    "post-index-change",
];
/// Config files in a repository.
const CONFIGS: [&str; 2] = ["config", "config.worktree"];

/// Removes what was added to the repositories beneath one directory since a command started.
pub(super) struct Cleaner<'c> {
    pub(super) root: &'c SnapshotRoot,
    /// Its path, links resolved.
    pub(super) real: PathBuf,
    top: &'c OpenDirectory,
    pub(super) now: &'c ProtectedPaths,
    /// Directories that commands can write to.
    pub(super) writable: &'c [PathBuf],
    /// Those of all directories together.
    pub(super) hooks: &'c RelativeHooks,
    /// Repositories that are protected, or checked here.
    pub(super) known: BTreeSet<PathBuf>,
    /// What was renamed here. Several paths can lead to one directory of hooks.
    pub(super) aside: BTreeSet<PathBuf>,
    planted: &'c mut Vec<Planted>,
}

impl<'c> Cleaner<'c> {
    pub(super) fn new(
        root: &'c SnapshotRoot,
        top: &'c OpenDirectory,
        now: &'c ProtectedPaths,
        writable: &'c [PathBuf],
        hooks: &'c RelativeHooks,
        planted: &'c mut Vec<Planted>,
    ) -> Self {
        let real = root.path.canonicalize().unwrap_or_else(|_| root.path.clone());
        Self {
            root,
            real,
            top,
            now,
            writable,
            hooks,
            known: BTreeSet::new(),
            aside: BTreeSet::new(),
            planted,
        }
    }

    pub(super) fn clean(mut self) {
        self.clean_trusted();
        let before: BTreeSet<&String> = self.root.found.repositories.iter().collect();
        let is_unpinned = |path: &String| !self.root.has_kept(self.top, path, &decode_path(path));
        let (old, new): (Vec<_>, Vec<_>) =
            self.now.repositories.iter().partition(|path| before.contains(path) && !is_unpinned(path));
        self.known =
            self.now.repositories.iter().map(|path| beneath(&self.real, &decode_path(path))).collect();
        for path in old {
            let at = decode_path(path);
            let Ok(directory) = self.top.made_readable(&at) else {
                self.clean_gitfile(&at, path);
                continue;
            };
            self.unshare(&at, &directory, false);
            self.clean_new_links(&at, &directory, path);
            self.clean_common_directory(&at, &directory, self.root.files.get(path));
            self.clean_state(&at, &directory, path);
        }
        for path in new {
            let (at, is_new) = (decode_path(path), !before.contains(path));
            self.clean_new(&at, path);
            if let Ok(directory) = self.top.beneath(&at) {
                self.unshare(&at, &directory, is_new);
            }
            if is_new {
                self.clean_relative_hooks(&at);
            }
        }
        for path in &self.now.begun {
            self.clean_begun(&decode_path(path), path);
        }
    }

    pub(super) fn parent_of(&self, path: &Path) -> Option<(OpenDirectory, OsString)> {
        let parent = self.top.beneath(path.parent()?).ok()?;
        Some((parent, path.file_name()?.to_owned()))
    }

    fn clean_new(&mut self, path: &Path, text: &str) {
        let kept = self.root.settings.get(text).map(|known| Arc::clone(&known.kept)).unwrap_or_default();
        if let Ok(directory) = self.top.made_readable(path) {
            return self.clean_directory(path, &directory, text, &kept);
        }
        self.clean_gitfile(path, text);
    }

    /// Cleans a directory that a name or two would make a repository. It may be none, so what git cannot read stays.
    fn clean_begun(&mut self, path: &Path, text: &str) {
        let Ok(directory) = self.top.made_readable(path) else { return };
        self.clean_new_links(path, &directory, text);
        let kept = self.root.begun.get(text).cloned().unwrap_or_default();
        self.clean_settings(path, &directory, &kept);
        self.clean_common_directory(path, &directory, self.root.files.get(text));
        self.clean_references(path, &directory, self.root.files.get(text));
        self.clean_files(path, &directory, self.root.files.get(text));
        self.clean_lists(path, &directory, self.root.files.get(text));
        self.clean_ways(self.root.files.get(text));
    }

    /// Cleans settings and hooks where other files may have these names.
    pub(super) fn clean_settings(&mut self, path: &Path, directory: &OpenDirectory, kept: &BTreeSet<String>) {
        for name in CONFIGS.map(OsStr::new) {
            let text = directory.read_through(name);
            if text == Err(UNREAD) {
                self.set_aside(path, directory, name, TOO_MUCH);
                continue;
            }
            let planted = text.ok().and_then(|text| config::read(&text).ok());
            let is_risky = |entry: &ConfigEntry| runs_programs(entry) || self.leads_outside(path, entry);
            let is_planted = |entry: &ConfigEntry| is_risky(entry) && !kept.contains(&shown(entry));
            if planted.is_some_and(|entries| entries.iter().any(is_planted)) {
                self.clean_config(path, directory, name, kept);
            }
        }
        let hooks = told_git_hooks(&self.real.join(path).join("hooks"));
        if !hooks.is_subset(kept) {
            self.clean_hooks(path, directory, OsStr::new("hooks"), kept);
        }
    }

    fn clean_directory(
        &mut self,
        path: &Path,
        directory: &OpenDirectory,
        text: &str,
        kept: &BTreeSet<String>,
    ) {
        // They are told as what they are first of all.
        self.clean_new_links(path, directory, text);
        for name in CONFIGS {
            self.clean_config(path, directory, OsStr::new(name), kept);
        }
        self.clean_hooks(path, directory, OsStr::new("hooks"), kept);
        self.clean_common_directory(path, directory, self.root.files.get(text));
        self.clean_state(path, directory, text);
    }

    pub(super) fn clean_config(
        &mut self,
        path: &Path,
        directory: &OpenDirectory,
        name: &OsStr,
        kept: &BTreeSet<String>,
    ) {
        match directory.kind(name) {
            None => return,
            Some(FileType::RegularFile) => {}
            Some(_) if self.is_own_link(path, directory, name) => return,
            Some(_) => return self.set_aside(path, directory, name, "settings that lie elsewhere"),
        }
        let text = directory.read(name);
        let what = if text == Err(UNREAD) { TOO_MUCH } else { "unreadable settings" };
        let Ok(entries) = text.map_err(|_| Malformed).and_then(|text| config::read(&text)) else {
            return self.set_aside(path, directory, name, what);
        };
        let is_risky = |entry: &ConfigEntry| runs_programs(entry) || self.leads_outside(path, entry);
        let is_planted = |entry: &&ConfigEntry| is_risky(entry) && !kept.contains(&shown(entry));
        let planted: Vec<&ConfigEntry> = entries.iter().filter(is_planted).collect();
        if planted.is_empty() {
            return;
        }
        let rest = config::write(entries.iter().filter(|entry| !is_planted(entry)));
        // It may be the user's own file after all, so a copy is kept.
        let outcome = self.outcome(path, || {
            let aside = directory.set_aside(name)?;
            directory.replace(name, &rest)?;
            Ok(format!("removed; the original file is now {}", aside.to_string_lossy()))
        });
        for entry in planted {
            self.record(&path.join(name), &shown(entry), outcome.clone());
        }
    }

    /// Whether a repository's setting names a work tree that commands could not write to, or that is git's own.
    fn leads_outside(&self, path: &Path, entry: &ConfigEntry) -> bool {
        entry.is_work_tree() && !self.is_of_work(&way_of(&self.real.join(path).join(entry.text())).end)
    }

    /// Renames hooks, except those that git copies from its templates.
    pub(super) fn clean_hooks(
        &mut self,
        path: &Path,
        directory: &OpenDirectory,
        name: &OsStr,
        kept: &BTreeSet<String>,
    ) {
        let hooks = match directory.kind(name) {
            None | Some(FileType::RegularFile) => return,
            Some(FileType::Directory) => directory.beneath(Path::new(name)),
            Some(_) if self.is_own_link(path, directory, name) => return,
            Some(_) => return self.set_aside(path, directory, name, "hooks that lie elsewhere"),
        };
        let Ok(hooks) = hooks else { return };
        let path = path.join(name);
        // In these, other files may be anything.
        let is_mixed = path == self.real
            || self.now.begun.iter().any(|begun| path.parent() == Some(&decode_path(begun)));
        for hook in hooks.names().into_iter().filter(|hook| !is_mixed || is_of_git(hook)) {
            let is_aside = self.aside.contains(&self.real.join(&path).join(&hook));
            let is_kept = is_aside || kept.contains(&told_hook(&hooks, &hook));
            let is_file = matches!(hooks.kind(&hook), Some(FileType::RegularFile | FileType::Symlink));
            if is_file && is_run(&hook) && !is_kept && !is_of_template(&hooks, &hook) {
                self.set_aside(&path, &hooks, &hook, "a hook");
            }
        }
    }

    fn clean_new_links(&mut self, path: &Path, directory: &OpenDirectory, text: &str) {
        let root = self.root;
        self.clean_links(path, directory, root.files.get(text).map(|known| &known.links));
    }

    /// Cleans what changes in the everyday use of a repository.
    fn clean_state(&mut self, path: &Path, directory: &OpenDirectory, text: &str) {
        let root = self.root;
        self.clean_references(path, directory, root.files.get(text));
        self.clean_files(path, directory, root.files.get(text));
        self.clean_lists(path, directory, root.files.get(text));
        self.clean_named(path, directory, root.files.get(text));
        sequence::clean(directory, root.steps.get(text), |file, what, done| {
            let outcome = match done {
                Ok(()) => "removed".to_owned(),
                Err(errno) => format!("still there ({errno}): check it before you use git there"),
            };
            self.record(&path.join(file), what, outcome);
        });
        self.clean_sequence_state(path, directory, root.files.get(text));
        self.clean_parts(path, directory, root.files.get(text));
        self.clean_ways(root.files.get(text));
    }

    pub(super) fn set_aside(&mut self, path: &Path, directory: &OpenDirectory, name: &OsStr, what: &str) {
        let mut aside = None;
        let outcome = self.outcome(path, || {
            let name = directory.set_aside(name)?;
            Ok(format!("renamed to {}", aside.insert(name).to_string_lossy()))
        });
        self.aside.extend(aside.map(|aside| self.real.join(path).join(aside)));
        self.record(&path.join(name), what, outcome);
    }

    /// Makes a change in a directory and describes the result. If the directory was not looked into before, what seems new
    /// may be the user's own, and stays.
    pub(super) fn outcome(&self, directory: &Path, change: impl FnOnce() -> Result<String, Errno>) -> String {
        let left = |why: &str| format!("still there ({why}): check it before you use git there");
        let found = &self.root.found;
        match &found.cut {
            Some(cut) if self.root.has_skipped(directory) => {
                left(&format!("it may be your own, as the state before is not completely known: {cut}"))
            }
            _ => change().unwrap_or_else(|errno| left(&errno.to_string())),
        }
    }

    pub(super) fn record(&mut self, path: &Path, setting: &str, outcome: String) {
        // Paths of other directories are absolute.
        let path = path.strip_prefix(&self.real).unwrap_or(path);
        let path = if self.root.is_workspace { path.to_owned() } else { self.root.path.join(path) };
        self.planted.push(Planted { path: encode_path(&path), setting: setting.to_owned(), outcome });
    }
}

/// Whether git may run a file in a hooks directory.
pub(super) fn is_run(hook: &OsStr) -> bool {
    !hook.as_bytes().ends_with(b".sample")
}

/// Whether git calls hooks so.
pub(super) fn is_of_git(hook: &OsStr) -> bool {
    HOOKS.iter().any(|name| hook == *name)
}

fn is_of_template(hooks: &OpenDirectory, hook: &OsStr) -> bool {
    let Ok(text) = hooks.read(hook) else { return false };
    let is_same =
        |template: PathBuf| std::fs::read(template.join("hooks").join(hook)).is_ok_and(|own| own == text);
    sources::templates().into_iter().any(is_same)
}

fn shown(entry: &ConfigEntry) -> String {
    format!("{}={}", entry.name(), entry.text())
}

pub(super) fn beneath(root: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { root.to_owned() } else { root.join(path) }
}

/// Whether a setting may be one that is taken out.
fn is_risky(entry: &ConfigEntry) -> bool {
    runs_programs(entry) || entry.is_work_tree()
}

/// The entries in a repository's settings that run programs, or name the work tree.
pub(super) fn risky_settings(path: &Path) -> BTreeSet<String> {
    OpenDirectory::root(path).map(|directory| risky_settings_in(&directory)).unwrap_or_default()
}

/// The same for an open directory.
pub(super) fn risky_settings_in(directory: &OpenDirectory) -> BTreeSet<String> {
    let texts = CONFIGS.iter().filter_map(|name| directory.read(name).ok());
    let entries = texts.filter_map(|text| config::read(&text).ok()).flatten();
    let hooks = directory.beneath(Path::new("hooks")).map(|hooks| told_hooks(&hooks)).unwrap_or_default();
    entries.filter(is_risky).map(|entry| shown(&entry)).chain(hooks).collect()
}

/// The same for a directory that a name or two would make a repository.
pub(super) fn risky_settings_of_begun(path: &Path) -> BTreeSet<String> {
    let Ok(directory) = OpenDirectory::root(path) else { return BTreeSet::new() };
    let settings = CONFIGS.iter().flat_map(|name| risky_settings_of(&directory, OsStr::new(name)));
    settings.chain(told_git_hooks(&path.join("hooks"))).collect()
}

/// The same for one file.
pub(super) fn risky_settings_of(directory: &OpenDirectory, name: &OsStr) -> BTreeSet<String> {
    let text = directory.read(name).ok().and_then(|text| config::read(&text).ok());
    text.unwrap_or_default().iter().filter(|entry| is_risky(entry)).map(shown).collect()
}

/// Every hook of a directory.
pub(super) fn told_hooks(hooks: &OpenDirectory) -> BTreeSet<String> {
    hooks.names().iter().filter(|hook| is_run(hook)).map(|hook| told_hook(hooks, hook)).collect()
}

/// Every hook of a directory that may have other files, too.
pub(super) fn told_git_hooks(path: &Path) -> BTreeSet<String> {
    let Ok(hooks) = OpenDirectory::root(path) else { return BTreeSet::new() };
    let names = HOOKS.iter().map(OsStr::new).filter(|hook| hooks.kind(hook).is_some());
    names.map(|hook| told_hook(&hooks, hook)).collect()
}

/// A hook's name with a mark of what it does, which nobody can make another hook have.
pub(super) fn told_hook(hooks: &OpenDirectory, hook: &OsStr) -> String {
    static MARKS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    let text = hooks.read(hook).ok();
    let mark = MARKS.hash_one((text, hooks.link(hook)));
    format!("hooks/{} {mark:x}", hook.to_string_lossy())
}
