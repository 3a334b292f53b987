//! An index always equals the result of a new walk.

use super::{BOUNDS_OF_REPOSITORIES, ScanBounds, scan::Scan, targets::ScanTargets, tree::DirectoryIndex};
use crate::{ProtectedPaths, protected_paths};
use beamai_base::{Reason, Result, ToolError};
use beamai_policy::{DeniedPaths, Policy, PolicyText};
use beamai_workspace::Workspace;
use serde_json::json;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tempfile::TempDir;

const RULES: [&str; 4] = ["Read(**/*.pem)", "Read(**/vault/**)", "Edit(config/*/locked)", "Write(**/ro/**)"];

fn denied_paths(workspace: &Path, denied: &[&str]) -> DeniedPaths {
    let text: PolicyText = serde_json::from_value(json!({"deny": denied})).unwrap();
    let workspace = Workspace::open(workspace).unwrap();
    let rule_of = |name: &str| Some(name.to_owned());
    Policy::new(&text, &["Read", "Edit", "Write"], &rule_of, &workspace).unwrap().denied_paths()
}

fn here(dir: &TempDir) -> std::path::PathBuf {
    dir.path().canonicalize().unwrap()
}

fn found(dir: &TempDir, denied: &[&str]) -> Arc<ProtectedPaths> {
    protected_paths(&here(dir), true, &denied_paths(&here(dir), denied), &|| Ok(())).unwrap()
}

/// The result of a walk without an index.
fn walked(dir: &TempDir, denied: &[&str], bounds: ScanBounds) -> ProtectedPaths {
    let (root, denied_paths) = (here(dir), denied_paths(&here(dir), denied));
    let targets = ScanTargets::new(&root, true, &denied_paths);
    let scan = Scan { targets: &targets, check: &|| Ok(()) };
    DirectoryIndex::walk(&root, bounds, &scan, []).unwrap().found(&targets)
}

fn write(dir: &TempDir, path: &str) {
    let path = dir.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, "").unwrap();
}

#[test]
fn what_patterns_match_is_found_and_nothing_else() {
    let dir = TempDir::new().unwrap();
    for file in [
        "k.pem",
        "a/b/k.pem",
        "a/b/k.txt",
        "vault/x",
        "a/vault/y.pem",
        "config/a/locked",
        "locked",
        "ro/x",
        "ro/k.pem",
    ] {
        write(&dir, file);
    }
    write(&dir, ".git/objects/k.pem");
    let found = found(&dir, &RULES);
    assert_eq!(found.hidden, ["a/b/k.pem", "a/vault", "k.pem", "ro/k.pem", "vault"]);
    assert_eq!(found.read_only, ["config/a/locked", "ro"]);
    assert_eq!((&*found.repositories, &found.cut), (&[".git".to_owned()][..], &None));
}

#[test]
fn directories_at_paths_that_are_too_long_are_hidden_where_patterns_may_match() {
    let dir = TempDir::new().unwrap();
    let names: Vec<String> = (0..17).map(|_| "x".repeat(210)).collect();
    let long = names.join("/");
    write(&dir, &format!("{long}/k.pem"));
    let hidden: Vec<String> = vec![long];
    assert_eq!(found(&dir, &["Read(**/*.key)"]).hidden, hidden);
    assert!(found(&dir, &[]).hidden.is_empty());
}

#[test]
fn matches_beyond_the_limit_keep_no_repository_from_being_found() {
    let dir = TempDir::new().unwrap();
    for n in 0..20 {
        write(&dir, &format!("{n:02}.pem"));
    }
    write(&dir, "y/.git/HEAD");
    let bounds = ScanBounds { found: 10, ..BOUNDS_OF_REPOSITORIES };
    let found = walked(&dir, &["Read(**/*.pem)"], bounds);
    assert_eq!((found.hidden.len(), &*found.repositories), (10, &["y/.git".to_owned()][..]));
    assert!(found.unmatched.unwrap().contains("more than 10"));
}

