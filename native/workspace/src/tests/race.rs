//! Files are opened through a directory that is repeatedly exchanged for a link that leads out.

use super::*;
use crate::resolve;
use rustix::fs::{CWD, OFlags, RenameFlags};
use std::os::unix::fs::MetadataExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Number of opens, over both paths.
fn opens() -> usize {
    if std::env::var_os("BEAMAI_LONG").is_some() { 400_000 } else { 40_000 }
}

/// Maximum number of opens until check-then-open loses the race; it usually takes far fewer.
const MOST: usize = 400_000;
const THREADS: usize = 4;
/// Duration of the write test.
const TIME: Duration = Duration::from_secs(2);

/// Runs `tries` while `one` and `other` are exchanged in a loop.
fn while_exchanging(one: PathBuf, other: PathBuf, tries: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        let tried = catch_unwind(AssertUnwindSafe(tries));
        stop.store(true, Ordering::Relaxed);
        tried.unwrap_or_else(|failure| resume_unwind(failure));
    });
}

fn racing_scene() -> Fixture {
    let fixture = Fixture::new();
    fs::create_dir(fixture.path("d")).unwrap();
    fs::write(fixture.path("d/secret"), "inside").unwrap();
    fixture.link("../ws-evil", "swap");
    fixture.link(fixture.path("d"), "through");
    fixture
}

#[test]
fn a_rename_race_leads_no_read_out() {
    let fixture = racing_scene();
    let inside = fs::metadata(fixture.path("d/secret")).unwrap().ino();
    // One path for openat2, and one that openat2 rejects and the walk resolves.
    let paths = [fixture.parse_path("d/secret"), fixture.parse_path("through/secret")];
    let (opened, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let open = |path: &WorkspacePath| match resolve::open(&path.root.anchor(), &path.relative, OFlags::RDONLY)
    {
        Ok(fd) => {
            assert_eq!(rustix::fs::fstat(&fd).unwrap().st_ino, inside, "escaped by {path:?}");
            opened.fetch_add(1, Ordering::Relaxed);
        }
        Err(_) => _ = refused.fetch_add(1, Ordering::Relaxed),
    };
    let opens = opens();
    while_exchanging(fixture.path("d"), fixture.path("swap"), || {
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| (0..opens / THREADS / 2).for_each(|_| paths.iter().for_each(open)));
            }
        });
    });
    let (opened, refused) = (opened.into_inner(), refused.into_inner());
    assert_eq!(opened + refused, opens);
    assert!(opened > opens / 100 && refused > opens / 100, "no race: {opened} opened, {refused} refused");
}

/// The control: the same race, lost by code that resolves the path first and opens it afterwards.
#[test]
fn the_race_is_lost_by_who_looks_before_opening() {
    let fixture = racing_scene();
    let path = fixture.path("d/secret");
    let inside = fixture.path("").canonicalize().unwrap();
    let escaped = || {
        let is_inside = path.canonicalize().is_ok_and(|path| path.starts_with(&inside));
        is_inside && fs::read_to_string(&path).is_ok_and(|text| text == "outside")
    };
    while_exchanging(fixture.path("d"), fixture.path("swap"), || assert!((0..MOST).any(|_| escaped())));
}

#[test]
fn a_rename_race_leads_no_write_out() {
    let fixture = racing_scene();
    while_exchanging(fixture.path("d"), fixture.path("swap"), || {
        let end = Instant::now() + TIME;
        while Instant::now() < end {
            _ = fixture.write("d/new", "x");
            _ = fixture.parse_path("d/appended").append();
            _ = fixture.write("d/sub/new", "x");
        }
    });
    assert_eq!(fs::read_to_string(fixture.outside("secret")).unwrap(), "outside");
    assert_eq!(fs::read_dir(fixture.outside("")).unwrap().count(), 1);
}
