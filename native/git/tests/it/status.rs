//! `git_status` prints what `git status` prints.

use super::repo::Repo;
use serde_json::json;

#[test]
fn a_repository_without_commits() {
    let repo = Repo::new();
    repo.is_shown_alike();
    repo.write("a", "1\n");
    repo.is_shown_alike();
    repo.git(&["add", "a"]);
    repo.is_shown_alike();
    repo.write("a", "2\n");
    repo.is_shown_alike();
}

#[test]
fn a_clean_tree_and_every_kind_of_change() {
    let repo = Repo::with(&[
        ("keep", "k\n"),
        ("edit", "e\n"),
        ("gone", "g\n"),
        ("dir/deep", "d\n"),
        ("mode", "m\n"),
    ]);
    repo.is_shown_alike();
    repo.write("edit", "e2\n");
    repo.remove("gone");
    repo.write("new", "n\n");
    repo.write("other/x", "x\n");
    repo.executable("mode");
    repo.is_shown_alike();
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
    repo.write("new", "n2\n");
    repo.write("dir/deep", "d2\n");
    repo.is_shown_alike();
}

/// Enough files that other threads look at them, with changes of every kind in each thread's part.
#[test]
fn a_large_tree_with_changes_everywhere() {
    let repo = Repo::new();
    for at in 0..4_000 {
        repo.write(format!("{}/{at:04}", at % 10), format!("{at}\n"));
    }
    repo.commit("first");
    // Later than the index, so that the metadata decide.
    std::thread::sleep(std::time::Duration::from_millis(1_100));
    repo.git(&["update-index", "--refresh"]);
    repo.is_shown_alike();
    for at in (0..4_000).step_by(397) {
        let name = |beyond: usize| format!("{}/{:04}", (at + beyond) % 10, at + beyond);
        repo.write(name(0), "changed\n");
        repo.write(name(1), format!("{}\n", at + 2));
        repo.remove(&name(2));
        repo.executable(&name(3));
        repo.remove(&name(4));
        repo.link("../nowhere", &name(4));
        repo.git(&["update-index", "--assume-unchanged", &name(5)]);
        repo.write(name(5), "not looked at\n");
        repo.git(&["update-index", "--skip-worktree", &name(6)]);
        repo.remove(&name(6));
        repo.write(format!("{}/new{at}", at % 10), "new\n");
        repo.git(&["add", "--intent-to-add", &format!("{}/new{at}", at % 10)]);
        repo.write(format!("{}/untracked{at}", at % 10), "untracked\n");
    }
    repo.is_shown_alike();
}

#[test]
fn renames_exact_and_with_changes() {
    let text: String = (0..40).map(|line| format!("line {line}\n")).collect();
    let repo = Repo::with(&[
        ("a.txt", &text),
        ("b.txt", "other\n"),
        ("empty", ""),
        ("src/lib.rs", &text.replace("line", "word")),
    ]);
    repo.git(&["mv", "a.txt", "moved.txt"]);
    repo.git(&["mv", "empty", "void"]);
    repo.git(&["mv", "src/lib.rs", "core.rs"]);
    repo.write("core.rs", text.replace("line", "word").replace("word 3\n", "changed\n"));
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
    repo.write("moved.txt", text.replace("line 7\n", "seven\n"));
    repo.is_shown_alike();
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
}

#[test]
fn a_link_and_a_file_take_each_others_place() {
    let repo = Repo::with(&[("file", "f\n"), ("other", "o\n")]);
    repo.link("file", "link");
    repo.commit("link");
    repo.remove("link");
    repo.write("link", "now a file\n");
    repo.remove("file");
    repo.link("other", "file");
    repo.is_shown_alike();
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
}

#[test]
fn a_file_and_a_directory_take_each_others_place() {
    let repo = Repo::with(&[("a", "a\n"), ("d/x", "x\n")]);
    repo.remove("a");
    repo.write("a/inner", "i\n");
    std::fs::remove_dir_all(repo.path().join("d")).unwrap();
    repo.write("d", "d\n");
    repo.is_shown_alike();
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
}

