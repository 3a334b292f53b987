//! What the order of a reaper starts first: the reaper vouches for that.

use beamai_isolation::{StartCoverage, StartJudge};
use rustix::rand::GetRandomFlags;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The first starts of an order. Its child still borrows the reaper's memory then, which nobody may read; so it tells
/// which of them it makes by numbers that the kernel does not look at: a secret one, and the place that the program has
/// in this list.
#[derive(Debug)]
pub struct ExpectedStart {
    /// What nobody else knows.
    pub token: u64,
    /// The directory that they start in, without links.
    pub directory: PathBuf,
    /// The program, and what its start covers.
    pub program: ProgramArgs,
    /// What the start of the program covers.
    pub coverage: StartCoverage,
    /// What may be started in its place: judged as if the program started it.
    pub candidates: Vec<PathBuf>,
    /// The arguments of what is started in its place.
    pub words: Vec<OsString>,
    /// Who decides about starts.
    pub judge: Arc<dyn StartJudge>,
}

/// A program and its arguments.
#[derive(Debug)]
pub struct ProgramArgs {
    /// The program.
    pub path: PathBuf,
    /// Its arguments, its name included.
    pub arguments: Vec<OsString>,
}

/// What the reaper's child starts.
pub enum ExpectedProgram<'a> {
    Program(&'a ProgramArgs),
    Place(&'a PathBuf),
}

impl ExpectedStart {
    /// What a start is for which the token was given.
    pub fn first(&self, number: u64) -> Option<ExpectedProgram<'_>> {
        match usize::try_from(number).ok()?.checked_sub(1) {
            None => Some(ExpectedProgram::Program(&self.program)),
            Some(nth) => self.candidates.get(nth).map(ExpectedProgram::Place),
        }
    }
}

/// A token: a number that nobody can guess and that is not zero. `None` where the operating system has no random numbers.
pub fn token() -> Option<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty()).ok().filter(|length| *length == 8)?;
    Some(u64::from_ne_bytes(bytes) | 1)
}
