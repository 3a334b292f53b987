//! A deny or ask rule about commands, with the files that its program's name leads to.
//!
//! A program has several names, and a rule gives one of them: `awk` may be a link to `mawk`. The rule holds for the file, so
//! the name is looked up when a command begins, in directories that commands cannot write.

use super::called::CommandForm;
use super::table;
use crate::arguments::Arguments;
use crate::rule::PermissionRule;
use crate::words::{Certainty, CommandPattern};
use beamai_base::program_directories;
use beamai_bash_reader::{SYSTEM_DIRECTORIES, Word};
use beamai_isolation::FileIdentity;
use beamai_path_rules::{PathRoots, clean};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A rule, prepared for the starts of one command.
#[derive(Debug, Clone)]
pub(super) struct ProgramRule {
    pub(super) text: String,
    pub(super) pattern: CommandPattern,
    /// The files that its name leads to.
    files: Vec<FileIdentity>,
    /// If it names a path: the absolute paths that this means.
    paths: Vec<String>,
    /// If it names a relative path with wildcards: the pattern with each absolute path that this means.
    absolute: Vec<CommandPattern>,
}

impl ProgramRule {
    /// Whether the pattern matches a program, or may match it.
    pub(super) fn holds(&self, first: &Word, arguments: &Arguments) -> bool {
        let mut patterns = [&self.pattern].into_iter().chain(&self.absolute);
        patterns.any(|pattern| pattern.holds(first, arguments) > Certainty::No)
    }

    /// The rule's own name for a program, if it names that file or path.
    pub(super) fn name_of(&self, form: &CommandForm) -> Option<&str> {
        let is_file = form.identity.is_some_and(|identity| self.files.contains(&identity));
        let is_path = || form.names.iter().any(|name| self.paths.contains(name));
        self.pattern.name().filter(|_| is_file || is_path())
    }

    fn prepared(rule: &PermissionRule, places: &ProgramPlaces) -> Option<Self> {
        let pattern = rule.command()?.clone();
        let (files, paths) = match pattern.name() {
            Some(name) if name.contains('/') => places.of_path(name),
            Some(name) => (places.of_name(name), Vec::new()),
            None => Default::default(),
        };
        let absolute = pattern.absolute(&places.top);
        Some(Self { text: rule.text.clone(), pattern, files, paths, absolute })
    }
}

/// The rules about commands among these, prepared.
pub(super) fn prepared(rules: &[PermissionRule], roots: &PathRoots) -> Vec<ProgramRule> {
    let rules: Vec<&PermissionRule> = rules.iter().filter(|rule| rule.command().is_some()).collect();
    if rules.is_empty() {
        return Vec::new();
    }
    let places = ProgramPlaces::of(roots);
    rules.into_iter().filter_map(|rule| ProgramRule::prepared(rule, &places)).collect()
}

/// The files of a program's name, in the directories of programs.
pub(super) fn files_of_name(name: &str) -> Vec<FileIdentity> {
    ProgramPlaces::of(&PathRoots::default()).of_name(name)
}

/// Where the names of rules are looked up.
struct ProgramPlaces {
    /// The directories of programs.
    directories: Vec<PathBuf>,
    /// The directory that relative paths start from.
    top: PathBuf,
}

impl ProgramPlaces {
    /// The system's directories, and those of the `PATH` that are outside of the workspace or lead there.
    fn of(roots: &PathRoots) -> Self {
        let top = roots.top().unwrap_or_else(|| "/".into());
        let at = Path::new("");
        let own = program_directories().iter().filter(|directory| {
            [roots.meant(at, directory), roots.leads(at, directory)].iter().any(|path| path.is_absolute())
        });
        let mut directories: Vec<PathBuf> =
            SYSTEM_DIRECTORIES.iter().map(PathBuf::from).chain(own.cloned()).collect();
        directories.sort();
        directories.dedup();
        Self { directories, top }
    }

    /// The files of this name.
    fn of_name(&self, name: &str) -> Vec<FileIdentity> {
        let mut files: Vec<FileIdentity> =
            self.directories.iter().filter_map(|directory| identity(&directory.join(name))).collect();
        files.sort_unstable();
        files.dedup();
        files
    }

