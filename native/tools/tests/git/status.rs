//! `git_status` prints what `git status` prints.

use crate::repo::Repo;

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
