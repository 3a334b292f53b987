//! git where agents work: subdirectories, linked work trees, submodules, bare and shallow clones, sparse checkouts, other
//! formats. It works, or one sentence says why not.

use super::repo::{Repo, call, context_in, same};
use beamai_base::Reason;
use beamai_tool::CallContext;
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::path::Path;

fn at(path: &Path) -> CallContext {
    context_in(&Workspace::open(path).unwrap())
}

fn text(name: &str, args: Value, cx: &CallContext) -> String {
    let answer = call(name, args, cx).unwrap();
    assert_eq!(answer["available"], true, "{answer}");
    answer["content"].as_str().unwrap().to_owned()
}

/// The sentence that says why there is no repository to use.
fn why(cx: &CallContext) -> String {
    let answer = call("git_status", json!({}), cx).unwrap();
    assert_eq!(answer["available"], false, "{answer}");
    answer["content"].as_str().unwrap().to_owned()
}

/// What git prints in a directory of a repository.
fn git_in(repo: &Repo, directory: &str, args: &[&str]) -> String {
    repo.git(&[&["-C", directory][..], args].concat())
}

#[test]
fn a_subdirectory_shows_and_stages_what_is_in_it() {
    let repo = Repo::with(&[("a", "1\n"), ("sub/b", "1\n"), ("sub/c/d", "1\n"), ("subway", "1\n")]);
    ["a", "sub/b", "sub/new", "sub/c/d", "subway"].iter().for_each(|path| repo.write(path, "2\n"));
    let cx = at(&repo.path().join("sub"));
    same(
        &git_in(&repo, "sub", &["status", "--short", "."]),
        &text("git_status", json!({"short": true}), &cx),
        "short",
    );
    same(&git_in(&repo, "sub", &["diff", "."]), &text("git_diff", json!({}), &cx), "diff");
    same(&git_in(&repo, "sub", &["diff", "c"]), &text("git_diff", json!({"path": "c"}), &cx), "diff of c");
    same(&git_in(&repo, "sub", &["log"]), &text("git_log", json!({}), &cx), "log");
    assert_eq!(
        text("git_status", json!({}), &cx),
        "branch: main\nnot staged:\n  modified: b\n  modified: c/d\nuntracked:\n  new\n"
    );
    assert_eq!(call("git_add", json!({"path": "."}), &cx).unwrap()["files"], json!(["b", "c/d", "new"]));
    assert_eq!(repo.git(&["status", "--short"]), " M a\nM  sub/b\nM  sub/c/d\nA  sub/new\n M subway\n");
    repo.git(&["add", "a"]);
    let status = call("git_status", json!({}), &cx).unwrap();
    assert!(status["notes"].to_string().contains("1 staged paths outside of the workspace"), "{status}");
    let refused = call("git_commit", json!({"message": "m"}), &cx).unwrap_err();
    assert_eq!(refused.reason, Reason::BadState);
    repo.git(&["reset", "-q", "a"]);
    assert_eq!(call("git_commit", json!({"message": "m"}), &cx).unwrap()["ok"], true);
    assert_eq!(repo.git(&["show", "--format=", "--name-only"]), "sub/b\nsub/c/d\nsub/new\n");
    let status = call("git_status", json!({}), &cx).unwrap();
    assert_eq!(status["content"], "branch: main\nclean\n");
    assert_eq!(status["notes"], json!(["unstaged changes outside of the workspace are not looked for"]));
    assert_eq!(call("git_diff", json!({"path": "../a"}), &cx).unwrap_err().reason, Reason::OutsideWorkspace);
}

#[test]
fn rules_above_a_subdirectory_hold_in_it() {
    let repo = Repo::with(&[("a", "1\n"), (".gitignore", "*.log\n/ignored/\n/sub/out\n")]);
    ["sub/x.log", "sub/out/y", "sub/z", "ignored/a"].iter().for_each(|path| repo.write(path, "1\n"));
    for (directory, mode) in [("sub", "normal"), ("sub", "all"), ("ignored", "normal"), ("ignored", "all")] {
        repo.git(&["config", "status.showUntrackedFiles", mode]);
        let own = text("git_status", json!({"short": true}), &at(&repo.path().join(directory)));
        same(&git_in(&repo, directory, &["status", "--short", "."]), &own, &format!("{directory} {mode}"));
    }
}

