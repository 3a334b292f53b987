//! What deny rules keep from programs, for the sandbox: programs open files without asking.

use super::path::{PathPattern, Roots};
use super::pattern::Pattern;
use super::rule::Rule;
use crate::workspace::Workspace;
use rustix::fs::{Dir, FileType};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Most directories of a workspace that are looked into for what globs match, nearest first.
const MOST_DIRECTORIES: usize = 2_000;
/// Most paths that globs seal.
const MOST_MATCHES: usize = 1_000;

/// Absolute paths that deny rules keep from programs, whatever the programs' names and arguments say.
#[derive(Debug, Clone, Default)]
pub struct Sealed {
    /// Paths that cannot be read.
    pub hidden: Vec<PathBuf>,
    /// Paths that cannot be changed, or created.
    pub read_only: Vec<PathBuf>,
    /// Rules with something special in their patterns: what they match has to be looked for.
    globs: Vec<Glob>,
    roots: Roots,
}

#[derive(Debug, Clone)]
struct Glob {
    rule: String,
    pattern: PathPattern,
    hides: bool,
}

/// By the rules: compiled patterns have no equality.
impl PartialEq for Sealed {
    fn eq(&self, other: &Self) -> bool {
        let rules = |sealed: &Self| sealed.globs.iter().map(|glob| glob.rule.clone()).collect::<Vec<_>>();
        (&self.hidden, &self.read_only, rules(self)) == (&other.hidden, &other.read_only, rules(other))
    }
}

impl Eq for Sealed {}

impl Sealed {
    pub(super) fn by(denied: &[Rule], roots: &Roots) -> Self {
        let mut sealed = Self { roots: roots.clone(), ..Self::default() };
        for rule in denied {
            let (Some(Pattern::Path(pattern)), hides) = (&rule.pattern, rule.tool == "Read") else {
                continue;
            };
            if !hides && !["Edit", "Write"].contains(&rule.tool.as_str()) {
                continue;
            }
            match pattern.place() {
                Some(place) if hides => sealed.hidden.push(place.into()),
                Some(place) => sealed.read_only.push(place.into()),
                None => {}
            }
            // A name without a slash means more than the one at the top.
            if pattern.is_wide() {
                sealed.globs.push(Glob { rule: rule.text.clone(), pattern: pattern.clone(), hides });
            }
        }
        sealed
    }

    /// The same with what globs match in the workspace now. Nothing is looked for below what matches; links are left
    /// out, for what they lead to is found by itself.
    #[must_use]
    pub fn found_in(&self, workspace: &Workspace) -> Self {
        let mut found = Self { globs: Vec::new(), ..self.clone() };
        if self.globs.is_empty() {
            return found;
        }
        let Ok(tree) = workspace.top().tree() else { return found };
        let mut queue = VecDeque::from([PathBuf::new()]);
        let (mut seen, mut matches) = (0, 0);
        while let Some(directory) = queue.pop_front().filter(|_| seen < MOST_DIRECTORIES) {
            seen += 1;
            let Ok(entries) = tree.open_dir(directory.as_os_str().as_bytes()).and_then(Dir::new) else {
                continue;
            };
            for entry in entries.flatten() {
                let name = OsStr::from_bytes(entry.file_name().to_bytes());
                if name == "." || name == ".." || entry.file_type() == FileType::Symlink {
                    continue;
                }
                let path = directory.join(name);
                let is_matched = matches < MOST_MATCHES && self.seal(&path, workspace.path(), &mut found);
                matches += usize::from(is_matched);
                if !is_matched && entry.file_type() == FileType::Directory {
                    queue.push_back(path);
                }
            }
        }
        found.hidden.sort();
        found.read_only.sort();
        found
    }

    /// Whether a glob matches a path, which is added then; below one that is hidden there is nothing to be kept.
    fn seal(&self, path: &Path, workspace: &Path, found: &mut Self) -> bool {
        let holds = |hides: bool| {
            let mut globs = self.globs.iter().filter(|glob| glob.hides == hides);
            globs.any(|glob| glob.pattern.matches(path, &self.roots))
        };
        let (is_hidden, is_kept) = (holds(true), holds(false));
        if is_hidden {
            found.hidden.push(workspace.join(path));
        } else if is_kept {
            found.read_only.push(workspace.join(path));
        }
        is_hidden
    }
}
