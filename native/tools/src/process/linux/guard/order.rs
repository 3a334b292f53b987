//! What the order of a reaper starts first: the reaper vouches for that.

use crate::process::linux::Spec;
use crate::process::{Coverage, StartJudge};
use rustix::rand::GetRandomFlags;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The first starts of an order. Its child still borrows the reaper's memory then, which nobody may read; so it tells
/// which of them it makes by numbers that the kernel does not look at: a secret one, and the place that the program has
/// in this list.
#[derive(Debug)]
pub(in crate::process::linux) struct Vouched {
    /// What nobody else knows.
    pub(in crate::process::linux) token: u64,
    /// The directory that they start in, without links.
    pub(super) directory: PathBuf,
    /// The program, and what its start covers.
    pub(super) program: Command,
    pub(super) coverage: Coverage,
    /// What may be started in its place: judged as if the program started it.
    pub(super) places: Vec<PathBuf>,
    pub(super) words: Vec<OsString>,
    pub(super) judge: Arc<dyn StartJudge>,
}

/// A program and its arguments.
#[derive(Debug)]
pub(super) struct Command {
    pub(super) path: PathBuf,
    pub(super) arguments: Vec<OsString>,
}

/// What the reaper's child starts.
pub(super) enum First<'a> {
    Program(&'a Command),
    Place(&'a PathBuf),
}

impl Vouched {
    /// What a program that is to be judged starts first; `None` for one that is not.
    pub(in crate::process::linux) fn of(spec: &Spec, directory: PathBuf) -> Option<Self> {
        let arguments = [spec.name().to_owned()].into_iter().chain(spec.arguments.iter().cloned()).collect();
        let (places, words) = match &spec.shortcut {
            Some(shortcut) => (shortcut.places.clone(), shortcut.words.clone()),
            None => Default::default(),
        };
        Some(Self {
            token: random()?,
            directory,
            program: Command { path: spec.program.clone(), arguments },
            coverage: spec.coverage,
            places,
            words,
            judge: Arc::clone(spec.judge.as_ref()?),
        })
    }

    /// What a start is for which the token was given.
    pub(super) fn first(&self, number: u64) -> Option<First<'_>> {
        match usize::try_from(number).ok()?.checked_sub(1) {
            None => Some(First::Program(&self.program)),
            Some(nth) => self.places.get(nth).map(First::Place),
        }
    }
}

/// A number that is not zero.
fn random() -> Option<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty()).ok().filter(|length| *length == 8)?;
    Some(u64::from_ne_bytes(bytes) | 1)
}