#[test]
fn a_linked_work_tree_works_wherever_its_repository_is() {
    let repo = Repo::with(&[("a", "1\n")]);
    let elsewhere = Repo::bare_directory();
    let outside = elsewhere.path().join("tree");
    repo.git(&["worktree", "add", "-q", outside.to_str().unwrap()]);
    // Made by the agent itself, within its workspace.
    repo.git(&["worktree", "add", "-q", "inside"]);
    for tree in [outside.as_path(), &repo.path().join("inside")] {
        std::fs::write(tree.join("a"), "2\n").unwrap();
        let (cx, directory) = (at(tree), tree.to_str().unwrap());
        same(&git_in(&repo, directory, &["diff"]), &text("git_diff", json!({}), &cx), "diff");
        assert_eq!(call("git_add", json!({"path": "a"}), &cx).unwrap()["files"], json!(["a"]));
        assert_eq!(call("git_commit", json!({"message": "there"}), &cx).unwrap()["ok"], true);
        assert_eq!(git_in(&repo, directory, &["log", "-1", "--format=%s"]), "there\n");
    }
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "first\n");
}

#[test]
fn a_partial_clone_works_with_what_it_has_and_says_who_fetches_the_rest() {
    let origin = Repo::with(&[("a", "1\n")]);
    origin.git(&["config", "uploadpack.allowFilter", "true"]);
    origin.write("a", "2\n");
    origin.commit("second");
    let repo = Repo::bare_directory();
    let url = format!("file://{}", origin.path().display());
    repo.git(&["-c", "protocol.file.allow=always", "clone", "-q", "--filter=blob:none", &url, "part"]);
    repo.write("part/a", "3\n");
    let cx = at(&repo.path().join("part"));
    assert!(text("git_diff", json!({}), &cx).contains("-2\n+3"));
    let error = call("git_diff", json!({"commit": "HEAD~1"}), &cx).unwrap_err();
    assert_eq!(error.reason, Reason::NeedsShell);
    assert!(error.message.contains("a partial clone lacks objects"), "{error:?}");
}

#[test]
fn a_linked_work_tree_of_a_bare_repository_works() {
    let origin = Repo::with(&[("a", "1\n")]);
    let repo = Repo::bare_directory();
    repo.git(&["clone", "-q", "--bare", origin.path().to_str().unwrap(), "bare.git"]);
    git_in(&repo, "bare.git", &["worktree", "add", "-q", "../tree", "main"]);
    git_in(&repo, "bare.git", &["config", "user.name", "A"]);
    git_in(&repo, "bare.git", &["config", "user.email", "a@example.com"]);
    let cx = at(&repo.path().join("tree"));
    repo.write("tree/a", "2\n");
    assert_eq!(call("git_add", json!({"path": "."}), &cx).unwrap()["files"], json!(["a"]));
    assert_eq!(call("git_commit", json!({"message": "m"}), &cx).unwrap()["ok"], true);
    assert_eq!(git_in(&repo, "tree", &["log", "-1", "--format=%s"]), "m\n");
    let said = why(&at(&repo.path().join("bare.git")));
    assert!(said.contains("the workspace is a bare repository, which has no files to compare"), "{said}");
}

#[test]
fn a_submodule_works_from_within_and_is_one_entry_from_above() {
    let part = Repo::with(&[("p", "1\n")]);
    let repo = Repo::with(&[("a", "1\n")]);
    let url = part.path().to_str().unwrap();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "sub"]);
    repo.commit("with a part");
    git_in(&repo, "sub", &["config", "user.name", "A"]);
    git_in(&repo, "sub", &["config", "user.email", "a@example.com"]);
    repo.write("sub/p", "2\n");
    let cx = at(&repo.path().join("sub"));
    same(&git_in(&repo, "sub", &["diff"]), &text("git_diff", json!({}), &cx), "diff");
    assert_eq!(call("git_add", json!({"path": "p"}), &cx).unwrap()["files"], json!(["p"]));
    assert_eq!(call("git_commit", json!({"message": "m"}), &cx).unwrap()["ok"], true);
    assert_eq!(
        repo.text("git_status", json!({})),
        "branch: main\nnot staged:\n  modified: sub (other commit)\n"
    );
    assert_eq!(repo.tool("git_add", json!({"path": "sub"}))["files"], json!(["sub"]));
    assert_eq!(repo.git(&["status", "--short"]), "M  sub\n");
}

