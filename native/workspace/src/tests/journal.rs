//! A process that dies while it changes several files has changed nothing, or everything.
//!
//! The test program starts itself as the process that dies: killed before its first rename, its second, and so on.

use super::*;
use crate::{
    Batch,
    journal::{self, RecoveryResult, StateDir, recover_at},
    names,
};
use std::collections::BTreeMap;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

/// Environment variable: the directory with workspace and journals of a child process.
const SCENE: &str = "BEAMAI_TEST_SCENE";
/// Environment variable: what the child process does.
const PART: &str = "BEAMAI_TEST_PART";
/// Enough time for a killed process to be gone.
const PATIENCE: Duration = Duration::from_secs(10);

/// A file: its mode, its inode and link count, and its content.
type Thing = (u32, Option<(u64, u64)>, Vec<u8>);
type Things = BTreeMap<String, Thing>;

/// A workspace in which several files are to be changed.
struct Stage {
    dir: TempDir,
}

impl Stage {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ws = dir.path().join("ws");
        for (name, mode) in [("a", 0o751), ("b", 0o640), ("d/c", 0o600), ("e/deep/f", 0o644), ("same", 0o644)]
        {
            fs::create_dir_all(ws.join(name).parent().unwrap()).unwrap();
            fs::write(ws.join(name), format!("old {name}")).unwrap();
            fs::set_permissions(ws.join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        fs::hard_link(ws.join("a"), ws.join("a again")).unwrap();
        std::os::unix::fs::symlink("d/c", ws.join("link")).unwrap();
        Self { dir }
    }

    fn at(dir: &Path) -> PathBuf {
        dir.join("ws")
    }

    fn path(&self, name: &str) -> PathBuf {
        Self::at(self.dir.path()).join(name)
    }

    fn state_dir(&self) -> StateDir {
        state_dir(self.dir.path())
    }

    /// The existing journals.
    fn journals(&self) -> Vec<PathBuf> {
        let dir = self.dir.path().join("state/beamai/journals");
        let Ok(dir) = fs::read_dir(dir) else { return vec![] };
        let paths = dir.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "journal")).collect()
    }

    fn journal(&self) -> PathBuf {
        let [journal] = <[PathBuf; 1]>::try_from(self.journals()).unwrap();
        journal
    }

    fn things(&self) -> Things {
        let top = Self::at(self.dir.path());
        let below = walkdir::WalkDir::new(&top).min_depth(1).into_iter().map(Result::unwrap);
        below
            .map(|entry| {
                let (path, metadata) = (entry.path(), entry.metadata().unwrap());
                let content = match metadata.file_type() {
                    kind if kind.is_symlink() => {
                        fs::read_link(path).unwrap().into_os_string().into_encoded_bytes()
                    }
                    kind if kind.is_dir() => Vec::new(),
                    _ => fs::read(path).unwrap(),
                };
                let inode = (!metadata.is_dir()).then(|| (metadata.ino(), metadata.nlink()));
                let name = path.strip_prefix(&top).unwrap().to_str().unwrap().to_owned();
                (name, (metadata.mode(), inode, content))
            })
            .collect()
    }

    /// Runs a part in a child process, which is killed before its change number `dies_at`.
    fn play(&self, part: &str, dies_at: usize, is_plain: bool) -> ExitStatus {
        let mut program = Command::new(std::env::current_exe().unwrap());
        program.args(["--exact", "tests::journal::a_program_plays_its_part", "--nocapture"]);
        program.env(SCENE, self.dir.path()).env("XDG_STATE_HOME", self.dir.path().join("state"));
        program.env(PART, part).env(names::DIES_AT, dies_at.to_string());
        if is_plain {
            program.env(names::IS_PLAIN, "yes");
        }
        let output = program.output().unwrap();
        let (status, text) = (output.status, String::from_utf8_lossy(&output.stderr));
        assert!(status.success() || status.signal() == Some(9), "{status}: {text}");
        status
    }

    /// Runs the change in a process that is killed.
    fn die_at(&self, at: usize) {
        assert_eq!(self.play("change", at, false).signal(), Some(9), "at {at}");
    }

    fn recover(&self) -> RecoveryResult {
        recover_at(&self.state_dir(), PATIENCE)
    }
}