#[test]
fn repositories_are_found_with_those_of_submodules_and_work_trees() {
    let dir = TempDir::new().unwrap();
    for file in [
        ".git/HEAD",
        ".git/modules/one/HEAD",
        ".git/modules/deep/er/two/HEAD",
        ".git/modules/one/modules/three/HEAD",
        ".git/worktrees/w/HEAD",
        "vendor/lib/.git/HEAD",
        "sub/.git",
    ] {
        write(&dir, file);
    }
    let repositories = [
        ".git",
        ".git/modules/deep/er/two",
        ".git/modules/one",
        ".git/modules/one/modules/three",
        ".git/worktrees/w",
        "sub/.git",
        "vendor/lib/.git",
    ];
    assert_eq!(found(&dir, &[]).repositories, repositories);
    assert_eq!(found(&dir, &["Read(**/*.pem)"]).repositories, repositories);
}

/// Makes every change separately; after each, the index equals a new walk.
#[test]
fn a_repository_without_a_work_tree_is_found_by_what_git_takes_it_for() {
    let dir = TempDir::new().unwrap();
    for file in ["bare/HEAD", "bare/objects/x", "bare/refs/x", "half/HEAD", "half/objects/x", "linked/HEAD"] {
        write(&dir, file);
    }
    let repositories = || found(&dir, &[]).repositories.clone();
    assert_eq!(repositories(), ["bare"]);
    // The order of the parts does not matter.
    write(&dir, "linked/commondir");
    write(&dir, "half/refs/x");
    assert_eq!(repositories(), ["bare", "half", "linked"]);
    fs::rename(dir.path().join("bare/HEAD"), dir.path().join("bare/TAIL")).unwrap();
    fs::remove_dir_all(dir.path().join("half")).unwrap();
    assert_eq!(repositories(), ["linked"]);
    // As git itself replaces it.
    write(&dir, "linked/HEAD.lock");
    fs::rename(dir.path().join("linked/HEAD.lock"), dir.path().join("linked/HEAD")).unwrap();
    assert_eq!(repositories(), ["linked"]);
    for file in ["HEAD", "objects/x", "refs/x"] {
        write(&dir, file);
    }
    assert_eq!(repositories(), ["", "linked"]);
}

#[test]
fn whatever_changes_is_known() {
    let dir = TempDir::new().unwrap();
    let elsewhere = TempDir::new_in(dir.path().parent().unwrap()).unwrap();
    write(&elsewhere, "moved/in/k.pem");
    let at = |path: &str| dir.path().join(path);
    let moved = elsewhere.path().join("moved");
    let steps: &[&dyn Fn()] = &[
        &|| write(&dir, "a/b/c/k.pem"),
        &|| fs::rename(at("a"), at("z")).unwrap(),
        &|| fs::rename(at("z/b/c"), at("c")).unwrap(),
        &|| fs::rename(&moved, at("in")).unwrap(),
        &|| fs::rename(at("in"), &moved).unwrap(),
        &|| fs::rename(at("c/k.pem"), at("c/k.txt")).unwrap(),
        &|| fs::rename(at("c/k.txt"), at("c/k.pem")).unwrap(),
        &|| {
            fs::remove_dir_all(at("c")).unwrap();
            write(&dir, "c/vault");
        },
        &|| {
            fs::remove_file(at("c/vault")).unwrap();
            fs::create_dir(at("c/vault")).unwrap();
        },
        &|| write(&dir, "c/vault/inside.pem"),
        &|| write(&dir, "lib/.git/HEAD"),
        &|| write(&dir, "lib/.git/modules/m/config"),
        &|| write(&dir, "lib/.git/modules/m/HEAD"),
        &|| write(&dir, "lib/.git/worktrees/w/HEAD"),
        &|| fs::rename(at("lib"), at("dir")).unwrap(),
        &|| fs::remove_dir_all(at("dir/.git")).unwrap(),
        &|| write(&dir, "config/x/locked"),
        &|| {
            fs::rename(at("config"), at("old")).unwrap();
            fs::create_dir(at("config")).unwrap();
        },
        &|| std::os::unix::fs::symlink("k.txt", at("link.pem")).unwrap(),
    ];
    let (mut before, mut changes) = (found(&dir, &RULES), 0);
    for (number, step) in steps.iter().enumerate() {
        step();
        let now = found(&dir, &RULES);
        assert_eq!(*now, walked(&dir, &RULES, super::BOUNDS_OF_PATTERNS), "after step {number}");
        changes += usize::from(now != before);
        before = now;
    }
    assert!(changes > 12, "{changes}");
}