#[test]
fn a_path_of_a_nested_repository_is_not_staged_and_the_reason_is_said() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git(&["init", "-q", "nested"]);
    repo.write("nested/d/x", "1\n");
    for path in ["nested/d/x", "nested/d"] {
        let error = repo.refused("git_add", json!({"path": path}));
        assert_eq!(error.reason, Reason::InvalidArgument);
        assert!(
            error.message.contains("lies in nested, which is a repository of its own"),
            "{}",
            error.message
        );
    }
    assert_eq!(git_in(&repo, "nested", &["status", "--short"]), "?? d/\n");
}

#[test]
fn a_shallow_clone_works() {
    let origin = Repo::with(&[("a", "1\n")]);
    (2..5).for_each(|count| {
        origin.write("a", format!("{count}\n"));
        origin.commit(&format!("commit {count}"));
    });
    let repo = Repo::bare_directory();
    repo.git(&["clone", "-q", "--depth", "2", &format!("file://{}", origin.path().display()), "."]);
    repo.git(&["config", "user.name", "A"]);
    repo.git(&["config", "user.email", "a@example.com"]);
    repo.is_shown_alike();
    repo.is_logged_alike();
    repo.write("a", "5\n");
    repo.is_shown_alike();
    repo.tool("git_add", json!({"path": "a"}));
    assert_eq!(repo.tool("git_commit", json!({"message": "m"}))["ok"], true);
    repo.is_logged_alike();
}

#[test]
fn a_sparse_checkout_works() {
    let repo = Repo::with(&[("a", "1\n"), ("in/b", "1\n"), ("out/c", "1\n"), ("out/d", "1\n")]);
    repo.write("out/c", "2\n");
    repo.commit("second");
    repo.git(&["sparse-checkout", "set", "in"]);
    repo.is_shown_alike();
    assert!(
        repo.text("git_status", json!({})).contains("sparse checkout: 50% of the tracked files are here")
    );
    repo.write("in/b", "2\n");
    repo.is_shown_alike();
    same(&repo.git(&["diff", "HEAD~1"]), &repo.text("git_diff", json!({"commit": "HEAD~1"})), "diff HEAD~1");
    assert_eq!(repo.tool("git_add", json!({"path": "."}))["files"], json!(["in/b"]));
    assert_eq!(repo.tool("git_commit", json!({"message": "m"}))["ok"], true);
    assert_eq!(repo.git(&["ls-tree", "-r", "--name-only", "HEAD"]), "a\nin/b\nout/c\nout/d\n");
}

#[test]
fn a_file_that_is_there_in_spite_of_a_sparse_checkout_is_compared() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n"), ("d/c", "1\n"), ("e", "1\n")]);
    repo.git(&["sparse-checkout", "set", "--no-cone", "/a"]);
    repo.write("b", "2\n");
    repo.write("e/inner", "1\n");
    repo.is_shown_alike();
    repo.git(&["config", "sparse.expectFilesOutsideOfPatterns", "true"]);
    repo.is_shown_alike();
    repo.git(&["config", "--unset", "sparse.expectFilesOutsideOfPatterns"]);
    let copy = repo.copy();
    copy.git(&["add", "--sparse", "b"]);
    assert_eq!(repo.tool("git_add", json!({"path": "b"}))["files"], json!(["b"]));
    same(
        &copy.git(&["ls-files", "--stage", "-t"]),
        &repo.git(&["ls-files", "--stage", "-t"]),
        "what is staged",
    );
    repo.is_shown_alike();
}

#[test]
fn paths_outside_of_a_sparse_checkout_are_staged_only_by_name() {
    let sets: [&[&str]; 3] = [
        &["--cone", "in", "a/b"],
        &["--no-cone", "/in/", "*.txt", "!no.txt"],
        &["--no-cone", "/*", "!out/", "!/a/*/"],
    ];
    for set in sets {
        let tracked = ["in/b", "out/c", "out/d", "a/b/x", "a/c/x", "a/f", "y.txt"];
        let repo = Repo::with(&tracked.map(|path| (path, "1\n")));
        repo.git(&[&["sparse-checkout", "set"], set].concat());
        repo.git(&["update-index", "--no-skip-worktree", "out/c", "in/b", "a/c/x"]);
        for path in
            ["in/n", "in/no.txt", "out/n", "out/d", "out/y.txt", "a/b/n", "a/c/n", "a/n", "n", "no.txt"]
        {
            repo.write(path, "2\n");
        }
        let copy = repo.copy();
        copy.git_output(&["add", "."]);
        let added = repo.tool("git_add", json!({"path": "."}));
        let staged = ["ls-files", "--stage", "-t"];
        same(&copy.git(&staged), &repo.git(&staged), &format!("what is staged under {set:?}"));
        assert!(added["notes"].to_string().contains("out/n"), "{added}");
        assert!(added["notes"].to_string().contains("outside of the sparse checkout"), "{added}");
        assert_eq!(repo.tool("git_add", json!({"path": "out/n"}))["files"], json!(["out/n"]));
    }
}

