//! What must never work: programs that a repository's settings name, and ways out of the workspace.

use super::repo::{Repo, call};
use beamai_base::{CancelToken, Reason};
use beamai_git::availability;
use beamai_tool::CallContext;
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use sha1::{Digest, Sha1};
use std::time::Instant;

const READERS: [&str; 3] = ["git_status", "git_diff", "git_log"];

/// A repository with something staged and something changed.
fn busy() -> Repo {
    let repo = Repo::with(&[("a", "1\n"), ("b", "1\n")]);
    repo.write("a", "2\n");
    repo.git(&["add", "a"]);
    repo.write("b", "2\n");
    repo
}

/// The hint that every tool gives where it does not use the repository.
fn hint(repo: &Repo) -> String {
    for name in READERS {
        assert_eq!(repo.tool(name, json!({}))["available"], false, "{name}");
    }
    let added = repo.tool("git_add", json!({"path": "."}));
    assert_eq!(
        (&added["ok"], &added["available"], &added["files"]),
        (&json!(false), &json!(false), &json!([]))
    );
    let made = repo.tool("git_commit", json!({"message": "m"}));
    assert_eq!(
        (&made["ok"], &made["available"], &made["commit"]),
        (&json!(false), &json!(false), &Value::Null)
    );
    let content = repo.tool("git_status", json!({}))["content"].as_str().unwrap().to_owned();
    assert!(content.contains("shell"), "{content}");
    content
}

fn hook(repo: &Repo, path: &str) {
    repo.write(path, "#!/bin/sh\ntouch ran\n");
    repo.executable(path);
}

#[test]
fn a_directory_without_a_repository_is_answered_with_a_hint() {
    let repo = Repo::bare_directory();
    assert!(hint(&repo).contains("not a git repository"));
    assert!(!availability(&Workspace::open(repo.path()).unwrap()).repository);
    repo.init();
    let found = availability(&Workspace::open(repo.path()).unwrap());
    assert_eq!((found.program, found.repository, found.problem), (true, true, None));
}

#[test]
fn every_hook_of_a_commit_refuses_it_and_is_named() {
    for name in [
        "pre-commit",
        "prepare-commit-msg",
        "commit-msg",
        "post-commit",
        "post-index-change",
        "reference-transaction",
    ] {
        let repo = busy();
        hook(&repo, &format!(".git/hooks/{name}"));
        // The same hook runs where it is meant to.
        repo.copy().git(&["commit", "-q", "-m", "m"]);
        let error = repo.refused("git_commit", json!({"message": "m"}));
        assert_eq!(error.reason, Reason::NeedsShell);
        assert!(error.message.contains(name) && error.message.contains("shell"), "{}", error.message);
        assert!(!repo.path().join("ran").exists());
        assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1\n");
    }
}

#[test]
fn hooks_are_found_wherever_the_settings_put_them() {
    let outside = Repo::bare_directory();
    hook(&outside, "pre-commit");
    let outside = outside.path().to_str().unwrap();
    for (setting, value) in [("core.hooksPath", "tools/hooks"), ("core.hooksPath", outside)] {
        let repo = busy();
        hook(&repo, "tools/hooks/pre-commit");
        repo.git(&["config", setting, value]);
        let error = repo.refused("git_commit", json!({"message": "m"}));
        assert!(error.message.contains("the hook pre-commit"), "{}", error.message);
    }
    let repo = busy();
    repo.git(&["config", "hook.mine.event", "pre-commit"]);
    repo.git(&["config", "hook.mine.command", "touch ran"]);
    let error = repo.refused("git_commit", json!({"message": "m"}));
    assert!(error.message.contains("hook.mine.event"), "{}", error.message);
    let repo = busy();
    std::fs::remove_dir_all(repo.path().join(".git/hooks")).unwrap();
    repo.link(outside, ".git/hooks");
    repo.refused("git_commit", json!({"message": "m"}));
}

#[test]
fn a_hook_that_git_would_not_run_does_not_matter() {
    let repo = busy();
    repo.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n");
    hook(&repo, ".git/hooks/pre-push");
    hook(&repo, ".git/hooks/pre-merge-commit");
    assert_eq!(repo.tool("git_commit", json!({"message": "m"}))["ok"], true);
}

