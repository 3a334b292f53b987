//! Where a redirect may lead: what rules say of each address on the way.

use super::{FETCH, Operand, PermissionRequest, Policy, Verdict};
use std::sync::Arc;

/// What rules say of addresses that a fetch is sent on to. Clones share it; without rules every way is open.
#[derive(Debug, Clone, Default)]
pub struct RedirectPolicy(Option<Arc<Policy>>);

impl RedirectPolicy {
    /// The way under a policy.
    pub fn under(policy: Arc<Policy>) -> Self {
        Self(Some(policy))
    }

    /// What the policy says of reading an address, for the operation of that canonical name.
    pub fn verdict(&self, rule: &str, url: &str) -> Verdict {
        let Some(policy) = &self.0 else { return Verdict::Allow(None) };
        let operand = Operand::Url { action: FETCH.to_owned(), url: url.to_owned() };
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
