//! `git_commit` records what `git commit -m` records.

use super::repo::{Repo, same};
use beamai_base::Reason;
use serde_json::json;

/// A commit object without the times, which differ.
fn object(repo: &Repo) -> String {
    let text = repo.git(&["cat-file", "-p", "HEAD"]);
    let is_person = |line: &str| line.starts_with("author ") || line.starts_with("committer ");
    let without_time = |line: &str| match is_person(line) {
        true => line[..line.rfind('>').unwrap()].to_owned(),
        false => line.to_owned(),
    };
    text.split('\n').map(without_time).collect::<Vec<_>>().join("\n")
}

fn administration(repo: &Repo) -> Vec<String> {
    let names = std::fs::read_dir(repo.path().join(".git")).unwrap();
    let mut names: Vec<String> = names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != "COMMIT_EDITMSG");
    names.sort();
    names
}

/// The tool and git make the same commit from the same repository.
fn commits_alike(repo: &Repo, message: &str) {
    let copy = repo.copy();
    let printed = copy.git(&["commit", "-m", message]);
    let made = repo.tool("git_commit", json!({"message": message}));
    assert_eq!((&made["ok"], &made["available"]), (&json!(true), &json!(true)));
    assert_eq!(made["commit"], repo.git(&["rev-parse", "HEAD"]).trim());
    same(&object(&copy), &object(repo), "the commit");
    let logged = ["reflog", "--format=%gn <%ge> %gs"];
    same(&copy.git(&logged), &repo.git(&logged), "the log of HEAD");
    same(&copy.git(&["status"]), &repo.git(&["status"]), "git's own status");
    assert_eq!(administration(&copy), administration(repo));
    let without_hash = |line: &str| {
        line.split_whitespace().filter(|word| !word.ends_with(']')).collect::<Vec<_>>().join(" ")
    };
    let first = printed.lines().next().unwrap();
    assert_eq!(without_hash(first), without_hash(made["content"].as_str().unwrap()));
    // Of a merge, git prints no numbers.
    let shown = repo.git(&["show", "--shortstat", "--format="]);
    if let Some(numbers) = shown.lines().find(|line| line.contains(" changed")) {
        let number = |word: &str| {
            let part = numbers.split(", ").find(|part| part.contains(word));
            part.map_or(0, |part| part.split_whitespace().next().unwrap().parse::<u64>().unwrap())
        };
        let expected = json!([number("file"), number("insertion"), number("deletion")]);
        assert_eq!(json!([made["files"], made["additions"], made["deletions"]]), expected, "{shown}");
    }
    repo.git(&["fsck", "--strict"]);
    repo.is_shown_alike();
    repo.is_logged_alike();
}

fn staged() -> Repo {
    let repo = Repo::with(&[("a", "1\n"), ("d/x", "1\n")]);
    repo.write("a", "2\n");
    repo.write("b", "new\n");
    repo.git(&["add", "-A"]);
    repo.write("d/x", "not staged\n");
    repo
}

#[test]
fn what_is_staged_and_nothing_else() {
    commits_alike(&staged(), "second");
}

#[test]
fn the_first_commit() {
    let repo = Repo::new();
    repo.write("a", "1\n");
    repo.git(&["add", "a"]);
    commits_alike(&repo, "first");
}

#[test]
fn messages_are_cleaned_as_git_cleans_them() {
    for message in
        ["  \n\nsubject  \n\n\n\nbody\t\n# not a comment\n\n", "two\nlines", "ümläut ✓", "x\r\ny", "--amend"]
    {
        commits_alike(&staged(), message);
    }
}

#[test]
fn on_a_detached_head_and_on_another_branch() {
    let repo = staged();
    repo.git(&["checkout", "-q", "--detach"]);
    commits_alike(&repo, "detached");
    let repo = staged();
    repo.git(&["checkout", "-q", "-b", "feature/x"]);
    commits_alike(&repo, "on a branch");
}