#[test]
fn a_commit_that_would_be_signed_is_refused() {
    // Git does not commit either where it cannot tell.
    for value in ["true", "2", "08", "y", " true", "1kk"] {
        let repo = busy();
        repo.git(&["config", "commit.gpgSign", value]);
        repo.git(&["config", "gpg.program", "touch"]);
        let error = repo.refused("git_commit", json!({"message": "m"}));
        assert_eq!(error.reason, Reason::NeedsShell);
        assert!(error.message.contains("commit.gpgSign"), "{value}: {}", error.message);
    }
    let repo = busy();
    repo.git(&["config", "commit.gpgSign", "0"]);
    assert_eq!(repo.tool("git_commit", json!({"message": "m"}))["ok"], true);
}

#[test]
fn a_file_with_a_filter_or_an_encoding_is_not_staged() {
    for attribute in ["filter=evil", "filter=lfs", "working-tree-encoding=UTF-16", "working-tree-encoding"] {
        let repo = busy();
        repo.git(&["config", "filter.evil.clean", "touch ran; cat"]);
        repo.write(".gitattributes", format!("*.dat {attribute}\n"));
        repo.write("d/x.dat", "1\n");
        repo.write("d/plain", "1\n");
        for path in ["d/x.dat", "d", "."] {
            let error = repo.refused("git_add", json!({"path": path}));
            assert_eq!(error.reason, Reason::NeedsShell);
            assert!(error.message.contains(&format!("d/x.dat ({attribute})")), "{}", error.message);
        }
        assert_eq!(repo.git(&["ls-files", "d"]), "");
        assert_eq!(repo.tool("git_add", json!({"path": "d/plain"}))["files"], json!(["d/plain"]));
        assert!(!repo.path().join("ran").exists());
    }
}