#[test]
fn repositories_in_the_directory_of_another_one_are_found_when_they_appear() {
    let dir = TempDir::new().unwrap();
    for file in [".git/HEAD", ".git/objects/ab/x", ".git/objects/pack/x", ".git/refs/heads/main"] {
        write(&dir, file);
    }
    assert_eq!(found(&dir, &[]).repositories, [".git"]);
    let places = ["objects/ab/zz", "objects/pack/a/b", "objects/zz", "refs/heads/zz", "worktrees", "zz"];
    for place in places {
        for file in ["HEAD", "objects/x", "refs/x"] {
            write(&dir, &format!(".git/{place}/{file}"));
        }
        let now = found(&dir, &[]);
        assert!(now.repositories.contains(&format!(".git/{place}")), "{place}: {now:?}");
        assert_eq!(*now, walked(&dir, &[], super::BOUNDS_OF_REPOSITORIES), "{place}");
    }
    fs::remove_dir_all(dir.path().join(".git/objects/ab/zz")).unwrap();
    assert_eq!(*found(&dir, &[]), walked(&dir, &[], super::BOUNDS_OF_REPOSITORIES));
    // Some are not whole.
    write(&dir, "half/objects/x");
    write(&dir, "half/refs/x");
    assert_eq!(found(&dir, &[]).begun, ["half"]);
    write(&dir, "half/HEAD");
    assert!(found(&dir, &[]).begun.is_empty() && found(&dir, &[]).repositories.contains(&"half".to_owned()));
}

#[test]
fn nothing_changed_is_the_very_same_answer() {
    let dir = TempDir::new().unwrap();
    write(&dir, "k.pem");
    let first = found(&dir, &RULES);
    write(&dir, "other");
    assert!(Arc::ptr_eq(&first, &found(&dir, &RULES)));
}

#[test]
fn more_news_than_the_kernel_keeps_is_not_lost() {
    let dir = TempDir::new().unwrap();
    found(&dir, &RULES);
    let kept = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap();
    let kept: u32 = kept.trim().parse().unwrap();
    // Two events each, so twice as many as the queue holds.
    for number in 0..kept {
        let path = dir.path().join(format!("f{}", number % 50));
        _ = fs::File::create_new(&path);
        fs::remove_file(&path).unwrap();
    }
    write(&dir, "k.pem");
    assert_eq!(found(&dir, &RULES).hidden, ["k.pem"]);
}

#[test]
fn another_directory_in_the_place_of_the_root_is_walked_anew() {
    let parent = TempDir::new().unwrap();
    let root = here(&parent).join("ws");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("k.pem"), "").unwrap();
    let denied_paths = denied_paths(&root, &RULES);
    let count = || protected_paths(&root, true, &denied_paths, &|| Ok(())).unwrap().hidden.len();
    assert_eq!(count(), 1);
    fs::rename(&root, parent.path().join("old")).unwrap();
    fs::create_dir(&root).unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn what_is_too_much_is_said() {
    let dir = TempDir::new().unwrap();
    for number in 0..10 {
        write(&dir, &format!("d{number}/k.pem"));
    }
    let wide = ScanBounds { directories: 100, names: 100, found: 100 };
    assert_eq!(walked(&dir, &RULES, wide).cut, None);
    for (bounds, word) in [
        (ScanBounds { directories: 5, ..wide }, "5 directories"),
        (ScanBounds { names: 12, ..wide }, "12 files"),
        (ScanBounds { found: 7, ..wide }, "more than 7 "),
    ] {
        let found = walked(&dir, &RULES, bounds);
        assert!(found.missed_by_rules().is_some_and(|cut| cut.contains(word)), "{found:?}");
    }
}