/// Without a sparse checkout, git does not look for files with the flag.
#[test]
fn a_file_with_skip_worktree_outside_of_a_sparse_checkout_is_left_alone() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.git(&["update-index", "--skip-worktree", "b"]);
    repo.write("b", "2\n");
    repo.is_shown_alike();
}

#[test]
fn a_sparse_index_is_read_or_said() {
    let repo = Repo::with(&[("a", "1\n"), ("in/b", "1\n"), ("out/deep/c", "1\n")]);
    repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    let said = why(&repo.context());
    assert!(said.contains("its index cannot be read") && said.contains("sparse"), "{said}");
}

#[test]
fn a_repository_in_sha_256_is_refused_in_one_sentence() {
    let repo = Repo::bare_directory();
    repo.git(&["init", "-q", "--object-format=sha256", "."]);
    let said = why(&repo.context());
    assert!(said.contains("SHA-256"), "{said}");
}

#[test]
fn differences_since_a_commit_and_their_sizes() {
    let repo = Repo::with(&[("a", "1\n2\n3\n"), ("b", "1\n"), ("gone", "1\n"), ("same", "1\n")]);
    repo.write("a", "1\ntwo\n3\n4\n");
    repo.write("later", "1\n");
    repo.commit("second");
    repo.git(&["tag", "v1"]);
    repo.write("b", "2\n");
    repo.write("staged", "1\n");
    repo.git(&["add", "staged"]);
    repo.remove("gone");
    repo.write("same", "2\n");
    repo.git(&["add", "same"]);
    repo.write("same", "1\n");
    repo.remove("later");
    for commit in ["HEAD", "HEAD~1", "v1", "main"] {
        same(&repo.git(&["diff", commit]), &repo.text("git_diff", json!({"commit": commit})), commit);
        let staged = json!({"commit": commit, "staged": true});
        same(&repo.git(&["diff", "--cached", commit]), &repo.text("git_diff", staged), commit);
        for (args, own) in [
            (&["diff", "--numstat", commit][..], json!({"commit": commit, "stat": true})),
            (&["diff", "--numstat"], json!({"stat": true})),
            (&["diff", "--numstat", "--cached"], json!({"staged": true, "stat": true})),
        ] {
            let numbers = repo.git(args);
            let lines = numbers.lines().map(|line| {
                let [added, removed, path] = line.split('\t').collect::<Vec<_>>()[..] else {
                    panic!("{line}")
                };
                format!("{} | +{added} -{removed}", path.replace(" => ", " -> "))
            });
            let own = repo.text("git_diff", own);
            let mut own: Vec<&str> = own.lines().collect();
            assert!(own.pop().unwrap().contains("changed, +"));
            assert_eq!(own, lines.collect::<Vec<_>>(), "{args:?}");
        }
    }
    for wrong in ["nothing-like-that", "HEAD~1..HEAD", "--output=/tmp/x"] {
        let error = repo.refused("git_diff", json!({"commit": wrong}));
        assert_eq!(error.reason, Reason::InvalidArgument, "{wrong}: {error}");
    }
}

#[test]
fn a_rename_since_a_commit_is_one_file() {
    let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    let repo = Repo::with(&[("old", &text), ("x", "1\n")]);
    repo.git(&["mv", "old", "new"]);
    repo.write("new", text.replace("line 3\n", "three\n"));
    repo.git(&["add", "-A"]);
    same(&repo.git(&["diff", "HEAD"]), &repo.text("git_diff", json!({"commit": "HEAD"})), "renamed");
    let own = repo.text("git_diff", json!({"commit": "HEAD", "stat": true}));
    assert_eq!(own, "old -> new | +1 -1\n1 file changed, +1 -1\n");
}
