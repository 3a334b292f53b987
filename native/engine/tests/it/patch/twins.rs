//! Two directories that are the same, one changed by `git apply` and one by the tool.

use beamai_engine::catalogue;
use beamai_tool::{CallContext, Interrupt};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Files of a directory: path, executable bit, content. Directories have no content.
pub(crate) type Tree = BTreeMap<PathBuf, Option<(bool, Vec<u8>)>>;

/// Everything in a directory except git's own.
pub(crate) fn tree(dir: &Path) -> Tree {
    let walk = walkdir::WalkDir::new(dir).min_depth(1).into_iter();
    let entries = walk.filter_entry(|entry| entry.file_name() != ".git").map(Result::unwrap);
    entries
        .map(|entry| {
            let path = entry.path().strip_prefix(dir).unwrap().to_owned();
            let is_executable = entry.metadata().unwrap().permissions().mode() & 0o100 != 0;
            let is_file = entry.file_type().is_file();
            (path, is_file.then(|| (is_executable, std::fs::read(entry.path()).unwrap())))
        })
        .collect()
}

/// Runs git, which is there wherever the tests run, without anybody's settings.
pub(crate) fn git(dir: &Path, args: &[&str], input: &[u8]) -> Result<Vec<u8>, String> {
    let mut command = Command::new("git");
    command.current_dir(dir).args(["-c", "core.autocrlf=false", "-c", "core.quotepath=true"]).args(args);
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "t").env(format!("GIT_{role}_EMAIL"), "t@localhost");
    }
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("git is installed; scripts/setup does that");
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    match output.status.success() {
        true => Ok(output.stdout),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// A directory that the tool changes.
pub(crate) struct Ours {
    dir: TempDir,
    cx: CallContext,
}

impl Ours {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        Self { dir, cx }
    }

    pub(crate) fn tree(&self) -> Tree {
        tree(self.dir.path())
    }

    /// Applies a patch and answers the tool's result.
    pub(crate) fn apply(&self, patch: &str) -> Value {
        let args = json!({"patch": patch}).as_object().unwrap().clone();
        match catalogue::find("file_patch", None).unwrap().execute(args, &self.cx) {
            Ok(value) => value,
            Err(Interrupt::Failed(error)) => panic!("{error}\n{patch}"),
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// The directories.
pub(crate) struct Twins {
    theirs: TempDir,
    ours: Ours,
    /// Files that were patched in each.
    pub(crate) files: usize,
}

impl Twins {
    pub(crate) fn new() -> Self {
        Self { theirs: tempfile::tempdir().unwrap(), ours: Ours::new(), files: 0 }
    }

    /// Applies a patch to both and compares them; answers what they are now.
    pub(crate) fn apply(&mut self, patch: &[u8], git_options: &[&str]) -> Tree {
        let text = std::str::from_utf8(patch).unwrap();
        let options = [&["apply", "--whitespace=nowarn"], git_options].concat();
        git(self.theirs.path(), &options, patch).unwrap_or_else(|error| panic!("git: {error}\n{text}"));
        let value = self.ours.apply(text);
        let files = value["files"].as_array().unwrap();
        self.files += files.len();
        let offsets =
            files.iter().flat_map(|file| file["hunks"].as_array().unwrap()).map(|hunk| &hunk["offset"]);
        assert!(offsets.into_iter().all(|offset| offset == 0), "{value}\n{text}");
        let (theirs, ours) = (tree(self.theirs.path()), self.ours.tree());
        assert!(theirs == ours, "{}\nafter the patch\n{text}", difference(&theirs, &ours));
        ours
    }
}

/// The first path that differs.
pub(crate) fn difference(one: &Tree, other: &Tree) -> String {
    let mut paths = one.keys().chain(other.keys());
    let show = |tree: &Tree, path: &PathBuf| match tree.get(path) {
        None => "nothing".to_owned(),
        Some(None) => "a directory".to_owned(),
        Some(Some((is_executable, content))) => {
            format!("executable {is_executable}, {:?}", String::from_utf8_lossy(content))
        }
    };
    match paths.find(|path| one.get(*path) != other.get(*path)) {
        Some(path) => format!("{}: {} and {}", path.display(), show(one, path), show(other, path)),
        None => "no difference".to_owned(),
    }
}
