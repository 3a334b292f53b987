//! Cleans a repository that a command has created or could change.

use super::budget::{TOO_MUCH, UNREAD};
use super::config::CONFIGS;
use super::directory::OpenDirectory;
use super::files::changed_indexes;
use super::findings::{Findings, STILL_THERE};
use super::hooks::RelativeHooks;
use super::layout::RepositoryLayout;
use super::pointers::{TreesOfPointers, trees_of_pointers};
use super::settings::is_harmless;
use super::shared::SETTINGS;
use super::sources;
use super::unwritable::ResolvedPaths;
use super::way::way_of;
use super::{SnapshotRoot, sequence};
use beamai_git_config::{ConfigEntry, Malformed, read, read_right_lines, write};
use beamai_isolation::Planted;
use beamai_protected::ProtectedPaths;
use beamai_workspace::decode_path;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::hash::{BuildHasher, Hash, RandomState};
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
/// Maximum number of names in a directory that are treated one by one where the directory can be moved instead.
const MOST_ALONE: usize = 1_000;
/// How a settings file that git rejects is told among settings. No setting has a name with a blank.
const MALFORMED: &str = "malformed ";
/// Maximum length of what is reported of a setting, in characters.
const MOST_SHOWN: usize = 1_000;

/// Removes what was added to the repositories beneath one directory since a command started.
pub(super) struct Cleaner<'c> {
    pub(super) root: &'c SnapshotRoot,
    /// Its path, links resolved.
    pub(super) real: PathBuf,
    pub(super) top: OpenDirectory,
    pub(super) now: Arc<ProtectedPaths>,
    repositories: Arc<[FoundRepository]>,
    /// Directories that commands can write to.
    pub(super) writable: &'c [PathBuf],
    /// Paths in these that commands cannot write, links resolved.
    pub(super) unwritable: &'c ResolvedPaths,
    /// Work trees of repositories that lie elsewhere, of all directories together.
    pub(super) pointers: Arc<TreesOfPointers>,
    /// Those of all directories together.
    pub(super) hooks: &'c RelativeHooks,
    /// Repositories that are protected, or checked, in all directories together.
    pub(super) known: BTreeSet<PathBuf>,
    /// What was renamed here. Several paths can lead to one directory of hooks.
    pub(super) aside: BTreeSet<PathBuf>,
    pub(super) findings: Findings,
}

/// A repository, or a directory that a name or two would make one.
pub(super) struct FoundRepository {
    pub(super) path: PathBuf,
    text: String,
    pub(super) is_begun: bool,
    pub(super) is_new: bool,
    /// Whether a mount has kept its settings and hooks as they were.
    is_kept: bool,
}

impl<'c> Cleaner<'c> {
    pub(super) fn new(
        root: &'c SnapshotRoot,
        top: OpenDirectory,
        now: Arc<ProtectedPaths>,
        (writable, unwritable): (&'c [PathBuf], &'c ResolvedPaths),
        hooks: &'c RelativeHooks,
    ) -> Self {
        let real = root.real();
        let before: BTreeSet<&String> = root.found.repositories.iter().collect();
        let found = |text: &String, is_begun: bool| {
            let (path, is_new) = (decode_path(text), !before.contains(text));
            let is_kept = !is_new && root.has_kept(&top, text, &path);
            FoundRepository { path, text: text.clone(), is_begun, is_new, is_kept }
        };
        let whole = now.repositories.iter().map(|text| found(text, false));
        let repositories = whole.chain(now.begun.iter().map(|text| found(text, true))).collect();
        let known = now.repositories.iter().map(|path| beneath(&real, &decode_path(path))).collect();
        let (pointers, aside, findings) = Default::default();
        Self {
            root,
            real,
            top,
            now,
            repositories,
            writable,
            unwritable,
            pointers,
            hooks,
            known,
            aside,
            findings,
        }
    }

    /// Cleans several directories: what is most dangerous first, and what takes longest last, because the program may be
    /// killed meanwhile.
    pub(super) fn clean(cleaners: &mut [Self]) {
        // A file in one directory can lead to a repository in another one.
        let known: BTreeSet<PathBuf> = cleaners.iter().flat_map(|cleaner| cleaner.known.clone()).collect();
        cleaners.iter_mut().for_each(|cleaner| cleaner.known.clone_from(&known));
        // Paths in several directories can lead to one place.
        let mut aside = BTreeSet::new();
        for step in [Self::clean_trusted, Self::clean_settings] {
            for cleaner in &mut *cleaners {
                cleaner.aside.append(&mut aside);
                step(cleaner);
                aside.append(&mut cleaner.aside);
            }
        }
        cleaners.iter_mut().for_each(|cleaner| cleaner.aside.clone_from(&aside));
        Self::note_pointers(cleaners);
        for step in [Self::clean_state, Self::clean_indexes] {
            cleaners.iter_mut().for_each(step);
        }
    }

