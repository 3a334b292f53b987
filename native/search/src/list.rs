//! Lists the entries of a directory.

mod for_model;

use crate::smallest::Smallest;
use beamai_base::Result;
use beamai_policy::PermissionRequest;
use beamai_tool::{
    CallContext, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_walk::{Everything, SearchCoverage, Tally, Visit, Walk, WalkEntry, coverage::Hints};
use beamai_workspace::{Tree, encode_path, kind_name};
use rustix::fs::FileType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists a directory.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct List {
    /// Directory to list.
    #[serde(default = "super::here")]
    #[schemars(extend("self_evident" = true))]
    pub path: String,
    /// Levels to list; 1 is the directory itself.
    #[serde(default = "default_depth")]
    #[schemars(range(min = 1, max = 1000))]
    pub depth: usize,
    /// Include hidden files.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub hidden: bool,
    /// Maximum number of entries to return. If there are more, upper levels come first.
    #[serde(default = "default_limit")]
    #[schemars(range(min = 1, max = 100_000), extend("self_evident" = true))]
    pub limit: usize,
    /// Number of entries to skip first, in that order.
    #[serde(default)]
    #[schemars(range(max = 1_000_000), extend("self_evident" = true))]
    pub offset: usize,
    /// Whether notes for models suggest arguments; set by the dialect.
    #[serde(skip)]
    #[schemars(skip)]
    pub hints: Hints,
}

impl List {
    /// A call that lists all of one directory, including hidden names, for a tool binding that has no other parameters.
    pub fn all(path: String) -> Self {
        let (depth, limit) = (default_depth(), default_limit());
        Self { path, depth, hidden: true, limit, offset: 0, hints: Hints::Withheld }
    }
}

fn default_depth() -> usize {
    1
}

fn default_limit() -> usize {
    1000
}

/// What [`List`] returns.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListOutput {
    /// The entries, by path. Ignore files are not applied.
    pub entries: Vec<ListEntry>,
    /// Number of entries, including those beyond the limit.
    pub count: u64,
    /// Whether there are more entries; continue with offset.
    pub truncated: bool,
    /// What was left out.
    pub coverage: SearchCoverage,
}

/// An entry of a directory.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ListEntry {
    /// Its name.
    pub name: String,
    /// Its path, relative to the workspace.
    pub path: String,
    /// file, directory, symlink, fifo, socket or device.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// Size of a file in bytes; null for anything else.
    pub size: Option<u64>,
}

impl Operation for List {
    type Output = ListOutput;
    const TRAITS: Traits = Traits::SEARCHES;
    const RULE: &'static str = "Glob";

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        super::needs_listing(&self.path, cx)
    }

    fn run(self, cx: &CallContext) -> Result<ListOutput, Interrupt> {
        let tree = cx.workspace.parse_path(&self.path)?.tree()?;
        let (hidden, depth) = (self.hidden, Some(self.depth));
        let walk = Walk { tree: &tree, select: &Everything, hidden, ignored: true, depth, cx };
        let end = self.offset.saturating_add(self.limit);
        let (collectors, mut tally) = walk.run(|| Collector(Smallest::new(end))).finish()?;
        let mut found = Smallest::new(end);
        collectors.into_iter().for_each(|collector| found.add(collector.0));
        let (mut found, count) = found.finish();
        let truncated = count > found.len() as u64;
        found.drain(..found.len().min(self.offset));
        tally.searched = count;
        found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(ListOutput {
            truncated,
            entries: found.into_iter().map(|found| found.into_item(&tree)).collect(),
            count,
            coverage: tally.coverage(
                match count {
                    1 => "found 1 entry".to_owned(),
                    _ => format!("found {count} entries"),
                },
                self.hints,
            ),
        })
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::listed(result, call, page)
    }
}

/// An entry, ordered so that a limit keeps the upper levels.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct FoundEntry {
    level: usize,
    path: Box<[u8]>,
    kind: &'static str,
}

impl FoundEntry {
    fn into_item(self, tree: &Tree) -> ListEntry {
        let name = self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let is_file = self.kind == kind_name(FileType::RegularFile);
        let stat = is_file.then(|| tree.stat(&self.path).ok()).flatten();
        ListEntry {
            name: encode_path(beamai_walk::globs::as_path(name)),
            path: tree.display(&self.path),
            kind: self.kind,
            size: stat.and_then(|stat| u64::try_from(stat.st_size).ok()),
        }
    }
}

struct Collector(Smallest<FoundEntry>);

impl Collector {
    fn add(&mut self, path: &[u8], kind: FileType) {
        let level = path.iter().filter(|byte| **byte == b'/').count();
        self.0.push(FoundEntry { level, path: path.into(), kind: kind_name(kind) });
    }
}

impl Visit for Collector {
    const OPENS_FILES: bool = false;

    fn visit(&mut self, entry: &WalkEntry<'_>, _: &mut Tally) -> Result<()> {
        self.add(entry.path, entry.kind);
        Ok(())
    }