/// Two branches that both changed the same places; the merge stops.
fn conflicted() -> Repo {
    let text: String = (0..30).map(|line| format!("line {line}\n")).collect();
    let files = [("both", text.as_str()), ("ours-gone", "x\n"), ("theirs-gone", "y\n"), ("same", "s\n")];
    let repo = Repo::with(&files);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("both", text.replace("line 3\n", "theirs 3\n").replace("line 20\n", "theirs 20\n"));
    repo.write("ours-gone", "theirs\n");
    repo.remove("theirs-gone");
    repo.write("added", "theirs\n");
    repo.write("clean", "from side\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("both", text.replace("line 3\n", "ours 3\n").replace("line 10\n", "ours 10\n"));
    repo.remove("ours-gone");
    repo.write("theirs-gone", "ours\n");
    repo.write("added", "ours\n");
    repo.commit("ours");
    repo.git_output(&["merge", "side"]);
    repo
}

#[test]
fn a_merge_with_every_kind_of_conflict() {
    let repo = conflicted();
    repo.is_shown_alike();
    repo.write("same", "changed meanwhile\n");
    repo.write("untracked", "u\n");
    repo.is_shown_alike();
    for path in ["both", "added", "theirs-gone"] {
        repo.git(&["add", path]);
        repo.is_shown_alike();
    }
    repo.git(&["rm", "-q", "ours-gone"]);
    repo.is_shown_alike();
    repo.git(&["commit", "-q", "-m", "merged"]);
    repo.is_shown_alike();
    repo.is_logged_alike();
}

#[test]
fn a_conflict_that_is_resolved_or_deleted_in_the_work_tree() {
    let repo = conflicted();
    let theirs = repo.git(&["show", "side:both"]);
    repo.write("both", theirs);
    repo.is_shown_alike();
    let ours = repo.git(&["show", "main:both"]);
    repo.write("both", &ours);
    repo.is_shown_alike();
    repo.write("both", ours.replace("line 25\n", "only here\n"));
    repo.is_shown_alike();
    repo.remove("both");
    repo.is_shown_alike();
}

#[test]
fn renames_on_both_sides_leave_paths_without_their_own_side() {
    let repo = Repo::with(&[("a", "some text\nthat is\nlong enough\n")]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.git(&["mv", "a", "b"]);
    repo.commit("b");
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["mv", "a", "c"]);
    repo.commit("c");
    repo.git_output(&["merge", "side"]);
    repo.is_shown_alike();
}

#[test]
fn branches_and_their_upstreams() {
    let origin = Repo::with(&[("a", "1\n")]);
    let repo = Repo::new();
    repo.write("unrelated", "");
    repo.git(&["remote", "add", "origin", origin.path().to_str().unwrap()]);
    repo.git(&["fetch", "-q", "origin"]);
    repo.remove("unrelated");
    repo.git(&["reset", "-q", "--hard", "origin/main"]);
    repo.is_shown_alike();
    repo.git(&["branch", "-q", "-u", "origin/main"]);
    repo.is_shown_alike();
    repo.write("b", "mine\n");
    repo.commit("mine");
    repo.is_shown_alike();
    repo.commit("mine too");
    repo.is_shown_alike();
    repo.git(&["reset", "-q", "--hard", "origin/main"]);
    origin.commit("theirs");
    repo.git(&["fetch", "-q"]);
    repo.is_shown_alike();
    repo.git(&["checkout", "-q", "-b", "local", "--track", "main"]);
    repo.is_shown_alike();
    repo.git(&["checkout", "-q", "main"]);
    repo.git(&["update-ref", "-d", "refs/remotes/origin/main"]);
    repo.is_shown_alike();
}

#[test]
fn a_branch_that_diverged() {
    let origin = Repo::with(&[("a", "1\n")]);
    let repo = Repo::new();
    repo.git(&["remote", "add", "origin", origin.path().to_str().unwrap()]);
    repo.git(&["pull", "-q", "origin", "main"]);
    repo.git(&["fetch", "-q"]);
    repo.git(&["branch", "-q", "-u", "origin/main"]);
    origin.commit("theirs");
    origin.commit("theirs too");
    repo.commit("ours");
    repo.git(&["fetch", "-q"]);
    repo.is_shown_alike();
}

#[test]
fn a_detached_head() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.commit("second");
    repo.git(&["tag", "v1"]);
    repo.git(&["tag", "-a", "v2", "-m", "annotated"]);
    for to in ["--detach", "HEAD~1", "v1", "v2", "refs/tags/v1", "main~0"] {
        repo.git(&["checkout", "-q", to]);
        repo.is_shown_alike();
        repo.git(&["checkout", "-q", "main"]);
    }
    repo.git(&["checkout", "-q", "v1"]);
    repo.commit("on no branch");
    repo.is_shown_alike();
    repo.is_logged_alike();
    repo.git(&["update-ref", "--no-deref", "HEAD", "main"]);
    repo.is_shown_alike();
}

