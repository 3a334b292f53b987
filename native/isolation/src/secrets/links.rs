//! The links that a path leads through.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Maximum number of links that the Linux kernel follows in a path.
const MOST_LINKS: usize = 40;

/// The way that an absolute path takes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PathWay {
    /// The links in it, and the directories that it leaves by `..`, by paths without links before the last name. Without one of
    /// them, it leads nowhere.
    pub(super) steps: Vec<PathBuf>,
    /// Where it leads: without links. It may not exist.
    pub(super) end: PathBuf,
}

impl PathWay {
    pub(super) fn of(path: &Path) -> Self {
        let (mut way, mut links) = (Self { steps: Vec::new(), end: PathBuf::from("/") }, 0);
        let mut rest = names(path);
        while let Some(name) = rest.pop() {
            if name == ".." {
                way.steps.push(way.end.clone());
                way.end.pop();
                continue;
            }
            let next = way.end.join(name);
            match std::fs::read_link(&next) {
                Ok(target) if links < MOST_LINKS => {
                    links += 1;
                    way.steps.push(next);
                    if target.is_absolute() {
                        way.end = PathBuf::from("/");
                    }
                    rest.extend(names(&target));
                }
                _ => way.end = next,
            }
        }
        way
    }

    /// The directory on it that may not be searched, so that nobody knows what lies in it.
    pub(super) fn closed(&self) -> Option<&Path> {
        self.end.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok())
    }
}

/// The names of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    let all = path.components().rev();
    let names = all.filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.map(|part| part.as_os_str().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_on_the_way_are_found_in_order_and_a_circle_ends() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("dotfiles/v2/ssh")).unwrap();
        symlink("v2", home.join("dotfiles/current")).unwrap();
        symlink("ssh", home.join(".ssh")).unwrap();
        symlink("dotfiles/../dotfiles/current/ssh", home.join("ssh")).unwrap();
        symlink("circle", home.join("circle")).unwrap();
        let within = |paths: &[&str]| paths.iter().map(|path| home.join(path)).collect::<Vec<_>>();
        let expected = within(&[".ssh", "ssh", "dotfiles", "dotfiles/current"]);
        let way = PathWay::of(&home.join(".ssh/key"));
        assert_eq!((way.steps, way.end), (expected.clone(), home.join("dotfiles/v2/ssh/key")));
        assert_eq!(PathWay::of(&home.join(".ssh")).steps, expected);
        assert!(PathWay::of(&home.join("dotfiles/v2")).steps.is_empty());
        assert_eq!(PathWay::of(&home.join("circle")).steps.len(), MOST_LINKS);
    }
}