    fn pass(&mut self, path: &[u8]) {
        self.add(path, FileType::Directory);
    }
}

#[cfg(test)]
mod tests {
    use super::List;
    use crate::grep::Grep;
    use beamai_base::Reason;
    use beamai_testenv::TestEnv;
    use serde_json::{Value, json};
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;

    fn paths(listed: &Value) -> Vec<&str> {
        listed["entries"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect()
    }

    #[test]
    fn an_entry_has_name_path_type_and_size() {
        let env = TestEnv::with(&[("src/a.rs", "12345"), ("src/deep/b.rs", "")]);
        env.link("a.rs", "src/link");
        env.fifo("src/pipe");
        let listed = env.call::<List>(json!({"path": "src"}));
        assert_eq!(
            listed["entries"],
            json!([
                {"name": "a.rs", "path": "src/a.rs", "type": "file", "size": 5},
                {"name": "deep", "path": "src/deep", "type": "directory", "size": null},
                {"name": "link", "path": "src/link", "type": "symlink", "size": null},
                {"name": "pipe", "path": "src/pipe", "type": "fifo", "size": null},
            ])
        );
        assert_eq!((&listed["count"], &listed["truncated"]), (&json!(4), &json!(false)));
    }

    #[test]
    fn depth_goes_down_and_links_are_not_entered() {
        let env = TestEnv::with(&[("a/b/c/d", "")]);
        env.link("..", "a/loop");
        assert_eq!(paths(&env.call::<List>(json!({}))), ["a"]);
        assert_eq!(paths(&env.call::<List>(json!({"depth": 2}))), ["a", "a/b", "a/loop"]);
        let all = env.call::<List>(json!({"depth": 100}));
        assert_eq!(paths(&all), ["a", "a/b", "a/b/c", "a/b/c/d", "a/loop"]);
    }

    #[test]
    fn hidden_names_are_left_out_and_counted() {
        let env = TestEnv::with(&[(".git/config", ""), (".env", ""), ("a", "")]);
        let listed = env.call::<List>(json!({"depth": 5}));
        assert_eq!(paths(&listed), ["a"]);
        assert_eq!(listed["coverage"]["skipped"], json!({"hidden": 2}));
        assert_eq!(
            listed["coverage"]["note"],
            "found 1 entry; left out: 2 hidden (hidden: true includes them)"
        );
        let listed = env.call::<List>(json!({"depth": 5, "hidden": true}));
        assert_eq!(paths(&listed), [".env", ".git", ".git/config", "a"]);
    }

    #[test]
    fn ignore_files_play_no_part() {
        let env = TestEnv::with(&[(".ignore", "a\n"), ("a", "")]);
        assert_eq!(paths(&env.call::<List>(json!({}))), ["a"]);
    }

    #[test]
    fn a_limit_keeps_the_upper_levels_and_the_count_is_exact() {
        let env = TestEnv::with(&[("a/1", ""), ("a/2", ""), ("b", ""), ("c", "")]);
        let listed = env.call::<List>(json!({"depth": 2, "limit": 4}));
        assert_eq!(paths(&listed), ["a", "a/1", "b", "c"]);
        assert_eq!((&listed["count"], &listed["truncated"]), (&json!(5), &json!(true)));
    }

    #[test]
    fn any_name_can_be_listed_and_used_again() {
        let env = TestEnv::new();
        env.file(Path::new(OsStr::from_bytes(b"new\nline/caf\xe9")), "x");
        let listed = env.call::<List>(json!({"depth": 2}));
        assert_eq!(paths(&listed), ["new\nline", "new\nline/caf\\xE9"]);
        assert_eq!(listed["entries"][1]["size"], 1);
        assert_eq!(env.call::<List>(json!({"path": "new\nline"}))["count"], 1);
        assert_eq!(
            env.call::<Grep>(json!({"pattern": "x", "path": "new\nline/caf\\xE9"}))["total_matches"],
            1
        );
    }

    #[test]
    fn a_limit_over_its_maximum_is_the_maximum_and_said() {
        let env = TestEnv::with(&[("a.txt", "")]);
        let listed = env.call::<List>(json!({"limit": "500000"}));
        assert_eq!(listed["adjusted"], json!(["limit is 100000, the maximum, not 500000"]));
        assert_eq!(env.call::<List>(json!({"limit": "5"})).get("adjusted"), None);
    }

    #[test]
    fn what_cannot_be_listed_is_an_error_with_advice() {
        let env = TestEnv::with(&[("a.txt", "")]);
        let reason = |path: &str| env.try_call::<List>(json!({"path": path})).unwrap_err().reason;
        assert_eq!(reason("a.txt"), Reason::NotADirectory);
        assert_eq!(reason("gone"), Reason::NoSuchFile);
        assert_eq!(reason(".."), Reason::OutsideWorkspace);
        assert_eq!(reason("/etc"), Reason::OutsideWorkspace);
        // An optional argument that is empty counts as absent.
        assert_eq!(env.call::<List>(json!({"path": ""}))["count"], 1);
    }
}
