//! The files from which git takes the settings of the person and of the machine, and the pattern files that these name.

use super::locate::RepoLocation;
use super::named_file::{
    NamedFile, files_named, in_home, is_about_branch, is_for_git_alone, is_unfollowed, remote_pattern,
};
use super::settings::{machine_attributes, search_dirs};
use super::settings_file::{entries, expect_alike};
use crate::fail::{GitError, GitResult};
use git2::{Config, ConfigLevel};
use rustix::fs::{FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum depth of includes, as in git.
const MAX_DEPTH: usize = 10;

/// Files of settings, which exist or would be read if they did. Two values are equal if they name the same files, none
/// of which has changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostSettings(Vec<HostFile>);

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct HostFile {
    path: Vec<u8>,
    usage: HostFileUsage,
    /// `None` if it does not exist, or the person cannot read it: git ignores it then.
    version: Option<FileVersion>,
}

/// What git does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
enum HostFileUsage {
    Settings,
    /// Settings that are included under a condition.
    MaybeSettings,
    Patterns,
    /// Settings by a path that libgit2 does not follow.
    Unfollowed,
    /// Settings for repositories with a remote like this pattern, which libgit2 does not include.
    ForRemote,
    /// Settings that are included for some branches, which libgit2 decides by chance where `HEAD` names none.
    ForBranch,
}

/// Tells a file from another one, and from itself after a change: device, inode, size, times of modification and of change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct FileVersion(i128, i128, i128, [i128; 4]);

impl HostSettings {
    /// The files as they are now, for this process's environment.
    pub fn now() -> Self {
        let mut all = Self::default();
        let xdg = search_dirs(ConfigLevel::XDG);
        for (dirs, name) in [
            (&search_dirs(ConfigLevel::System), "gitconfig"),
            (&xdg, "config"),
            (&search_dirs(ConfigLevel::Global), ".gitconfig"),
        ] {
            dirs.iter().for_each(|dir| all.add_settings(dir.join(name), HostFileUsage::Settings, 0));
        }
        machine_attributes().into_iter().for_each(|path| all.add_patterns(path));
        for name in ["ignore", "attributes"] {
            xdg.iter().for_each(|dir| all.add_patterns(dir.join(name)));
        }
        all
    }

    /// Their paths.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().filter(|file| file.usage <= HostFileUsage::Patterns).map(HostFile::path)
    }

    /// Fails if git may include other settings in this repository than libgit2.
    pub(super) fn expect_followed(&self, config: &Config, located: &RepoLocation) -> GitResult<()> {
        for file in &self.0 {
            let path = file.path().display();
            let why = match file.usage {
                HostFileUsage::Unfollowed => format!("include {path}"),
                HostFileUsage::ForRemote if has_remote(config, &file.path)? => {
                    format!("include others for remotes like {path}")
                }
                HostFileUsage::ForBranch if !located.is_on_branch() => {
                    format!("include {path} for some branches, and HEAD is at none")
                }
                _ => continue,
            };
            let message =
                format!("your git settings {why}, which this tool cannot follow; use the shell tool for git");
            return Err(GitError::needs_shell(message).into());
        }
        Ok(())
    }

    /// Fails if this process cannot read settings that are there, or if libgit2 finds others in them than git. It would
    /// do without those that it does not find.
    pub(super) fn expect_read_alike(&self) -> GitResult<()> {
        let is_read = |file: &&HostFile| file.usage < HostFileUsage::Patterns && file.version.is_some();
        // libgit2 opens the files that one includes with it, so they come first.
        for file in self.0.iter().filter(is_read).rev() {
            let path = file.path();
            let open = match open_host_file(path) {
                // libgit2 fails itself if the condition holds.
                Err(Errno::ACCESS) if file.usage == HostFileUsage::MaybeSettings => continue,
                Err(_) => return Err(GitError::unreadable(path.display()).into()),
                Ok((open, _)) => open,
            };
            entries(open).and_then(|entries| expect_alike(path, &entries)).map_err(|why| {
                let message =
                    format!("your git settings {} {why}; use the shell tool for git", path.display());
                GitError::needs_shell(message)
            })?;
        }
        Ok(())
    }

    /// Whether git does without a file that this process failed to open: a sandbox can make files look absent.
    pub(crate) fn is_absent(&self, path: &Path, failure: Errno) -> bool {
        match self.0.iter().find(|file| file.path() == path) {
            Some(known) => known.version.is_none(),
            None => matches!(failure, Errno::NOENT | Errno::NOTDIR),
        }
    }

    fn add_settings(&mut self, path: PathBuf, usage: HostFileUsage, depth: usize) {
        let is_known = |file: &HostFile| file.path() == path && file.usage <= usage;
        if depth > MAX_DEPTH || self.0.iter().any(is_known) {
            return;
        }
        let opened = open_host_file(&path).ok();
        self.add(&path, usage, opened.as_ref().map(|(_, stat)| FileVersion::of(stat)));
        // What cannot be read names nothing. It is refused before libgit2 reads it.
        let entries = opened.and_then(|(file, _)| entries(file).ok()).unwrap_or_default();
        for named in files_named(&entries) {
            match named {
                NamedFile::Include { path: named, condition } => {
                    let usage = if condition.is_some() { HostFileUsage::MaybeSettings } else { usage };
                    match unfollowed(&named, condition.as_deref()) {
                        Some((named, usage)) => self.add(Path::new(OsStr::from_bytes(named)), usage, None),
                        None => {
                            let beside = path.parent().unwrap_or(Path::new("/"));
                            let included = beside.join(in_home(&named));
                            self.add_settings(included.clone(), usage, depth + 1);
                            if condition.as_deref().is_some_and(is_about_branch) {
                                self.add(&included, HostFileUsage::ForBranch, None);
                            }
                        }
                    }
                }
                // A relative one lies in the work tree.
                NamedFile::Patterns(named) => self.add_patterns(in_home(&named)),
            }
        }
    }

    fn add_patterns(&mut self, path: PathBuf) {
        let version = open_host_file(&path).ok().map(|(_, stat)| FileVersion::of(&stat));
        if path.is_absolute() {
            self.add(&path, HostFileUsage::Patterns, version);
        }
    }

    fn add(&mut self, path: &Path, usage: HostFileUsage, version: Option<FileVersion>) {
        let file = HostFile { path: path.as_os_str().as_bytes().to_vec(), usage, version };
        if !self.0.contains(&file) {
            self.0.push(file);
        }
    }
}

