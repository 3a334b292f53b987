//! A step that the operating system refused.

use beamai_base::{HostHint, Reason, ToolError, describe};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// A step that the operating system refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("cannot {step}: {}", describe(&std::io::Error::from_raw_os_error(*errno)))]
pub struct SetupFailure {
    /// What was tried, such as "start the program".
    pub step: String,
    /// Linux error number.
    pub errno: i32,
    /// The layer of isolation that is missing because of it.
    #[serde(default)]
    pub layer: Option<String>,
    /// What might have done in its place, and why it did not.
    #[serde(default)]
    pub instead: Option<String>,
}

impl SetupFailure {
    /// A step that failed with this error, in no layer yet.
    pub fn new(step: &str, errno: impl Into<Errno>) -> Self {
        let errno = errno.into().raw_os_error();
        Self { step: step.to_owned(), errno, layer: None, instead: None }
    }

    /// For people, with the layer that is missing.
    pub fn with_layer(&self) -> String {
        match &self.layer {
            Some(layer) => format!("{layer}: {self}"),
            None => self.to_string(),
        }
    }

    /// For people, with what might have done in its place.
    pub fn in_full(&self) -> String {
        match &self.instead {
            Some(instead) => format!("{self}; {instead}"),
            None => self.to_string(),
        }
    }

    /// The failure as the reason why a layer is missing, unless it is another layer's already.
    pub fn of_layer(mut self, name: &str) -> Self {
        self.layer.get_or_insert_with(|| name.to_owned());
        self
    }

    /// The error where a layer of isolation is missing and the host requires it; `what` says what did not happen.
    pub fn not_isolated(&self, what: &str) -> Option<ToolError> {
        let layer = self.layer.as_ref()?;
        let message =
            format!("{what}: the sandbox is required, and its layer {layer} is missing: {}", self.in_full());
        let hint = |option: &str| {
            format!(
                "`beamai-port doctor` tells which layers this machine has, and {option} does without those that it has not"
            )
        };
        Some(
            ToolError::new(Reason::IsolationUnavailable, message)
                .with("layer", layer.as_str())
                .with("errno", self.errno)
                .hint(HostHint::new(hint("sandbox => best_effort"), hint("--sandbox best_effort"))),
        )
    }

    /// The error of a server that was not started; `who` is what people call it.
    pub fn not_started(&self, who: &str) -> ToolError {
        if let Some(error) = self.not_isolated(&format!("{who} was not started")) {
            return error;
        }
        let (reason, advice) = match self.is_shortage() {
            true => (Reason::Busy, "; too much is running: try again later"),
            false => (Reason::Io, ""),
        };
        let message = format!("{who} was not started: {self}{advice}");
        ToolError::new(reason, message).with("errno", self.errno)
    }

    /// Whether the machine ran short of something that may be there again later.
    pub fn is_shortage(&self) -> bool {
        let errno = Errno::from_raw_os_error(self.errno);
        matches!(errno, Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE)
    }
}
