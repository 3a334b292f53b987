//! Repositories for tests, made by the git program and looked at through the tools.

use super::facts;
use beamai_base::ToolError;
use beamai_engine::catalogue;
use beamai_tool::{CallContext, Interrupt, Services};
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::cell::Cell;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;

/// A directory that is a workspace, and mostly a repository.
pub(crate) struct Repo {
    dir: TempDir,
    /// Seconds of the next commit's date; every commit has its own.
    clock: Cell<u64>,
}

/// No settings of the machine that runs the tests reach the code under test.
pub(crate) fn without_host_settings() -> &'static Path {
    static EMPTY: OnceLock<TempDir> = OnceLock::new();
    let dir = EMPTY.get_or_init(|| {
        let dir = tempfile::tempdir().unwrap();
        for level in [
            git2::ConfigLevel::System,
            git2::ConfigLevel::Global,
            git2::ConfigLevel::XDG,
            git2::ConfigLevel::ProgramData,
        ] {
            // SAFETY: every test comes through here before it calls a tool, and nothing sets the path again.
            unsafe { git2::opts::set_search_path(level, dir.path()) }.unwrap();
        }
        dir
    });
    dir.path()
}

/// What the port has for git.
pub(crate) fn services() -> Arc<Services> {
    Arc::new(beamai_git::serve_here(Services::default()))
}

/// What a call in a workspace may use.
pub(crate) fn context_in(workspace: &Workspace) -> CallContext {
    CallContext { services: services(), ..CallContext::new(workspace.clone()) }
}

impl Repo {
    /// A directory without a repository.
    pub(crate) fn bare_directory() -> Self {
        without_host_settings();
        Self { dir: tempfile::tempdir().unwrap(), clock: Cell::new(1_700_000_000) }
    }

    /// An empty repository.
    pub(crate) fn new() -> Self {
        let repo = Self::bare_directory();
        repo.init();
        repo
    }

    /// A repository with these files committed.
    pub(crate) fn with(files: &[(&str, &str)]) -> Self {
        let repo = Self::new();
        files.iter().for_each(|(path, text)| repo.write(path, text));
        repo.commit("first");
        repo
    }