fn state_dir(fixture: &Path) -> StateDir {
    StateDir::new(fixture.join("state"), "beamai")
}

/// Replaces files, by name and through a link, and creates, moves and removes some.
fn change(workspace: &Workspace) -> Result<()> {
    let [a, link, same] = ["a", "link", "same"].map(|name| workspace.parse_path(name).unwrap());
    let [new, deep] = ["new", "x/y/new"].map(|name| workspace.parse_path(name).unwrap());
    let [b, moved, f] = ["b", "z/moved", "e/deep/f"].map(|name| workspace.parse_path(name).unwrap());
    let mut batch = Batch::default();
    for state_dir in [&a, &link, &same, &new, &deep] {
        let mut replacement = state_dir.replace().unwrap();
        replacement.file().write_all(format!("new {}", state_dir.display()).as_bytes()).unwrap();
        batch.replace(replacement, state_dir.open_file().ok().map(|(_, stat)| stat));
    }
    batch.rename(&b, b.open_file().unwrap().1, &moved).unwrap();
    batch.remove(&f, f.open_file().unwrap().1).unwrap();
    batch.commit()
}

/// The entry point of child processes; without the variables, the change runs normally.
#[test]
fn a_program_plays_its_part() {
    let Some(fixture) = std::env::var_os(SCENE).map(PathBuf::from) else {
        let stage = Stage::new();
        change(&Workspace::open(&Stage::at(stage.dir.path())).unwrap()).unwrap();
        assert_eq!(plain(&stage.things()), after());
        return;
    };
    match std::env::var(PART).unwrap().as_str() {
        "change" => change(&Workspace::open(&Stage::at(&fixture)).unwrap()).unwrap(),
        "fail" => {
            // The last step finds another file than the one read; the earlier steps are undone.
            let workspace = Workspace::open(&Stage::at(&fixture)).unwrap();
            let hook = || fs::write(Stage::at(&fixture).join("new"), "theirs").unwrap();
            assert_eq!(reason(failing(&workspace, hook)), Reason::Stale);
        }
        "recover" => _ = recover_at(&state_dir(&fixture), PATIENCE),
        other => panic!("{other}"),
    }
}

/// A change that fails at its end because of what `meanwhile` does.
fn failing(workspace: &Workspace, meanwhile: impl FnOnce()) -> Result<()> {
    let [a, deep, new] = ["a", "x/y/new", "new"].map(|name| workspace.parse_path(name).unwrap());
    let mut batch = Batch::default();
    for state_dir in [&a, &deep, &new] {
        let mut replacement = state_dir.replace().unwrap();
        replacement.file().write_all(b"new").unwrap();
        batch.replace(replacement, state_dir.open_file().ok().map(|(_, stat)| stat));
    }
    meanwhile();
    batch.commit()
}

/// Without inodes, which differ for new files.
fn plain(things: &Things) -> Things {
    let plain =
        |(name, (mode, _, content)): (&String, &Thing)| (name.clone(), (*mode, None, content.clone()));
    things.iter().map(plain).collect()
}

/// The expected files after the change.
fn after() -> Things {
    let stage = Stage::new();
    assert!(stage.play("change", usize::MAX >> 1, false).success());
    assert!(stage.journals().is_empty());
    let things = stage.things();
    assert_eq!(things["a"].2, b"new a");
    assert_eq!(things["d/c"].2, b"new link");
    assert_eq!(things["x/y/new"].2, b"new x/y/new");
    assert_eq!(things["z/moved"].2, b"old b");
    assert!(!things.contains_key("e") && !things.contains_key("b"));
    plain(&things)
}

fn has_temporary(things: &Things) -> bool {
    things.keys().any(|name| name.contains(".beamai-"))
}

