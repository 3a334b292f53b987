//! `git_add` stages what `git add` stages.

use super::repo::{Repo, same};
use beamai_base::Reason;
use serde_json::json;

/// The tool and git stage the same from the same repository. What the tool says it staged.
fn adds_alike(repo: &Repo, path: &str) -> Vec<String> {
    let copy = repo.copy();
    copy.git(&["add", "--", path]);
    let added = repo.tool("git_add", json!({"path": path}));
    assert_eq!((&added["ok"], &added["available"]), (&json!(true), &json!(true)));
    same(
        &copy.git(&["ls-files", "--stage", "-z"]),
        &repo.git(&["ls-files", "--stage", "-z"]),
        "the staging area",
    );
    same(&copy.git(&["status"]), &repo.git(&["status"]), "git's own status");
    repo.git(&["fsck", "--strict"]);
    repo.is_shown_alike();
    added["files"].as_array().unwrap().iter().map(|file| file.as_str().unwrap().to_owned()).collect()
}

fn changed() -> Repo {
    let repo = Repo::with(&[
        ("a", "1\n"),
        ("d/x", "1\n"),
        ("d/y", "1\n"),
        ("gone", "1\n"),
        ("mode", "1\n"),
        ("link", "1\n"),
    ]);
    repo.write("a", "2\n");
    repo.write("d/x", "2\n");
    repo.write("d/new", "n\n");
    repo.remove("d/y");
    repo.remove("gone");
    repo.executable("mode");
    repo.remove("link");
    repo.link("nowhere", "link");
    repo.write("ü b", "new\n");
    repo
}

#[test]
fn one_path_of_every_kind() {
    for (path, files) in [
        ("a", &["a"][..]),
        ("d", &["d/new", "d/x", "d/y"]),
        ("d/", &["d/new", "d/x", "d/y"]),
        ("d/y", &["d/y"]),
        ("gone", &["gone"]),
        ("mode", &["mode"]),
        ("link", &["link"]),
        ("ü b", &["ü b"]),
        ("./d/../a", &["a"]),
        (".", &["a", "d/new", "d/x", "d/y", "gone", "link", "mode", "ü b"]),
    ] {
        assert_eq!(adds_alike(&changed(), path), files, "{path}");
    }
    let repo = changed();
    let absolute = repo.path().join("d/x");
    let added = repo.tool("git_add", json!({"path": absolute}));
    assert_eq!(added["files"], json!(["d/x"]));
}

#[test]
fn nothing_to_add_is_no_error() {
    let repo = Repo::with(&[("a", "1\n"), (".gitignore", "*.o\n")]);
    repo.write("d/x.o", "ignored");
    for path in ["a", ".", "d"] {
        assert!(adds_alike(&repo, path).is_empty());
    }
}

#[test]
fn a_first_file_in_a_new_repository() {
    let repo = Repo::new();
    repo.write("a", "1\n");
    assert_eq!(adds_alike(&repo, "a"), ["a"]);
}

#[test]
fn line_endings_and_ids_are_converted_as_git_does() {
    for attributes in
        ["* text=auto\n", "*.txt text eol=crlf\n", "*.txt -text\n", "*.txt ident\n", "*.txt text=input\n", ""]
    {
        for autocrlf in ["true", "false", "input"] {
            let repo =
                Repo::with(&[(".gitattributes", attributes), ("had.txt", "1\r\n2\r\n"), ("old.txt", "1\n")]);
            repo.git(&["config", "core.autocrlf", autocrlf]);
            repo.write("had.txt", "1\r\n2\r\n3\r\n");
            repo.write("old.txt", "1\r\n2\n$Id: x$\n");
            repo.write("new.txt", "1\r\n2\r\n");
            repo.write("bin", b"1\r\n\0");
            repo.write("lone", "1\r2\r\n");
            adds_alike(&repo, ".");
        }
    }
}

#[test]
fn line_endings_that_would_be_lost_are_refused_where_the_settings_say_so() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git(&["config", "core.autocrlf", "input"]);
    repo.git(&["config", "core.safecrlf", "true"]);
    repo.write("crlf", "1\r\n");
    assert!(!repo.git_output(&["add", "crlf"]).status.success());
    let error = repo.refused("git_add", json!({"path": "crlf"}));
    assert!(error.message.contains("core.safecrlf"), "{}", error.message);
}