    pub(crate) fn init(&self) {
        self.git(&["init", "-q", "-b", "main"]);
        self.git(&["config", "user.name", "A U Thor"]);
        self.git(&["config", "user.email", "author@example.com"]);
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn write(&self, path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn remove(&self, path: &str) {
        std::fs::remove_file(self.path().join(path)).unwrap();
    }

    pub(crate) fn link(&self, target: &str, path: &str) {
        std::os::unix::fs::symlink(target, self.path().join(path)).unwrap();
    }

    pub(crate) fn executable(&self, path: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(self.path().join(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Stages everything and commits it.
    pub(crate) fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", message]);
    }

    /// Runs git, which must succeed. What it printed.
    pub(crate) fn git<S: AsRef<OsStr>>(&self, args: &[S]) -> String {
        let output = self.git_output(args);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "git failed: {error}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Runs git, whatever comes of it.
    pub(crate) fn git_output<S: AsRef<OsStr>>(&self, args: &[S]) -> Output {
        self.clock.set(self.clock.get() + 60);
        let date = format!("{} +0100", self.clock.get());
        Command::new("git")
            .args(args)
            .current_dir(self.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", without_host_settings())
            .env("LC_ALL", "C")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_EDITOR", "true")
            .env("GIT_ADVICE", "1")
            .envs([("GIT_AUTHOR_DATE", &date), ("GIT_COMMITTER_DATE", &date)])
            .output()
            .expect("the tests need git")
    }

    /// A copy of everything, times included.
    pub(crate) fn copy(&self) -> Self {
        let copy = Self::bare_directory();
        let status = Command::new("cp").args(["-a", "."]).arg(copy.path()).current_dir(self.path()).status();
        assert!(status.unwrap().success());
        copy.clock.set(self.clock.get());
        copy
    }

    pub(crate) fn context(&self) -> CallContext {
        context_in(&Workspace::open(self.path()).unwrap())
    }

    /// Calls a tool, which must succeed.
    pub(crate) fn tool(&self, name: &str, args: Value) -> Value {
        call(name, args, &self.context()).unwrap_or_else(|error| panic!("{name}: {error:?}"))
    }

    /// Calls a tool, which must fail.
    pub(crate) fn refused(&self, name: &str, args: Value) -> ToolError {
        call(name, args, &self.context()).expect_err("the tool should refuse")
    }

    /// The text that a tool returns.
    pub(crate) fn text(&self, name: &str, args: Value) -> String {
        let value = self.tool(name, args);
        assert_eq!(value["available"], true, "{value}");
        value["content"].as_str().unwrap().to_owned()
    }

    /// Every text about the present state is the one that git prints.
    pub(crate) fn is_shown_alike(&self) {
        let facts = self.git(&["status", "--porcelain=v2", "--branch"]);
        let expected =
            facts::expected(&facts, |oid| self.git(&["rev-parse", "--short", oid]).trim().to_owned());
        let own = self.text("git_status", json!({}));
        same(&expected, &facts::told(&own), "status");
        let git = self.git(&["status"]);
        assert_eq!(progress_by_git(&git), progress_by_tool(&own), "{git}\n{own}");
        same(
            &self.git(&["status", "--short"]),
            &self.text("git_status", json!({"short": true})),
            "status --short",
        );
        // What is undecided is compared with the own side, so that the markers are seen.
        let is_undecided = git.contains("Unmerged paths:");
        let args = if is_undecided { &["diff", "--ours"][..] } else { &["diff"] };
        same(&self.git(args), &self.text("git_diff", json!({})), "diff");
        same(
            &self.git(&["diff", "--cached"]),
            &self.text("git_diff", json!({"staged": true})),
            "diff --cached",
        );
    }

    /// Every text about the history is the one that git prints.
    pub(crate) fn is_logged_alike(&self) {
        let limit = json!({"limit": 1000});
        same(&self.git(&["log"]), &self.text("git_log", limit), "log");
        let oneline = json!({"limit": 1000, "oneline": true});
        same(&self.git(&["log", "--oneline"]), &self.text("git_log", oneline), "log --oneline");
    }
}

/// What is in progress, as git's own long status says it.
fn progress_by_git(status: &str) -> Vec<&'static str> {
    let is_merge =
        ["You have unmerged paths.", "but you are still merging."].iter().any(|text| status.contains(text));
    let is_picking = status.contains("herry-pick");
    let is_rebase = ["rebase in progress", "rebasing", "while rebasing", "during a rebase"];
    let kinds = [
        ("merge", is_merge && !is_picking && !status.contains("reverting")),
        ("am", status.contains("in the middle of an am session")),
        ("rebase", is_rebase.iter().any(|text| status.contains(text))),
        ("cherry-pick", status.contains("cherry-picking") || status.contains("Cherry-pick currently")),
        ("revert", status.contains("You are currently reverting") || status.contains("Revert currently")),
        ("bisect", status.contains("currently bisecting")),
    ];
    kinds.into_iter().filter(|(_, is_on)| *is_on).map(|(kind, _)| kind).collect()
}

fn progress_by_tool(status: &str) -> Vec<&str> {
    let lines = status.lines().filter_map(|line| line.strip_prefix("in progress: "));
    lines.map(|line| line.split([' ', ';', ',']).next().unwrap()).collect()
}

/// Calls a tool of the dialect.
pub(crate) fn call(name: &str, args: Value, cx: &CallContext) -> Result<Value, ToolError> {
    let tool = catalogue::find(name, Some("beamai")).unwrap();
    match tool.execute(args.as_object().unwrap().clone(), cx) {
        Ok(value) => Ok(value),
        Err(Interrupt::Failed(error)) => Err(error),
        Err(other) => panic!("git tools neither move nor ask: {other:?}"),
    }
}

/// Fails with both texts unless they are the same.
pub(crate) fn same(git: &str, own: &str, what: &str) {
    assert!(git == own, "{what} differs\n--- git\n{git}\n--- tool\n{own}");
}