#[test]
fn wherever_a_process_dies_nothing_has_changed_or_everything() {
    let after = after();
    for is_plain in [false, true] {
        let (mut befores, mut afters, mut halves) = (0, 0, 0);
        for at in 0.. {
            let stage = Stage::new();
            let before = stage.things();
            if stage.play("change", at, is_plain).success() {
                assert!(at > 15, "only {at} changes of names");
                break;
            }
            let left = stage.things();
            halves += usize::from(left != before && plain(&left) != after);
            let had_journal = !stage.journals().is_empty();
            let undone = stage.recover();
            assert_eq!(undone.undone.len(), usize::from(had_journal), "{at}: {undone:?}");
            assert!(
                !undone.is_any_held && !undone.undone.iter().any(|line| line.contains("except")),
                "{undone:?}"
            );
            let mut things = stage.things();
            if is_plain && !had_journal {
                // File systems without O_TMPFILE show drafts; see SECURITY.md.
                things.retain(|name, _| !name.contains(".beamai-"));
            }
            assert!(!has_temporary(&things), "{at}: {:?}", things.keys());
            assert_eq!(stage.journals(), [] as [PathBuf; 0], "{at}");
            if things == before {
                befores += 1;
            } else {
                assert_eq!(plain(&things), after, "{at}");
                afters += 1;
            }
        }
        // Or there was nothing to recover.
        assert!(befores > 10 && afters > 3 && halves > 15, "{befores}, {afters}, {halves}");
    }
}

#[test]
fn a_process_that_dies_while_it_undoes_a_change_may_be_undone_as_well() {
    let after = after();
    // Each round is two killed processes: by default a sample of odd and even ones; `BEAMAI_LONG` runs eight times as
    // many.
    let (step, next) = if std::env::var_os("BEAMAI_LONG").is_some() { (2, 2) } else { (7, 5) };
    for is_plain in [false, true] {
        for at in (1..40).step_by(step) {
            for dies_at in (0..).step_by(next) {
                let stage = Stage::new();
                let before = stage.things();
                if stage.play("change", at, is_plain).success() || stage.journals().is_empty() {
                    break;
                }
                let is_done = stage.play("recover", dies_at, is_plain).success();
                _ = stage.recover();
                let things = stage.things();
                assert!(
                    !has_temporary(&things) && stage.journals().is_empty(),
                    "{at}, {dies_at}: {things:?}"
                );
                assert!(things == before || plain(&things) == after, "{at}, {dies_at}: {:?}", things.keys());
                if is_done {
                    break;
                }
            }
        }
    }
}

#[test]
fn a_process_that_dies_while_it_takes_a_failed_change_back_has_changed_nothing() {
    for at in 0.. {
        let stage = Stage::new();
        let mut before = stage.things();
        let is_done = stage.play("fail", at, false).success();
        _ = stage.recover();
        let mut things = stage.things();
        assert_eq!(things.remove("new").unwrap().2, b"theirs");
        before.remove("new");
        assert_eq!(things, before, "{at}");
        assert!(stage.journals().is_empty());
        if is_done {
            assert!(at > 8, "only {at} changes of names");
            break;
        }
    }
}

/// A stage where a process has died after changing `a` and other files, and after creating files.
fn half_changed() -> Stage {
    for at in 8.. {
        let stage = Stage::new();
        stage.die_at(at);
        if stage.path("x/y/new").exists() {
            return stage;
        }
    }
    unreachable!()
}

/// The temporary name that holds the old content of a file.
fn backup(stage: &Stage, old: &str) -> String {
    let things = stage.things();
    let found = things.iter().find(|(name, thing)| name.contains(".beamai-") && thing.2 == old.as_bytes());
    found.unwrap().0.clone()
}

#[test]
fn what_somebody_has_changed_since_is_left_as_it_is_and_that_is_said() {
    let stage = half_changed();
    let before = backup(&stage, "old a");
    fs::write(stage.path("a"), "theirs").unwrap();
    fs::write(stage.path("new"), "theirs, too").unwrap();
    let undone = stage.recover().undone;
    let things = stage.things();
    assert_eq!((&things["a"].2[..], &things["new"].2[..]), (&b"theirs"[..], &b"theirs, too"[..]));
    assert_eq!(things[&before].2, b"old a");
    assert_eq!((&things["d/c"].2[..], &things["same"].2[..]), (&b"old d/c"[..], &b"old same"[..]));
    assert!(!things.contains_key("x"));
    let [line] = &undone[..] else { panic!("{undone:?}") };
    assert!(
        line.contains("a (another program changed it since; what was there before is in .beamai-"),
        "{line}"
    );
    assert!(line.contains("new (another program changed it since)"), "{line}");
    assert!(stage.journals().is_empty());
}

