//! Files that name the directory of a repository: `.git` where it is a file, and `commondir`.
//!
//! Git stops at a NUL and trims the end. Only what git itself would have written is read here, so there is one way to
//! read it.

use super::directory::OpenDirectory;
use super::files::KnownFiles;
use super::repository::{Cleaner, beneath, risky_settings};
use super::sources;
use super::trees::{is_bare, own_directories};
use beamai_workspace::decode_path;
use rustix::fs::FileType;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The path in a file that names one: a single line, and nothing else.
pub(super) fn path_of(text: &[u8]) -> Option<PathBuf> {
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let is_line = !line.iter().any(|byte| matches!(byte, 0 | b'\n' | b'\r'));
    let is_trimmed = line.last().is_some_and(|last| !last.is_ascii_whitespace());
    (is_line && is_trimmed).then(|| OsString::from_vec(line.to_vec()).into())
}

/// Where a file in place of a `.git` leads: `None` if git takes it for something else, `Some(None)` if that is not certain.
fn path_of_gitfile(text: &[u8]) -> Option<Option<PathBuf>> {
    text.strip_prefix(b"gitdir:").map(|rest| path_of(rest.strip_prefix(b" ")?))
}

/// What lies in place of a `.git` that is not a directory, and where that leads, to be compared.
pub(super) fn told_gitfile(parent: &OpenDirectory, above: &Path, name: &OsStr) -> String {
    let text = parent.read(name);
    let named = text.as_ref().ok().and_then(|text| path_of_gitfile(text)?);
    let target = named.or_else(|| parent.link(name).map(PathBuf::from));
    let end = target.and_then(|target| above.join(target).canonicalize().ok());
    let is_bare = end.as_deref().is_some_and(is_bare);
    format!("{text:?} {:?} {end:?} {is_bare}", parent.link(name))
}

/// The work trees in which a file or a link in place of a `.git` leads to a repository, by the repository's directory.
pub(super) type TreesOfPointers = BTreeMap<PathBuf, Vec<PathBuf>>;

/// Those of the repositories beneath a directory.
pub(super) fn trees_of_pointers(
    top: &OpenDirectory,
    root: &Path,
    repositories: &[String],
) -> TreesOfPointers {
    let mut trees = TreesOfPointers::new();
    for path in repositories.iter().map(|path| decode_path(path)) {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else { continue };
        let Ok(parent) = top.beneath(above) else { continue };
        let above = root.join(above);
        if let Some(directory) = led_to(&parent, &above, name).and_then(|path| path.canonicalize().ok()) {
            trees.entry(directory).or_default().push(above);
        }
    }
    trees
}

/// Where git finds the directory of a repository by a file or a link in place of it. A link can lead to such a file.
fn led_to(parent: &OpenDirectory, above: &Path, name: &OsStr) -> Option<PathBuf> {
    match parent.kind(name)? {
        FileType::RegularFile | FileType::Symlink => {}
        _ => return None,
    }
    match parent.read_through(name) {
        Ok(text) => Some(above.join(path_of_gitfile(&text)??)),
        Err(_) => Some(above.join(name)),
    }
}

/// The directory that a repository takes its settings from, links resolved.
pub(super) fn common_directory(real: &Path, repository: &OpenDirectory) -> Option<PathBuf> {
    let text = repository.read_through("commondir").ok()?;
    real.join(path_of(&text)?).canonicalize().ok()
}

/// Where the settings of a repository lie, of which a path is found: itself, or where the file or the link there leads to.
pub(super) fn directory_of(top: &OpenDirectory, root: &Path, path: &Path) -> PathBuf {
    let named = || {
        let (above, name) = (path.parent()?, path.file_name()?);
        led_to(&top.beneath(above).ok()?, &beneath(root, above), name)
    };
    named().unwrap_or_else(|| beneath(root, path))
}

impl Cleaner<'_> {
    /// Sets a file or a link in place of a `.git` aside that leads to a place where nobody has looked.
    pub(super) fn clean_gitfile(&mut self, path: &Path, text: &str) {
        let Some((parent, name)) = self.parent_of(path) else { return };
        let above = path.parent().unwrap_or(path);
        let target = match parent.kind(&name) {
            // Git resolves the path in a file from where the link to it lies.
            Some(kind @ (FileType::RegularFile | FileType::Symlink)) => {
                match parent.read_through(&name).map(|text| path_of_gitfile(&text)) {
                    Ok(Some(target)) => target,
                    Ok(None) => return,
                    Err(_) if kind == FileType::Symlink => parent.link(&name).map(PathBuf::from),
                    Err(_) => None,
                }
            }
            _ => return,
        };
        let target = target.map(|target| self.root.path.join(above).join(target));
        let known = self.root.files.get(text).and_then(|known| known.gitfile.as_ref());
        let is_known = known == Some(&told_gitfile(&parent, &self.root.path.join(above), &name));
        let leads_to_what_was_there = |target: &PathBuf| {
            let known = self.root.settings.get(text);
            known.is_none_or(|known| risky_settings(target).is_subset(&known.kept))
        };
        let stays = match &target {
            Some(target) => self.is_looked_at(target) || is_known && leads_to_what_was_there(target),
            None => is_known,
        };
        if !stays {
            self.set_aside(above, &parent, &name, "leads to a repository that is not protected");
        } else if !is_known {
            self.clean_tree_beside(path);
        }
    }

    /// Whether the repository at a path is checked here, or commands can write neither to it nor to what its settings name.
    fn is_looked_at(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let is_known = self.known.contains(&real) || self.root.sources.elsewhere.contains(&real);
        is_known || !self.is_writable(&real) && !sources::leads_to(&own_directories(&real), self.writable)
    }

    /// Sets a file aside that takes settings from a place where nobody has looked.
    pub(super) fn clean_common_directory(
        &mut self,
        path: &Path,
        directory: &OpenDirectory,
        known: Option<&KnownFiles>,
    ) {
        let real = self.root.path.join(path);
        if known.is_some_and(|known| known.has_same_common_directory(&real, directory)) {
            return;
        }
        let leads_astray = match directory.kind("commondir") {
            None => false,
            Some(FileType::RegularFile) => {
                let common = directory.read("commondir").ok().and_then(|text| path_of(&text));
                common.is_none_or(|common| {
                    let common = real.join(common);
                    !self.is_looked_at(&common) || self.is_written_by_checkout(path, directory, &common)
                })
            }
            Some(_) => !self.is_own_link(path, directory, OsStr::new("commondir")),
        };
        if leads_astray {
            let why = "leads to settings that are not protected";
            self.set_aside(path, directory, OsStr::new("commondir"), why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_line() {
        let read = |text: &str| path_of(text.as_bytes());
        for text in ["../..\n", "../.."] {
            assert_eq!(read(text), Some("../..".into()));
        }
        for text in ["", "\n", "a\0b", "a\n\n", "a\nb", "a\r\n", "a \n", "a\t"] {
            assert_eq!(read(text), None, "{text:?}");
        }
        assert_eq!(path_of_gitfile(b"gitdir: a b\n"), Some(Some("a b".into())));
        for text in ["gitdir:a", "gitdir: a\0/b", "gitdir: ", "gitdir:"] {
            assert_eq!(path_of_gitfile(text.as_bytes()), Some(None), "{text:?}");
        }
        assert_eq!(path_of_gitfile(b"a file of somebody"), None);
    }
}
