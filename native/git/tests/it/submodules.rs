//! Submodules whose place something else has taken.

use super::repo::{Repo, same};
use beamai_base::Reason;
use serde_json::json;

/// A repository whose submodule `sub` was removed from the work tree.
fn without_its_submodule() -> Repo {
    let part = Repo::with(&[("p", "1\n")]);
    let repo = Repo::with(&[("a", "1\n")]);
    let url = part.path().to_str().unwrap();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    repo.commit("with a part");
    std::fs::remove_dir_all(repo.path().join("sub")).unwrap();
    repo
}

#[test]
fn a_path_in_a_submodule_that_is_not_checked_out_is_refused() {
    let repo = without_its_submodule();
    let before = repo.git(&["ls-files", "--stage"]);
    repo.write("sub/d/p", "1\n");
    for path in ["sub/d/p", "sub/d", "sub/missing"] {
        assert!(!repo.git_output(&["add", path]).status.success());
        let error = repo.refused("git_add", json!({"path": path}));
        assert_eq!(error.reason, Reason::InvalidArgument);
        assert!(error.message.starts_with(&format!("{path} is in the submodule sub,")), "{error}");
    }
    same(&before, &repo.git(&["ls-files", "--stage"]), "the staging area");
}

/// The tools show and stage what `take` puts in the submodule's place as git does.
fn shows_and_stages_alike(take: impl FnOnce(&Repo)) {
    let repo = without_its_submodule();
    take(&repo);
    repo.is_shown_alike();
    same(&repo.git(&["diff", "HEAD"]), &repo.text("git_diff", json!({"commit": "HEAD"})), "diff HEAD");
    let copy = repo.copy();
    copy.git(&["add", "."]);
    repo.tool("git_add", json!({"path": "."}));
    let staged = ["ls-files", "--stage"];
    same(&copy.git(&staged), &repo.git(&staged), "the staging area");
    repo.is_shown_alike();
}

#[test]
fn a_submodule_that_is_gone_is_deleted() {
    shows_and_stages_alike(|_| {});
}

#[test]
fn a_file_that_took_the_place_of_a_submodule_is_shown_and_staged() {
    shows_and_stages_alike(|repo| {
        repo.write("sub", "a program\n");
        repo.executable("sub");
    });
}

#[test]
fn a_directory_without_a_repository_leaves_a_submodule_unchanged() {
    shows_and_stages_alike(|repo| repo.write("sub/p", "1\n"));
}

/// `git status` fails for such a link in some versions, so it is compared with what git stages.
#[test]
fn a_link_that_took_the_place_of_a_submodule_is_shown_and_staged() {
    let repo = without_its_submodule();
    repo.link("a", "sub");
    assert_eq!(repo.text("git_status", json!({})), "branch: main\nnot staged:\n  type changed: sub\n");
    let copy = repo.copy();
    copy.git(&["add", "."]);
    assert_eq!(repo.tool("git_add", json!({"path": "."}))["files"], json!(["sub"]));
    let staged = ["ls-files", "--stage"];
    same(&copy.git(&staged), &repo.git(&staged), "the staging area");
    repo.is_shown_alike();
}

#[test]
fn a_repository_that_took_the_place_of_a_file_is_shown_and_not_staged() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.remove("a");
    repo.git(&["init", "-q", "a"]);
    repo.write("b", "2\n");
    let stages_only_b = || {
        let copy = repo.copy();
        let added = copy.tool("git_add", json!({"path": "."}));
        assert_eq!(added["files"], json!(["b"]), "{added}");
        let notes = added["notes"].as_array().unwrap();
        assert!(notes.len() == 1 && notes[0].as_str().unwrap().starts_with("a is a repository"), "{added}");
        assert_eq!(copy.git(&["diff", "--cached", "--name-only"]), "b\n");
    };
    stages_only_b();
    let commit = ["-c", "user.name=A", "-c", "user.email=a", "commit", "-q", "--allow-empty", "-m", "inner"];
    repo.git(&[&["-C", "a"], &commit[..]].concat());
    repo.is_shown_alike();
    stages_only_b();
    repo.write(".git/info/exclude", "a\n");
    stages_only_b();
}
