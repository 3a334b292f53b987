//! A replacement is complete or does not happen, and keeps what it does not touch.

use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn a_replacement_that_is_not_committed_changes_nothing() {
    let fixture = Fixture::new();
    let target = fixture.parse_path("in.txt");
    let mut replacement = target.replace().unwrap();
    replacement.file().write_all(b"half").unwrap();
    drop(replacement);
    let new = fixture.parse_path("a/b/new.txt");
    drop(new.replace().unwrap());
    assert_eq!(fixture.read("in.txt").unwrap(), "inside");
    assert_eq!(fixture.names("."), ["in.txt"]);
}

#[test]
fn directories_are_made_on_the_way_and_kept_with_the_file() {
    let fixture = Fixture::new();
    fixture.write("a/b/c.txt", "deep").unwrap();
    assert_eq!(fixture.read("a/b/c.txt").unwrap(), "deep");
    let (file, before) = fixture.parse_path("x/y.txt").append().unwrap();
    drop(file);
    assert!(before.is_none() && fixture.path("x/y.txt").exists());
}

#[test]
fn a_path_that_cannot_be_made_leaves_no_directories_behind() {
    let fixture = Fixture::new();
    let long = "n".repeat(300);
    assert_eq!(reason(fixture.write(&format!("a/b/{long}"), "x")), Reason::InvalidArgument);
    assert_eq!(reason(fixture.write("in.txt/x", "x")), Reason::NotADirectory);
    assert_eq!(reason(fixture.write("a/", "x")), Reason::IsADirectory);
    assert_eq!(reason(fixture.parse_path("a/.").append()), Reason::IsADirectory);
    assert_eq!(fixture.names("."), ["in.txt"]);
}

#[test]
fn no_reader_sees_half_a_file() {
    let fixture = Fixture::new();
    let contents = ["a".repeat(100_000), "b".repeat(200_000)];
    fixture.write("f", &contents[0]).unwrap();
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| (0..200).for_each(|n| fixture.write("f", &contents[n % 2]).unwrap()));
        while !writer.is_finished() {
            assert!(contents.contains(&fixture.read("f").unwrap()));
        }
    });
    assert_eq!(fixture.names("."), ["f", "in.txt"]);
}

#[test]
fn mode_and_link_are_kept() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.path("in.txt"), PermissionsExt::from_mode(0o750)).unwrap();
    fixture.link("in.txt", "link");
    fixture.write("link", "new").unwrap();
    assert!(fs::symlink_metadata(fixture.path("link")).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(fixture.path("in.txt")).unwrap(), "new");
    assert_eq!(fs::metadata(fixture.path("in.txt")).unwrap().mode() & 0o7777, 0o750);
}

#[test]
fn a_new_file_has_the_mode_of_any_new_file() {
    let fixture = Fixture::new();
    fixture.write("new", "x").unwrap();
    fs::write(fixture.path("plain"), "x").unwrap();
    let mode = |name| fs::metadata(fixture.path(name)).unwrap().mode();
    assert_eq!(mode("new"), mode("plain"));
}

/// Runs an action, which root could always do, as a user who is not root. True if that user does not own the files.
fn without_privileges(fixture: &Fixture, work: impl FnOnce() + Send) -> bool {
    fs::set_permissions(fixture.path("."), PermissionsExt::from_mode(0o777)).unwrap();
    fs::set_permissions(fixture.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let is_root = rustix::process::geteuid().is_root();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            if is_root {
                // Changes the user of this thread only.
                let nobody = rustix::process::Uid::from_raw(65534);
                rustix::thread::set_thread_res_uid(nobody, nobody, nobody).unwrap();
            }
            work();
        });
    });
    is_root
}

#[test]
fn a_file_that_may_not_be_written_to_is_not_replaced() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.path("in.txt"), PermissionsExt::from_mode(0o444)).unwrap();
    without_privileges(&fixture, || {
        assert_eq!(reason(fixture.write("in.txt", "new")), Reason::AccessDenied);
        assert_eq!(reason(fixture.parse_path("in.txt").append()), Reason::AccessDenied);
        fixture.write("new.txt", "new").unwrap();
    });
    assert_eq!(fixture.read("in.txt").unwrap(), "inside");
}

#[test]
fn where_the_owner_cannot_be_kept_nobody_gets_more_than_before() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.path("in.txt"), PermissionsExt::from_mode(0o6772)).unwrap();
    let has_changed = without_privileges(&fixture, || fixture.write("in.txt", "new").unwrap());
    let stat = fs::metadata(fixture.path("in.txt")).unwrap();
    if has_changed {
        assert_eq!(stat.uid(), 65534);
    }
    assert_eq!(stat.mode() & 0o7777, 0o772);
    assert_eq!(fs::read_to_string(fixture.path("in.txt")).unwrap(), "new");
}

