//! Active calls: where their progress is reported, and who answers the server's questions.

use super::form::{self, Form};
use super::secrets::Secrets;
use beamai_servers::lock;
use beamai_tool::{Progress, question::Answers};
use rmcp::model::{
    ElicitRequestParams, ElicitResult, ElicitationAction, ProgressNotificationParam, ProgressToken,
};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, Semaphore, oneshot};

/// Progress messages of a call that are forwarded immediately, before the rate limit of one per [`PACE`].
const BURST: u32 = 50;
/// Minimum average interval between two of them.
const PACE: Duration = Duration::from_millis(20);

/// Maximum number of questions of one call that wait for an answer.
const MOST_QUESTIONS: usize = 16;

/// The active calls of a server.
#[derive(Default)]
pub(super) struct ActiveCalls {
    open: Mutex<Vec<(ProgressToken, Arc<CallChannel>)>>,
}

/// The channel to the host of a call.
pub(super) struct CallChannel {
    progress: Option<Progress>,
    /// Names the server and its tool in questions.
    who: String,
    /// What the server's texts may not show.
    secrets: Secrets,
    allowance: Mutex<Allowance>,
    /// Questions that nobody has answered yet.
    questions: Semaphore,
    /// The call or the server has ended.
    over: Notify,
}

struct Allowance {
    left: u32,
    since: Instant,
}

/// An active call, until it is dropped.
pub(super) struct ActiveCall<'a>(&'a ActiveCalls, ProgressToken, Arc<CallChannel>);

/// Questions that are waiting for their answers, by id.
static ASKED: OnceLock<Mutex<HashMap<String, oneshot::Sender<Answers>>>> = OnceLock::new();

fn asked() -> &'static Mutex<HashMap<String, oneshot::Sender<Answers>>> {
    ASKED.get_or_init(Mutex::default)
}

/// Delivers the answers to the questions with that id; returns whether the call was still waiting for them.
pub(super) fn answer(id: &str, answers: Answers) -> bool {
    lock(asked()).remove(id).is_some_and(|waiting| waiting.send(answers).is_ok())
}

impl CallChannel {
    /// A channel that sends progress and the questions of `who` to the host, if the host wants progress.
    pub(super) fn new(progress: Option<Progress>, who: &str, secrets: Secrets) -> Arc<Self> {
        let allowance = Mutex::new(Allowance { left: BURST, since: Instant::now() });
        let questions = Semaphore::new(MOST_QUESTIONS);
        Arc::new(Self {
            progress,
            who: secrets.hide(who),
            secrets,
            allowance,
            questions,
            over: Notify::new(),
        })
    }

    /// Forwards progress, rate-limited so that a server cannot flood its caller's mailbox.
    fn report(&self, params: &ProgressNotificationParam) {
        let Some(progress) = &self.progress else { return };
        if lock(&self.allowance).take() {
            let message = params.message.as_ref().map(|message| self.secrets.hide(message));
            progress(json!({"progress": params.progress, "total": params.total, "message": message}));
        }
    }

    /// Has the host ask a person on behalf of a server.
    pub(super) async fn elicit(&self, request: &ElicitRequestParams) -> ElicitResult {
        let declined = ElicitResult::new(ElicitationAction::Decline);
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return declined;
        };
        let schema = serde_json::to_value(requested_schema).unwrap_or_default();
        let message = form::message(&self.who, &self.secrets.hide(message));
        let (Some(progress), Some(form)) = (&self.progress, Form::of(&message, &schema, &self.secrets))
        else {
            return declined;
        };
        // More than a person can see are declined, so that a server cannot fill the memory with them.
        let Ok(_permit) = self.questions.try_acquire() else { return declined };
        let waiting = PendingElicitation::new();
        progress(json!({"elicitation": waiting.id, "questions": form.questions()}));
        match waiting.answers().await {
            Some(Answers::Answered(answers)) => match form.content(answers) {
                Some(content) => {
                    ElicitResult::new(ElicitationAction::Accept).with_content(Value::Object(content))
                }
                None => declined,
            },
            Some(Answers::NoFrontend) => declined,
            Some(Answers::Cancelled) | None => ElicitResult::new(ElicitationAction::Cancel),
        }
    }
}

impl Allowance {
    fn take(&mut self) -> bool {
        let earned = self.since.elapsed().as_millis() / PACE.as_millis();
        if earned > 0 {
            self.left = BURST.min(self.left.saturating_add(u32::try_from(earned).unwrap_or(BURST)));
            self.since = Instant::now();
        }
        self.left.checked_sub(1).inspect(|left| self.left = *left).is_some()
    }
}

/// Questions that are waiting for a person.
struct PendingElicitation {
    id: String,
    answers: oneshot::Receiver<Answers>,
}

impl PendingElicitation {
    fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed).to_string();
        let (sender, answers) = oneshot::channel();
        lock(asked()).insert(id.clone(), sender);
        Self { id, answers }
    }

    async fn answers(mut self) -> Option<Answers> {
        (&mut self.answers).await.ok()
    }
}

impl Drop for PendingElicitation {
    fn drop(&mut self) {
        lock(asked()).remove(&self.id);
    }
}

impl ActiveCalls {
    /// Registers an active call.
    pub(super) fn enter(&self, token: ProgressToken, line: Arc<CallChannel>) -> ActiveCall<'_> {
        lock(&self.open).push((token.clone(), Arc::clone(&line)));
        ActiveCall(self, token, line)
    }

    /// Forwards progress of a call.
    pub(super) fn progress(&self, params: &ProgressNotificationParam) {
        let line = {
            let open = lock(&self.open);
            open.iter().find(|(token, _)| *token == params.progress_token).map(|(_, line)| Arc::clone(line))
        };
        if let Some(line) = line {
            line.report(params);
        }
    }

    /// Has a question of the server answered. It does not name its call, so if several are active, which may be of
    /// several people, it is declined.
    pub(super) async fn elicit(&self, request: &ElicitRequestParams) -> ElicitResult {
        let line = match lock(&self.open).as_slice() {
            [(_, line)] => Arc::clone(line),
            _ => return ElicitResult::new(ElicitationAction::Decline),
        };
        tokio::select! {
            result = line.elicit(request) => result,
            () = line.over.notified() => ElicitResult::new(ElicitationAction::Cancel),
        }
    }

    /// Cancels open questions: the server is gone.
    pub(super) fn cancel_questions(&self) {
        lock(&self.open).iter().for_each(|(_, line)| line.over.notify_waiters());
    }
}

impl Drop for ActiveCall<'_> {
    fn drop(&mut self) {
        lock(&self.0.open).retain(|(token, _)| *token != self.1);
        // Cancels the questions of the call.
        self.2.over.notify_waiters();
    }
}
