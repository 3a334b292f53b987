//! What deny rules keep from programs, for the sandbox: programs open files without asking.

use super::path::{PathPattern, Roots};
use super::rule::Rule;
use super::starts::DeniedStarts;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What deny rules keep from programs, whatever the programs' names and arguments say: places that they name, and
/// patterns of what is found in a workspace.
#[derive(Debug, Clone, Default)]
pub struct Sealed {
    /// Absolute paths that cannot be read.
    pub hidden: Vec<PathBuf>,
    /// Absolute paths that cannot be changed, or created.
    pub read_only: Vec<PathBuf>,
    /// Programs that do not start.
    pub starts: DeniedStarts,
    sought: Arc<Sought>,
}

/// Patterns, with the rules that they are of.
#[derive(Debug, Default)]
struct Sought {
    unread: Vec<PathPattern>,
    unchanged: Vec<PathPattern>,
    rules: Vec<String>,
    roots: Roots,
}

/// The same rules seal the same.
impl PartialEq for Sealed {
    fn eq(&self, other: &Self) -> bool {
        (&self.hidden, &self.read_only, &self.sought.rules)
            == (&other.hidden, &other.read_only, &other.sought.rules)
            && self.starts.rules().eq(other.starts.rules())
    }
}

impl Eq for Sealed {}

impl Sealed {
    pub(super) fn by(denied: &[Rule], roots: &Roots, starts: DeniedStarts) -> Self {
        let of = |tools: &[&str]| -> Vec<(&Rule, &PathPattern)> {
            let rules = denied.iter().filter(|rule| tools.contains(&rule.tool.as_str()));
            rules.filter_map(|rule| Some((rule, rule.files()?))).collect()
        };
        let (read, write) = (of(&["Read"]), of(&["Edit", "Write"]));
        let places = |all: &[(&Rule, &PathPattern)]| {
            all.iter().filter_map(|(_, pattern)| pattern.place().map(PathBuf::from)).collect()
        };
        let patterns =
            |all: &[(&Rule, &PathPattern)]| all.iter().map(|(_, pattern)| (*pattern).clone()).collect();
        let sought = Sought {
            unread: patterns(&read),
            unchanged: patterns(&write),
            rules: read.iter().chain(&write).map(|(rule, _)| rule.text.clone()).collect(),
            roots: roots.clone(),
        };
        let mut read_only: Vec<PathBuf> = places(&write);
        // What matches everything matches what is not there yet, too.
        let is_all = write.iter().any(|(_, pattern)| pattern.covers(Path::new("."), roots));
        read_only.extend(roots.top().filter(|_| is_all));
        Self { hidden: places(&read), read_only, starts, sought: Arc::new(sought) }
    }

    /// The rules whose patterns may match something beneath a directory.
    pub fn rules_in(&self, directory: &Path) -> Vec<&str> {
        let Sought { unread, unchanged, rules, .. } = &*self.sought;
        let patterns = unread.iter().chain(unchanged);
        let all = patterns.zip(rules).filter(|(pattern, _)| pattern.may_be_in(directory));
        all.map(|(_, rule)| rule.as_str()).collect()
    }

    /// Whether a file cannot be read, or a directory with all that is in it. The path is relative to the workspace if it
    /// is in it, and absolute otherwise.
    pub fn hides(&self, path: &Path, is_directory: bool) -> bool {
        self.sought.any(&self.sought.unread, path, is_directory)
    }

    /// Whether a file that is there cannot be changed, or a directory with all that is in it.
    pub fn protects(&self, path: &Path, is_directory: bool) -> bool {
        self.sought.any(&self.sought.unchanged, path, is_directory)
    }
}

impl Sought {
    fn any(&self, patterns: &[PathPattern], path: &Path, is_directory: bool) -> bool {
        patterns.iter().any(|pattern| {
            pattern.matches(path, &self.roots) || is_directory && pattern.covers(path, &self.roots)
        })
    }
}
