//! A directory is exchanged for a link that leads out, again and again, while files are opened through it.

use super::*;
use crate::workspace::resolve;
use rustix::fs::{CWD, OFlags, RenameFlags};
use std::os::unix::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const ROUNDS: usize = 200_000;
const TIME: Duration = Duration::from_secs(6);

/// Runs `tries` while `one` and `other` are exchanged as fast as they can be.
fn while_exchanging(one: PathBuf, other: PathBuf, tries: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).unwrap();
            }
        });
        tries();
        stop.store(true, Ordering::Relaxed);
    });
}

/// Up to [`ROUNDS`] times within [`TIME`].
fn many(mut try_once: impl FnMut()) -> usize {
    let end = Instant::now() + TIME;
    (0..ROUNDS)
        .take_while(|_| {
            try_once();
            Instant::now() < end
        })
        .count()
}

fn racing_scene() -> Scene {
    let scene = Scene::new();
    fs::create_dir(scene.path("d")).unwrap();
    fs::write(scene.path("d/secret"), "inside").unwrap();
    scene.link("../ws-evil", "swap");
    scene.link(scene.path("d"), "through");
    scene
}

#[test]
fn a_rename_race_leads_no_read_out() {
    let scene = racing_scene();
    let inside = fs::metadata(scene.path("d/secret")).unwrap().ino();
    // One path for the kernel's lookup, one that it refuses and the walk takes.
    let places = [scene.place("d/secret"), scene.place("through/secret")];
    let (mut opened, mut refused) = (0, 0);
    while_exchanging(scene.path("d"), scene.path("swap"), || {
        many(|| {
            for place in &places {
                match resolve::open(&place.root.anchor(), &place.relative, OFlags::RDONLY) {
                    Ok(fd) => {
                        assert_eq!(rustix::fs::fstat(&fd).unwrap().st_ino, inside, "escaped by {place:?}");
                        opened += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        });
    });
    assert!(opened > 1000 && refused > 1000, "no race: {opened} opened, {refused} refused");
}

#[test]
fn a_rename_race_leads_no_write_out() {
    let scene = racing_scene();
    while_exchanging(scene.path("d"), scene.path("swap"), || {
        let end = Instant::now() + TIME / 3;
        while Instant::now() < end {
            _ = scene.write("d/new", "x");
            _ = scene.place("d/appended").append();
            _ = scene.write("d/sub/new", "x");
        }
    });
    assert_eq!(fs::read_to_string(scene.outside("secret")).unwrap(), "outside");
    assert_eq!(fs::read_dir(scene.outside("")).unwrap().count(), 1);
}
