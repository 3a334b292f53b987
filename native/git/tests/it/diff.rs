//! `git_diff` prints what `git diff` prints.

use super::repo::{Repo, same};
use serde_json::json;

#[test]
fn hunks_have_context_and_headings() {
    let text: String = (0..60).map(|line| format!("fn f{line}() {{\n    body {line}\n}}\n")).collect();
    let repo = Repo::with(&[("a.rs", &text)]);
    repo.write(
        "a.rs",
        text.replace("body 3\n", "changed\n").replace("body 40\n", "").replace("fn f50", "fn g50"),
    );
    repo.is_shown_alike();
}

#[test]
fn long_headings_are_cut_between_characters_and_trimmed() {
    for length in 66..90 {
        let head = format!("{}{}", "x".repeat(length), ["ä日", "y "][length % 2].repeat(10));
        let text = format!("{head}\n1\n2\n3\n4\n5\n6\n");
        let repo = Repo::with(&[("a", &text)]);
        repo.write("a", text.replace("6\n", "six\n"));
        repo.is_shown_alike();
    }
}

#[test]
fn files_without_a_newline_at_their_end() {
    let repo = Repo::with(&[("a", "1\n2"), ("b", "1\n2\n"), ("c", "x"), ("d", "")]);
    repo.write("a", "1\n2\n");
    repo.write("b", "1\n2");
    repo.write("c", "y");
    repo.write("d", "now");
    repo.is_shown_alike();
}

#[test]
fn binary_files() {
    let repo = Repo::new();
    repo.write("image", b"\x89PNG\0\x01\x02");
    repo.write("text", "t\n");
    repo.write("gone", b"\0");
    repo.commit("first");
    repo.write("image", b"\x89PNG\0\x01\x03");
    repo.write("text", b"t\n\0");
    repo.remove("gone");
    repo.write("new bin", b"\0new");
    repo.git(&["add", "-N", "new bin"]);
    repo.is_shown_alike();
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
}

#[test]
fn attributes_say_what_is_text() {
    let repo = Repo::with(&[
        (".gitattributes", "*.bin -diff\n*.txt diff\n*.x binary\n"),
        ("a.bin", "1\n"),
        ("b.x", "1\n"),
    ]);
    repo.write("c.txt", b"1\0\n");
    repo.commit("second");
    repo.write("a.bin", "2\n");
    repo.write("b.x", "2\n");
    repo.write("c.txt", b"2\0\n");
    let own = repo.text("git_diff", json!({}));
    same(&repo.git(&["diff"]), &own, "diff");
}

#[test]
fn modes_alone_and_with_content() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.executable("a");
    repo.executable("b");
    repo.write("b", "2\n");
    repo.is_shown_alike();
    repo.git(&["add", "-A"]);
    repo.is_shown_alike();
}

#[test]
fn one_file_or_directory() {
    let repo = Repo::with(&[("a/x", "1\n"), ("a/y", "1\n"), ("ab", "1\n"), ("a b", "1\n")]);
    for path in ["a/x", "a/y", "ab", "a b"] {
        repo.write(path, "2\n");
    }
    for path in ["a", "a/x", "a/", "./a/../ab", "a b", ".", "nothing"] {
        let own = repo.text("git_diff", json!({"path": path}));
        same(&repo.git(&["diff", "--", path]), &own, path);
    }
    repo.write("new/file", "1\n");
    for (path, note) in [
        ("nothing", "nothing exists neither in"),
        ("a*", "patterns are not supported"),
        ("new", "git does not track new"),
    ] {
        let said = repo.tool("git_diff", json!({"path": path}));
        assert!(said["notes"][0].as_str().unwrap().contains(note), "{said}");
    }
    repo.git(&["add", "-A"]);
    let own = repo.text("git_diff", json!({"staged": true, "path": "a"}));
    assert_eq!(repo.tool("git_diff", json!({"path": "a"}))["notes"], json!(null));
    same(&repo.git(&["diff", "--cached", "--", "a"]), &own, "staged");
    let absolute = repo.path().join("ab");
    let own = repo.text("git_diff", json!({"staged": true, "path": absolute}));
    same(&repo.git(&["diff", "--cached", "--", "ab"]), &own, "absolute");
}

#[test]
fn a_path_limits_before_renames_are_looked_for() {
    let repo = Repo::with(&[("old", "1\n2\n3\n")]);
    repo.git(&["mv", "old", "new"]);
    let own = repo.text("git_diff", json!({"staged": true, "path": "new"}));
    same(&repo.git(&["diff", "--cached", "--", "new"]), &own, "one side of a rename");
}

