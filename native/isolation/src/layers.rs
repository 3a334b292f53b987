//! What stood between a command and the machine.

use crate::{IsolationReporting, SandboxMode, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a command was isolated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    /// What the host asked for.
    pub mode: SandboxMode,
    /// The tier whose layers were on, but for those that the host does without; none where one of them was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Layers that were on.
    pub on: Vec<String>,
    /// Layers that were off, and why.
    pub off: Vec<LayerOff>,
    /// Layers that were on and do not keep all that they are for, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partly: Vec<LayerOff>,
}

impl Isolation {
    /// What a result says of it.
    pub fn reported(&self, report: IsolationReporting) -> Option<Self> {
        let is_whole = self.off.is_empty() && self.partly.is_empty();
        (report == IsolationReporting::Always || !is_whole).then(|| self.clone())
    }
}

/// A layer that was off, or on in part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerOff {
    /// The layer's name.
    pub layer: String,
    /// Why.
    pub why: String,
}

impl LayerOff {
    /// A layer, and why it was off or on in part.
    pub fn new(layer: &str, why: impl Into<String>) -> Self {
        Self { layer: layer.to_owned(), why: why.into() }
    }
}
