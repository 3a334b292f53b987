//! Runs a tool call on a pool thread, with progress and cancellation, and repeats it with the user's responses.

use crate::elicitation::{Elicitor, FormResult, can_ask};
use crate::form::{self, ApprovalDecision};
use crate::outcome;
use crate::server::SharedState;
use crate::session::{CancelOnDrop, McpSession};
use beamai_base::{Reason, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, refusal};
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

/// Default timeout of a call in milliseconds.
const DEFAULT_TIMEOUT: u64 = 120_000;
/// Names of the forms in a repeated request.
const APPROVAL: &str = "approval";
const QUESTIONS: &str = "questions";

/// Makes a call for a client.
///
/// # Errors
/// For an unknown tool. Errors of a tool are results.
pub(crate) async fn call(
    shared: &Arc<SharedState>,
    session: Arc<McpSession>,
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let tool = shared.tool(&request.name, can_ask(context))?;
    let elicitor = Elicitor::new(context, request.input_responses, request.request_state)?;
    let args = request.arguments.unwrap_or_default();
    let timeout = timeout(&**tool, &args);
    let asks_starts = elicitor.is_there() && elicitor.can_ask_meanwhile();
    let call = CallRequest {
        timeout,
        asks_starts,
        ..CallRequest::new(tool.name(), Some(shared.dialect.clone()), args)
    };
    // The result may contain a call that continues with the same arguments.
    let args = call.args.clone();
    let mut calling = RunningCall { shared, session, tool, elicitor, context, told: None };
    Ok(match calling.make(call).await {
        CallEnd::Done(value) => outcome::done(&**tool, &shared.dialect, &args, value, shared.format).into(),
        CallEnd::Failed(error) => {
            outcome::failed(&ToolError { tool: tool.name().to_owned(), ..error }, shared.format.limit).into()
        }
        CallEnd::Again(what) => what.into(),
    })
}

/// A timeout in the arguments takes precedence; tools that wait for a person have none.
fn timeout(tool: &dyn Tool, args: &Map<String, Value>) -> Option<u64> {
    // Numbers may be written as text.
    let number = |value: &Value| value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    let given = |name: &str, unit: u64| Some(number(args.get(name)?)?.saturating_mul(unit));
    let own = || match tool.parameters() {
        parameters if parameters.contains_key("timeout") => given("timeout", 1),
        parameters if parameters.contains_key("timeout_sec") => given("timeout_sec", 1000),
        _ => None,
    };
    (!tool.waits()).then(|| own().unwrap_or(DEFAULT_TIMEOUT))
}

enum CallEnd {
    Done(Value),
    Failed(ToolError),
    /// The client must repeat the request with what is missing.
    Again(InputRequiredResult),
}

/// The outcome of an approval request.
enum ApprovalResult {
    Given,
    /// Rules were added, so the call is to be judged again.
    ByRules,
    Refused(ToolError),
    Again(InputRequiredResult),
}

struct RunningCall<'a> {
    shared: &'a Arc<SharedState>,
    session: Arc<McpSession>,
    tool: &'static Arc<dyn Tool>,
    elicitor: Elicitor<'a>,
    context: &'a RequestContext<RoleServer>,
    /// The last progress that the client received.
    told: Option<f64>,
}

