//! Glob patterns as arguments: validated, errors explained, and used to prune directories early.

use crate::Select;
use beamai_base::{Reason, Result, ToolError, excerpt};
use globset::{Glob, GlobBuilder, GlobMatcher, GlobSet, GlobSetBuilder};
use ignore::overrides::{Override, OverrideBuilder};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Maximum length of a pattern, in bytes.
const MAX_BYTES: usize = 4096;
/// Worded for tools with an argument for the directory and for those without.
const RELATIVE: &str = "write it relative to the directory that is searched";
/// Maximum nesting of braces; globset's parser recurses once per level.
const MAX_NESTING: usize = 16;

/// Whether a pattern is short and flat enough to compile on any stack.
pub fn is_simple(pattern: &str) -> bool {
    let mut depth = 0usize;
    let open = pattern.bytes().map(|byte| {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth
    });
    open.max().unwrap_or(0) <= MAX_NESTING && pattern.len() <= MAX_BYTES
}

/// Bytes as the path type of globset and ignore.
pub fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

fn invalid(pattern: &str, why: &str) -> ToolError {
    ToolError::new(Reason::InvalidPattern, format!("the glob {:?} is not valid: {why}", excerpt(pattern)))
        .with("pattern", pattern)
}

/// The pattern without redundant parts, if it is usable.
fn checked(pattern: &str) -> Result<String> {
    if pattern.is_empty() {
        return Err(invalid(pattern, "it is empty; use \"**\" for every file"));
    }
    if !is_simple(pattern) {
        return Err(invalid(pattern, "it is too long or its braces are nested too deep; use several calls"));
    }
    if pattern.split('/').any(|part| part == "..") {
        return Err(invalid(pattern, &format!("it has a \"..\" part; {RELATIVE}")));
    }
    let mut clean = pattern.trim_start_matches("./").to_owned();
    while clean.contains("//") {
        clean = clean.replace("//", "/");
    }
    Ok(clean)
}

fn parsed(pattern: &str, part: &str) -> Result<Glob> {
    let mut glob = GlobBuilder::new(part);
    glob.literal_separator(true).backslash_escape(true).empty_alternates(true).build().map_err(|error| {
        let why = format!("{}; write \\ before a character that is meant literally", error.kind());
        invalid(pattern, &why)
    })
}

/// A pattern for relative paths: `*` and `?` match within a name, `**` crosses directories.
#[derive(Debug, Clone)]
pub struct PathGlob {
    /// A set of one pattern: unlike a matcher, a set has fast paths for suffixes and literal names.
    whole: GlobSet,
    /// Matchers for the first directory names of a path.
    steps: Vec<GlobMatcher>,
    /// Whether a path must have exactly as many names as there are steps.
    is_exact: bool,
    dotted: GlobSet,
}

impl PathGlob {
    /// # Errors
    /// `invalid_pattern` that explains the fault.
    pub fn new(pattern: &str) -> Result<Self> {
        let clean = checked(pattern)?;
        if clean.starts_with('/') {
            return Err(invalid(pattern, &format!("it is absolute; {RELATIVE}")));
        }
        if clean.ends_with('/') {
            return Err(invalid(pattern, &format!("it ends in /; use \"{clean}**\" for the files in there")));
        }
        let parts = parts(&clean);
        let fixed = parts.iter().map_while(|part| part.filter(|part| *part != "**"));
        let steps: Vec<_> = fixed.map_while(|part| parsed(pattern, part).ok()).collect();
        let steps: Vec<_> = steps.iter().map(Glob::compile_matcher).collect();
        let is_exact = steps.len() == parts.len();
        let whole = GlobSetBuilder::new().add(parsed(pattern, &clean)?).build();
        let whole = whole.map_err(|error| invalid(pattern, &error.kind().to_string()))?;
        Ok(Self { whole, steps, is_exact, dotted: dotted(&clean) })
    }

    /// Whether the pattern matches a path.
    pub fn matches(&self, path: &[u8]) -> bool {
        self.whole.is_match(as_path(path))
    }

    /// Whether paths in a directory can match, given that its parent directories passed.
    pub fn enters(&self, path: &[u8]) -> bool {
        let depth = path.iter().filter(|byte| **byte == b'/').count();
        let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        match self.steps.get(depth) {
            Some(_) if self.is_exact && depth + 1 == self.steps.len() => false,
            Some(step) => step.is_match(as_path(name)),
            None => !self.is_exact,
        }
    }

    /// Whether the pattern names this hidden file with an explicit dot.
    pub fn names_hidden(&self, name: &[u8]) -> bool {
        self.dotted.is_match(as_path(name))
    }
}

/// The parts between slashes; `None` for a part with a slash inside braces or a class.
fn parts(pattern: &str) -> Vec<Option<&str>> {
    let is_plain = |part: &&str| {
        let count = |open: char, close: char| part.matches(open).count() == part.matches(close).count();
        let has = |any: &[char]| part.contains(any);
        count('{', '}') && count('[', ']') && !has(&['\\']) && !(has(&['[']) && has(&['{', '}']))
    };
    pattern.split('/').map(|part| Some(part).filter(is_plain)).collect()
}

/// The parts of a pattern that begin with a dot.
fn dotted(pattern: &str) -> GlobSet {
    let mut set = GlobSetBuilder::new();
    for part in pattern.split('/').filter(|part| part.starts_with('.') || part.starts_with("\\.")) {
        // A part that is invalid by itself, as with a slash in braces, matches no hidden name.
        if let Ok(glob) = GlobBuilder::new(part).literal_separator(true).build() {
            set.add(glob);
        }
    }
    set.build().unwrap_or_else(|_| GlobSet::empty())
}