impl HostFile {
    fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}

impl FileVersion {
    fn of(stat: &Stat) -> Self {
        let times = [
            stat.st_mtime.into(),
            stat.st_mtime_nsec.into(),
            stat.st_ctime.into(),
            stat.st_ctime_nsec.into(),
        ];
        Self(stat.st_dev.into(), stat.st_ino.into(), stat.st_size.into(), times)
    }
}

/// Opens a regular file by its path, which the person chose, links included.
///
/// # Errors
/// `NXIO` for anything else than a regular file.
pub(crate) fn open_host_file(path: &Path) -> Result<(File, Stat), Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = rustix::fs::open(path, flags, Mode::empty())?;
    let stat = rustix::fs::fstat(&opened)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok((File::from(opened), stat)),
        _ => Err(Errno::NXIO),
    }
}

/// Whether a remote's address begins as a pattern does before its first wildcard, so that it may match.
fn has_remote(config: &Config, pattern: &[u8]) -> GitResult<bool> {
    let start = pattern.split(|byte| b"*?[\\".contains(byte)).next().unwrap_or_default();
    let mut has = false;
    config
        .entries(Some(r"^remote\..*\.url$"))?
        .for_each(|entry| has |= entry.has_value() && entry.value_bytes().starts_with(start))?;
    Ok(has)
}

/// What libgit2 leaves out of an include, and why.
fn unfollowed<'a>(path: &'a [u8], condition: Option<&'a [u8]>) -> Option<(&'a [u8], HostFileUsage)> {
    if let Some(pattern) = condition.and_then(remote_pattern) {
        return Some((pattern, HostFileUsage::ForRemote));
    }
    let is_left_out = is_unfollowed(path) || condition.is_some_and(is_for_git_alone);
    is_left_out.then_some((path, HostFileUsage::Unfollowed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings in a file and what it includes, and the directory of these files.
    fn settings(files: &[(&str, &str)]) -> (HostSettings, tempfile::TempDir) {
        let dir = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| std::fs::write(dir.path().join(name), text).unwrap());
        let mut settings = HostSettings::default();
        settings.add_settings(dir.path().join("a"), HostFileUsage::Settings, 0);
        (settings, dir)
    }

    fn refusal(settings: &HostSettings) -> Option<String> {
        match settings.expect_read_alike() {
            Ok(()) => None,
            Err(GitError::Error(error)) => Some(error.message),
            Err(GitError::Unavailable(why)) => Some(why),
        }
    }

    #[test]
    fn an_include_that_the_library_would_miss_is_refused() {
        let hidden = "[alias]\n\tst = status \\\n\n[include]\n\tpath = b\n";
        let (alone, dir) = settings(&[("a", hidden), ("b", "[core]\n\thooksPath = x\n")]);
        let why = refusal(&alone).unwrap();
        assert!(why.contains(&format!("{}/a can be read in two ways", dir.path().display())), "{why}");
        let (included, dir) = settings(&[("a", "[include]\n\tpath = b\n"), ("b", hidden)]);
        let why = refusal(&included).unwrap();
        assert!(why.contains(&format!("{}/b can be read in two ways", dir.path().display())), "{why}");
    }

    /// As where rules deny reading what `b` includes.
    #[test]
    fn an_include_that_fails_under_another_condition_does_not_matter() {
        let conditional = "[includeIf \"onbranch:x\"]\n\tpath = b\n";
        let (settings, dir) = settings(&[("a", conditional), ("b", "[include]\n\tpath = b\n")]);
        assert!(Config::open(&dir.path().join("b")).is_err());
        assert_eq!(refusal(&settings), None);
    }

    #[test]
    fn a_byte_order_mark_hides_no_include() {
        let include = "\u{feff}[include]\n\tpath = ";
        let (settings, dir) = settings(&[
            ("a", &format!("{include}b\n")),
            ("b", &format!("{include}c\n")),
            ("c", "[user]\n\tname = C\n"),
        ]);
        assert_eq!(settings.paths().collect::<Vec<_>>(), ["a", "b", "c"].map(|name| dir.path().join(name)));
        assert_eq!(refusal(&settings), None);
    }

    #[test]
    fn an_empty_condition_holds_for_git_alone() {
        let (settings, _dir) = settings(&[("a", "[includeIf \"gitdir:\"]\n\tpath = b\n"), ("b", "")]);
        assert_eq!(settings.0.last().unwrap().usage, HostFileUsage::Unfollowed);
    }
}