    /// Records to which repositories the files and links lead that stay.
    fn note_pointers(cleaners: &mut [Self]) {
        let mut all = TreesOfPointers::new();
        for cleaner in &*cleaners {
            let found = trees_of_pointers(&cleaner.top, &cleaner.real, &cleaner.now.repositories);
            found.into_iter().for_each(|(directory, trees)| all.entry(directory).or_default().extend(trees));
        }
        let all = Arc::new(all);
        cleaners.iter_mut().for_each(|cleaner| cleaner.pointers = Arc::clone(&all));
    }

    /// Cleans the settings and hooks of all repositories.
    fn clean_settings(&mut self) {
        for found in &*Arc::clone(&self.repositories) {
            match self.top.made_readable(&found.path) {
                Ok(directory) => {
                    self.clean_settings_of(found, &directory);
                    if found.is_new {
                        self.clean_tree_beside(&found.path);
                    }
                }
                Err(_) if found.is_begun => {}
                Err(_) => self.clean_gitfile(&found.path, &found.text),
            }
            if !found.is_begun && (found.is_new || self.leads_elsewhere(found)) {
                self.clean_relative_hooks(&found.path);
            }
        }
    }

    /// Whether git takes the settings of a repository that was there before from other directories than then.
    fn leads_elsewhere(&self, found: &FoundRepository) -> bool {
        let now = RepositoryLayout::of(&self.top, &self.real, &found.path).directories;
        self.root.files.get(&found.text).is_none_or(|known| known.directories != now)
    }

    fn clean_settings_of(&mut self, found: &FoundRepository, directory: &OpenDirectory) {
        let FoundRepository { path, text, .. } = found;
        let (root, nothing) = (self.root, BTreeSet::new());
        let files = root.files.get(text);
        // They are told as what they are first of all.
        self.clean_links(path, directory, files, is_of_settings);
        if found.is_begun {
            self.clean_mixed_settings(path, directory, root.begun.get(text).unwrap_or(&nothing));
        } else if !found.is_kept {
            let kept = root.settings.get(text).map_or(&nothing, |known| &*known.kept);
            for name in CONFIGS {
                self.clean_config(path, directory, OsStr::new(name), kept);
            }
            self.clean_hooks(path, directory, OsStr::new("hooks"), kept);
            self.report_missing(path, directory, kept);
        }
        self.clean_common_directory(path, directory, files);
    }

    /// Reports settings that were removed: what the person has set up may depend on them.
    fn report_missing(&mut self, path: &Path, directory: &OpenDirectory, kept: &BTreeSet<String>) {
        let now: BTreeSet<String> =
            CONFIGS.iter().flat_map(|name| risky_settings_of(directory, OsStr::new(name))).collect();
        let missing =
            kept.difference(&now).filter(|told| !told.starts_with("hooks/") && !told.starts_with(MALFORMED));
        for setting in missing {
            let outcome = "was removed while the command ran: set it again if you need it".to_owned();
            self.record(&path.join(CONFIGS[0]), setting, outcome);
        }
    }

    /// Cleans what changes in the everyday use of all repositories.
    fn clean_state(&mut self) {
        let root = self.root;
        for FoundRepository { path, text, is_begun, is_new, .. } in &*Arc::clone(&self.repositories) {
            let Ok(directory) = self.top.beneath(path) else { continue };
            let files = root.files.get(text);
            if !is_begun {
                self.unshare(path, &directory, *is_new);
            }
            self.clean_links(path, &directory, files, |link| !is_of_settings(link));
            self.clean_references(path, &directory, files);
            self.clean_lists(path, &directory, files);
            if !is_begun {
                self.clean_remotes(path, &directory, files);
                self.clean_named(path, &directory, files);
                sequence::clean(&directory, root.steps.get(text), |file, what, done| {
                    let outcome = done.map_or_else(still_there, |()| "removed".to_owned());
                    self.record(&path.join(file), what, outcome);
                });
                self.clean_sequence_state(path, &directory, files);
                self.clean_parts(path, &directory, files);
            }
            self.clean_ways(path, files);
        }
    }