/// A filter like ripgrep's `--glob`: without a slash it matches at any depth, `!` negates it.
#[derive(Debug, Clone)]
pub struct NameFilter {
    globs: Override,
    dotted: GlobSet,
}

impl NameFilter {
    /// # Errors
    /// `invalid_pattern` that explains the fault.
    pub fn new(pattern: &str) -> Result<Self> {
        let clean = checked(pattern)?;
        let fail = |error: ignore::Error| match error {
            ignore::Error::Glob { err, .. } => invalid(pattern, &err),
            other => invalid(pattern, &other.to_string()),
        };
        let mut builder = OverrideBuilder::new("");
        builder.add(&clean).map_err(fail)?;
        let dotted = if clean.starts_with('!') { GlobSet::empty() } else { dotted(&clean) };
        Ok(Self { globs: builder.build().map_err(fail)?, dotted })
    }

    /// Whether a file, or something in a directory, can match.
    pub fn wants(&self, path: &[u8], is_dir: bool) -> bool {
        !self.globs.matched(as_path(path), is_dir).is_ignore()
    }

    /// As [`PathGlob::names_hidden`].
    pub fn names_hidden(&self, name: &[u8]) -> bool {
        self.dotted.is_match(as_path(name))
    }
}

impl Select for PathGlob {
    fn file(&self, path: &[u8]) -> bool {
        self.matches(path)
    }

    fn directory(&self, path: &[u8]) -> bool {
        self.enters(path)
    }

    fn names_hidden(&self, name: &[u8]) -> bool {
        self.names_hidden(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(text: &str) -> PathGlob {
        PathGlob::new(text).unwrap()
    }

    fn fault(text: &str) -> String {
        let error = PathGlob::new(text).unwrap_err();
        assert_eq!(error.reason, Reason::InvalidPattern);
        error.message
    }

    #[test]
    fn a_star_stays_in_a_directory_and_two_cross() {
        assert!(pattern("*.md").matches(b"a.md") && !pattern("*.md").matches(b"docs/a.md"));
        assert!(pattern("**/*.md").matches(b"a.md") && pattern("**/*.md").matches(b"docs/x/a.md"));
        assert!(pattern("src/**").matches(b"src/a/b.rs") && !pattern("src/**").matches(b"lib/a"));
        assert!(pattern("*.{rs,toml}").matches(b"a.toml") && pattern("[ab].c").matches(b"b.c"));
        assert!(pattern("./src//a?.rs").matches(b"src/ab.rs"));
    }

    #[test]
    fn a_pattern_that_leads_elsewhere_is_told_where_patterns_begin() {
        for (text, part) in [("/etc/*", "it is absolute; "), ("../x", "it has a \"..\" part; ")] {
            let said = fault(text);
            // Not every tool that takes a pattern has an argument for the directory.
            assert!(
                said.contains(part) && said.contains("relative to the directory that is searched"),
                "{said}"
            );
            assert!(!said.contains("path"), "{said}");
        }
    }

    #[test]
    fn directories_that_cannot_match_are_not_entered() {
        let enters = |text: &str, dir: &str| pattern(text).enters(dir.as_bytes());
        assert!(enters("src/*/x.rs", "src") && !enters("src/*/x.rs", "lib"));
        assert!(enters("src/*/x.rs", "src/any") && !enters("src/*/x.rs", "src/any/deeper"));
        assert!(!enters("*.md", "docs"));
        assert!(enters("src/**/x.rs", "src/a/b/c") && !enters("src/**/x.rs", "docs"));
        assert!(enters("{a,b/c}/d", "b") && enters("{a,b/c}/d", "b/c"));
    }

    #[test]
    fn a_wrong_pattern_is_explained() {
        assert!(fault("").contains("empty"));
        assert!(fault("/etc/*").contains("absolute"));
        assert!(fault("a/../b").contains("\"..\""));
        assert!(fault("src/").contains("use \"src/**\""));
        assert!(fault("[ab").contains("unclosed character class"));
        assert!(fault("{a,b").contains("unclosed alternate group"));
        assert!(fault(&"{".repeat(100_000)).contains("nested too deep"));
        assert!(NameFilter::new("[ab").unwrap_err().message.contains("unclosed character class"));
    }

    #[test]
    fn a_filter_holds_at_any_depth_unless_it_has_a_slash() {
        let wants = |glob: &str, path: &str| NameFilter::new(glob).unwrap().wants(path.as_bytes(), false);
        assert!(wants("*.go", "a/b.go") && !wants("*.go", "a/b.rs"));
        assert!(wants("src/*.go", "src/b.go") && !wants("src/*.go", "x/src/b.go"));
        assert!(wants("!*.go", "a/b.rs") && !wants("!*.go", "a/b.go"));
    }

    proptest! {
        #[test]
        fn whatever_matches_lies_in_directories_that_are_entered(
            text in "(\\*\\*|\\*|a|b|[ab]|\\{a,b\\}|\\{a,b/a\\}|\\{\\*\\*,a\\}|a\\*)(/(\\*\\*|\\*|a|b|\\?|\\{a/b,c\\}|\\*b)){0,4}",
            path in "[abc]{1,2}(/[abc]{1,2}){0,4}",
        ) {
            let pattern = pattern(&text);
            if pattern.matches(path.as_bytes()) {
                for (slash, _) in path.match_indices('/') {
                    prop_assert!(pattern.enters(&path.as_bytes()[..slash]), "{} {}", text, &path[..slash]);
                }
            }
        }
    }
}