#[test]
fn cherry_pick_revert_bisect_and_am_stop_half_way() {
    for command in ["cherry-pick", "revert"] {
        let repo = conflicted();
        repo.git(&["merge", "--abort"]);
        repo.git_output(&[command, if command == "revert" { "HEAD~1" } else { "side" }]);
        repo.is_shown_alike();
        repo.git(&["add", "-A"]);
        repo.is_shown_alike();
    }
    let repo = Repo::with(&[("a", "1\n")]);
    (0..5).for_each(|count| repo.commit(&format!("commit {count}")));
    repo.git(&["bisect", "start", "HEAD", "HEAD~4"]);
    repo.is_shown_alike();
    repo.git(&["bisect", "reset"]);
    repo.write("a", "2\n");
    repo.commit("change");
    let patch = repo.git(&["format-patch", "-1", "--stdout"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    repo.write("a", "other\n");
    repo.commit("other");
    repo.write(".git/patch.mbox", &patch);
    repo.git_output(&["am", ".git/patch.mbox"]);
    repo.is_shown_alike();
}

#[test]
fn a_rebase_stops_half_way() {
    for args in [&["rebase", "main"][..], &["rebase", "--apply", "main"], &["rebase", "-i", "main"]] {
        let repo = Repo::with(&[("a", "1\n")]);
        repo.git(&["checkout", "-q", "-b", "side"]);
        for count in 2..6 {
            repo.write("a", format!("{count}\n"));
            repo.commit(&format!("side {count}"));
        }
        repo.git(&["checkout", "-q", "main"]);
        repo.write("a", "main\n");
        repo.commit("main");
        repo.git(&["checkout", "-q", "side"]);
        repo.git_output(args);
        repo.is_shown_alike();
        repo.git(&["add", "-A"]);
        repo.is_shown_alike();
        repo.write("a", "resolved\n");
        repo.git(&["add", "-A"]);
        repo.git_output(&["rebase", "--continue"]);
        repo.is_shown_alike();
        repo.git(&["rebase", "--abort"]);
        repo.is_shown_alike();
    }
}

#[test]
fn a_rebase_stops_to_edit_a_commit() {
    let repo = Repo::with(&[("a", "1\n")]);
    (2..5).for_each(|count| {
        repo.write("a", format!("{count}\n"));
        repo.commit(&format!("side {count}"));
    });
    repo.git(&["-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-i", "HEAD~3"]);
    repo.is_shown_alike();
    repo.git(&["reset", "-q", "HEAD~1"]);
    repo.is_shown_alike();
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
}

#[test]
fn unusual_names() {
    let names = [
        "sp ace",
        "ä",
        "quo\"te",
        "new\nline",
        "tab\t",
        "back\\slash",
        "-dash",
        "日本",
        "a -> b",
        "\u{7f}",
        "*.x",
    ];
    let repo = Repo::new();
    for (at, name) in names.iter().enumerate() {
        repo.write(name, format!("{at}\n"));
    }
    repo.write(std::ffi::OsStr::new(std::str::from_utf8(b"plain").unwrap()), "p\n");
    repo.write(std::path::Path::new(&bytes(b"caf\xe9")), "latin\n");
    repo.is_shown_alike();
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
    repo.commit("all");
    for name in names {
        repo.write(name, "changed\n");
    }
    repo.is_shown_alike();
    repo.git(&["mv", "sp ace", "mo ved"]);
    repo.git(&["mv", "ä", "ö"]);
    repo.is_shown_alike();
    repo.remove("plain");
    repo.is_shown_alike();
    std::fs::remove_file(repo.path().join(bytes(b"caf\xe9"))).unwrap();
    repo.commit("without bytes that are no text");
    repo.write("日本", "changed again\n");
    repo.git(&["config", "core.quotePath", "false"]);
    repo.is_shown_alike();
}

fn bytes(name: &[u8]) -> std::ffi::OsString {
    std::os::unix::ffi::OsStringExt::from_vec(name.to_vec())
}

#[test]
fn ignored_files_are_left_out() {
    let repo = Repo::with(
        &[
            (
                ".gitignore",
                "*.o\n!keep.o\n/top\nbuild/\ndoc/**/x\n**/cache\n\\#hash\nsp\\ \na[0-9]b\n# comment\n",
            ),
            ("src/.gitignore", "*.tmp\n!../never\n!sub/\n"),
            ("build/tracked", "t\n"),
        ][..2],
    );
    for path in [
        "a.o",
        "keep.o",
        "src/b.o",
        "top",
        "src/top",
        "build/x",
        "src/build/y",
        "build",
        "doc/x",
        "doc/a/x",
        "doc/a/b/x",
        "doc/y",
        "src/cache/1",
        "cache",
        "#hash",
        "sp ",
        "sp",
        "a1b",
        "axb",
        "src/t.tmp",
        "t.tmp",
        "src/sub/t.tmp",
        "deep/er/than/this",
        "only/ignored.o",
    ] {
        if !repo.path().join(path).exists() {
            let parent = repo.path().join(path);
            if parent.ancestors().skip(1).all(|dir| !dir.is_file()) {
                repo.write(path, "x");
            }
        }
    }
    repo.is_shown_alike();
    repo.write(".git/info/exclude", "deep\n!a.o\n");
    repo.is_shown_alike();
    repo.git(&["add", "-f", "build/x", "only/ignored.o"]);
    repo.is_shown_alike();
    repo.write("build/new", "n");
    repo.write("only/fresh", "n");
    repo.is_shown_alike();
}

#[test]
fn untracked_files_are_listed_as_the_settings_say() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("d/e/f", "1");
    repo.write("d/g", "1");
    repo.write("u", "1");
    std::fs::create_dir_all(repo.path().join("empty/dir")).unwrap();
    repo.git(&["init", "-q", "nested"]);
    for mode in ["all", "normal", "no"] {
        repo.git(&["config", "status.showUntrackedFiles", mode]);
        repo.is_shown_alike();
    }
    repo.write("a", "2\n");
    repo.git(&["add", "a"]);
    repo.is_shown_alike();
}

#[test]
fn a_file_that_is_only_intended_to_be_added() {
    let repo = Repo::with(&[("a", "1\n2\n3\n4\n")]);
    repo.write("b", "new\n");
    repo.git(&["add", "-N", "b"]);
    repo.is_shown_alike();
    repo.remove("a");
    repo.write("b", "1\n2\n3\n4\n");
    repo.is_shown_alike();
}

#[test]
fn a_submodule_with_another_commit() {
    let inner = Repo::with(&[("x", "1\n")]);
    let repo = Repo::with(&[("a", "1\n")]);
    let url = inner.path().to_str().unwrap();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    repo.is_shown_alike();
    repo.commit("submodule");
    repo.is_shown_alike();
    repo.git(&[
        "-C",
        "sub",
        "-c",
        "user.name=x",
        "-c",
        "user.email=y",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "more",
    ]);
    repo.is_shown_alike();
    repo.git(&["add", "sub"]);
    repo.is_shown_alike();
}

#[test]
fn settings_that_change_what_is_compared() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "2\n"), ("m", "m\n")]);
    repo.git(&["config", "core.fileMode", "false"]);
    repo.executable("m");
    repo.is_shown_alike();
    repo.git(&["update-index", "--assume-unchanged", "a"]);
    repo.git(&["update-index", "--skip-worktree", "b"]);
    repo.write("a", "changed\n");
    repo.remove("b");
    repo.is_shown_alike();
    repo.git(&["config", "diff.renames", "false"]);
    repo.git(&["mv", "m", "n"]);
    repo.is_shown_alike();
}

