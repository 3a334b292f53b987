//! Finds files whose paths match a pattern.

mod for_model;

use crate::remaining::{PathCounts, Remaining, directory};
use crate::smallest::Smallest;
use beamai_base::Result;
use beamai_policy::PermissionRequest;
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_walk::{
    SearchCoverage, Tally, Visit, Walk, WalkEntry,
    coverage::{Hints, counted},
    globs::PathGlob,
};
use rustix::fs::AtFlags;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Finds files by the pattern of their path.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Glob {
    /// Glob relative to path: "*.md" in the directory itself, "src/**/*.{ts,tsx}" at any depth below src.
    pub pattern: String,
    /// Directory to search in.
    #[serde(default = "super::here")]
    #[schemars(extend("self_evident" = true))]
    pub path: String,
    /// Maximum number of files to return; the first ones in sort order.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000), extend("self_evident" = true))]
    pub limit: usize,
    /// Number of files to skip first.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    pub offset: usize,
    /// modified: newest first.
    #[serde(default)]
    pub sort: Sort,
    /// Include hidden files.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub hidden: bool,
    /// Include ignored files.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub ignored: bool,
    /// Whether notes for models suggest arguments; set by the dialect.
    #[serde(skip)]
    #[schemars(skip)]
    pub hints: Hints,
}

impl Glob {
    /// A call with the defaults, for a tool binding that has no other parameters.
    pub fn plain(pattern: String, path: String) -> Self {
        let (limit, sort) = (PLAIN_LIMIT, Sort::default());
        Self { pattern, path, limit, offset: 0, sort, hidden: false, ignored: false, hints: Hints::Withheld }
    }
}

/// Number of files that a tool without a limit returns.
const PLAIN_LIMIT: usize = 1000;

fn default_limit() -> usize {
    200
}

/// Sort order of the results.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sort {
    /// By path.
    #[default]
    Path,
    /// By time of modification, newest first, then by path.
    Modified,
}

/// What [`Glob`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GlobOutput {
    /// Paths of the files, relative to the workspace.
    pub files: Vec<String>,
    /// Number of matching files, including those beyond the limit.
    pub count: u64,
    /// Whether more files match; continue with offset.
    pub truncated: bool,
    /// Where the files after the listed ones are; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remaining: Option<Remaining>,
    /// What was searched and what was left out.
    pub coverage: SearchCoverage,
}

impl Operation for Glob {
    type Output = GlobOutput;
    const TRAITS: Traits = Traits::SEARCHES;
    const RULE: &'static str = "Glob";

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        super::needs_listing(&self.path, cx)
    }

    fn run(self, cx: &CallContext) -> Result<GlobOutput, Interrupt> {
        let pattern = PathGlob::new(&self.pattern)?;
        let tree = cx.workspace.parse_path(&self.path)?.tree()?;
        let (hidden, ignored) = (self.hidden, self.ignored);
        let walk = Walk { tree: &tree, select: &pattern, hidden, ignored, depth: None, cx };
        let end = self.offset.saturating_add(self.limit);
        let make = || GlobVisitor::new(self.sort, end);
        let (finders, tally) = walk.run(make).finish()?;
        let mut all = GlobVisitor::new(self.sort, end);
        finders.into_iter().for_each(|finder| all.merge(finder));
        let (files, count) = all.found.finish();
        let left = count - files.len() as u64;
        let remaining = (left > 0).then(|| {
            files.iter().for_each(|(_, path)| all.directories.subtract(directory(path), 1));
            all.directories.of_directories(left, |path| tree.display(path))
        });
        Ok(GlobOutput {
            truncated: left > 0,
            remaining,
            files: files.iter().skip(self.offset).map(|(_, path)| tree.display(path)).collect(),
            count,
            coverage: tally.coverage(
                format!("compared {} with the pattern", counted(tally.searched, "file")),
                self.hints,
            ),
        })
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::found(result, call, page)
    }
}

/// Nanoseconds since the epoch, newest first; zero when the order is by path alone.
type Age = Reverse<i128>;

struct GlobVisitor {
    sort: Sort,
    found: Smallest<(Age, Box<[u8]>)>,
    /// Number of files by directory.
    directories: PathCounts,
}

impl GlobVisitor {
    /// Keeps the first `limit` files.
    fn new(sort: Sort, limit: usize) -> Self {
        Self { sort, found: Smallest::new(limit), directories: PathCounts::default() }
    }

    fn merge(&mut self, other: Self) {
        self.found.add(other.found);
        self.directories.merge(other.directories);
    }
}

impl Visit for GlobVisitor {
    const OPENS_FILES: bool = false;

    fn visit(&mut self, entry: &WalkEntry<'_>, tally: &mut Tally) -> Result<()> {
        if tally.is_file(entry.kind) {
            let age = if self.sort == Sort::Modified { modified(entry) } else { Reverse(0) };
            self.found.push((age, entry.path.into()));
            self.directories.add(directory(entry.path), 1);
        }
        Ok(())
    }
}

