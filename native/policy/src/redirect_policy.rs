//! Permission rules for redirects: each address on the way is judged.

use super::{FETCH, Operand, PermissionRequest, Policy, Verdict};
use std::sync::Arc;

/// Judges the addresses that a fetch is redirected to. Clones share their contents; without rules every redirect is allowed.
#[derive(Debug, Clone, Default)]
pub struct RedirectPolicy(Option<Arc<Policy>>);

impl RedirectPolicy {
    /// Redirects under a policy.
    pub fn under(policy: Arc<Policy>) -> Self {
        Self(Some(policy))
    }

    /// Judges reading an address, for the operation with that canonical name.
    pub fn verdict(&self, rule: &str, url: &str) -> Verdict {
        let Some(policy) = &self.0 else { return Verdict::Allow(None) };
        let operand = Operand::Url { action: FETCH.to_owned(), url: url.to_owned(), sent: None };
        let permission = PermissionRequest {
            rule: rule.to_owned(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand,
        };
        policy.judge(&permission).verdict
    }
}
