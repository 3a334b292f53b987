//! The same attacks on a judge that looks at paths only: they are won.

use super::exchanger::Exchanger;
use super::scene::{Kind, SECRET, Scene};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a hit is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a path leads elsewhere than to what is kept, at this moment.
fn is_allowed(scene: &Scene, path: &Path) -> bool {
    path.canonicalize().is_ok_and(|real| !real.starts_with(scene.root().canonicalize().unwrap().join("kept")))
}

/// Acts on a path that was found to be allowed, until it has done harm.
fn lose(kind: Kind, act: impl Fn(&Scene, &Path) -> bool) {
    let scene = Scene::new();
    let (one, other) = kind.exchanged();
    let _exchanger = Exchanger::start(scene.path(one), scene.path(other));
    let (path, end) = (scene.path(kind.file()), Instant::now() + PATIENCE);
    let mut tries = 0_u64;
    while !(is_allowed(&scene, &path) && act(&scene, &path)) {
        tries += 1;
        assert!(
            Instant::now() < end,
            "{kind:?}: no attack succeeded in {tries} tries: the tests prove nothing"
        );
    }
    println!("{kind:?}: lost after {tries} tries");
}

#[test]
fn reading_after_a_look_at_the_path_discloses_what_is_kept() {
    for kind in Kind::ALL {
        lose(kind, |_, path| fs::read_to_string(path).is_ok_and(|text| text.contains(SECRET)));
    }
}

#[test]
fn writing_after_a_look_at_the_path_changes_what_is_kept() {
    for kind in Kind::ALL {
        lose(kind, |scene, path| {
            _ = fs::OpenOptions::new().write(true).open(path).and_then(|mut file| {
                use std::io::Write;
                file.write_all(b"two")
            });
            scene.harm().is_some()
        });
    }
}
