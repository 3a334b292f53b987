//! One call of a tool: on a thread of the pool, with progress and cancellation, made again with what the user says.

use super::asking::{Asker, Put};
use super::form::{self, Decision};
use super::outcome;
use super::server::Shared;
use super::session::{Running, Session};
use crate::refusal;
use crate::starts;
use beamai_base::{Reason, ToolError};
use beamai_engine::{Call, Outcome, Run};
use beamai_tool::Progress;
use beamai_tool::Tool;
use beamai_tool::question::{Answers, Question};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, InputRequiredResult, ProgressNotificationParam, ProgressToken,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde_json::{Map, Value};
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::{mpsc, oneshot};

/// Milliseconds that a call may take when neither it nor its tool says otherwise.
const DEFAULT_TIMEOUT: u64 = 120_000;
/// Names of the forms in a request that is made again.
const APPROVAL: &str = "approval";
const QUESTIONS: &str = "questions";

/// Makes a call for a client.
///
/// # Errors
/// An unknown tool. What goes wrong in a tool is a result.
pub(super) async fn call(
    shared: &Arc<Shared>,
    session: Arc<Session>,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let tool = shared.tool(&request.name)?;
    let asker = Asker::new(context, request.input_responses, request.request_state)?;
    let args = request.arguments.unwrap_or_default();
    let timeout = timeout(&**tool, &args);
    let asks_starts = asker.is_there() && asker.can_ask_meanwhile();
    let call = Call { timeout, asks_starts, ..Call::new(tool.name(), Some(shared.dialect.clone()), args) };
    // The answer tells how to go on with the same arguments.
    let args = call.args.clone();
    let mut calling = Calling { shared, session, tool, asker, context, told: None };
    Ok(match calling.make(call).await {
        Ended::Done(value) => outcome::done(&**tool, &shared.dialect, &args, value, shared.shape).into(),
        Ended::Failed(error) => {
            outcome::failed(&ToolError { tool: tool.name().to_owned(), ..error }, shared.shape.limit).into()
        }
        Ended::Again(what) => what.into(),
    })
}

/// A timeout of its own governs; where a person is waited for, there is none.
fn timeout(tool: &dyn Tool, args: &Map<String, Value>) -> Option<u64> {
    // A number may be written as text.
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let given = |name: &str, unit: u64| Some(number(args.get(name)?)?.saturating_mul(unit));
    let own = || match tool.parameters() {
        parameters if parameters.contains_key("timeout") => given("timeout", 1),
        parameters if parameters.contains_key("timeout_sec") => given("timeout_sec", 1000),
        _ => None,
    };
    (!tool.waits()).then(|| own().unwrap_or(DEFAULT_TIMEOUT))
}

enum Ended {
    Done(Value),
    Failed(ToolError),
    /// The client must make the same request again, with what is missing.
    Again(InputRequiredResult),
}

/// What came of asking for leave.
enum Leave {
    Given,
    /// Rules were added, by which the call is to be judged anew.
    ByRules,
    Refused(ToolError),
    Again(InputRequiredResult),
}

struct Calling<'a> {
    shared: &'a Arc<Shared>,
    session: Arc<Session>,
    tool: &'static Arc<dyn Tool>,
    asker: Asker<'a>,
    context: &'a RequestContext<RoleServer>,
    /// The progress that the client heard of last.
    told: Option<f64>,
}