#[test]
fn a_new_text_does_not_run_as_the_files_owner() {
    let fixture = Fixture::new();
    fs::set_permissions(fixture.path("in.txt"), PermissionsExt::from_mode(0o6755)).unwrap();
    fixture.write("in.txt", "new").unwrap();
    assert_eq!(fs::metadata(fixture.path("in.txt")).unwrap().mode() & 0o7777, 0o755);
}

#[test]
fn a_broken_hard_link_is_reported() {
    let fixture = Fixture::new();
    assert!(!fixture.parse_path("in.txt").replace().unwrap().breaks_link());
    fs::hard_link(fixture.path("in.txt"), fixture.path("other")).unwrap();
    assert!(fixture.parse_path("in.txt").replace().unwrap().breaks_link());
    fixture.write("in.txt", "new").unwrap();
    assert_eq!(fixture.read("other").unwrap(), "inside");
}

#[test]
fn a_file_that_changed_since_it_was_read_is_stale() {
    let changes: [fn(&Path); 4] = [
        |path| fs::write(path, "INSIDE").unwrap(),
        |path| fs::remove_file(path).unwrap(),
        |path| {
            fs::write(path.with_extension("2"), "inside").unwrap();
            fs::rename(path.with_extension("2"), path).unwrap();
        },
        |path| {
            let before = fs::metadata(path).unwrap().modified().unwrap();
            fs::write(path, "INSIDE").unwrap();
            fs::File::options().write(true).open(path).unwrap().set_modified(before).unwrap();
        },
    ];
    for change in changes {
        let fixture = Fixture::new();
        let target = fixture.parse_path("in.txt");
        // File times advance in ticks, of several milliseconds on older Linux kernels.
        std::thread::sleep(std::time::Duration::from_millis(20));
        let (_, stat) = target.open_file().unwrap();
        let mut replacement = target.replace().unwrap();
        replacement.file().write_all(b"mine").unwrap();
        change(&fixture.path("in.txt"));
        let theirs = fs::read_to_string(fixture.path("in.txt")).ok();
        assert_eq!(reason(replacement.commit(Expected::Unchanged(&stat))), Reason::Stale);
        assert_eq!(fs::read_to_string(fixture.path("in.txt")).ok(), theirs);
        assert!(fixture.names(".").iter().all(|name| !name.starts_with(".beamai")));
    }
}

#[test]
fn a_file_that_appeared_meanwhile_is_not_replaced() {
    let fixture = Fixture::new();
    let target = fixture.parse_path("new");
    let replacement = target.replace().unwrap();
    fs::write(fixture.path("new"), "theirs").unwrap();
    assert_eq!(reason(replacement.commit(Expected::Absent)), Reason::Stale);
    assert_eq!(reason(target.replace().unwrap().commit(Expected::Absent)), Reason::Stale);
    assert_eq!(fixture.read("new").unwrap(), "theirs");
    target.replace().unwrap().commit(Expected::Anything).unwrap();
    assert_eq!(fixture.read("new").unwrap(), "");
}

/// Adds one to the number in the file, with or without the lock; false if the file was stale.
fn increment(target: &WorkspacePath, is_locked: bool) -> bool {
    let _guard = is_locked.then(|| target.lock(|| Ok(())).unwrap());
    let (mut file, stat) = target.open_file().unwrap();
    let mut text = String::new();
    file.read_to_string(&mut text).unwrap();
    let mut replacement = target.replace().unwrap();
    write!(replacement.file(), "{}", text.parse::<u32>().unwrap() + 1).unwrap();
    match replacement.commit(Expected::Unchanged(&stat)) {
        Ok(()) => true,
        Err(error) => {
            assert_eq!(error.reason, Reason::Stale);
            false
        }
    }
}

fn concurrent_increments(is_locked: bool) -> (u32, u32) {
    let fixture = Fixture::new();
    fixture.write("n", "0").unwrap();
    let target = fixture.parse_path("n");
    let done: u32 = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| (0..100).map(|_| u32::from(increment(&target, is_locked))).sum::<u32>()))
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).sum()
    });
    (done, fixture.read("n").unwrap().parse().unwrap())
}

#[test]
fn locked_changes_by_many_threads_all_happen() {
    assert_eq!(concurrent_increments(true), (800, 800));
}

#[test]
fn changes_without_the_lock_happen_or_say_that_they_did_not() {
    let (done, counted) = concurrent_increments(false);
    assert_eq!(done, counted);
}