#[test]
fn a_merge_is_concluded() {
    let repo = Repo::with(&[("a", "1\n")]);
    for branch in ["one", "two"] {
        repo.git(&["checkout", "-q", "-b", branch, "main"]);
        repo.write(branch, "x");
        repo.commit(branch);
    }
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("on main");
    repo.git(&["merge", "-q", "--no-commit", "--no-ff", "one"]);
    commits_alike(&repo, "merged");
    repo.commit("more");
    repo.git(&["merge", "-q", "--no-commit", "--no-ff", "two"]);
    commits_alike(&repo, "merged again");
}

#[test]
fn a_merge_records_each_parent_that_no_other_contains_once() {
    let repo = Repo::with(&[("a", "1\n")]);
    let id = |name: &str| repo.git(&["rev-parse", name]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.commit("on main");
    repo.git(&["checkout", "-q", "-b", "ahead"]);
    repo.commit("ahead");
    repo.git(&["checkout", "-q", "main"]);
    for (heads, mode) in [
        (&["main"][..], ""),
        (&["side", "side", "main~1"], ""),
        (&["ahead"], ""),
        (&["side", "ahead"], ""),
        (&["side", "side", "main"], "no-ff"),
    ] {
        let copy = repo.copy();
        copy.write("b", "1\n");
        copy.git(&["add", "b"]);
        copy.write(".git/MERGE_HEAD", heads.iter().map(|head| id(head)).collect::<String>());
        copy.write(".git/MERGE_MODE", mode);
        commits_alike(&copy, "merged");
    }
}

#[test]
fn a_path_only_intended_to_be_added_is_not_in_the_commit() {
    let repo = staged();
    repo.write("later", "l\n");
    repo.git(&["add", "-N", "later"]);
    commits_alike(&repo, "without later");
}

#[test]
fn renames_count_as_git_counts_them() {
    let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    let repo = Repo::with(&[("a", &text), ("b", "1\n2\n"), ("gone", "x\n"), ("c.bin", "a\0b")]);
    repo.git(&["mv", "a", "renamed"]);
    repo.write("renamed", format!("{text}more\n"));
    repo.git(&["mv", "b", "moved"]);
    repo.remove("gone");
    repo.write("c.bin", "a\0c");
    repo.link("moved", "link");
    repo.git(&["add", "-A"]);
    let copy = repo.copy();
    commits_alike(&repo, "renamed");
    copy.git(&["config", "diff.renames", "false"]);
    commits_alike(&copy, "without renames");
}

#[test]
fn attributes_that_are_no_file_are_not_waited_for() {
    let repo = staged();
    let mode = rustix::fs::Mode::from_raw_mode(0o644);
    let path = repo.path().join(".gitattributes");
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(repo.tool("git_commit", json!({"message": "m"}))["files"], 2);
}

#[test]
fn nothing_staged_is_refused() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("a", "2\n");
    let error = repo.refused("git_commit", json!({"message": "m"}));
    assert_eq!(error.reason, Reason::BadState);
    assert!(error.message.contains("git_add"));
    assert_eq!(Repo::new().refused("git_commit", json!({"message": "m"})).reason, Reason::BadState);
}

#[test]
fn conflicts_are_refused_and_named() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("a", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a", "main\n");
    repo.commit("main");
    repo.git_output(&["merge", "side"]);
    let error = repo.refused("git_commit", json!({"message": "m"}));
    assert_eq!(error.reason, Reason::BadState);
    assert!(error.message.contains("conflicts: a;"), "{}", error.message);
    repo.git(&["merge", "--abort"]);
    std::fs::create_dir(repo.path().join(".git/rebase-apply")).unwrap();
    repo.write(".git/rebase-apply/applying", "");
    let error = repo.refused("git_commit", json!({"message": "m"}));
    assert!(error.message.starts_with("an am is in progress"), "{error}");
    std::fs::remove_dir_all(repo.path().join(".git/rebase-apply")).unwrap();
    repo.git_output(&["cherry-pick", "side"]);
    repo.git(&["add", "a"]);
    let error = repo.refused("git_commit", json!({"message": "m"}));
    assert_eq!(error.reason, Reason::NeedsShell);
    assert!(error.message.contains("git cherry-pick --continue"), "{}", error.message);
}

