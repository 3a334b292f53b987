//! The way that a path takes: its links, and what lies at each name of it.

use super::directory::OpenDirectory;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};

/// Maximum number of links that the Linux kernel follows in a path.
const MOST_LINKS: usize = 40;

/// Targets of links at the time when commands started that still run. One of them may have replaced a link since.
pub(super) type KnownLinks = HashMap<PathBuf, OsString>;

/// How a path is resolved.
#[derive(Debug)]
pub(super) struct Way {
    /// The names that are looked up, in order.
    pub(super) steps: Vec<Step>,
    /// Where the path leads: absolute, and without links. It may not exist.
    pub(super) end: PathBuf,
}

/// One name on the way.
#[derive(Debug)]
pub(super) struct Step {
    /// Absolute, and without links but possibly the last name.
    pub(super) path: PathBuf,
    pub(super) entry: Entry,
}

/// What lies at a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Entry {
    Nothing,
    Directory,
    Link(OsString),
    Other,
}

impl Way {
    /// Whether it leads through `/proc` or `/dev`, where a name such as `/proc/self/cwd` is another place for each process.
    pub(super) fn depends_on_process(&self) -> bool {
        self.steps.iter().any(|step| ["/proc", "/dev"].iter().any(|top| step.path.starts_with(top)))
    }

    /// The way of an absolute path.
    pub(super) fn of(path: &Path, links: &KnownLinks) -> Self {
        let mut rest: Vec<OsString> = names(path);
        let (mut way, mut followed) = (Self { steps: Vec::new(), end: PathBuf::from("/") }, 0);
        while let Some(name) = rest.pop() {
            match Path::new(&name).components().next() {
                None | Some(Component::CurDir | Component::Prefix(_)) => {}
                Some(Component::RootDir) => way.end = PathBuf::from("/"),
                Some(Component::ParentDir) => _ = way.end.pop(),
                Some(Component::Normal(name)) => {
                    let path = way.end.join(name);
                    let entry =
                        links.get(&path).map_or_else(|| Entry::at(&path), |to| Entry::Link(to.clone()));
                    match &entry {
                        Entry::Link(target) if followed < MOST_LINKS => {
                            followed += 1;
                            rest.extend(names(Path::new(target)));
                        }
                        _ => way.end.push(name),
                    }
                    way.steps.push(Step { path, entry });
                }
            }
        }
        way
    }

    pub(super) fn exists(&self) -> bool {
        self.steps.last().is_none_or(|step| step.entry != Entry::Nothing)
    }

    pub(super) fn is_directory(&self) -> bool {
        self.steps.last().is_none_or(|step| step.entry == Entry::Directory)
    }
}

/// The components of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
}

impl Entry {
    fn at(path: &Path) -> Self {
        let Ok(found) = std::fs::symlink_metadata(path) else { return Self::Nothing };
        match (found.is_dir(), found.is_symlink()) {
            (true, _) => Self::Directory,
            (_, true) => std::fs::read_link(path).map_or(Self::Nothing, |to| Self::Link(to.into())),
            _ => Self::Other,
        }
    }

    /// What lies at a name now.
    pub(super) fn in_directory(directory: &OpenDirectory, name: &OsStr) -> Self {
        match directory.kind(name) {
            None => Self::Nothing,
            Some(FileType::Directory) => Self::Directory,
            Some(FileType::Symlink) => directory.link(name).map_or(Self::Nothing, Self::Link),
            Some(_) => Self::Other,
        }
    }
}

/// Opens the directory of a step, and returns the name in it.
pub(super) fn open_parent(path: &Path) -> Result<(OpenDirectory, OsString), Errno> {
    let parent = path.parent().and_then(|parent| parent.strip_prefix("/").ok()).ok_or(Errno::INVAL)?;
    let name = path.file_name().ok_or(Errno::INVAL)?;
    Ok((OpenDirectory::root(Path::new("/"))?.beneath(parent)?, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_proc_or_dev_is_another_place_for_each_process() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/proc/self/cwd/hooks", dir.path().join("link")).unwrap();
        let depends = |path: &Path| Way::of(path, &KnownLinks::new()).depends_on_process();
        assert!(depends(&dir.path().join("link")) && depends(Path::new("/dev/fd/../cwd")));
        assert!(!depends(dir.path()) && !depends(Path::new("/process/x")));
    }
}
