//! The deadline of an HTTP exchange.

use super::advice::{self, Advice};
use beamai_base::{Reason, Result, ToolError};
use beamai_tool::CallContext;
use std::future::Future;
use std::time::{Duration, Instant};
use tokio::time::timeout_at;

/// Used for exchanges without a time limit; longer than any process runs.
const FOREVER: Duration = Duration::from_secs(10 * 365 * 86_400);

/// When an exchange must have finished, including name lookup, connection and body.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    until: Instant,
    given: Duration,
    advice: &'static Advice,
}

impl Deadline {
    /// `seconds` from now, or the end of the call if that is earlier.
    pub fn of(cx: &CallContext, seconds: u64) -> Self {
        let own = Duration::from_secs(seconds);
        let given = cx.remaining().map_or(own, |left| left.min(own));
        Self { until: Instant::now() + given, given, advice: &advice::FETCH }
    }

    /// `given` from now. Timeout errors end with the given advice.
    pub fn lasting(given: Duration, advice: &'static Advice) -> Self {
        Self { until: Instant::now() + given, given, advice }
    }

    /// No deadline: the exchange lasts as long as the caller waits.
    pub fn endless(advice: &'static Advice) -> Self {
        Self::lasting(FOREVER, advice)
    }

    /// The result of `work`, if it finishes in time.
    ///
    /// # Errors
    /// `timeout`, with what was being done.
    pub async fn within<T>(&self, doing: &str, work: impl Future<Output = T>) -> Result<T> {
        self.allow(work).await.ok_or_else(|| self.timed_out(doing))
    }

    /// The result of `work`; `None` on timeout.
    pub(super) async fn allow<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        timeout_at(self.until.into(), work).await.ok()
    }

    /// The time that one of several remaining attempts may take.
    pub(super) fn share(&self, tries_left: u32) -> Duration {
        self.until.saturating_duration_since(Instant::now()) / tries_left.max(1)
    }

    /// The timeout error.
    pub fn timed_out(&self, doing: &str) -> ToolError {
        let message =
            format!("timed out after {:.1} s while {doing}; {}", self.given.as_secs_f64(), self.advice.time);
        ToolError::new(Reason::Timeout, message).with("phase", doing)
    }
}