/// Time of modification; a file that is gone counts as oldest.
fn modified(entry: &WalkEntry<'_>) -> Age {
    let stat = rustix::fs::statat(entry.dir, entry.name, AtFlags::SYMLINK_NOFOLLOW);
    Reverse(
        stat.map_or(i128::MIN, |stat| {
            i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec)
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::Glob;
    use crate::grep::Grep;
    use beamai_base::Reason;
    use beamai_testenv::TestEnv;
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use std::time::{Duration, SystemTime};

    fn files(globbed: &Value) -> Vec<&str> {
        globbed["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap()).collect()
    }

    fn found(env: &TestEnv, pattern: &str) -> Vec<String> {
        files(&env.call::<Glob>(json!({"pattern": pattern}))).into_iter().map(str::to_owned).collect()
    }

    /// Spec 004, scenario "File Pattern Matching".
    #[test]
    fn file_pattern_matching() {
        let env =
            TestEnv::with(&[("main.go", ""), ("pkg/server.go", ""), ("README.md", ""), ("docs/a.md", "")]);
        let globbed = env.call::<Glob>(json!({"pattern": "**/*.go"}));
        assert_eq!(globbed["files"], json!(["main.go", "pkg/server.go"]));
        assert_eq!((&globbed["count"], &globbed["truncated"]), (&json!(2), &json!(false)));
        assert_eq!(found(&env, "*.md"), ["README.md"]);
        let in_docs = env.call::<Glob>(json!({"pattern": "*.md", "path": "docs"}));
        assert_eq!(files(&in_docs), ["docs/a.md"]);
    }

    #[test]
    fn a_limit_cuts_the_list_but_not_the_count() {
        let env = TestEnv::with(&[("a", ""), ("b", ""), ("c", "")]);
        let globbed = env.call::<Glob>(json!({"pattern": "**", "limit": 2}));
        assert_eq!(files(&globbed), ["a", "b"]);
        assert_eq!((&globbed["count"], &globbed["truncated"]), (&json!(3), &json!(true)));
    }

    #[test]
    fn modified_puts_the_newest_first() {
        let env = TestEnv::with(&[("old", ""), ("new", ""), ("mid", "")]);
        for (name, age) in [("old", 300), ("mid", 200), ("new", 100)] {
            let file = std::fs::File::options().write(true).open(env.path(name)).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(age)).unwrap();
        }
        let globbed = env.call::<Glob>(json!({"pattern": "*", "sort": "modified", "limit": 2}));
        assert_eq!(files(&globbed), ["new", "mid"]);
    }

    #[test]
    fn hidden_files_are_found_when_asked_for() {
        let env = TestEnv::with(&[(".github/ci.yml", ""), (".env", ""), ("a.yml", "")]);
        let globbed = env.call::<Glob>(json!({"pattern": "**"}));
        assert_eq!(files(&globbed), ["a.yml"]);
        assert_eq!(globbed["coverage"]["skipped"], json!({"hidden": 2}));
        let globbed = env.call::<Glob>(json!({"pattern": "**", "hidden": true}));
        assert_eq!(files(&globbed), [".env", ".github/ci.yml", "a.yml"]);
        assert_eq!(found(&env, ".github/**"), [".github/ci.yml"]);
        assert_eq!(found(&env, "**/.env"), [".env"]);
    }

    #[test]
    fn links_are_not_followed_and_counted() {
        let env = TestEnv::with(&[("real/a.rs", "")]);
        env.link("real", "dir.rs");
        env.link("..", "real/loop");
        env.link("real/a.rs", "file.rs");
        let globbed = env.call::<Glob>(json!({"pattern": "**/*.rs"}));
        assert_eq!(files(&globbed), ["real/a.rs"]);
        assert_eq!(globbed["coverage"]["skipped"], json!({"links": 3}));
        assert_eq!(globbed["coverage"]["complete"], true);
        // A link given as path is followed, if it stays in the workspace.
        let globbed = env.call::<Glob>(json!({"pattern": "*", "path": "dir.rs"}));
        assert_eq!(files(&globbed), ["real/a.rs"]);
        env.link("/etc", "etc");
        let error = env.try_call::<Glob>(json!({"pattern": "*", "path": "etc"})).unwrap_err();
        assert_eq!(error.reason, Reason::OutsideWorkspace);
    }

    #[test]
    fn a_pattern_that_leads_through_a_link_says_that_it_was_not_followed() {
        let env = TestEnv::with(&[("real/a.rs", "x\n"), ("other.md", ""), (".gitignore", "out\n")]);
        env.link("real", "dir");
        env.link("/etc", "etc");
        env.link("other.md", "file");
        env.link("nowhere", "dangling");
        let skipped = |found: Value| found["coverage"]["skipped"].clone();
        for pattern in ["dir/*", "dir/**/*.rs", "etc/*", "d*/a.rs"] {
            assert_eq!(
                skipped(env.call::<Glob>(json!({"pattern": pattern}))),
                json!({"links": 1}),
                "{pattern}"
            );
        }
        for pattern in ["file/*", "dangling/*", "other/*", "*.md"] {
            assert_eq!(skipped(env.call::<Glob>(json!({"pattern": pattern}))), json!({}), "{pattern}");
        }
        assert_eq!(skipped(env.call::<Glob>(json!({"pattern": "**/*.rs"}))), json!({"links": 2}));
        // A `NameFilter` cannot tell in which directories it might match.
        assert_eq!(
            skipped(env.call::<Grep>(json!({"pattern": "x", "glob": "dir/*.rs"}))),
            json!({"links": 2})
        );
        let note = env.call::<Glob>(json!({"pattern": "dir/*"}))["coverage"]["note"].clone();
        assert!(note.as_str().unwrap().contains("1 symbolic links, not followed"), "{note}");
    }

    #[test]
    fn a_workspace_whose_path_is_taken_by_another_directory_stays_the_one_it_was() {
        let home = tempfile::tempdir().unwrap();
        let env = TestEnv::with(&[("mine", "")]);
        let at = env.dir.path().to_owned();
        std::fs::rename(&at, home.path().join("moved")).unwrap();
        std::fs::create_dir(&at).unwrap();
        std::fs::write(at.join("theirs"), "").unwrap();
        assert_eq!(found(&env, "**"), ["mine"]);
    }

    #[test]
    fn a_session_has_its_temporary_directory_too() {
        let mut env = TestEnv::with(&[("mine", "")]);
        let temp = TestEnv::with(&[("deep/log", "x\n")]);
        env.cx.workspace = env.cx.workspace.with_temp(temp.dir.path()).unwrap();
        let path = temp.path("deep").display().to_string();
        let log = temp.path("deep/log").display().to_string();
        let globbed = env.call::<Glob>(json!({"pattern": "*", "path": path}));
        assert_eq!(files(&globbed), [log.as_str()]);
        let grepped = env.call::<Grep>(json!({"pattern": "x", "path": log}));
        assert_eq!(grepped["files"], json!([log]));
    }

    #[test]
    fn what_lies_too_deep_for_a_path_is_said_to_be_left_out() {
        let env = TestEnv::with(&[("top", "")]);
        let name = "d".repeat(250);
        let mut dir = rustix::fs::open(env.dir.path(), rustix::fs::OFlags::PATH, 0.into()).unwrap();
        for _ in 0..20 {
            rustix::fs::mkdirat(&dir, &name, 0o755.into()).unwrap();
            dir = rustix::fs::openat(&dir, &name, rustix::fs::OFlags::PATH, 0.into()).unwrap();
        }
        let globbed = env.call::<Glob>(json!({"pattern": "**"}));
        assert_eq!(files(&globbed), ["top"]);
        assert_eq!(globbed["coverage"]["skipped"], json!({"unreadable": 1}));
        assert_eq!(globbed["coverage"]["complete"], false);
        assert!(globbed["coverage"]["note"].as_str().unwrap().contains("file name too long"));
    }

    #[test]
    fn a_call_that_is_over_ends_the_walk() {
        let mut env = TestEnv::with(&[("a", "")]);
        env.cx.deadline = Some(std::time::Instant::now());
        let error = env.try_call::<Glob>(json!({"pattern": "**"})).unwrap_err();
        assert_eq!((error.reason, &error.details["searched"]), (Reason::Timeout, &json!(0)));
        env.cx.cancel.cancel();
        let error = env.try_call::<Glob>(json!({"pattern": "**"})).unwrap_err();
        assert_eq!(error.reason, Reason::Cancelled);
    }

    #[test]
    fn a_wrong_call_says_what_to_do() {
        let env = TestEnv::with(&[("a", "")]);
        let reason = |args: Value| env.try_call::<Glob>(args).unwrap_err().reason;
        assert_eq!(reason(json!({"pattern": "[a"})), Reason::InvalidPattern);
        assert_eq!(reason(json!({"pattern": "/etc/*"})), Reason::InvalidPattern);
        assert_eq!(reason(json!({"pattern": "../*"})), Reason::InvalidPattern);
        assert_eq!(reason(json!({"pattern": "*", "path": "a"})), Reason::NotADirectory);
        assert_eq!(reason(json!({"pattern": "*", "limit": 0})), Reason::InvalidArgument);
        assert_eq!(reason(json!({"pattern": "*", "sort": "size"})), Reason::InvalidArgument);
        assert_eq!(reason(json!({})), Reason::InvalidArgument);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        #[test]
        fn it_finds_what_trying_the_pattern_on_every_path_finds(
            paths in proptest::collection::btree_set("[ab]{1,2}(/[ab]{1,2}){0,3}\\.(rs|md)", 0..40),
            pattern in "(\\*\\*|a\\*|\\*|b)(/(\\*\\*|[ab]\\*|\\{a,b\\}\\*)){0,3}(/\\*\\.rs)?",
        ) {
            let env = TestEnv::new();
            paths.iter().for_each(|path| env.file(path, ""));
            let glob = globset::GlobBuilder::new(&pattern).literal_separator(true).build().unwrap();
            let matcher = glob.compile_matcher();
            let expected: Vec<String> = paths.iter().filter(|path| matcher.is_match(path)).cloned().collect();
            prop_assert_eq!(found(&env, &pattern), expected);
        }
    }
}