#[test]
fn a_file_that_somebody_has_put_in_the_place_of_another_is_left_as_it_is() {
    let stage = half_changed();
    let before = backup(&stage, "old a");
    for name in ["a", "x/y/new"] {
        fs::remove_file(stage.path(name)).unwrap();
        fs::write(stage.path(name), "theirs").unwrap();
    }
    stage.recover();
    let things = stage.things();
    assert_eq!((&things["a"].2[..], &things["x/y/new"].2[..]), (&b"theirs"[..], &b"theirs"[..]));
    assert_eq!(things[&before].2, b"old a");
}

#[test]
fn an_old_content_that_somebody_has_changed_is_not_put_back() {
    let stage = half_changed();
    let before = backup(&stage, "old a");
    fs::write(stage.path(&before), "theirs").unwrap();
    let undone = stage.recover().undone;
    let things = stage.things();
    assert_eq!((&things["a"].2[..], &things[&before].2[..]), (&b"new a"[..], &b"theirs"[..]));
    assert_eq!(things["same"].2, b"old same");
    assert!(undone[0].contains(&before), "{undone:?}");
}

#[test]
fn of_many_that_recover_at_once_one_does() {
    let stage = half_changed();
    let lines: usize = std::thread::scope(|scope| {
        let programs: Vec<_> =
            (0..4).map(|_| scope.spawn(|| stage.play("recover", usize::MAX >> 1, false))).collect();
        let each: Vec<_> = (0..8).map(|_| scope.spawn(|| stage.recover().undone.len())).collect();
        assert!(programs.into_iter().all(|program| program.join().unwrap().success()));
        each.into_iter().map(|each| each.join().unwrap()).sum()
    });
    assert!(lines <= 1, "{lines}");
    assert!(stage.journals().is_empty());
    assert_eq!(fs::read(stage.path("a")).unwrap(), b"old a");
    assert!(!has_temporary(&stage.things()));
}

#[test]
fn a_journal_whose_owner_lives_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let held = state_dir(dir.path()).make().unwrap().write(b"U\n{}").unwrap();
    let looked = recover_at(&state_dir(dir.path()), Duration::ZERO);
    assert!(looked.is_any_held && looked.undone.is_empty());
    drop(held);
    let looked = recover_at(&state_dir(dir.path()), Duration::ZERO);
    assert!(!looked.is_any_held && looked.undone.is_empty());
}

#[test]
fn who_comes_while_somebody_undoes_a_change_waits_for_that() {
    let stage = half_changed();
    let other = fs::File::open(stage.journal()).unwrap();
    rustix::fs::flock(&other, rustix::fs::FlockOperation::LockExclusive).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            drop(other);
        });
        assert_eq!(recover_at(&stage.state_dir(), Duration::ZERO).undone.len(), 1);
    });
    assert_eq!(fs::read(stage.path("a")).unwrap(), b"old a");
}

#[test]
fn another_directory_in_the_workspaces_place_is_left_alone() {
    let stage = half_changed();
    let (ws, aside) = (stage.path(""), stage.dir.path().join("aside"));
    fs::rename(&ws, &aside).unwrap();
    let copied = Command::new("cp").arg("-a").arg(&aside).arg(&ws).status().unwrap();
    assert!(copied.success());
    let things = stage.things();
    assert!(stage.recover().undone.is_empty());
    assert_eq!(stage.things(), things);
    // It comes back, and then it is recovered.
    fs::remove_dir_all(&ws).unwrap();
    fs::rename(&aside, &ws).unwrap();
    assert_eq!(stage.recover().undone.len(), 1);
    assert_eq!(fs::read(stage.path("a")).unwrap(), b"old a");
}

/// Turns a valid journal into a forged one that would lead outside if it were followed.
type Forgery = fn(&str) -> String;

