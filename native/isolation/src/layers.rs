//! The sandbox layers that were active for a command.

use crate::{IsolationReporting, SandboxMode, Tier};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a command was isolated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Isolation {
    /// The mode that the host requested.
    pub mode: SandboxMode,
    /// The tier whose layers were all active, except for those that the host gave up; absent if one was missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Active layers.
    pub on: Vec<String>,
    /// Missing layers, and why.
    pub off: Vec<LayerOff>,
    /// Active layers that are only partly effective, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub partly: Vec<LayerOff>,
}

impl Isolation {
    /// The part that a result contains.
    pub fn reported(&self, report: IsolationReporting) -> Option<Self> {
        let is_whole = self.off.is_empty() && self.partly.is_empty();
        (report == IsolationReporting::Always || !is_whole).then(|| self.clone())
    }
}

/// A layer that was missing, or only partly effective.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LayerOff {
    /// Name of the layer.
    pub layer: String,
    /// The reason.
    pub why: String,
}

impl LayerOff {
    /// A layer with the reason.
    pub fn new(layer: &str, why: impl Into<String>) -> Self {
        Self { layer: layer.to_owned(), why: why.into() }
    }
}
