//! What the port, the launcher and the reapers say to each other.

use super::signal_name;
use beamai_isolation::Isolation;
use beamai_sandbox::SetupFailure;
use beamai_sandbox::layers::Placeholder;
use rustix::io::Errno;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::ffi::CStr;

/// Port to reaper, with the descriptors of directory, stdout, stderr and, if it is a pipe, stdin: run this. Written
/// as counted strings with a NUL after each, because arguments and environment need not be UTF-8, and read in place,
/// so that there is one copy to wipe.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Order<'a> {
    /// Whether what the program leaves running when it ends goes on.
    pub(super) lingers: bool,
    /// What the starts of the program and of what may take its place are known by; zero where nobody asks.
    pub(super) token: u64,
    /// Absolute path of the program.
    pub(super) program: &'a CStr,
    /// Where the directory stood when it was opened.
    pub(super) directory: &'a CStr,
    /// Arguments, the name of the program included.
    pub(super) arguments: Vec<&'a CStr>,
    /// `NAME=value`.
    pub(super) environment: Vec<&'a CStr>,
    /// Where to look for a program that is started instead: its absolute path after `_=`, the variable that tells it.
    pub(super) candidates: Vec<&'a CStr>,
    /// The arguments of that program, its name included.
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

/// Reaper to launcher, and launcher to port: its layers are entered, or could not be.
pub(super) type Setup = Result<EnteredLayers, SetupFailure>;

/// What came of entering the layers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EnteredLayers {
    pub(super) isolation: Isolation,
    /// What was made on the machine so that something could be mounted over it; removed with the reaper.
    pub(super) placeholders: Vec<Placeholder>,
}

/// How the main process of a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ExitStatus {
    /// It exited with this code.
    Code(i32),
    /// This signal killed it.
    Signal(i32),
}

/// Why a reaper ends a command by itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum KillCause {
    /// Its processes took too much memory.
    Memory(MemoryExcess),
    /// It had too many processes and threads.
    Processes(MemoryExcess),
    /// It created a file that must not be: this path. The file was removed.
    Created(String),
}

/// More than processes may have together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryExcess {
    /// Bytes, or processes and threads, that there were.
    pub taken: u64,
    /// How many there may be.
    pub limit: u64,
}

/// Reaper to port: the command has ended, and nothing that it started is left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum CommandReport {
    /// It ran.
    Ended {
        /// How its main process ended.
        exit: ExitStatus,
        /// How many processes were still there and were killed.
        killed: u32,
        /// Why its reaper ended it, if it did.
        cause: Option<KillCause>,
        /// Whether the program has left nothing behind, so that its reaper takes another order.
        is_ready: bool,
    },
    /// It never ran.
    NotStarted(SetupFailure),
}

/// For a program that should have gone on.
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
    // These types have no keys that are not strings and no failing implementations.
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
