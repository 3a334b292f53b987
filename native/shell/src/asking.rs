//! Questions of a running command: about a program that it starts, about a name that it connects to.
//!
//! A question goes out with the call's progress, and what it is about waits. The answer comes as a call of its own, as that of
//! an MCP server's question does.

use beamai_tool::{CallContext, Progress};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Most questions of one command that are open at a time; what comes on top is refused.
pub(super) const MOST_OPEN: usize = 16;

/// What waits for an answer. Dropped without one, it is refused.
pub(super) trait PendingQuestion: Send {
    /// Adds a rule that the host has added for the session, if it is about what is asked.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule.
    fn add(&self, rule: &str) -> beamai_base::Result<()>;

    /// Takes the answer.
    fn answered(self: Box<Self>, id: &str, decision: StartChoice, reason: Option<String>);
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum StartChoice {
    /// It goes on.
    Allow,
    /// It fails.
    Deny,
}

/// The answer to the question about a start, or a connection.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartAnswer {
    start: String,
    decision: StartChoice,
    /// Rules that hold for what the command does from here on, too.
    #[serde(default)]
    rules: Vec<String>,
    /// Why it was refused.
    #[serde(default)]
    reason: Option<String>,
}

static OPEN: Mutex<Option<HashMap<String, Box<dyn PendingQuestion>>>> = Mutex::new(None);

/// What a mutex holds, also after a thread has panicked with it: nothing here is left half done.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StartAnswer {
    /// Whether the question was still open.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule; what was asked about is refused then.
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

/// Where a call's questions go; `None` where nobody can be asked. A command in the background outlives its call, and with it
/// whoever could be asked.
pub(super) fn asker(cx: &CallContext, in_background: bool) -> Option<Progress> {
    cx.progress.clone().filter(|_| cx.asks_starts && !in_background)
}

/// A name for a question.
pub(super) fn next_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("start_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Puts a question.
pub(super) fn ask(asker: &Progress, id: &str, request: Value, question: Box<dyn PendingQuestion>) {
    lock(&OPEN).get_or_insert_default().insert(id.to_owned(), question);
    asker(json!({"start": id, "request": request}));
}

/// Drops questions that nobody has to answer any more.
pub(super) fn take_back(ids: &[String]) {
    let mut all = lock(&OPEN);
    let left: Vec<_> = ids.iter().filter_map(|id| all.as_mut()?.remove(id)).collect();
    drop(all);
    drop(left);
}
