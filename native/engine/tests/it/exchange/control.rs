//! The same attacks on a judge that looks at paths only: they are won.

use super::exchanger::Exchanger;
use super::fixture::{Fixture, Kind, SECRET};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a hit is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Whether a path leads elsewhere than to what is kept, at this moment.
fn is_allowed(fixture: &Fixture, path: &Path) -> bool {
    path.canonicalize()
        .is_ok_and(|real| !real.starts_with(fixture.root().canonicalize().unwrap().join("kept")))
}

/// Acts on a path that was found to be allowed, until it has done harm.
fn lose(kind: Kind, act: impl Fn(&Fixture, &Path) -> bool) {
    let fixture = Fixture::new();
    let (one, other) = kind.exchanged();
    let _exchanger = Exchanger::start(fixture.path(one), fixture.path(other));
    let (path, end) = (fixture.path(kind.file()), Instant::now() + PATIENCE);
    let mut tries = 0_u64;
    while !(is_allowed(&fixture, &path) && act(&fixture, &path)) {
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
        lose(kind, |fixture, path| {
            _ = fs::OpenOptions::new().write(true).open(path).and_then(|mut file| {
                use std::io::Write;
                file.write_all(b"two")
            });
            fixture.harm().is_some()
        });
    }
}
