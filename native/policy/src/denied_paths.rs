//! The paths that rules keep from programs, for the sandbox to enforce: programs open files without asking.

use super::Policy;
use super::lifted_paths::LiftedPaths;
use super::pattern::RulePattern;
use super::rule::PermissionRule;
use super::starts::DeniedStarts;
use beamai_path_rules::{PathRoots, PathRule};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The paths that deny rules keep from programs, whatever their names and arguments: paths that rules name, and patterns
/// for the contents of a workspace.
#[derive(Debug, Clone, Default)]
pub struct DeniedPaths {
    /// Absolute paths that cannot be read.
    pub hidden: Vec<PathBuf>,
    /// Absolute paths that cannot be changed, or created.
    pub read_only: Vec<PathBuf>,
    /// Programs that do not start.
    pub starts: DeniedStarts,
    lifted: LiftedPaths,
    patterns: Arc<DeniedPatterns>,
}

/// Patterns with the text of their rules.
#[derive(Debug, Default)]
struct DeniedPatterns {
    unread: Vec<PathRule>,
    unchanged: Vec<PathRule>,
    rules: Vec<String>,
    roots: PathRoots,
}

/// Two values are equal if they come from the same rules, and these lead to the same paths.
impl PartialEq for DeniedPaths {
    fn eq(&self, other: &Self) -> bool {
        let patterns = |denied: &Self| -> [Vec<PathRule>; 2] {
            [denied.patterns.unread.clone(), denied.patterns.unchanged.clone()]
        };
        (&self.hidden, &self.read_only) == (&other.hidden, &other.read_only)
            && self.lifted == other.lifted
            && patterns(self) == patterns(other)
            && self.starts.rules().eq(other.starts.rules())
    }
}

impl Eq for DeniedPaths {}

impl DeniedPaths {
    /// The paths that deny rules hide and protect from commands.
    pub(super) fn of_commands(policy: &Policy) -> Self {
        Self::by(policy, files(&policy.deny, &["Read"]))
    }

    /// The same for servers that a tool uses, such as language servers. A server also reads files that no call names,
    /// so the files of ask rules are hidden, too.
    pub(super) fn of_servers(policy: &Policy, tool: &str) -> Self {
        let rules = about_reading(&policy.deny, tool).chain(about_reading(&policy.ask, tool));
        Self::by(policy, rules.collect())
    }

    fn by(policy: &Policy, read: Vec<(&PermissionRule, &PathRule)>) -> Self {
        let (roots, write) = (&policy.roots, files(&policy.deny, &["Edit", "Write"]));
        let places = |all: &[(&PermissionRule, &PathRule)]| {
            all.iter().flat_map(|(_, pattern)| pattern.places(roots)).collect()
        };
        let patterns = |all: &[(&PermissionRule, &PathRule)]| {
            all.iter().map(|(_, pattern)| (*pattern).clone()).collect()
        };
        let patterns = DeniedPatterns {
            unread: patterns(&read),
            unchanged: patterns(&write),
            rules: read.iter().chain(&write).map(|(rule, _)| rule.text.clone()).collect(),
            roots: roots.clone(),
        };
        let mut read_only: Vec<PathBuf> = places(&write);
        // A pattern that matches everything also matches files that do not exist yet.
        let is_all = write.iter().any(|(_, pattern)| pattern.covers(Path::new("."), roots));
        read_only.extend(roots.top().filter(|_| is_all));
        Self {
            hidden: places(&read),
            read_only,
            starts: policy.denied_starts.clone(),
            lifted: Default::default(),
            patterns: Arc::new(patterns),
        }
    }

    /// The same where the host shows some absolute paths, and makes others writable. That lifts the rules that match
    /// such a path, and no others within it.
    #[must_use]
    pub fn lifted_by(&self, readable: &[PathBuf], writable: &[PathBuf]) -> Self {
        Self { lifted: LiftedPaths::new(readable, writable, &self.patterns.roots), ..self.clone() }
    }

