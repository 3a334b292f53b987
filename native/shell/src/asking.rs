//! Approval requests of a running command: for a program that it starts, or a host that it connects to.
//!
//! A request is sent with the call's progress events, and the start or connection waits. The answer arrives as a
//! separate call, as for an MCP server's elicitation.

use beamai_tool::{CallContext, Progress};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of open requests of one command; further ones are refused.
pub(super) const MOST_OPEN: usize = 16;

/// A start or connection that waits for an answer. Dropping it without one refuses it.
pub(super) trait PendingQuestion: Send {
    /// Adds a session rule from the host, if the rule concerns this question.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule.
    fn add(&self, rule: &str) -> beamai_base::Result<()>;

    /// Applies the answer.
    fn answered(self: Box<Self>, id: &str, decision: StartChoice, reason: Option<String>);
}

/// The user's decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StartChoice {
    /// Let it continue.
    Allow,
    /// Make it fail.
    Deny,
}

/// The answer to a request about a start or a connection.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartAnswer {
    start: String,
    decision: StartChoice,
    /// Rules that also apply to the rest of the command.
    #[serde(default)]
    rules: Vec<String>,
    /// The reason for a denial.
    #[serde(default)]
    reason: Option<String>,
}

static OPEN: Mutex<Option<HashMap<String, Box<dyn PendingQuestion>>>> = Mutex::new(None);

/// Locks a mutex, ignoring poisoning: every update here is complete before anything that could panic.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StartAnswer {
    /// Returns whether the question was still open.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule; the start or connection is then refused.
    pub fn run(self, _: &CallContext) -> beamai_base::Result<Value> {
        let question = lock(&OPEN).as_mut().and_then(|open| open.remove(&self.start));
        let is_taken = question.is_some();
        if let Some(question) = question {
            if let Err(error) = self.rules.iter().try_for_each(|rule| question.add(rule)) {
                question.answered(&self.start, StartChoice::Deny, Some(error.message.clone()));
                return Err(error);
            }
            question.answered(&self.start, self.decision, self.reason);
        }
        Ok(json!({"taken": is_taken}))
    }
}

/// The channel for a call's requests; `None` if nobody can be asked. A background command outlives its call, and with
/// it the channel.
pub(super) fn asker(cx: &CallContext, in_background: bool) -> Option<Progress> {
    cx.progress.clone().filter(|_| cx.asks_starts && !in_background)
}

/// A unique id for a request.
pub(super) fn next_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("start_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Sends a request.
pub(super) fn ask(asker: &Progress, id: &str, request: Value, question: Box<dyn PendingQuestion>) {
    lock(&OPEN).get_or_insert_default().insert(id.to_owned(), question);
    asker(json!({"start": id, "request": request}));
}

/// Withdraws requests that no longer need an answer.
pub(super) fn take_back(ids: &[String]) {
    let mut all = lock(&OPEN);
    let left: Vec<_> = ids.iter().filter_map(|id| all.as_mut()?.remove(id)).collect();
    drop(all);
    drop(left);
}