#[test]
fn new_repositories_and_directories_push_out_none_that_is_known() {
    let bounds = ScanBounds { directories: 20, names: 200, found: 5 };
    let many = |dir: &TempDir, what: &str| {
        for number in 0..30 {
            write(dir, &format!("n{number}/{what}"));
        }
    };
    let tricks: [&dyn Fn(&TempDir); 4] = [
        &|dir| many(dir, ".git/HEAD"),
        &|dir| many(dir, "d/x"),
        &|dir| (0..300).for_each(|number| write(dir, &format!("f{number}"))),
        // In the directory of a nearer repository, and while the way to the known one is another.
        &|dir| {
            fs::rename(dir.path().join("x"), dir.path().join("w")).unwrap();
            many(dir, ".git/HEAD");
            (0..30).for_each(|number| write(dir, &format!("a/.git/d{number}/x")));
            fs::rename(dir.path().join("w"), dir.path().join("x")).unwrap();
        },
    ];
    for (number, trick) in tricks.iter().enumerate() {
        let dir = TempDir::new().unwrap();
        let known = ["a/.git", "x/y/z/bare", "x/y/z/r/.git", "x/y/z/r/.git/modules/m"];
        for file in ["HEAD", "refs/x", "objects/x"] {
            known.iter().for_each(|known| write(&dir, &format!("{known}/{file}")));
        }
        let (root, denied_paths) = (here(&dir), denied_paths(&here(&dir), &[]));
        let targets = ScanTargets::new(&root, true, &denied_paths);
        let scan = Scan { targets: &targets, check: &|| Ok(()) };
        let wide = ScanBounds { directories: 100, names: 1_000, found: 100 };
        assert_eq!(walked(&dir, &[], wide).repositories, known);
        let mut tree = DirectoryIndex::walk(&root, bounds, &scan, known.map(Into::into)).unwrap();
        trick(&dir);
        let has_known = |found: &ProtectedPaths| {
            known.iter().all(|known| found.repositories.iter().any(|found| found == known))
        };
        tree.is_current(&scan).unwrap();
        let now = tree.found(&targets);
        assert!(has_known(&now), "{number}: {now:?}");
        assert!(now.repositories.len() <= 2 * known.len() + bounds.found, "{number}: {now:?}");
        // A new walk that knows nothing finds the nearest ones only.
        assert!(!has_known(&walked(&dir, &[], bounds)), "{number}");
        let again =
            DirectoryIndex::walk(&root, bounds, &scan, known.map(Into::into)).unwrap().found(&targets);
        assert!(
            has_known(&again) && (again.cut.is_some() || again.cut_inside.is_some()),
            "{number}: {again:?}"
        );
        // What is gone is not kept.
        fs::remove_dir_all(dir.path().join("x")).unwrap();
        tree.is_current(&scan).unwrap();
        assert_eq!(tree.found(&targets).repositories[0], known[0]);
        assert!(!has_known(&tree.found(&targets)));
    }
}

#[test]
fn whoever_cancels_ends_the_walk_and_the_next_one_finds_everything() {
    let dir = TempDir::new().unwrap();
    write(&dir, "a/k.pem");
    let cancelled = || -> Result<()> { Err(ToolError::new(Reason::Cancelled, "no")) };
    let error =
        protected_paths(&here(&dir), true, &denied_paths(&here(&dir), &RULES), &cancelled).unwrap_err();
    assert_eq!(error.reason, Reason::Cancelled);
    assert_eq!(found(&dir, &RULES).hidden, ["a/k.pem"]);
}

#[test]
fn links_in_a_repository_are_known_as_they_come_and_go() {
    let dir = TempDir::new().unwrap();
    for file in [".git/HEAD", ".git/objects/pack/x", ".git/objects/info/x", ".git/refs/heads/x", "plain/x"] {
        write(&dir, file);
    }
    let links_now = || {
        let found = found(&dir, &[]);
        assert_eq!(*found, walked(&dir, &[], BOUNDS_OF_REPOSITORIES));
        found.links.clone()
    };
    assert!(links_now().is_empty());
    fs::create_dir_all(dir.path().join(".git/new/deep")).unwrap();
    let links = [
        ".git/FETCH_HEAD",
        ".git/new/deep/l",
        ".git/objects/info/commit-graph",
        ".git/objects/pack/l",
        ".git/refs/heads/HEAD",
        ".git/refs/heads/l",
    ];
    for link in links.iter().chain(&["plain/l"]) {
        std::os::unix::fs::symlink("x", dir.path().join(link)).unwrap();
    }
    assert_eq!(links_now(), links);
    fs::remove_file(dir.path().join(".git/FETCH_HEAD")).unwrap();
    fs::rename(dir.path().join(".git/new"), dir.path().join(".git/n")).unwrap();
    fs::rename(dir.path().join(".git/refs/heads/l"), dir.path().join(".git/l")).unwrap();
    let now = [
        ".git/l",
        ".git/n/deep/l",
        ".git/objects/info/commit-graph",
        ".git/objects/pack/l",
        ".git/refs/heads/HEAD",
    ];
    assert_eq!(links_now(), now);
}