impl RunningCall<'_> {
    /// Makes the call, and repeats it with approval and answers. Each is requested once.
    async fn make(&mut self, mut call: CallRequest) -> CallEnd {
        loop {
            match self.run(&call).await {
                CallOutcome::Ok(value, _) => return CallEnd::Done(value),
                CallOutcome::Error(error) => return CallEnd::Failed(error),
                CallOutcome::Ask(request) if call.approved.is_none() => match self.approval(&request).await {
                    ApprovalResult::Given => {
                        call.approved = request["fingerprint"].as_str().map(str::to_owned)
                    }
                    ApprovalResult::ByRules => {}
                    ApprovalResult::Refused(error) => return CallEnd::Failed(error),
                    ApprovalResult::Again(what) => return CallEnd::Again(what),
                },
                CallOutcome::Question(questions) if call.answers.is_none() => {
                    match self.answers(&questions).await {
                        Ok(answers) => call.answers = Some(answers),
                        Err(ended) => return ended,
                    }
                }
                CallOutcome::Delegate(delegation) => return CallEnd::Failed(delegation.nobody()),
                CallOutcome::Ask(_)
                | CallOutcome::Question(_)
                | CallOutcome::Consult(_)
                | CallOutcome::Defer => {
                    let message = "a call asked again for what it was given";
                    return CallEnd::Failed(ToolError::new(Reason::Crash, message));
                }
            }
        }
    }

    async fn approval(&mut self, request: &Value) -> ApprovalResult {
        let [subject, fingerprint] =
            ["subject", "fingerprint"].map(|key| request[key].as_str().unwrap_or_default());
        if self.session.has_allowed(subject) || self.elicitor.round.approved.as_deref() == Some(fingerprint) {
            return ApprovalResult::Given;
        }
        if !self.elicitor.is_there() {
            let why = "the client has no way to ask its user";
            return ApprovalResult::Refused(refusal::nobody_to_ask(request, why));
        }
        self.elicitor.forget_unless_asked(fingerprint, APPROVAL);
        let offers_session = self.session.is_of_one_client();
        match self.elicitor.put(APPROVAL, form::approval(request, offers_session)).await {
            FormResult::Answer(result) => {
                self.decided(form::decision(request, &result, offers_session), request)
            }
            FormResult::Again(what) => ApprovalResult::Again(what),
            FormResult::Failed(why) => ApprovalResult::Refused(refusal::nobody_to_ask(
                request,
                &format!("the client could not ask: {why}"),
            )),
        }
    }

    fn decided(&mut self, decision: ApprovalDecision, request: &Value) -> ApprovalResult {
        let text = |key: &str| request[key].as_str().unwrap_or_default();
        match decision {
            ApprovalDecision::Deny => {
                return ApprovalResult::Refused(refusal::said_no(request, "the user"));
            }
            ApprovalDecision::Cancelled => {
                return ApprovalResult::Refused(refusal::gave_no_answer(request, "the user"));
            }
            ApprovalDecision::AllowByRules(rules) => {
                let added = self.session.add_rules(&self.shared.settings, &rules);
                return added.map_or_else(ApprovalResult::Refused, |()| ApprovalResult::ByRules);
            }
            ApprovalDecision::AllowForSession => self.session.allow(text("subject")),
            ApprovalDecision::Allow => {}
        }
        self.elicitor.round.approved = Some(text("fingerprint").to_owned());
        ApprovalResult::Given
    }

    async fn answers(&mut self, questions: &[Question]) -> Result<Answers, CallEnd> {
        if !self.elicitor.is_there() {
            return Ok(Answers::NoFrontend);
        }
        let form = form::questions(self.tool.name(), questions, self.elicitor.has_lists());
        match self.elicitor.put(QUESTIONS, form).await {
            FormResult::Answer(result) => Ok(form::answers(questions, &result)),
            FormResult::Again(what) => Err(CallEnd::Again(what)),
            FormResult::Failed(_) => Ok(Answers::NoFrontend),
        }
    }

    /// Runs the call on a pool thread. After a cancellation it still ends by itself, after everything that it started
    /// has been killed.
    async fn run(&mut self, call: &CallRequest) -> CallOutcome {
        let running = self.session.begin();
        let (tell, mut told) = mpsc::unbounded_channel();
        let (end, mut ended) = oneshot::channel();
        let token = self.context.meta.get_progress_token();
        let is_heard = token.is_some() || call.asks_starts;
        let progress = is_heard.then(|| Arc::new(move |message: Value| _ = tell.send(message)) as Progress);
        if self.submit(call.clone(), &running, progress, end).is_err() {
            let message = "too many calls are waiting already; try again when some have ended";
            return CallOutcome::Error(ToolError::new(Reason::Busy, message));
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

    /// Asks the user about a program that the command is about to start, or a host that it connects to.
    async fn decide(&mut self, id: &str, request: &Value) {
        let subject = match request["start"]["fingerprint"].as_str() {
            Some(fingerprint) => format!("start {fingerprint}"),
            None => request["subject"].as_str().unwrap_or_default().to_owned(),
        };
        let offers_session = self.session.is_of_one_client();
        let said = match self.session.has_allowed(&subject) {
            true => ApprovalDecision::Allow,
            false => match self.elicitor.put(APPROVAL, form::approval(request, offers_session)).await {
                FormResult::Answer(result) => form::decision(request, &result, offers_session),
                // The command ends with its call while the program waits; a refusal would let the command continue.
                FormResult::Again(_) | FormResult::Failed(_) if self.context.ct.is_cancelled() => return,
                FormResult::Again(_) => return self.refuse_start(id, "the client could not ask"),
                FormResult::Failed(why) => {
                    return self.refuse_start(id, &format!("the client could not ask: {why}"));
                }
            },
        };
        let answer = match said {
            ApprovalDecision::Deny => CallRequest::refuse_start(id, "the user said no"),
            ApprovalDecision::Cancelled => {
                CallRequest::refuse_start(id, "the user closed the question without an answer")
            }
            ApprovalDecision::AllowByRules(rules) => {
                match self.session.add_rules(&self.shared.settings, &rules) {
                    Ok(()) => CallRequest::approve_start(id, &rules),
                    Err(error) => CallRequest::refuse_start(id, &error.message),
                }
            }
            ApprovalDecision::AllowForSession => {
                self.session.allow(&subject);
                CallRequest::approve_start(id, &[])
            }
            ApprovalDecision::Allow => CallRequest::approve_start(id, &[]),
        };
        self.deliver(answer);
    }

    fn refuse_start(&self, id: &str, why: &str) {
        self.deliver(CallRequest::refuse_start(id, why));
    }

    /// Delivers the answer to a start without waiting.
    fn deliver(&self, answer: CallRequest) {
        _ = self.shared.host.call(answer, CallOptions::default());
    }

    fn submit(
        &self,
        call: CallRequest,
        running: &CancelOnDrop,
        progress: Option<Progress>,
        end: oneshot::Sender<CallOutcome>,
    ) -> Result<(), beamai_wire::PoolBusy> {
        let (shared, session, tool) = (Arc::clone(self.shared), Arc::clone(&self.session), self.tool);
        let (cancel, arrived) = (running.cancel.clone(), Some(Instant::now()));
        let run = move || CallOptions {
            cancel: cancel.clone(),
            progress: progress.clone(),
            arrived,
            ..CallOptions::default()
        };
        let (pace, id) = (tool.traits().pace, session.id().to_owned());
        self.shared.pool.submit(pace, Some(&id), move || {
            // Nobody waits for the result of a request that has ended.
            _ = end.send(session.call(&shared.host, &**tool, &call, run));
        })
    }

    /// Sends progress to the client if it has increased.
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
        // A disconnected client is ignored.
        _ = self.context.peer.notify_progress(param).await;
    }
}

fn lost() -> CallOutcome {
    CallOutcome::Error(ToolError::new(Reason::Crash, "the call was lost; this is a defect of the server"))
}