#[test]
fn a_detached_head_without_a_log() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git(&["checkout", "-q", "--detach"]);
    std::fs::remove_dir_all(repo.path().join(".git/logs")).unwrap();
    repo.is_shown_alike();
}

#[test]
fn directories_too_deep_are_left_out_and_the_note_says_so() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write(format!("{}f", "d/".repeat(300)), "deep\n");
    let answer = repo.tool("git_status", serde_json::json!({"short": true}));
    assert!(answer["notes"][0].as_str().unwrap().ends_with("too deep to look into it"), "{answer}");
    repo.write(format!("{}g", "e/".repeat(200)), "deep enough\n");
    assert_eq!(repo.text("git_status", serde_json::json!({"short": true})), "?? e/\n");
}

#[test]
fn a_sparse_checkout() {
    let repo = Repo::with(&[("a/x", "1\n"), ("b/x", "2\n"), ("c", "3\n")]);
    repo.git(&["sparse-checkout", "set", "a"]);
    repo.is_shown_alike();
}

/// Flags about the work tree say nothing about what the next commit has.
#[test]
fn what_is_staged_is_shown_whatever_git_was_told_to_leave_alone() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n"), ("c", "1\n")]);
    for path in ["a", "b", "new", "also new"] {
        repo.write(path, "2\n");
    }
    repo.git(&["add", "-A"]);
    repo.git(&["update-index", "--assume-unchanged", "a", "new"]);
    repo.git(&["update-index", "--skip-worktree", "b", "also new"]);
    repo.is_shown_alike();
    repo.write("new", "3\n");
    repo.is_shown_alike();
    let committed = repo.tool("git_commit", json!({"message": "all"}));
    assert_eq!((&committed["files"], &committed["additions"]), (&json!(4), &json!(4)), "{committed}");
    assert_eq!(repo.git(&["diff", "--name-only", "HEAD~1", "HEAD"]), "a\nalso new\nb\nnew\n");
    repo.is_shown_alike();
}

#[test]
fn a_path_that_is_to_be_added_again_is_deleted_until_then() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.git(&["rm", "-q", "--cached", "a"]);
    repo.git(&["add", "-N", "a"]);
    assert_eq!(repo.git(&["status", "--short"]), "DA a\n");
    repo.is_shown_alike();
    let committed = repo.tool("git_commit", json!({"message": "without"}));
    assert_eq!((&committed["files"], &committed["deletions"]), (&json!(1), &json!(1)), "{committed}");
    assert_eq!(repo.git(&["ls-tree", "--name-only", "HEAD"]), "b\n");
    repo.is_shown_alike();
}