#[test]
fn what_is_known_for_longest_is_remembered_first_also_while_it_is_gone() {
    let dir = TempDir::new().unwrap();
    for path in ["a", "b", "z"] {
        write(&dir, &format!("{path}/.git/HEAD"));
    }
    let (root, denied_paths) = (here(&dir), denied_paths(&here(&dir), &[]));
    let targets = ScanTargets::new(&root, true, &denied_paths);
    let scan = Scan { targets: &targets, check: &|| Ok(()) };
    let known = ["gone/.git", "z/.git"].map(Into::into);
    let tree = DirectoryIndex::walk(&root, BOUNDS_OF_REPOSITORIES, &scan, known).unwrap();
    let remembered = ["gone/.git", "z/.git", "a/.git", "b/.git"].map(std::path::PathBuf::from);
    assert_eq!(tree.remembered(), remembered);
}

/// Of mounts, inotify reports nothing. They are made where nobody else sees them, by the test itself in namespaces of
/// its own.
#[test]
fn what_comes_with_a_mount_and_what_one_has_covered_is_found() {
    const NAME: &str = "tests::what_comes_with_a_mount_and_what_one_has_covered_is_found";
    const INSIDE: &str = "BEAMAI_TEST_HAS_MOUNTS";
    if std::env::var_os(INSIDE).is_some() {
        return mounts_are_noticed();
    }
    let in_namespaces = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options).arg(std::env::current_exe().unwrap()).args([NAME, "--exact", "--nocapture"]);
        command.env(INSIDE, "1").output().unwrap()
    };
    let mut output = in_namespaces(&["--user", "--map-root-user", "--mount"]);
    if !output.status.success() {
        // Where user namespaces are refused, root makes the mounts without one.
        output = in_namespaces(&["--mount"]);
    }
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 passed"), "{output:?}");
}

fn mounts_are_noticed() {
    let dir = TempDir::new().unwrap();
    let hidden = || found(&dir, &["Read(**/*.pem)"]).hidden.clone();
    let run = |command: &str| {
        let done = Command::new("sh").args(["-ec", command]).current_dir(dir.path()).status().unwrap();
        assert!(done.success(), "{command}");
    };
    run("mkdir m 'n o'; touch m/under.pem");
    assert_eq!(hidden(), ["m/under.pem"]);
    run("mount -t tmpfs tmpfs m; mkdir m/d; touch m/d/over.pem");
    assert_eq!(hidden(), ["m/d/over.pem"]);
    run("touch m/later.pem; mount --bind m 'n o'");
    assert_eq!(hidden(), ["m/d/over.pem", "m/later.pem", "n o/d/over.pem", "n o/later.pem"]);
    run("umount -l m; umount 'n o'");
    assert_eq!(hidden(), ["m/under.pem"]);
    // The line of another mount may be the same as that of the one before.
    run("mkdir now old new; touch new/k.pem; mount --bind now m");
    let before = found(&dir, &["Read(**/*.pem)"]);
    assert_eq!(before.hidden, ["new/k.pem"]);
    run("umount m; mv now old; mv new now; mount --bind now m");
    let after = found(&dir, &["Read(**/*.pem)"]);
    assert_eq!(after.hidden, ["m/k.pem", "now/k.pem"]);
    assert_ne!(before.mounts, after.mounts, "a reaper of before shows the mounts of before");
    run("umount m; rm -r now old");
    run("mount -t tmpfs tmpfs /mnt; touch m/new.pem");
    assert_eq!(hidden(), ["m/new.pem", "m/under.pem"]);
    // The directory itself is covered, and what covered `m` is not in the mount above it.
    run("mount -t tmpfs tmpfs m; touch m/covered.pem");
    assert_eq!(hidden(), ["m/covered.pem"]);
    run("mount --bind . .");
    assert_eq!(hidden(), ["m/new.pem", "m/under.pem"]);
}