#[test]
fn a_conflict_is_resolved_by_adding() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.git(&["checkout", "-q", "-b", "side"]);
    repo.write("a", "side\n");
    repo.write("b", "side\n");
    repo.commit("side");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("a", "main\n");
    repo.remove("b");
    repo.commit("main");
    repo.git_output(&["merge", "side"]);
    repo.write("a", "both\n");
    assert_eq!(adds_alike(&repo, "a"), ["a"]);
    repo.remove("b");
    assert_eq!(adds_alike(&repo, "b"), ["b"]);
}

#[test]
fn files_and_directories_that_took_each_others_place() {
    let repo = Repo::with(&[("a", "1\n"), ("d/x", "1\n")]);
    repo.remove("a");
    repo.write("a/inner", "i\n");
    std::fs::remove_dir_all(repo.path().join("d")).unwrap();
    repo.write("d", "now a file\n");
    adds_alike(&repo, "a/inner");
    adds_alike(&repo, "d");
    adds_alike(&repo, ".");
}

#[test]
fn changes_made_in_the_same_instant_are_not_lost() {
    for _ in 0..20 {
        let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
        repo.write("a", "2\n");
        repo.write("b", "x\n");
        repo.tool("git_add", json!({"path": "b"}));
        same(" M a\nM  b\n", &repo.git(&["status", "--short"]), "git's own status");
        repo.is_shown_alike();
    }
}

/// Most builds of git compare whole seconds: what changed within one must stay visible when the index is written
/// again in a later one.
#[test]
fn changes_made_in_the_same_second_are_not_lost() {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.git(&["config", "core.trustctime", "false"]);
    let at_second = |path: &str| {
        let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
        std::fs::File::options()
            .write(true)
            .open(repo.path().join(path))
            .unwrap()
            .set_modified(time)
            .unwrap();
    };
    at_second("a");
    repo.git(&["add", "a"]);
    repo.git(&["update-index", "--refresh"]);
    at_second(".git/index");
    repo.write("a", "2\n");
    at_second("a");
    repo.write("b", "x\n");
    repo.is_shown_alike();
    repo.tool("git_add", json!({"path": "b"}));
    same(" M a\nM  b\n", &repo.git(&["status", "--short"]), "git's own status");
    repo.is_shown_alike();
}

#[test]
fn an_ignored_file_is_refused_with_the_words_of_git() {
    let repo = Repo::with(&[(".gitignore", "*.o\nout/\n"), ("a", "1\n")]);
    repo.write("x.o", "1");
    repo.write("out/y", "1");
    for path in ["x.o", "out/y", "out"] {
        let error = repo.refused("git_add", json!({"path": path}));
        assert_eq!(error.reason, Reason::InvalidArgument);
        let git = String::from_utf8(repo.git_output(&["add", path]).stderr).unwrap();
        assert!(error.message.starts_with(git.lines().next().unwrap()), "{}", error.message);
        assert_eq!(error.details["file"], path);
    }
    repo.git(&["add", "-f", "x.o"]);
    repo.write("x.o", "2");
    assert_eq!(repo.tool("git_add", json!({"path": "x.o"}))["files"], json!(["x.o"]));
}

#[test]
fn pattern_files_of_the_repositorys_settings_count() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("conf/ignored", "*.log\n");
    repo.write("conf/attributes", "*.txt text\n*.lfs filter=lfs\n");
    let absolute = repo.path().canonicalize().unwrap().join("conf/ignored");
    for file in ["conf/ignored", absolute.to_str().unwrap()] {
        repo.git(&["config", "core.excludesFile", file]);
        repo.git(&["config", "core.attributesFile", "conf/attributes"]);
        repo.write("x.log", "1\n");
        repo.write("x.txt", "1\r\n");
        let copy = repo.copy();
        repo.is_shown_alike();
        copy.git(&["add", "."]);
        repo.tool("git_add", json!({"path": "."}));
        same(&copy.git(&["ls-files", "-s"]), &repo.git(&["ls-files", "-s"]), "what is staged");
        repo.git(&["reset", "-q"]);
    }
    repo.write("x.lfs", "1\n");
    let error = repo.refused("git_add", json!({"path": "x.lfs"}));
    assert!(error.message.contains("filter=lfs"), "{}", error.message);
    // As for git, one that is missing has no patterns.
    repo.git(&["config", "core.attributesFile", "missing"]);
    repo.git(&["config", "core.excludesFile", "missing/too"]);
    repo.is_shown_alike();
}