#[test]
fn a_commit_without_a_person_is_refused() {
    let repo = staged();
    repo.git(&["config", "--unset", "user.email"]);
    let error = repo.refused("git_commit", json!({"message": "m"}));
    assert!(error.message.contains("user.email"), "{}", error.message);
}

/// The tool and git name the same people in the same commit and in the log of HEAD.
fn people_alike(repo: &Repo) {
    let copy = repo.copy();
    copy.git(&["commit", "-q", "-m", "second"]);
    repo.tool("git_commit", json!({"message": "second"}));
    same(&object(&copy), &object(repo), "the commit");
    let logged = ["reflog", "--format=%gn <%ge>"];
    same(&copy.git(&logged), &repo.git(&logged), "the log");
}

#[test]
fn people_are_named_as_git_names_them() {
    for settings in [
        &[("user.name", "a\nb"), ("user.email", "x@y\n")][..],
        &[("user.name", " ;<A, U. \"Thor\"> \t."), ("user.email", "<a@b> ")],
        &[("user.name", "Jörg\ttab"), ("user.email", "'q'")],
        &[("author.name", "Author"), ("committer.email", "c@example.com")],
        &[("author.email", "x@y"), ("committer.name", "C\n\nsigned: <x>")],
        &[("author.name", ""), ("committer.name", "")],
    ] {
        let repo = staged();
        settings.iter().for_each(|(name, value)| _ = repo.git(&["config", name, value]));
        people_alike(&repo);
    }
    let repo = staged();
    ["user.name", "user.email"].iter().for_each(|name| _ = repo.git(&["config", "--unset", name]));
    for (name, value) in [("author.name", "A"), ("author.email", "a"), ("committer.name", "C")] {
        repo.git(&["config", name, value]);
        let error = repo.refused("git_commit", json!({"message": "m"}));
        assert!(error.message.contains("git config user.name"), "{error}");
    }
    repo.git(&["config", "committer.email", "c"]);
    people_alike(&repo);
    repo.git(&["config", "user.name", " <;> "]);
    repo.git(&["config", "--unset", "committer.name"]);
    assert_eq!(repo.refused("git_commit", json!({"message": "m"})).reason, Reason::BadState);
}

#[test]
fn dangerous_options_cannot_be_expressed() {
    let repo = staged();
    let before = repo.git(&["rev-parse", "HEAD"]);
    for option in ["amend", "force", "no_verify", "no-verify", "all", "allow_empty", "author"] {
        let error = repo.refused("git_commit", json!({"message": "m", (option): true}));
        assert_eq!(error.reason, Reason::InvalidArgument);
        assert!(error.message.contains(&format!("\"{option}\" is not an argument")), "{}", error.message);
    }
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before);
    repo.tool("git_commit", json!({"message": "--amend"}));
    assert_eq!(repo.git(&["rev-parse", "HEAD~1"]), before);
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]), "--amend\n");
}

#[test]
fn messages_that_say_nothing_are_refused() {
    let repo = staged();
    for message in ["", " \n\t\n", "a\0b"] {
        assert_eq!(repo.refused("git_commit", json!({"message": message})).reason, Reason::InvalidArgument);
    }
    assert_eq!(repo.refused("git_commit", json!({})).reason, Reason::InvalidArgument);
    assert_eq!(repo.refused("git_commit", json!({"message": ["a"]})).reason, Reason::InvalidArgument);
}

#[test]
fn a_branch_behind_another_symbolic_reference_is_moved() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git(&["symbolic-ref", "refs/heads/alias", "refs/heads/main"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/alias"]);
    repo.is_shown_alike();
    repo.write("a", "2\n");
    repo.git(&["add", "a"]);
    let committed = repo.tool("git_commit", json!({"message": "second"}));
    assert!(committed["content"].as_str().unwrap().starts_with("[main "), "{committed}");
    assert_eq!(repo.git(&["symbolic-ref", "refs/heads/alias"]), "refs/heads/main\n");
    for log in ["HEAD", "main"] {
        let moves = repo.git(&["reflog", "show", "--format=%gs", log]);
        assert_eq!(moves.lines().next(), Some("commit: second"), "{log}: {moves}");
    }
    repo.is_shown_alike();
}