#[test]
fn line_endings_as_settings_and_attributes_say() {
    for (settings, attributes) in [
        (&[][..], ""),
        (&[("core.autocrlf", "true")][..], ""),
        (&[("core.autocrlf", "input")][..], ""),
        (&[][..], "* text=auto\n"),
        (&[][..], "*.txt text\n"),
        (&[][..], "*.txt eol=crlf\n*.bin -text\n"),
        (&[("core.autocrlf", "true")][..], "*.txt -text\nid ident\n"),
        // If the value of `text` is unknown or unset, git uses the older attribute `crlf`.
        (&[][..], "*.txt text=other crlf\n"),
        (&[][..], "* text=auto\n*.txt !text crlf=input\n"),
        (&[("core.autocrlf", "true")][..], "*.txt text=other -crlf\n"),
    ] {
        let repo = Repo::new();
        settings.iter().for_each(|(name, value)| _ = repo.git(&["config", name, value]));
        repo.write(".gitattributes", attributes);
        for name in ["lf.txt", "crlf.txt", "mixed.txt", "a.bin", "id"] {
            repo.write(name, "1\n2\n$Id$\n3\n");
        }
        repo.commit("first");
        repo.write("crlf.txt", "1\r\n2\r\nthree\r\n");
        repo.write("mixed.txt", "1\r\n2\n3\r\n4\r");
        repo.write("a.bin", "1\r\n\0");
        repo.write("id", "1\n2\n$Id: 0123 $\n4\n");
        repo.is_shown_alike();
        repo.write("crlf.txt", "1\r\n2\r\n$Id$\r\n3\r\n");
        repo.write("id", "1\n2\n$Id: 01 $\n3\n");
        repo.write("new.txt", "n\r\nm\r\n");
        repo.is_shown_alike();
        repo.git(&["add", "-A"]);
        repo.is_shown_alike();
    }
}

#[test]
fn text_in_another_encoding_is_decoded_and_the_note_says_so() {
    let repo = Repo::new();
    repo.write("latin", b"Gr\xfc\xdfe aus K\xf6ln\nund noch eine Zeile f\xfcr die Erkennung\n");
    repo.commit("first");
    repo.write("latin", b"Sch\xf6ne Gr\xfc\xdfe aus K\xf6ln\nund noch eine Zeile f\xfcr die Erkennung\n");
    let answer = repo.tool("git_diff", json!({}));
    assert!(answer["content"].as_str().unwrap().contains("+Schöne Grüße aus Köln\n"), "{answer}");
    assert!(answer["notes"][0].as_str().unwrap().starts_with("latin is shown decoded from "), "{answer}");
}

#[test]
fn a_filtered_file_is_compared_as_it_is_and_the_note_says_so() {
    let repo = Repo::with(&[("a.dat", "1\n")]);
    repo.write(".gitattributes", "*.dat filter=evil\n");
    repo.git(&["config", "filter.evil.clean", "touch ran; cat"]);
    repo.write("a.dat", "2\n");
    let answer = repo.tool("git_diff", json!({}));
    assert!(answer["content"].as_str().unwrap().contains("+2\n"));
    assert!(answer["notes"][0].as_str().unwrap().contains("filter=evil"), "{answer}");
    assert!(!repo.path().join("ran").exists());
}

#[test]
fn a_file_with_conflicts_is_compared_with_a_commit_as_it_is() {
    let repo = Repo::with(&[("f", "0\n"), ("g", "0\n")]);
    repo.write("f", "1\n");
    repo.commit("second");
    repo.git(&["checkout", "-q", "-b", "other"]);
    repo.write("f", "other\n");
    repo.write("g", "other\n");
    repo.write("new", "other\n");
    repo.commit("other");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("f", "main\n");
    repo.write("new", "main\n");
    repo.git(&["rm", "-q", "g"]);
    repo.commit("main");
    assert!(!repo.git_output(&["merge", "other"]).status.success());
    let alike = || {
        for commit in ["HEAD", "HEAD~1", "HEAD~2", "other"] {
            let own = repo.text("git_diff", json!({"commit": commit}));
            same(&repo.git(&["diff", commit]), &own, commit);
        }
    };
    alike();
    let stat = repo.text("git_diff", json!({"commit": "HEAD~2", "stat": true, "path": "f"}));
    assert_eq!(stat, "f | +5 -1\n1 file changed, +5 -1\n");
    repo.remove("f");
    alike();
}

#[test]
fn a_new_submodule_is_shown_beside_a_deleted_file() {
    let inner = Repo::with(&[("x", "1\n")]);
    let repo = Repo::with(&[("a", "1\n"), ("b", "2\n")]);
    let url = inner.path().to_str().unwrap();
    repo.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    repo.commit("submodule");
    repo.remove("a");
    let own = repo.text("git_diff", json!({"commit": "HEAD~1"}));
    assert!(own.contains("+Subproject commit "), "{own}");
    same(&repo.git(&["diff", "HEAD~1"]), &own, "diff HEAD~1");
}
