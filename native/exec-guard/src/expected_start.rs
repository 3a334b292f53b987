//! The first start of an order, which the reaper vouches for.

use beamai_isolation::{GuardJudge, StartCoverage};
use rustix::rand::GetRandomFlags;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

/// The first starts of an order. The reaper's child still shares the reaper's memory at that point, and that memory must
/// not be read. The child therefore identifies the start by two system call arguments that the Linux kernel ignores: a
/// secret token, and the position of the program in this list.
#[derive(Debug)]
pub struct ExpectedStart {
    /// The secret that identifies the reaper's child.
    pub token: u64,
    /// The working directory, with symbolic links resolved.
    pub directory: PathBuf,
    /// The program to start.
    pub program: ProgramArgs,
    /// What the start of the program covers.
    pub coverage: StartCoverage,
    /// Paths that are tried instead of the program, judged as if the program started them.
    pub candidates: Vec<PathBuf>,
    /// The arguments for `candidates`.
    pub words: Vec<OsString>,
    /// Decides about all further starts.
    pub judge: Arc<dyn GuardJudge>,
}

/// A program and its arguments.
#[derive(Debug)]
pub struct ProgramArgs {
    /// Its path.
    pub path: PathBuf,
    /// Its arguments, including its name.
    pub arguments: Vec<OsString>,
}

/// The program that the reaper's child starts.
pub enum ExpectedProgram<'a> {
    Program(&'a ProgramArgs),
    Place(&'a PathBuf),
}

impl ExpectedStart {
    /// The program for a position in the list; `None` if there is none.
    pub fn first(&self, number: u64) -> Option<ExpectedProgram<'_>> {
        match usize::try_from(number).ok()?.checked_sub(1) {
            None => Some(ExpectedProgram::Program(&self.program)),
            Some(nth) => self.candidates.get(nth).map(ExpectedProgram::Place),
        }
    }
}

/// A random token, never zero. `None` if the operating system provides no random numbers.
pub fn token() -> Option<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty()).ok().filter(|length| *length == 8)?;
    Some(u64::from_ne_bytes(bytes) | 1)
}
