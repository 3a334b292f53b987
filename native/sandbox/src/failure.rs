//! Failed steps of setting up a sandbox or process.

use crate::{Obstacle, obstacles};
use beamai_base::{HostHint, Reason, ToolError, describe};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// A step that the operating system refused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("cannot {step}: {}", describe(&std::io::Error::from_raw_os_error(*errno)))]
pub struct SetupFailure {
    /// The step, such as "start the program".
    pub step: String,
    /// Linux error number.
    pub errno: i32,
    /// The sandbox layer that is missing because of it.
    #[serde(default)]
    pub layer: Option<String>,
    /// What was tried before, and why that failed.
    #[serde(default)]
    pub instead: Option<String>,
}

impl SetupFailure {
    /// A failed step that belongs to no layer.
    pub fn new(step: &str, errno: impl Into<Errno>) -> Self {
        let errno = errno.into().raw_os_error();
        Self { step: step.to_owned(), errno, layer: None, instead: None }
    }

    /// The message, with the missing layer.
    pub fn with_layer(&self) -> String {
        match &self.layer {
            Some(layer) => format!("{layer}: {self}"),
            None => self.to_string(),
        }
    }

    /// The message, with what was tried before.
    pub fn in_full(&self) -> String {
        match &self.instead {
            Some(instead) => format!("{self}; {instead}"),
            None => self.to_string(),
        }
    }

    /// Assigns the failure to a layer, unless it already belongs to one.
    pub fn of_layer(mut self, name: &str) -> Self {
        self.layer.get_or_insert_with(|| name.to_owned());
        self
    }

    /// The error if a required layer is missing; `what` says what was not done.
    pub fn not_isolated(&self, what: &str) -> Option<ToolError> {
        let layer = self.layer.as_ref()?;
        let message =
            format!("{what}: the sandbox is required, and its layer {layer} is missing: {}", self.in_full());
        let missing: Vec<&str> = [Some(layer.as_str()), self.layer_before()].into_iter().flatten().collect();
        let remedies = remedies(&missing);
        let hint = |option: &str| {
            format!(
                "{remedies}`beamai-port doctor` tells which layers this machine has, and {option} does without those that \
                 it has not"
            )
        };
        Some(
            ToolError::new(Reason::IsolationUnavailable, message)
                .with("layer", layer.as_str())
                .with("errno", self.errno)
                .hint(HostHint::new(hint("sandbox => best_effort"), hint("--sandbox best_effort"))),
        )
    }

    /// The layer that was missing in the earlier attempt.
    fn layer_before(&self) -> Option<&str> {
        self.instead.as_deref()?.strip_prefix("tier full: ")?.split_once(':').map(|(layer, _)| layer)
    }

    /// The error of a server that was not started; `who` is its name for people.
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

    /// Whether another directory has taken the place of the workspace. No other tier or set of layers is tried then.
    pub fn is_stale(&self) -> bool {
        self.errno == Errno::STALE.raw_os_error()
    }

    /// Whether a resource is temporarily exhausted.
    pub fn is_shortage(&self) -> bool {
        let errno = Errno::from_raw_os_error(self.errno);
        matches!(errno, Errno::AGAIN | Errno::NOMEM | Errno::MFILE | Errno::NFILE)
    }
}

/// The obstacles on this machine for these layers, with remedies.
fn remedies(layers: &[&str]) -> String {
    let in_the_way = |obstacle: &&Obstacle| layers.iter().any(|layer| obstacle.layers.contains(layer));
    let found: Vec<&Obstacle> = obstacles().into_iter().filter(in_the_way).collect();
    found.iter().map(|obstacle| format!("{obstacle}; ")).collect()
}
