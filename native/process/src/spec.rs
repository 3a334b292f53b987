//! The specification of a program to start.

use super::message::Order;
use beamai_exec_guard::{ExpectedStart, ProgramArgs, token};
use beamai_isolation::{GuardJudge, StartCoverage};
use beamai_sandbox::Confinement;
use beamai_sandbox::SetupFailure;
use rustix::io::Errno;
use std::ffi::{CStr, CString, OsStr, OsString};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;

/// The source of a program's standard input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stdin {
    /// Empty.
    Empty,
    /// A pipe, held by the [`Child`](super::Child).
    Pipe,
}

/// A program to start.
#[derive(Debug)]
pub struct ProgramSpec {
    /// Absolute path of the program.
    pub program: PathBuf,
    /// Whether `argv[0]` is the whole path instead of the name. Interpreters use it to find their libraries.
    pub by_path: bool,
    /// Its arguments, without `argv[0]`.
    pub arguments: Vec<OsString>,
    /// Its complete environment; nothing is added.
    pub environment: Vec<(OsString, OsString)>,
    /// The working directory.
    pub directory: OwnedFd,
    /// Its standard input.
    pub stdin: Stdin,
    /// Whether processes that it leaves running continue, until none is left or they are killed.
    pub lingers: bool,
    /// The program that it would be replaced by.
    pub shortcut: Option<Shortcut>,
    /// Its confinement.
    pub confinement: Arc<Confinement>,
    /// Decides about all program starts below it, and about the shortcut. Required if the confinement has an exec
    /// guard.
    pub judge: Option<Arc<dyn GuardJudge>>,
    /// The coverage of the start of the program itself, which is not judged.
    pub coverage: StartCoverage,
}

/// The program that would replace a shell. It is executed directly if one of the candidates exists; otherwise, or if
/// that fails, the shell is executed. It gets the variables that a shell adds: `PWD`, `SHLVL` and `_`.
#[derive(Debug)]
pub struct Shortcut {
    /// Possible paths of the program, in order; the first executable file is used.
    pub candidates: Vec<PathBuf>,
    /// Its arguments, starting with `argv[0]`.
    pub words: Vec<OsString>,
}

impl ProgramSpec {
    /// The `argv[0]` of the program.
    pub(super) fn name(&self) -> &OsStr {
        match self.by_path {
            true => self.program.as_os_str(),
            false => self.program.file_name().unwrap_or_default(),
        }
    }

    /// The expected starts of the order; `None` without an exec guard.
    pub(super) fn vouched(&self) -> Result<Option<ExpectedStart>, SetupFailure> {
        if !self.confinement.exec_guard {
            return Ok(None);
        }
        let directory = OsString::from_vec(self.directory_path()?.into_bytes()).into();
        let missing =
            || SetupFailure::new("start a program under an exec guard without a judge", Errno::INVAL);
        let judge = Arc::clone(self.judge.as_ref().ok_or_else(missing)?);
        let no_token = || SetupFailure::new("make a token for the exec guard", Errno::AGAIN);
        let arguments = [self.name().to_owned()].into_iter().chain(self.arguments.iter().cloned()).collect();
        let (candidates, words) = match &self.shortcut {
            Some(shortcut) => (shortcut.candidates.clone(), shortcut.words.clone()),
            None => Default::default(),
        };
        Ok(Some(ExpectedStart {
            token: token().ok_or_else(no_token)?,
            directory,
            program: ProgramArgs { path: self.program.clone(), arguments },
            coverage: self.coverage,
            candidates,
            words,
            judge,
        }))
    }

    /// The encoded order for a reaper. `token` identifies its starts.
    pub(super) fn order(&self, token: u64) -> Result<Vec<u8>, SetupFailure> {
        let arguments = [self.name()].into_iter().chain(self.arguments.iter().map(OsString::as_os_str));
        let arguments = texts(arguments.map(OsStrExt::as_bytes))?;
        let pairs = self.environment.iter().map(|(name, value)| variable(name, value));
        let environment = pairs.collect::<Result<Vec<_>, _>>()?;
        let shortcut = self.shortcut.as_ref();
        let candidates = shortcut.iter().flat_map(|shortcut| &shortcut.candidates);
        let candidates = candidates
            .map(|candidate| variable("_".as_ref(), candidate.as_os_str()))
            .collect::<Result<Vec<_>, _>>()?;
        let words = texts(shortcut.iter().flat_map(|shortcut| &shortcut.words).map(|word| word.as_bytes()))?;
        let order = Order {
            lingers: self.lingers,
            token,
            program: &text(self.program.as_os_str().as_bytes())?,
            directory: &self.directory_path()?,
            arguments: borrowed(&arguments),
            environment: borrowed(&environment),
            candidates: borrowed(&candidates),
            words: borrowed(&words),
        };
        Ok(order.encode())
    }

    /// The current path of the directory. The reaper opens it again and checks that it is the same directory.
    fn directory_path(&self) -> Result<CString, SetupFailure> {
        let link = format!("/proc/self/fd/{}", self.directory.as_raw_fd());
        rustix::fs::readlink(link, Vec::new())
            .map_err(|errno| SetupFailure::new("find the working directory", errno))
    }
}

fn variable(name: &OsStr, value: &OsStr) -> Result<CString, SetupFailure> {
    text(&[name.as_bytes(), b"=", value.as_bytes()].concat())
}

fn texts<'a>(all: impl Iterator<Item = &'a [u8]>) -> Result<Vec<CString>, SetupFailure> {
    all.map(text).collect()
}

fn borrowed(texts: &[CString]) -> Vec<&CStr> {
    texts.iter().map(CString::as_c_str).collect()
}

fn text(bytes: &[u8]) -> Result<CString, SetupFailure> {
    CString::new(bytes).map_err(|_| SetupFailure::new("pass a NUL byte to the program", Errno::INVAL))
}
