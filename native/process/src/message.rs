//! The messages between port, launcher and reapers.

use super::signal_name;
use beamai_isolation::Isolation;
use beamai_sandbox::SetupFailure;
use beamai_sandbox::layers::NetworkAttempts;
use rustix::io::Errno;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::ffi::{CStr, OsString};

/// Port to reaper: run this program. Sent with the descriptors of the directory, stdout, stderr and, if it is a pipe,
/// stdin. Encoded as counted strings, each followed by a NUL, because arguments and environment need not be UTF-8; and
/// parsed in place, so that there is only one copy to wipe.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order<'a> {
    /// Whether processes that the program leaves running continue.
    pub(super) lingers: bool,
    /// Identifies the starts of the program and of its shortcut; zero without an exec guard.
    pub(super) token: u64,
    /// Absolute path of the program.
    pub(super) program: &'a CStr,
    /// The path of the directory when it was opened.
    pub(super) directory: &'a CStr,
    /// Arguments, including the program's name.
    pub(super) arguments: Vec<&'a CStr>,
    /// `NAME=value`.
    pub(super) environment: Vec<&'a CStr>,
    /// Paths of a program to execute instead: each is prefixed with `_=`, since it is also passed as that variable.
    pub(super) candidates: Vec<&'a CStr>,
    /// The arguments of that program, including its name.
    pub(super) words: Vec<&'a CStr>,
}

impl<'a> Order<'a> {
    pub(super) fn encode(&self) -> Vec<u8> {
        let count = |list: &[&CStr]| u32::try_from(list.len()).unwrap_or(u32::MAX).to_ne_bytes();
        let lists = [&self.arguments, &self.environment, &self.candidates, &self.words];
        let mut out = vec![u8::from(self.lingers)];
        out.extend(self.token.to_ne_bytes());
        out.extend(lists.iter().flat_map(|list| count(list)));
        for text in [&self.program, &self.directory].into_iter().chain(lists.into_iter().flatten()) {
            out.extend(text.to_bytes_with_nul());
        }
        out
    }

    pub(super) fn decode(body: &'a [u8]) -> Option<Self> {
        let (lingers, body) = body.split_first()?;
        let (token, body) = body.split_first_chunk::<8>()?;
        let token = u64::from_ne_bytes(*token);
        let (counts, body) = body.split_first_chunk::<16>()?;
        let mut counts = counts.as_chunks::<4>().0.iter();
        let mut texts = body.split_inclusive(|byte| *byte == 0);
        let mut text = || CStr::from_bytes_with_nul(texts.next()?).ok();
        let program = text()?;
        let directory = text()?;
        let mut list =
            || -> Option<Vec<&CStr>> { (0..u32::from_ne_bytes(*counts.next()?)).map(|_| text()).collect() };
        let (arguments, environment, candidates, words) = (list()?, list()?, list()?, list()?);
        let order = Self {
            lingers: *lingers != 0,
            token,
            program,
            directory,
            arguments,
            environment,
            candidates,
            words,
        };
        texts.next().is_none().then_some(order)
    }
}

/// Reaper to launcher, and launcher to port: whether the layers could be entered.
pub(super) type Setup = Result<EnteredLayers, SetupFailure>;

/// The layers that were entered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EnteredLayers {
    pub(super) isolation: Isolation,
    /// The placeholders that the reaper covers.
    pub(super) placeholders: Vec<OsString>,
}

/// How the main process of a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// Why a reaper ended a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillCause {
    /// Its processes used too much memory.
    Memory(MemoryExcess),
    /// It had too many processes and threads.
    Processes(MemoryExcess),
    /// It created a forbidden file at this path. The file was removed or renamed.
    Created(String),
}

/// A limit on all processes together was exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryExcess {
    /// The value: bytes, or number of processes and threads.
    pub taken: u64,
    /// The limit.
    pub limit: u64,
}

/// Reaper to port: the command has ended, and none of its processes is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandReport {
    /// It was started.
    Ended {
        /// How its main process ended.
        exit: ExitStatus,
        /// Number of remaining processes that were killed.
        killed: u32,
        /// Why its reaper ended it, if it did.
        cause: Option<KillCause>,
        /// What it tried to reach without a network; `None` if it has one, if it succeeded, or if that was not counted.
        attempts: Option<NetworkAttempts>,
        /// Whether its reaper can be reused, unless it finds that the program has left something behind, and ends.
        is_ready: bool,
    },
    /// It was not started.
    NotStarted(SetupFailure),
}

/// For programs that were expected to keep running.
impl std::fmt::Display for CommandReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Ended { cause: Some(KillCause::Memory(MemoryExcess { limit, .. })), .. } => {
                write!(
                    f,
                    "it was killed for taking more memory than the {} MiB that it may have",
                    limit >> 20
                )
            }
            Self::Ended { cause: Some(KillCause::Processes(MemoryExcess { limit, .. })), .. } => {
                write!(f, "it was killed for having more than the {limit} processes that it may have")
            }
            Self::Ended { cause: Some(KillCause::Created(path)), .. } => {
                write!(f, "it was killed for creating {path}, which nothing may create here")
            }
            Self::Ended { exit: ExitStatus::Code(code), .. } => write!(f, "it exited with code {code}"),
            Self::Ended { exit: ExitStatus::Signal(signal), .. } => {
                write!(f, "{} killed it", signal_name(*signal))
            }
            Self::NotStarted(failure) => failure.fmt(f),
        }
    }
}

pub(super) fn to_bytes(message: &impl Serialize) -> Vec<u8> {
    // These types only have string keys, and their implementations do not fail.
    serde_json::to_vec(message).unwrap_or_default()
}

pub(super) fn from_bytes<T: DeserializeOwned>(body: &[u8]) -> Result<T, Errno> {
    serde_json::from_slice(body).map_err(|_| Errno::BADMSG)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::CString;

    fn borrowed(texts: &[CString]) -> Vec<&CStr> {
        texts.iter().map(CString::as_c_str).collect()
    }

    fn text() -> impl Strategy<Value = CString> {
        proptest::collection::vec(1_u8.., 0..9).prop_map(|bytes| CString::new(bytes).unwrap())
    }

    proptest! {
        #[test]
        fn an_order_survives_the_round_trip(lingers: bool, token: u64, program in text(), directory in text(),
            arguments in proptest::collection::vec(text(), 0..4),
            environment in proptest::collection::vec(text(), 0..4),
            candidates in proptest::collection::vec(text(), 0..4), words in proptest::collection::vec(text(), 0..4)) {
            let (arguments, environment) = (borrowed(&arguments), borrowed(&environment));
            let (candidates, words) = (borrowed(&candidates), borrowed(&words));
            let (program, directory) = (program.as_c_str(), directory.as_c_str());
            let order = Order { lingers, token, program, directory, arguments, environment, candidates, words };
            let body = order.encode();
            prop_assert_eq!(Order::decode(&body[..body.len() - 1]), None);
            prop_assert_eq!(Order::decode(&body), Some(order));
        }

        #[test]
        fn no_bytes_crash_the_reader(body in proptest::collection::vec(any::<u8>(), 0..40)) {
            Order::decode(&body);
        }
    }
}
