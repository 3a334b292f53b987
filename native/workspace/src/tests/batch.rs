//! Changes of several files are applied all or not at all.

use super::*;
use crate::Batch;
use rustix::fs::Stat;
use std::os::unix::fs::MetadataExt;

/// A fixture with files `a`, `b` and `d/c`.
fn fixture() -> Fixture {
    let fixture = Fixture::new();
    for name in ["a", "b", "d/c"] {
        fixture.write(name, &format!("old {name}")).unwrap();
    }
    fixture
}

fn stat(path: &WorkspacePath) -> Stat {
    path.open_file().unwrap().1
}

fn replace<'p>(batch: &mut Batch<'p>, path: &'p WorkspacePath, content: &str) {
    let mut replacement = path.replace().unwrap();
    replacement.file().write_all(content.as_bytes()).unwrap();
    batch.replace(replacement, path.open_file().ok().map(|(_, stat)| stat));
}

#[test]
fn files_are_changed_made_moved_and_removed_together() {
    let fixture = fixture();
    let [a, b, c, new, moved] = ["a", "b", "d/c", "x/y/new", "z/moved"].map(|name| fixture.parse_path(name));
    let inode = fs::metadata(fixture.path("b")).unwrap().ino();
    let mut batch = Batch::default();
    replace(&mut batch, &a, "new a");
    replace(&mut batch, &new, "new");
    batch.rename(&b, stat(&b), &moved).unwrap();
    batch.remove(&c, stat(&c)).unwrap();
    assert_eq!(
        (fixture.read("a").unwrap(), fixture.read("d/c").unwrap()),
        ("old a".into(), "old d/c".into())
    );
    batch.commit().unwrap();
    assert_eq!(
        (fixture.read("a").unwrap(), fixture.read("x/y/new").unwrap()),
        ("new a".into(), "new".into())
    );
    assert_eq!(fixture.read("z/moved").unwrap(), "old b");
    assert_eq!(fs::metadata(fixture.path("z/moved")).unwrap().ino(), inode);
    // The directory that became empty is removed too.
    assert_eq!(fixture.names("."), ["a", "in.txt", "x", "z"]);
    assert_eq!(fixture.names("z"), ["moved"]);
}

#[test]
fn a_batch_that_is_dropped_leaves_nothing() {
    let fixture = fixture();
    let [a, c, new, moved] = ["a", "d/c", "x/y/new", "z/moved"].map(|name| fixture.parse_path(name));
    let mut batch = Batch::default();
    replace(&mut batch, &a, "new a");
    replace(&mut batch, &new, "new");
    batch.rename(&c, stat(&c), &moved).unwrap();
    drop(batch);
    assert_eq!(fixture.names("."), ["a", "b", "d", "in.txt"]);
    assert_eq!(
        (fixture.read("a").unwrap(), fixture.read("d/c").unwrap()),
        ("old a".into(), "old d/c".into())
    );
}

/// What another program does between reading the files and changing them.
type Meanwhile = fn(&Fixture);

#[test]
fn a_step_that_fails_undoes_those_before() {
    let cases: [(&str, Meanwhile); 6] = [
        ("a", |fixture| fs::write(fixture.path("a"), "theirs").unwrap()),
        ("b", |fixture| fs::write(fixture.path("b"), "theirs").unwrap()),
        ("b", |fixture| fs::remove_file(fixture.path("b")).unwrap()),
        ("new", |fixture| fs::write(fixture.path("new"), "theirs").unwrap()),
        ("moved", |fixture| fs::write(fixture.path("moved"), "theirs").unwrap()),
        ("d/c", |fixture| fs::write(fixture.path("d/c"), "theirs").unwrap()),
    ];
    for (name, meanwhile) in cases {
        let fixture = fixture();
        let [a, b, c, new, moved] = ["a", "b", "d/c", "new", "moved"].map(|name| fixture.parse_path(name));
        let mut batch = Batch::default();
        replace(&mut batch, &a, "new a");
        replace(&mut batch, &new, "new");
        batch.rename(&b, stat(&b), &moved).unwrap();
        batch.remove(&c, stat(&c)).unwrap();
        meanwhile(&fixture);
        let names = fixture.names(".");
        assert_eq!(reason(batch.commit()), Reason::Stale, "{name}");
        assert_eq!(fixture.names("."), names, "{name}");
        for file in ["a", "b", "d/c", "new", "moved"].into_iter().filter(|file| *file != name) {
            let expected = ["a", "b", "d/c"].contains(&file).then(|| format!("old {file}"));
            assert_eq!(fixture.read(file).ok(), expected, "{file} after {name}");
        }
        let theirs = (names.contains(&name.to_owned()) || name == "d/c").then(|| "theirs".to_owned());
        assert_eq!(fixture.read(name).ok(), theirs, "{name}");
        assert_eq!(fixture.names("d"), ["c"], "{name}");
    }
}

#[test]
fn paths_can_change_places() {
    let fixture = fixture();
    let [a, b] = ["a", "b"].map(|name| fixture.parse_path(name));
    let mut batch = Batch::default();
    replace(&mut batch, &a, "old b");
    replace(&mut batch, &b, "old a");
    batch.commit().unwrap();
    assert_eq!((fixture.read("a").unwrap(), fixture.read("b").unwrap()), ("old b".into(), "old a".into()));
}

#[test]
fn a_file_made_like_another_has_its_mode() {
    use std::os::unix::fs::PermissionsExt;
    let fixture = fixture();
    fs::set_permissions(fixture.path("a"), PermissionsExt::from_mode(0o751)).unwrap();
    let (a, new) = (fixture.parse_path("a"), fixture.parse_path("e/new"));
    let mut replacement = new.replace_like(&a).unwrap();
    replacement.file().write_all(b"x").unwrap();
    replacement.commit(Expected::Absent).unwrap();
    assert_eq!(fs::metadata(fixture.path("e/new")).unwrap().mode() & 0o7777, 0o751);
    assert_eq!(
        reason(fixture.parse_path("n").replace_like(&fixture.parse_path("missing"))),
        Reason::NoSuchFile
    );
}

#[test]
fn nothing_leaves_the_workspace() {
    let fixture = fixture();
    fixture.link("../ws-evil", "out");
    let (a, outside, secret) =
        (fixture.parse_path("a"), fixture.parse_path("out/new"), fixture.parse_path("out/secret"));
    let mut batch = Batch::default();
    assert_eq!(reason(batch.rename(&a, stat(&a), &outside)), Reason::OutsideWorkspace);
    assert_eq!(reason(batch.remove(&secret, stat(&a))), Reason::OutsideWorkspace);
    batch.commit().unwrap();
    assert!(fixture.outside("secret").exists() && !fixture.outside("new").exists());
}