    /// Cleans the indexes of all repositories, those last that take longest to read.
    fn clean_indexes(&mut self) {
        let (root, repositories) = (self.root, Arc::clone(&self.repositories));
        let mut all = Vec::new();
        for found in &*repositories {
            let Ok(directory) = self.top.beneath(&found.path) else { continue };
            let changed = changed_indexes(&directory, root.files.get(&found.text));
            all.extend(changed.map(|(size, name)| (size, name, found)));
        }
        all.sort_by_key(|(size, ..)| *size);
        for (_, name, found) in all {
            let FoundRepository { path, text, .. } = found;
            let Ok(directory) = self.top.beneath(path) else { continue };
            if let Some(what) = self.fault_of_index(found, &directory, &name, root.files.get(text)) {
                self.set_aside(path, &directory, &name, &what);
            }
        }
    }

    pub(super) fn parent_of(&self, path: &Path) -> Option<(OpenDirectory, OsString)> {
        let parent = self.top.beneath(path.parent()?).ok()?;
        Some((parent, path.file_name()?.to_owned()))
    }

    /// Cleans settings and hooks where other files may have these names, so what git cannot read stays.
    pub(super) fn clean_mixed_settings(
        &mut self,
        path: &Path,
        directory: &OpenDirectory,
        kept: &BTreeSet<String>,
    ) {
        for name in CONFIGS.map(OsStr::new) {
            let text = directory.read_through(name);
            if text == Err(UNREAD) {
                self.set_aside(path, directory, name, TOO_MUCH);
                continue;
            }
            let planted = text.ok().and_then(|text| read(&text).ok());
            let is_risky = |entry: &ConfigEntry| !is_harmless(entry) || self.leads_outside(path, entry);
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
        if text.as_ref().is_ok_and(|text| kept.contains(&told_malformed(name, text))) {
            return;
        }
        let what = if text == Err(UNREAD) { TOO_MUCH } else { "unreadable settings" };
        let Ok(entries) = text.map_err(|_| Malformed).and_then(|text| read(&text)) else {
            return self.set_aside(path, directory, name, what);
        };
        let is_risky = |entry: &ConfigEntry| !is_harmless(entry) || self.leads_outside(path, entry);
        let is_planted = |entry: &&ConfigEntry| is_risky(entry) && !kept.contains(&shown(entry));
        let planted: Vec<&ConfigEntry> = entries.iter().filter(is_planted).collect();
        if planted.is_empty() {
            return;
        }
        let rest = write(entries.iter().filter(|entry| !is_planted(entry)));
        // It may be the user's own file after all, so a copy is kept.
        let outcome = self.outcome(path, || {
            let aside = directory.set_aside(name)?;
            // On a full disk, no settings at all are safer than these.
            let others = match directory.replace(name, &rest) {
                Ok(()) => String::new(),
                Err(errno) => format!(", and so are all other settings ({errno})"),
            };
            Ok(format!("removed{others}; the original file is now {}", aside.to_string_lossy()))
        });
        for entry in planted {
            self.record(&path.join(name), &shown(entry), outcome.clone());
        }
    }

    /// Whether a repository's setting names a work tree that commands could not write to as a whole, or that is git's own.
    fn leads_outside(&self, path: &Path, entry: &ConfigEntry) -> bool {
        entry.is_work_tree() && {
            let own = beneath(&self.real, path);
            let way = way_of(&own.join(entry.path()));
            let is_whole = || self.unwritable_in(std::slice::from_ref(&way.end), true).is_empty();
            !self.may_be_named(&way_of(&own).end, &way) || !is_whole()
        }
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
        let (above, path) = (path, path.join(name));
        // In these, other files may be anything.
        let is_mixed = path == self.real
            || self.now.begun.iter().any(|begun| path.parent() == Some(&decode_path(begun)));
        let names = hooks.names();
        // None of them was there before.
        if names.len() > MOST_ALONE && kept.is_empty() && !is_mixed {
            return self.set_aside(above, directory, name, "too many hooks");
        }
        for hook in names.into_iter().filter(|hook| !is_mixed || is_of_git(hook)) {
            let is_aside = self.aside.contains(&self.real.join(&path).join(&hook));
            let is_kept = is_aside || kept.contains(&told_hook(&hooks, &hook));
            let is_file = matches!(hooks.kind(&hook), Some(FileType::RegularFile | FileType::Symlink));
            if is_file && is_run(&hook) && !is_kept && !is_of_template(&hooks, &hook) {
                self.set_aside(&path, &hooks, &hook, "a hook");
            }
        }
    }

    /// Moves a directory away if so many names in it are to go that it would take long to treat each alone, and it has no
    /// others. Returns whether it has been dealt with.
    pub(super) fn moves_directory(
        &mut self,
        path: &Path,
        repository: &OpenDirectory,
        place: &Path,
        names: usize,
        what: &str,
    ) -> bool {
        let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else { return false };
        let has_others = || repository.beneath(place).is_ok_and(|found| found.names().len() > names);
        if names <= MOST_ALONE || has_others() {
            return false;
        }
        let outcome = self.outcome(path, || {
            let aside = repository.beneath(parent)?.move_to(name, repository)?;
            Ok(format!("all {names} moved to {}", path.join(aside).display()))
        });
        self.record(&path.join(place), what, outcome);
        true
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
        let found = &self.root.found;
        match &found.cut {
            Some(cut) if self.root.has_skipped(directory) => {
                still_there(format!("it may be your own, as the state before is not completely known: {cut}"))
            }
            _ => change().unwrap_or_else(still_there),
        }
    }

    pub(super) fn record(&mut self, path: &Path, setting: &str, outcome: String) {
        let setting = setting.chars().take(MOST_SHOWN).collect();
        self.findings.push(Planted { path: self.root.told(&self.real, path), setting, outcome });
    }
}

/// Whether a path in a repository's directory is one by which git finds settings or hooks.
fn is_of_settings(path: &Path) -> bool {
    let first = path.components().next().map(|first| first.as_os_str());
    first.is_some_and(|first| first == "hooks" || SETTINGS.iter().any(|name| first == *name))
}

/// The outcome if something could not be removed.
pub(super) fn still_there(why: impl Display) -> String {
    format!("{STILL_THERE} ({why}): check it before you use git there")
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

/// An entry as reports show it. Entries are also compared by this.
fn shown(entry: &ConfigEntry) -> String {
    let value = entry.value.as_deref().unwrap_or_default();
    // Values that are not UTF-8 would look alike: all their bytes are shown as U+FFFD.
    let mark = std::str::from_utf8(value).err().map(|_| format!(" {:x}", mark_of(value)));
    format!("{}={}{}", entry.name(), entry.text(), mark.unwrap_or_default())
}

pub(super) fn beneath(root: &Path, path: &Path) -> PathBuf {
    if path.as_os_str().is_empty() { root.to_owned() } else { root.join(path) }
}

/// Whether a setting may be one that is taken out.
fn is_risky(entry: &ConfigEntry) -> bool {
    !is_harmless(entry) || entry.is_work_tree()
}

/// The entries in a repository's settings that a new one would not keep, or that name the work tree, and its hooks.
pub(super) fn risky_settings(path: &Path) -> BTreeSet<String> {
    OpenDirectory::root(path).map(|directory| risky_settings_in(&directory)).unwrap_or_default()
}

/// The same for an open directory.
pub(super) fn risky_settings_in(directory: &OpenDirectory) -> BTreeSet<String> {
    let settings = CONFIGS.iter().flat_map(|name| risky_settings_of(directory, OsStr::new(name)));
    let hooks = directory.beneath(Path::new("hooks")).map(|hooks| told_hooks(&hooks)).unwrap_or_default();
    settings.chain(hooks).collect()
}

/// The same for a directory that a name or two would make a repository.
pub(super) fn risky_settings_of_begun(path: &Path) -> BTreeSet<String> {
    let Ok(directory) = OpenDirectory::root(path) else { return BTreeSet::new() };
    let settings = CONFIGS.iter().flat_map(|name| risky_settings_of(&directory, OsStr::new(name)));
    settings.chain(told_git_hooks(&path.join("hooks"))).collect()
}

/// The same for one file, and which text it is if git rejects it.
pub(super) fn risky_settings_of(directory: &OpenDirectory, name: &OsStr) -> BTreeSet<String> {
    let Ok(text) = directory.read(name) else { return BTreeSet::new() };
    match read(&text) {
        Ok(entries) => entries.iter().filter(|entry| is_risky(entry)).map(shown).collect(),
        Err(Malformed) => {
            let right = read_right_lines(&text);
            let risky = right.iter().filter(|entry| is_risky(entry)).map(shown);
            risky.chain([told_malformed(name, &text)]).collect()
        }
    }
}

/// The name of a settings file that git rejects, with a mark of its text.
fn told_malformed(name: &OsStr, text: &[u8]) -> String {
    format!("{MALFORMED}{} {:x}", name.to_string_lossy(), mark_of(text))
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
    let text = hooks.read(hook).ok();
    format!("hooks/{} {:x}", hook.to_string_lossy(), mark_of((text, hooks.link(hook))))
}

/// A mark of a content that nobody can make another content have.
fn mark_of(content: impl Hash) -> u64 {
    static MARKS: LazyLock<RandomState> = LazyLock::new(RandomState::new);
    MARKS.hash_one(content)
}
