//! The default mode: what happens to a call that no rule matches.

use serde::Deserialize;

/// What happens to a call that no rule matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyMode {
    /// Calls that only read, or change only the session, run; all others need approval.
    #[default]
    Auto,
    /// It runs.
    Allow,
    /// It needs approval.
    Ask,
    /// It is denied.
    Deny,
}
