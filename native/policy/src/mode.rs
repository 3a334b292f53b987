//! What happens to a call that no rule names.

use serde::Deserialize;

/// What happens to a call that no rule names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyMode {
    /// What only reads, or touches only the session, runs; everything else asks.
    #[default]
    Auto,
    /// It runs.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It is refused.
    Deny,
}
