//! A directory is exchanged for a link that leads out, again and again, while files are opened through it.

use super::*;
use rustix::fs::{CWD, RenameFlags};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const OPENS: usize = 400_000;
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

/// Up to [`OPENS`] times within [`TIME`].
fn many(mut try_once: impl FnMut()) -> usize {
    let end = Instant::now() + TIME;
    (0..OPENS)
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
    let (mut inside, mut refused) = (0, 0);
    while_exchanging(scene.path("d"), scene.path("swap"), || {
        // One path for the kernel's lookup, one that it refuses and the walk takes.
        let paths = ["d/secret", "through/secret"];
        many(|| {
            for path in paths {
                match scene.read(path) {
                    Ok(content) => {
                        assert_eq!(content, "inside", "escaped by {path}");
                        inside += 1;
                    }
                    Err(_) => refused += 1,
                }
            }
        });
    });
    assert!(inside > 1000 && refused > 1000, "no race: {inside} inside, {refused} refused");
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
