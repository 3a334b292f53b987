//! The time that an exchange has.

use super::advice::{self, Advice};
use beamai_base::{Reason, Result, ToolError};
use beamai_tool::CallContext;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::time::timeout_at;

/// Longer than anything runs.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// When an exchange must have ended, everything included.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    until: Instant,
    given: Duration,
    advice: &'static Advice,
}

impl Deadline {
    /// So many seconds from now, and never longer than the call itself may run.
    pub fn of(cx: &CallContext, seconds: u64) -> Self {
        let own = Duration::from_secs(seconds);
        let given = cx.remaining().map_or(own, |left| left.min(own));
        Self { until: Instant::now() + given, given, advice: &advice::FETCH }
    }

    /// So long from now. Where time runs out, the message says what this advice does.
    pub fn lasting(given: Duration, advice: &'static Advice) -> Self {
        Self { until: Instant::now() + given, given, advice }
    }

    /// As long as whoever waits.
    pub fn endless(advice: &'static Advice) -> Self {
        Self::lasting(FOREVER, advice)
    }

    /// What `work` gives, if it does so in time.
    ///
    /// # Errors
    /// `timeout` that says what was being done.
    pub async fn within<T>(&self, doing: &str, work: impl Future<Output = T>) -> Result<T> {
        self.allow(work).await.ok_or_else(|| self.timed_out(doing))
    }

    /// What `work` gives; `None` if time runs out first.
    pub(super) async fn allow<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.until.into(), work).await.ok()
    }

    /// The share of the time left that one of several tries may take.
    pub(super) fn share(&self, tries_left: u32) -> Duration {
        self.until.saturating_duration_since(Instant::now()) / tries_left.max(1)
    }

    /// The error for time that ran out.
    pub fn timed_out(&self, doing: &str) -> ToolError {
        let message = format!(
            "time ran out after {:.1} s while {doing}; {}",
            self.given.as_secs_f64(),
            self.advice.time
        );
        ToolError::new(Reason::Timeout, message).with("phase", doing)
    }
}
