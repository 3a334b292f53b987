//! `git_log` prints what `git log` prints.

use super::repo::{Repo, call, same};
use serde_json::json;

#[test]
fn a_line_of_commits() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.commit("second\n\nwith a body\n  indented\n\n\ttab and more\n");
    repo.commit("subject on\ntwo lines\n\nbody");
    repo.git(&["commit", "-q", "--allow-empty", "--allow-empty-message", "-m", ""]);
    repo.git(&[
        "commit",
        "-q",
        "--allow-empty",
        "--cleanup=verbatim",
        "-m",
        "\n\n  odd  \n\n\n\nspaces \t\n\n\n",
    ]);
    repo.is_logged_alike();
}

#[test]
fn merges_and_branches_by_date() {
    let repo = Repo::with(&[("a", "1\n")]);
    for branch in ["one", "two"] {
        repo.git(&["checkout", "-q", "-b", branch, "main"]);
        repo.write(branch, "x");
        repo.commit(branch);
        repo.commit(&format!("{branch} again"));
    }
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("on main");
    repo.git(&["merge", "-q", "--no-ff", "-m", "merge one", "one"]);
    repo.git(&["merge", "-q", "-m", "merge two", "two"]);
    repo.is_logged_alike();
    repo.git(&["checkout", "-q", "-b", "octopus", "main~2"]);
    repo.commit("third way");
    repo.git(&["merge", "-q", "-m", "octopus", "one", "two"]);
    repo.is_logged_alike();
}

#[test]
fn commits_of_the_same_second() {
    let repo = Repo::with(&[("a", "1\n")]);
    let tree = repo.git(&["write-tree"]).trim().to_owned();
    let commit = |message: &str, parents: &[&str]| {
        let parents = parents.iter().flat_map(|parent| ["-p", parent]);
        let args: Vec<&str> =
            ["-c", "user.name=x", "commit-tree", &tree, "-m", message].into_iter().chain(parents).collect();
        let output = std::process::Command::new("git")
            .args(args)
            .current_dir(repo.path())
            .envs([("GIT_AUTHOR_DATE", "1000000000 +0000"), ("GIT_COMMITTER_DATE", "1000000000 +0000")])
            .output()
            .unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    let root = commit("root", &[]);
    let (a, b) = (commit("a", &[&root]), commit("b", &[&root]));
    let (c, d) = (commit("c", &[&a]), commit("d", &[&b, &root]));
    let top = commit("top", &[&d, &c, &a]);
    repo.git(&["reset", "-q", "--hard", &top]);
    repo.is_logged_alike();
}

#[test]
fn the_limit_and_whether_there_is_more() {
    let repo = Repo::with(&[("a", "1\n")]);
    (0..30).for_each(|count| repo.commit(&format!("commit {count}")));
    let own = repo.text("git_log", json!({}));
    same(&repo.git(&["log", "-20"]), &own, "twenty by default");
    let own = repo.tool("git_log", json!({"limit": 3, "oneline": true}));
    same(&repo.git(&["log", "-3", "--oneline"]), own["content"].as_str().unwrap(), "limit");
    assert_eq!(own["has_more"], true);
    assert_eq!(repo.tool("git_log", json!({"limit": 31}))["has_more"], false);
    let most = repo.tool("git_log", json!({"limit": 1001}));
    assert_eq!(most["adjusted"], json!(["limit is 1000, the maximum, not 1001"]));
    let five = repo.text("git_log", json!({"limit": "5"}));
    same(&repo.git(&["log", "-5"]), &five, "a number as text");
    for limit in [json!(0), json!(-1), json!("many")] {
        let error = repo.refused("git_log", json!({"limit": limit}));
        assert!(error.message.contains("\"limit\" must be"), "{}", error.message);
    }
}

#[test]
fn before_the_first_commit() {
    let repo = Repo::new();
    let own = repo.text("git_log", json!({}));
    let git = String::from_utf8(repo.git_output(&["log"]).stderr).unwrap();
    assert_eq!(format!("fatal: {own}"), git);
}

#[test]
fn names_by_mailmap_and_notes() {
    let repo =
        Repo::with(&[("a", "1\n"), (".mailmap", "Real Name <real@example.com> <author@example.com>\n")]);
    repo.git(&["notes", "add", "-m", "a note\nof two lines"]);
    repo.is_logged_alike();
}

#[test]
fn a_message_in_latin_1() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("message", b"Gr\xfc\xdfe\n\nan K\xf6ln\n");
    repo.git(&["-c", "i18n.commitEncoding=ISO-8859-1", "commit", "-q", "--allow-empty", "-F", "message"]);
    repo.is_logged_alike();
}

#[test]
fn a_shallow_clone() {
    let origin = Repo::with(&[("a", "1\n")]);
    (0..5).for_each(|count| origin.commit(&format!("commit {count}")));
    let repo = Repo::new();
    let url = format!("file://{}", origin.path().display());
    repo.git(&["-c", "protocol.file.allow=always", "fetch", "-q", "--depth", "2", &url, "main"]);
    repo.git(&["reset", "-q", "--hard", "FETCH_HEAD"]);
    repo.is_logged_alike();
}

#[test]
fn replaced_commits_are_shown_as_they_are_and_it_says_so() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.commit("second");
    let said = || {
        let answers =
            ["git_log", "git_diff", "git_status"].map(|name| call(name, json!({}), &repo.context()).unwrap());
        answers.map(|answer| answer["notes"].to_string().contains("replacements"))
    };
    assert_eq!(said(), [false; 3]);
    repo.git(&["replace", "HEAD", "HEAD~1"]);
    assert_eq!(said(), [true; 3]);
    repo.git(&["pack-refs", "--all"]);
    assert_eq!(said(), [true; 3]);
    repo.git(&["replace", "-d", "HEAD"]);
    repo.write(".git/info/grafts", format!("{}\n", repo.git(&["rev-parse", "HEAD"]).trim()));
    assert_eq!(said(), [true; 3]);
}

#[test]
fn abbreviations_that_are_ambiguous_grow() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git(&["config", "core.abbrev", "4"]);
    for count in 0..600 {
        repo.write(format!("f{count}"), format!("{count}\n"));
    }
    repo.commit("many objects");
    repo.write("f1", "x\n");
    repo.is_shown_alike();
    repo.is_logged_alike();
    repo.git(&["gc", "-q"]);
    repo.git(&["config", "core.abbrev", "auto"]);
    repo.is_logged_alike();
}
