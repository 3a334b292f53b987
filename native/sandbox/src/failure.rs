//! A step that the operating system refused.

use crate::{Obstacle, obstacles};
use beamai_base::{Reason, ToolError, describe};
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
    /// What was tried before it, and why that failed.
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

    /// For people, with what was tried before.
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
        let message = format!(
            "{what}: the sandbox is required, and its layer {layer} is missing: {}; {}`beamai-port doctor` tells which \
             layers this machine has, and the sandbox best_effort does without those that it has not",
            self.in_full(),
            remedies(&[Some(layer.as_str()), self.layer_before()].into_iter().flatten().collect::<Vec<_>>())
        );
        Some(
            ToolError::new(Reason::IsolationUnavailable, message)
                .with("layer", layer.as_str())
                .with("errno", self.errno),
        )
    }

    /// The layer that was missing in what was tried before.
    fn layer_before(&self) -> Option<&str> {
        self.instead.as_deref()?.strip_prefix("tier full: ")?.split_once(':').map(|(layer, _)| layer)
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

/// What on this machine is in the way of these layers, and what to do about it.
fn remedies(layers: &[&str]) -> String {
    let in_the_way = |obstacle: &&Obstacle| layers.iter().any(|layer| obstacle.layers.contains(layer));
    let found: Vec<&Obstacle> = obstacles().into_iter().filter(in_the_way).collect();
    found.iter().map(|obstacle| format!("{obstacle}; ")).collect()
}