    /// Whether the host shows exactly this path, or makes it writable.
    pub fn is_lifted(&self, path: &Path, to_write: bool) -> bool {
        self.lifted.contains(path, to_write)
    }

    /// The rules whose patterns may match something beneath a directory.
    pub fn rules_in(&self, directory: &Path) -> Vec<&str> {
        let DeniedPatterns { unread, unchanged, rules, .. } = &*self.patterns;
        let patterns = unread.iter().chain(unchanged);
        let all = patterns.zip(rules).filter(|(pattern, _)| pattern.may_be_in(directory));
        all.map(|(_, rule)| rule.as_str()).collect()
    }

    /// The patterns that hold inside a `.git`: those that name it.
    #[must_use]
    pub fn within_repositories(&self) -> Self {
        let named = |patterns: &[PathRule]| -> Vec<PathRule> {
            patterns.iter().filter(|pattern| pattern.names_repository()).cloned().collect()
        };
        let patterns = DeniedPatterns {
            unread: named(&self.patterns.unread),
            unchanged: named(&self.patterns.unchanged),
            rules: Vec::new(),
            roots: self.patterns.roots.clone(),
        };
        Self { patterns: Arc::new(patterns), lifted: self.lifted.clone(), ..Self::default() }
    }

    /// Whether it matches nothing.
    pub fn is_empty(&self) -> bool {
        self.patterns.unread.is_empty() && self.patterns.unchanged.is_empty()
    }

    /// Whether a file cannot be read, or a directory with all that is in it. The path is relative to the workspace if it
    /// is in it, and absolute otherwise.
    pub fn hides(&self, path: &Path, is_directory: bool) -> bool {
        self.any(&self.patterns.unread, false, path, is_directory)
    }

    /// Whether an absolute path, or a directory above it, cannot be read.
    pub fn hides_at_or_above(&self, path: &Path) -> bool {
        let seen = self.patterns.roots.meant(Path::new(""), path);
        // The workspace itself has no name.
        let above =
            seen.ancestors().map(|path| if path.as_os_str().is_empty() { Path::new(".") } else { path });
        above.into_iter().any(|path| self.hides(path, true))
    }

    /// Whether a file that is there cannot be changed, or a directory with all that is in it.
    pub fn protects(&self, path: &Path, is_directory: bool) -> bool {
        self.any(&self.patterns.unchanged, true, path, is_directory)
    }

    /// Whether any object that git may create in this directory of objects cannot be changed.
    pub fn protects_objects(&self, objects: &Path) -> bool {
        let roots = &self.patterns.roots;
        self.patterns.unchanged.iter().any(|pattern| {
            pattern.may_match_object(objects, roots) && !self.lifted.lifts(pattern, objects, true, roots)
        })
    }

    /// Whether any pattern matches a path and is not lifted there.
    fn any(&self, patterns: &[PathRule], to_write: bool, path: &Path, is_directory: bool) -> bool {
        let roots = &self.patterns.roots;
        patterns.iter().any(|pattern| {
            (pattern.matches(path, roots) || is_directory && pattern.covers(path, roots))
                && !self.lifted.lifts(pattern, path, to_write, roots)
        })
    }
}

/// The rules of these tools about files, with their patterns. A rule without a pattern applies to every file.
fn files<'r>(rules: &'r [PermissionRule], tools: &[&str]) -> Vec<(&'r PermissionRule, &'r PathRule)> {
    let rules = rules.iter().filter(|rule| tools.contains(&rule.tool.as_str()));
    rules.filter_map(|rule| Some((rule, rule.files()?))).collect()
}

/// The rules with a pattern for files that are about reading or about a tool, with their patterns.
pub(super) fn about_reading<'r>(
    rules: &'r [PermissionRule],
    tool: &'r str,
) -> impl Iterator<Item = (&'r PermissionRule, &'r PathRule)> {
    let rules = rules.iter().filter(move |rule| rule.tool == "Read" || rule.tool == tool);
    rules.filter_map(|rule| match &rule.pattern {
        Some(RulePattern::Path(pattern)) => Some((rule, pattern)),
        _ => None,
    })
}