#[test]
fn a_forged_journal_leads_nowhere() {
    let forgeries: [(&str, Forgery); 5] = [
        ("climbs", |text| text.replace("\"path\":\"x/y/new\"", "\"path\":\"../outside/new\"")),
        ("is absolute", |text| text.replace("\"path\":\"x/y/new\"", "\"path\":\"/etc/new\"")),
        ("names a file", |text| text.replacen(".beamai-", "x-", 1)),
        ("names a path", |text| text.replacen(".beamai-", "../.beamai-", 1)),
        ("is none", |text| text.replace("steps", "step")),
    ];
    for (name, forge) in forgeries {
        let stage = half_changed();
        let things = stage.things();
        let text = fs::read_to_string(stage.journal()).unwrap();
        assert_ne!(forge(&text), text, "{name}");
        fs::write(stage.journal(), forge(&text)).unwrap();
        let undone = stage.recover().undone;
        assert!(undone[0].contains("was not a journal"), "{name}: {undone:?}");
        assert_eq!(stage.things(), things, "{name}");
        assert!(stage.journals().is_empty());
    }
}

#[test]
fn where_one_of_two_directories_is_gone_the_other_is_undone() {
    let stage = half_changed();
    let text = fs::read_to_string(stage.journal()).unwrap();
    let gone = r#"},{"path":"/gone","device":1,"inode":2}],"steps""#;
    let changed = text.replacen(r#"}],"steps""#, gone, 1).replacen(
        r#"{"root":0,"path":"x/y/new"}"#,
        r#"{"root":1,"path":"x/y/new"}"#,
        1,
    );
    assert!(changed.contains(gone) && changed.contains(r#""root":1"#), "{text}");
    fs::write(stage.journal(), changed).unwrap();
    assert_eq!(stage.recover().undone.len(), 1);
    let things = stage.things();
    assert_eq!((&things["a"].2[..], &things["same"].2[..]), (&b"old a"[..], &b"old same"[..]));
    assert_eq!(things["x/y/new"].2, b"new x/y/new");
    assert!(stage.journals().is_empty());
}

#[test]
fn an_undoing_does_not_follow_links() {
    let stage = half_changed();
    let outside = stage.dir.path().join("outside");
    fs::rename(stage.path("x"), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, stage.path("x")).unwrap();
    let undone = stage.recover().undone;
    assert_eq!(fs::read(outside.join("y/new")).unwrap(), b"new x/y/new");
    assert!(undone[0].contains("x/y/new ("), "{undone:?}");
    assert_eq!(fs::read(stage.path("a")).unwrap(), b"old a");
}

#[test]
fn journals_that_others_could_have_written_do_not_count() {
    let stage = half_changed();
    let (things, journal) = (stage.things(), stage.journal());
    for (path, mode) in [(journal.as_path(), 0o644), (journal.parent().unwrap(), 0o777)] {
        let usual = fs::metadata(path).unwrap().permissions();
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        assert!(stage.recover().undone.is_empty(), "{path:?}");
        assert_eq!(stage.things(), things);
        fs::set_permissions(path, usual).unwrap();
    }
    let link = stage.dir.path().join("state/beamai");
    fs::rename(&link, stage.dir.path().join("real")).unwrap();
    std::os::unix::fs::symlink("../real", &link).unwrap();
    assert!(stage.recover().undone.is_empty());
    fs::remove_file(&link).unwrap();
    fs::rename(stage.dir.path().join("real"), &link).unwrap();
    assert_eq!(stage.recover().undone.len(), 1);
}

#[test]
fn a_change_of_one_file_needs_no_journal() {
    let fixture = Fixture::new();
    let (state_dir, new) = (fixture.parse_path("in.txt"), fixture.parse_path("d/new"));
    let mut batch = Batch::default();
    let mut replacement = state_dir.replace().unwrap();
    replacement.file().write_all(b"new").unwrap();
    batch.replace(replacement, state_dir.open_file().ok().map(|(_, stat)| stat));
    assert!(!batch.needs_journal());
    batch.replace(new.replace().unwrap(), None);
    assert!(batch.needs_journal());
    assert!(journal::journals().all(|path| path.is_absolute()));
}