#[test]
fn settings_that_name_programs_start_none() {
    let repo = busy();
    let program = repo.path().join("evil");
    repo.write("evil", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
    repo.executable("evil");
    repo.write(".gitattributes", "* diff=evil merge=evil\n");
    for setting in [
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.sshCommand",
        "core.askPass",
        "diff.external",
        "diff.evil.command",
        "diff.evil.textconv",
        "merge.evil.driver",
        "sequence.editor",
        "credential.helper",
        "gpg.program",
        "pager.diff",
        "pager.log",
        "uploadpack.packObjectsHook",
    ] {
        repo.git(&["config", setting, program.to_str().unwrap()]);
    }
    repo.git(&["config", "alias.status", "!evil"]);
    for name in READERS {
        repo.tool(name, json!({}));
    }
    repo.tool("git_add", json!({"path": "."}));
    repo.tool("git_commit", json!({"message": "m"}));
    assert!(!repo.path().join("ran").exists());
    // The settings do work: git itself runs the program.
    repo.write("b", "3\n");
    repo.git_output(&["diff"]);
    assert!(repo.path().join("ran").exists());
}

#[test]
fn links_in_the_repository_that_lead_out_make_it_unusable() {
    let outside = Repo::with(&[("x", "1\n")]);
    outside.write("victim", "as it was\n");
    let victim = outside.path().join("victim");
    let inner = |path: &str| outside.path().join(".git").join(path).to_str().unwrap().to_owned();
    for (link, target) in [
        (".git/logs/HEAD", victim.to_str().unwrap().to_owned()),
        (".git/logs/refs/heads/main", victim.to_str().unwrap().to_owned()),
        (".git/refs/heads/main", inner("refs/heads/main")),
        (".git/HEAD", inner("HEAD")),
        (".git/index", inner("index")),
        (".git/config", inner("config")),
        (".git/packed-refs", victim.to_str().unwrap().to_owned()),
        (".git/objects", inner("objects")),
        (".git/objects/info", inner("objects/info")),
        (".git/refs", inner("refs")),
        (".git/MERGE_HEAD", victim.to_str().unwrap().to_owned()),
        (".git/rebase-merge", inner("refs")),
    ] {
        let repo = busy();
        let path = repo.path().join(link);
        _ = std::fs::remove_dir_all(&path).or_else(|_| std::fs::remove_file(&path));
        repo.link(&target, link);
        let content = hint(&repo);
        assert!(content.contains(link) || content.contains("cannot be"), "{link}: {content}");
        assert_eq!(std::fs::read_to_string(&victim).unwrap(), "as it was\n", "{link}");
    }
}

#[test]
fn special_files_in_the_repository_do_not_hang() {
    for path in
        [".git/HEAD", ".git/index", ".git/config", ".git/refs/heads/main", ".git/objects/info/alternates"]
    {
        let repo = busy();
        _ = std::fs::remove_file(repo.path().join(path));
        rustix::fs::mkfifoat(rustix::fs::CWD, repo.path().join(path), rustix::fs::Mode::RWXU).unwrap();
        assert!(hint(&repo).contains("is not a file"), "{path}");
    }
}

#[test]
fn special_files_in_the_work_tree_do_not_hang() {
    let repo = busy();
    for path in [".gitignore", ".gitattributes", ".mailmap", "fifo", "b"] {
        _ = std::fs::remove_file(repo.path().join(path));
        rustix::fs::mkfifoat(rustix::fs::CWD, repo.path().join(path), rustix::fs::Mode::RWXU).unwrap();
    }
    for name in READERS {
        assert_eq!(repo.tool(name, json!({}))["available"], true);
    }
    repo.tool("git_add", json!({"path": "."}));
}

#[test]
fn a_repository_that_lies_elsewhere_and_is_not_this_ones_is_not_used() {
    let elsewhere = busy();
    for target in [elsewhere.path().join(".git"), elsewhere.path().join(".git/objects")] {
        let repo = Repo::bare_directory();
        repo.write(".git", format!("gitdir: {}\n", target.display()));
        assert!(hint(&repo).contains("does not refer back to this work tree"));
    }

    let repo = Repo::bare_directory();
    repo.link(elsewhere.path().join(".git").to_str().unwrap(), ".git");
    hint(&repo);
    let repo = Repo::bare_directory();
    repo.write(".git", "gitdir: ../../etc\n");
    hint(&repo);
}

#[test]
fn settings_that_lead_out_make_the_repository_unusable() {
    let outside = Repo::bare_directory();
    outside.write("settings", "[user]\nname = x\n");
    let path = outside.path().to_str().unwrap();
    for (setting, value, said) in [
        ("core.worktree", path.to_owned(), "core.worktree"),
        ("core.bare", "true".to_owned(), "core.bare"),
        ("include.path", format!("{path}/settings"), "not in the workspace"),
        ("includeIf.gitdir:/.path", format!("{path}/settings"), "not in the workspace"),
        ("include.path", "../../settings".to_owned(), "not in the workspace"),
        ("include.path", "~/settings".to_owned(), "not in the workspace"),
        ("include.path", "~nobody/settings".to_owned(), "not in the workspace"),
        ("include.path", ":(optional)settings".to_owned(), "not in the workspace"),
        ("includeIf.gitdir:.path", "settings".to_owned(), "\"gitdir:\", a condition"),
        ("includeIf.hasconfig:remote.*.url:**.path", "settings".to_owned(), "a condition"),
        ("includeIf.onbranch:.path", "settings".to_owned(), "\"onbranch:\", a condition"),
        ("core.repositoryFormatVersion", "-1".to_owned(), "core.repositoryFormatVersion is -1"),
        ("extensions.refStorage", "reftable".to_owned(), "cannot be opened"),
    ] {
        let repo = busy();
        if setting.starts_with("extensions") {
            repo.git(&["config", "core.repositoryFormatVersion", "1"]);
        }
        let config = repo.path().join(".git/config");
        let mut text = std::fs::read_to_string(&config).unwrap();
        let (section, key) = setting.rsplit_once('.').unwrap();
        let section = match section.split_once('.') {
            Some((section, name)) => format!("{section} \"{name}\""),
            None => section.to_owned(),
        };
        text.push_str(&format!("[{section}]\n\t{key} = {value}\n"));
        std::fs::write(config, text).unwrap();
        let content = hint(&repo);
        assert!(content.contains(said), "{setting}: {content}");
    }
}

#[test]
fn settings_for_a_branch_are_followed_where_head_is_at_one() {
    let repo = busy();
    let config = repo.path().join(".git/config");
    let text = std::fs::read_to_string(&config).unwrap() + "[includeIf \"onbranch:other\"]\n\tpath = more\n";
    std::fs::write(config, text).unwrap();
    std::fs::write(repo.path().join(".git/more"), "[core]\n\tsymlinks = false\n").unwrap();
    repo.tool("git_status", json!({}));
    repo.git(&["symbolic-ref", "refs/heads/link", "refs/heads/other"]);
    repo.git(&["symbolic-ref", "HEAD", "refs/heads/link"]);
    assert!(hint(&repo).contains("\"onbranch:other\", a condition"));
    repo.git(&["update-ref", "--no-deref", "HEAD", "main"]);
    assert!(hint(&repo).contains("\"onbranch:other\", a condition"));
}

/// git would end at these values, or take the setting from another file.
#[test]
fn settings_that_the_tools_would_take_otherwise_than_git_are_named() {
    for (setting, value, said) in [
        ("core.fileMode", "08", "core.filemode of the git settings is \"08\""),
        ("core.autocrlf", "outward", "core.autocrlf of the git settings is \"outward\""),
        ("core.symlinks", "false", "core.symlinks of the git settings is \"false\""),
        ("diff.renames", "some", "diff.renames of the git settings is \"some\""),
        (
            "include.path",
            "more",
            "extensions.worktreeconfig is set outside of the repository's own settings file",
        ),
    ] {
        let repo = busy();
        repo.git(&["config", setting, value]);
        std::fs::write(repo.path().join(".git/more"), "[extensions]\n\tworktreeConfig = true\n").unwrap();
        let error = repo.refused("git_status", json!({}));
        assert!(error.reason == Reason::NeedsShell && error.message.contains(said), "{setting}: {error:?}");
    }
    let repo = busy();
    repo.git(&["config", "extensions.worktreeConfig", "true"]);
    repo.git(&["config", "--worktree", "status.showUntrackedFiles", "No"]);
    std::fs::write(repo.path().join("loose"), "").unwrap();
    assert!(!repo.tool("git_status", json!({})).to_string().contains("loose"));
}

#[test]
fn settings_in_the_workspace_are_included_however_their_path_is_written() {
    let repo = busy();
    let own = repo.path().to_str().unwrap().to_owned();
    for (path, abbrev) in [
        ("../shared.config".to_owned(), 11),
        (format!("{own}/shared.config"), 12),
        (format!("{own}/.git/shared.config"), 13),
    ] {
        let text = format!("\u{feff}[core]\nabbrev = {abbrev}\n");
        repo.write(repo.path().join(".git").join(&path), text);
        repo.git(&["config", "include.path", &path]);
        repo.is_logged_alike();
    }
}

/// git's library joins the lines, and would take neither the hook nor the name for what git takes them.
#[test]
fn settings_that_git_and_its_library_read_differently_make_the_repository_unusable() {
    let joined = "[user]\n\tname = A\\\n\n[branch \"b\\n\\nSigned-off-by: B\"]\n\tremote = origin\n";
    let hidden = "[core]\n\twhitespace = tab-in-indent\\\n\n[core]\n\thooksPath = .husky\n";
    for (text, from) in [(joined, "user.name"), (hidden, "core.whitespace")] {
        for file in [".git/config", ".git/config.worktree", ".git/more"] {
            let repo = busy();
            repo.git(&["config", "include.path", "more"]);
            let old = std::fs::read_to_string(repo.path().join(file)).unwrap_or_default();
            repo.write(file, old + text);
            repo.git(&["status"]);
            let content = hint(&repo);
            assert!(content.contains(&format!("its settings {file} can be read in two ways")), "{content}");
            assert!(content.contains(from), "{content}");
        }
    }
    let repo = busy();
    let config = std::fs::read_to_string(repo.path().join(".git/config")).unwrap();
    repo.write(".git/config", config + "[a]\n\tb = \"open\n");
    assert!(!repo.git_output(&["status"]).status.success());
    let content = hint(&repo);
    assert!(content.contains("its settings .git/config are malformed"), "{content}");
}

#[test]
fn objects_of_another_repository_are_not_read() {
    let other = busy();
    let repo = Repo::bare_directory();
    repo.git(&["clone", "-q", "--shared", other.path().to_str().unwrap(), "."]);
    assert!(hint(&repo).contains("alternates"));
}

#[test]
fn a_link_in_the_work_tree_leads_nowhere() {
    let outside = Repo::bare_directory();
    outside.write("secret", "secret\n");
    let repo = Repo::with(&[("d/secret", "1\n"), ("f", "1\n")]);
    std::fs::remove_dir_all(repo.path().join("d")).unwrap();
    repo.remove("f");
    repo.link(outside.path().to_str().unwrap(), "d");
    repo.link(outside.path().join("secret").to_str().unwrap(), "f");
    repo.is_shown_alike();
    for path in ["d/secret", "."] {
        _ = call("git_add", json!({"path": path}), &repo.context());
    }
    let blobs = repo.git(&["cat-file", "--batch-all-objects", "--batch"]);
    assert!(!blobs.contains("secret\n1") && !blobs.lines().any(|line| line == "secret"), "{blobs}");
}

#[test]
fn a_staging_area_with_paths_that_lead_out_reads_nothing() {
    let outer = Repo::bare_directory();
    outer.write("passwd", "outside\n");
    outer.git(&["init", "-q", "w"]);
    outer.write("w/aa/passwd", "1\n");
    outer.git(&["-C", "w", "add", "."]);
    let file = outer.path().join("w/.git/index");
    let mut index = std::fs::read(&file).unwrap();
    let at = index.windows(9).position(|window| window == b"aa/passwd").unwrap();
    index[at..at + 2].copy_from_slice(b"..");
    let end = index.len() - 20;
    let sum = Sha1::digest(&index[..end]);
    index[end..].copy_from_slice(&sum);
    std::fs::write(&file, index).unwrap();
    let cx = crate::repo::context_in(&Workspace::open(&outer.path().join("w")).unwrap());
    for name in READERS {
        let answer = call(name, json!({}), &cx);
        assert!(!format!("{answer:?}").contains("outside"), "{name}: {answer:?}");
    }
    let status = call("git_status", json!({"short": true}), &cx).unwrap();
    assert!(status["content"].as_str().unwrap().contains("its index cannot be read"), "{status}");
}

#[test]
fn a_workspace_that_was_swapped_is_noticed() {
    let repo = Repo::bare_directory();
    std::fs::create_dir(repo.path().join("w")).unwrap();
    let cx = crate::repo::context_in(&Workspace::open(&repo.path().join("w")).unwrap());
    std::fs::rename(repo.path().join("w"), repo.path().join("old")).unwrap();
    repo.git(&["init", "-q", "w"]);
    assert_eq!(call("git_status", json!({}), &cx).unwrap_err().reason, Reason::WorkspaceGone);
}

#[test]
fn a_repository_whose_parts_all_lie_in_the_workspace_is_used() {
    let repo = Repo::bare_directory();
    repo.git(&["init", "-q", "-b", "main", "main"]);
    repo.write("main/a", "1\n");
    repo.git(&["-C", "main", "add", "a"]);
    repo.git(&["-C", "main", "-c", "user.name=x", "-c", "user.email=y", "commit", "-q", "-m", "first"]);
    repo.git(&["-C", "main", "worktree", "add", "-q", "../tree"]);
    repo.write("tree/a", "2\n");
    let own = repo.tool("git_diff", json!({"path": "tree/a"}));
    assert_eq!(own["content"], repo.git(&["-C", "tree", "diff"]));
    assert_eq!(repo.tool("git_add", json!({"path": "tree/a"}))["files"], json!(["tree/a"]));
    assert_eq!(repo.git(&["-C", "tree", "status", "--short"]), "M  a\n");
}

#[test]
fn reading_changes_nothing() {
    let repo = busy();
    let snapshot = || {
        let listing = std::process::Command::new("find")
            .args([".", "-printf", "%p %s %T@ %C@ %i %m\n"])
            .current_dir(repo.path())
            .output()
            .unwrap();
        String::from_utf8(listing.stdout).unwrap()
    };
    let before = snapshot();
    repo.text("git_status", json!({}));
    repo.text("git_diff", json!({}));
    repo.text("git_diff", json!({"staged": true}));
    repo.text("git_log", json!({}));
    assert_eq!(before, snapshot());
}

#[test]
fn a_cancelled_call_and_one_out_of_time_end() {
    let repo = busy();
    let cancelled = CallContext { cancel: CancelToken::new(), ..repo.context() };
    cancelled.cancel.cancel();
    let late = CallContext { deadline: Some(Instant::now()), ..repo.context() };
    for (name, args) in [
        ("git_status", json!({})),
        ("git_diff", json!({})),
        ("git_log", json!({})),
        ("git_add", json!({"path": "."})),
        ("git_commit", json!({"message": "m"})),
    ] {
        assert_eq!(call(name, args.clone(), &cancelled).unwrap_err().reason, Reason::Cancelled, "{name}");
        assert_eq!(call(name, args, &late).unwrap_err().reason, Reason::Timeout, "{name}");
    }
    assert_eq!(repo.git(&["rev-list", "--count", "HEAD"]), "1\n");
}

#[test]
fn long_texts_are_cut_and_say_so() {
    let repo = busy();
    (0..50).for_each(|count| repo.write(format!("untracked {count}"), "x"));
    repo.write("b", "long line\n".repeat(100));
    let mut cx = repo.context();
    cx.limits.content_bytes = 200;
    for (name, args) in [("git_status", json!({})), ("git_diff", json!({})), ("git_log", json!({}))] {
        cx.limits.content_bytes = if name == "git_log" { 60 } else { 200 };
        let answer = call(name, args, &cx).unwrap();
        assert_eq!(answer["truncated"], true, "{name}");
        let content = answer["content"].as_str().unwrap();
        assert!(content.ends_with("[output truncated]\n") && content.len() < 300, "{content}");
    }
    let added = call("git_add", json!({"path": "."}), &cx).unwrap();
    assert_eq!(added["truncated"], true);
    assert_eq!(repo.git(&["status", "--short", "-uall"]).matches("??").count(), 0);
}

#[test]
fn a_locked_staging_area_is_busy() {
    let repo = busy();
    repo.write(".git/index.lock", "");
    assert_eq!(repo.refused("git_add", json!({"path": "b"})).reason, Reason::Busy);
    assert_eq!(repo.git(&["diff", "--cached", "--name-only"]), "a\n");
}

#[test]
fn a_damaged_repository_is_answered_and_crashes_nothing() {
    for path in [".git/index", ".git/HEAD", ".git/config", ".git/refs/heads/main"] {
        let repo = busy();
        repo.write(path, "\u{1}garbage \n[");
        for name in READERS {
            let answer = call(name, json!({}), &repo.context());
            let is_said = match &answer {
                // What does not need the damaged part may still work.
                Ok(answer) => {
                    answer["available"] == false
                        || matches!((path, name), (".git/index", "git_log") | (_, "git_diff"))
                }
                Err(error) => error.reason == Reason::Io,
            };
            assert!(is_said, "{path}, {name}: {answer:?}");
        }
    }
}

#[test]
fn wrong_arguments_are_refused() {
    let repo = busy();
    for (name, args) in [
        ("git_status", json!({"short": "yes"})),
        ("git_status", json!({"porcelain": true})),
        ("git_diff", json!({"staged": 1})),
        ("git_diff", json!({"path": 7})),
        ("git_diff", json!({"args": "--output=/tmp/x"})),
        ("git_log", json!({"oneline": "x"})),
        ("git_log", json!({"format": "%(x)"})),
        ("git_add", json!({"path": null})),
    ] {
        assert_eq!(repo.refused(name, args.clone()).reason, Reason::InvalidArgument, "{name} {args}");
    }
    assert_eq!(repo.refused("git_diff", json!({"path": "/etc"})).reason, Reason::OutsideWorkspace);
}