#[test]
fn pattern_files_that_cannot_be_read_are_refused() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.write("b", "1\n");
    for setting in ["core.excludesFile", "core.attributesFile"] {
        for file in ["/etc/passwd", "../outside", "."] {
            repo.git(&["config", setting, file]);
            let error = repo.refused("git_add", json!({"path": "."}));
            assert_eq!(error.reason, Reason::NeedsShell);
            assert!(error.message.contains(&format!("{setting} names {file},")), "{}", error.message);
        }
        repo.git(&["config", "--unset", setting]);
    }
    assert_eq!(repo.tool("git_add", json!({"path": "."}))["files"], json!(["b"]));
}

#[test]
fn what_cannot_be_added() {
    let repo = Repo::with(&[("a", "1\n"), ("d/x", "1\n")]);
    repo.link("d", "to-d");
    rustix::fs::mkfifoat(rustix::fs::CWD, repo.path().join("fifo"), rustix::fs::Mode::RUSR).unwrap();
    for (path, reason) in [
        ("missing", Reason::NoSuchFile),
        ("", Reason::InvalidArgument),
        ("*", Reason::NoSuchFile),
        ("-A", Reason::NoSuchFile),
        (":/", Reason::NoSuchFile),
        ("..", Reason::OutsideWorkspace),
        ("/etc/passwd", Reason::OutsideWorkspace),
        (".git/config", Reason::InvalidArgument),
        (".git", Reason::InvalidArgument),
        ("to-d/x", Reason::InvalidArgument),
        ("a/b", Reason::InvalidArgument),
        ("fifo", Reason::NotAFile),
    ] {
        assert_eq!(repo.refused("git_add", json!({"path": path})).reason, reason, "{path}");
    }
    let error = repo.refused("git_add", json!({"path": "a", "force": true, "all": true}));
    assert!(error.message.contains("\"force\" is not an argument"), "{}", error.message);
    assert_eq!(repo.refused("git_add", json!({})).reason, Reason::InvalidArgument);
    same(
        "?? fifo\n",
        &repo.git(&["status", "--short"]).replace("?? to-d\n", "?? fifo\n"),
        "nothing was staged",
    );
}

#[test]
fn a_nested_repository_is_left_alone_and_said() {
    let repo = Repo::with(&[("a", "1\n")]);
    repo.git(&["init", "-q", "nested"]);
    repo.write("nested/x", "1");
    repo.write("b", "1\n");
    let added = repo.tool("git_add", json!({"path": "."}));
    assert_eq!(added["files"], json!(["b"]));
    assert!(added["notes"][0].as_str().unwrap().starts_with("nested is a repository of its own"), "{added}");
    assert_eq!(repo.refused("git_add", json!({"path": "nested"})).reason, Reason::InvalidArgument);
}

#[test]
fn a_path_in_a_nested_repository_is_staged_there() {
    let repo = Repo::bare_directory();
    repo.git(&["init", "-q", "inner"]);
    repo.write("inner/d/x", "1\n");
    let added = repo.tool("git_add", json!({"path": "inner/d"}));
    assert_eq!(added["files"], json!(["inner/d/x"]));
    same("A  d/x\n", &repo.git(&["-C", "inner", "status", "--short"]), "the inner staging area");
    let diff = repo.tool("git_diff", json!({"path": "inner", "staged": true}));
    same(
        &repo.git(&["-C", "inner", "diff", "--cached"]),
        diff["content"].as_str().unwrap(),
        "the inner diff",
    );
    assert_eq!(repo.tool("git_status", json!({}))["available"], false);
}

#[test]
fn a_link_that_git_would_take_for_the_list_of_submodules_is_refused() {
    for (name, is_accepted) in [
        (".gitmodules", false),
        ("d/.GitModules", false),
        (".gitmodules . :x", false),
        ("GITMOD~4", false),
        ("gi7eba~9 ", false),
        ("gi7e~123", false),
        ("~1234567", false),
        (".gitmodules2", true),
        (".gitattributes", true),
        ("gitmod~5", true),
        ("gi7eba~0", true),
        ("gi7e~12", true),
    ] {
        let repo = Repo::new();
        std::fs::create_dir(repo.path().join("d")).unwrap();
        repo.link("x", name);
        assert_eq!(repo.copy().git_output(&["add", "."]).status.success(), is_accepted, "{name} by git");
        if is_accepted {
            assert_eq!(repo.tool("git_add", json!({"path": "."}))["files"], json!([name]));
        } else {
            let error = repo.refused("git_add", json!({"path": "."}));
            assert!(error.message.contains("is a symbolic link"), "{error}");
        }
    }
    let repo = Repo::new();
    repo.write(".gitmodules", "");
    assert_eq!(repo.tool("git_add", json!({"path": "."}))["files"], json!([".gitmodules"]));
}
