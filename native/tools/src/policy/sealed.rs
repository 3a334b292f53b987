//! What deny rules name literally, for the sandbox: programs open files without asking.

use super::pattern::Pattern;
use super::rule::Rule;
use std::path::PathBuf;

/// Absolute paths that deny rules keep from programs, whatever the programs' names and arguments say. Globs are not in
/// here: what they match changes while a program runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sealed {
    /// Paths that cannot be read.
    pub hidden: Vec<PathBuf>,
    /// Paths that cannot be changed, or created.
    pub read_only: Vec<PathBuf>,
}

impl Sealed {
    pub(super) fn by(denied: &[Rule]) -> Self {
        let places = |tools: &[&str]| {
            let rules = denied.iter().filter(|rule| tools.contains(&rule.tool.as_str()));
            rules.filter_map(place).collect()
        };
        Self { hidden: places(&["Read"]), read_only: places(&["Edit", "Write"]) }
    }
}

fn place(rule: &Rule) -> Option<PathBuf> {
    match &rule.pattern {
        Some(Pattern::Path(pattern)) => pattern.place().map(PathBuf::from),
        _ => None,
    }
}