    /// The file at a path, and the path's other spellings.
    fn of_path(&self, path: &str) -> (Vec<FileIdentity>, Vec<String>) {
        let written = self.top.join(path);
        // Where the path leaves a linked directory by `..`, these are two.
        let path = clean(&written);
        let real = written.parent().and_then(|parent| parent.canonicalize().ok());
        let real = real.zip(written.file_name()).map(|(parent, name)| parent.join(name));
        let mut files: Vec<FileIdentity> =
            [&written, &path].into_iter().filter_map(|path| identity(path)).collect();
        files.dedup();
        let paths = [path].into_iter().chain(real);
        (files, paths.map(|path| path.to_string_lossy().into_owned()).collect())
    }
}

/// The file that a path leads to, unless that is another program by its other name.
fn identity(path: &Path) -> Option<FileIdentity> {
    let found = path.metadata().ok().filter(std::fs::Metadata::is_file)?;
    let real = path.canonicalize().ok()?;
    let is_same = real.file_name() == path.file_name() || !table::is_named_by_call(&real);
    is_same.then(|| (found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn places() -> (tempfile::TempDir, ProgramPlaces) {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        std::fs::create_dir(top.join("bin")).unwrap();
        for name in ["mawk", "busybox", "rustup"] {
            std::fs::write(top.join("bin").join(name), name).unwrap();
        }
        for (target, link) in
            [("mawk", "awk"), ("busybox", "touch"), ("rustup", "cargo"), ("rustup", "rustc")]
        {
            symlink(target, top.join("bin").join(link)).unwrap();
        }
        (dir, ProgramPlaces { directories: vec![top.join("bin"), top.join("none")], top })
    }

    #[test]
    fn a_name_leads_to_the_file_behind_its_links() {
        let (_dir, places) = places();
        let mawk = identity(&places.top.join("bin/mawk")).unwrap();
        assert_eq!((places.of_name("awk"), places.of_name("mawk")), (vec![mawk], vec![mawk]));
        assert_eq!(places.of_name("nawk"), []);
        assert_eq!(places.of_name("."), []);
    }

    #[test]
    fn a_program_of_many_names_is_each_of_them_by_that_name_alone() {
        let (_dir, places) = places();
        for name in ["touch", "cargo", "rustc"] {
            assert_eq!(places.of_name(name), [], "{name}");
            assert_eq!(places.of_path(&format!("bin/{name}")).0, [], "{name}");
        }
        assert!(!places.of_name("rustup").is_empty() && !places.of_name("busybox").is_empty());
    }

    #[test]
    fn a_path_leads_where_the_system_leads_it() {
        let (_dir, places) = places();
        let top = places.top.clone();
        std::fs::create_dir_all(top.join("d/e")).unwrap();
        symlink("d/e", top.join("link")).unwrap();
        std::fs::write(top.join("d/tool"), "tool").unwrap();
        let tool = identity(&top.join("d/tool")).unwrap();
        let text = |path: &str| top.join(path).to_string_lossy().into_owned();
        assert_eq!(places.of_path("link/../tool"), (vec![tool], vec![text("tool"), text("d/tool")]));
        for path in ["bin/mawk", "bin//mawk", "./bin/./mawk"] {
            assert_eq!(places.of_path(path).0, places.of_name("mawk"), "{path}");
        }
    }

    #[test]
    fn a_path_is_meant_in_each_of_its_spellings() {
        let (_dir, places) = places();
        symlink("bin", places.top.join("sbin")).unwrap();
        let text = |path: &str| places.top.join(path).to_string_lossy().into_owned();
        let (files, paths) = places.of_path("./sbin/awk");
        assert_eq!(files, places.of_name("mawk"));
        assert_eq!(paths, [text("sbin/awk"), text("bin/awk")]);
        assert_eq!(places.of_path("./bin/new"), (vec![], vec![text("bin/new"), text("bin/new")]));
    }
}