impl Calling<'_> {
    /// Makes the call, and makes it again with leave and with answers. Each is asked for once.
    async fn make(&mut self, mut call: Call) -> Ended {
        loop {
            match self.run(&call).await {
                Outcome::Ok(value, _) => return Ended::Done(value),
                Outcome::Error(error) => return Ended::Failed(error),
                Outcome::Ask(request) if call.approved.is_none() => match self.leave(&request).await {
                    Leave::Given => call.approved = request["fingerprint"].as_str().map(str::to_owned),
                    Leave::ByRules => {}
                    Leave::Refused(error) => return Ended::Failed(error),
                    Leave::Again(what) => return Ended::Again(what),
                },
                Outcome::Question(questions) if call.answers.is_none() => {
                    match self.answers(&questions).await {
                        Ok(answers) => call.answers = Some(answers),
                        Err(ended) => return ended,
                    }
                }
                Outcome::Delegate(delegation) => return Ended::Failed(delegation.nobody()),
                Outcome::Ask(_) | Outcome::Question(_) | Outcome::Consult(_) | Outcome::Defer => {
                    let message = "a call asked again for what it was given";
                    return Ended::Failed(ToolError::new(Reason::Crash, message));
                }
            }
        }
    }

    async fn leave(&mut self, request: &Value) -> Leave {
        let [subject, fingerprint] =
            ["subject", "fingerprint"].map(|key| request[key].as_str().unwrap_or_default());
        if self.session.has_allowed(subject) || self.asker.round.approved.as_deref() == Some(fingerprint) {
            return Leave::Given;
        }
        if !self.asker.is_there() {
            let why = "this client cannot ask its user (it has no elicitation)";
            return Leave::Refused(refusal::nobody_to_ask(request, why));
        }
        self.asker.forget_unless_asked(fingerprint, APPROVAL);
        let form = form::approval(request, self.session.is_of_one_client());
        match self.asker.put(APPROVAL, form).await {
            Put::Answer(result) => self.decided(form::decision(request, &result), request),
            Put::Again(what) => Leave::Again(what),
            Put::Failed(why) => {
                Leave::Refused(refusal::nobody_to_ask(request, &format!("the client could not ask: {why}")))
            }
        }
    }

    fn decided(&mut self, decision: Decision, request: &Value) -> Leave {
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        match (decision, self.session.is_of_one_client()) {
            (Decision::Deny, _) => return Leave::Refused(refusal::said_no(request, "the user")),
            (Decision::Cancelled, _) => return Leave::Refused(refusal::gave_no_answer(request, "the user")),
            (Decision::AllowByRules(rules), true) => {
                let added = self.session.add_rules(&self.shared.settings, &rules);
                return added.map_or_else(Leave::Refused, |()| Leave::ByRules);
            }
            (Decision::AllowForSession, true) => self.session.allow(text("subject")),
            _ => {}
        }
        self.asker.round.approved = Some(text("fingerprint").to_owned());
        Leave::Given
    }

    async fn answers(&mut self, questions: &[Question]) -> Result<Answers, Ended> {
        if !self.asker.is_there() {
            return Ok(Answers::NoFrontend);
        }
        let form = form::questions(self.tool.name(), questions, self.asker.has_lists());
        match self.asker.put(QUESTIONS, form).await {
            Put::Answer(result) => Ok(form::answers(questions, &result)),
            Put::Again(what) => Err(Ended::Again(what)),
            Put::Failed(_) => Ok(Answers::NoFrontend),
        }
    }

    /// Runs the call on a thread of the pool. When it is cancelled, it still ends by itself: what it started is dead
    /// then.
    async fn run(&mut self, call: &Call) -> Outcome {
        let running = self.session.begin();
        let (tell, mut told) = mpsc::unbounded_channel();
        let (end, mut ended) = oneshot::channel();
        let token = self.context.meta.get_progress_token();
        let is_heard = token.is_some() || call.asks_starts;
        let progress = is_heard.then(|| Arc::new(move |message: Value| _ = tell.send(message)) as Progress);
        if self.submit(call.clone(), &running, progress, end).is_err() {
            let message = "too many calls are waiting already; try again when some have ended";
            return Outcome::Error(ToolError::new(Reason::Busy, message));
        }
        loop {
            tokio::select! {
                biased;
                Some(message) = told.recv() => match message["start"].as_str() {
                    Some(id) => self.decide(id, &message["request"]).await,
                    None => self.tell(token.clone(), &message).await,
                },
                outcome = &mut ended => return outcome.unwrap_or_else(|_| lost()),
                () = self.context.ct.cancelled(), if !running.cancel.is_cancelled() => running.cancel.cancel(),
            }
        }
    }

    /// Has the user decide about a program that the call's command is about to start, and that waits.
    async fn decide(&mut self, id: &str, request: &Value) {
        let by = request["start"]["started_by"].as_str().unwrap_or_default();
        let subject = format!("{by} starts {}", request["subject"].as_str().unwrap_or_default());
        let offers_session = self.session.is_of_one_client();
        let said = match self.session.has_allowed(&subject) {
            true => Decision::Allow,
            false => match self.asker.put(APPROVAL, form::approval(request, offers_session)).await {
                Put::Answer(result) => form::decision(request, &result),
                Put::Again(_) | Put::Failed(_) => Decision::Deny,
            },
        };
        let answer = match said {
            Decision::Deny => starts::refusal(id, "the user said no"),
            Decision::AllowByRules(rules) if offers_session => {
                match self.session.add_rules(&self.shared.settings, &rules) {
                    Ok(()) => starts::leave(id, &rules),
                    Err(error) => starts::refusal(id, &error.message),
                }
            }
            said => {
                if said == Decision::AllowForSession && offers_session {
                    self.session.allow(&subject);
                }
                starts::leave(id, &[])
            }
        };
        // It only hands the answer over.
        _ = self.shared.host.call(answer, Run::default());
    }

    fn submit(
        &self,
        call: Call,
        running: &Running,
        progress: Option<Progress>,
        end: oneshot::Sender<Outcome>,
    ) -> Result<(), beamai_wire::Busy> {
        let (shared, session, tool) = (Arc::clone(self.shared), Arc::clone(&self.session), self.tool);
        let (cancel, arrived) = (running.cancel.clone(), Some(Instant::now()));
        let run =
            move || Run { cancel: cancel.clone(), progress: progress.clone(), arrived, ..Run::default() };
        self.shared.pool.submit(move || {
            // Nobody waits for the outcome of a request that is gone.
            _ = end.send(session.call(&shared.host, &**tool, &call, run));
        })
    }

    /// Tells the client how far the call is, if that is farther than it knows.
    async fn tell(&mut self, token: Option<ProgressToken>, message: &Value) {
        let next = self.told.map_or(0.0, |told| told + 1.0);
        let progress = message["progress"].as_f64().unwrap_or(next);
        let Some(token) = token else { return };
        if self.told.is_some_and(|told| progress <= told) || self.context.ct.is_cancelled() {
            return;
        }
        self.told = Some(progress);
        let mut param = ProgressNotificationParam::new(token, progress);
        param.total = message["total"].as_f64();
        param.message = Some(message["message"].as_str().map_or_else(|| message.to_string(), str::to_owned));
        // A client that is gone will not miss it.
        _ = self.context.peer.notify_progress(param).await;
    }
}

fn lost() -> Outcome {
    Outcome::Error(ToolError::new(Reason::Crash, "the call was lost; this is a defect of the server"))
}
