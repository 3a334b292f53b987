//! How every call runs, whichever door it came through: find, check, judge, run.

use crate::approval;
use crate::catalogue;
use beamai_base::{CancelToken, Reason, Result, ToolError, panics};
use beamai_isolation::{SandboxMode, SandboxSettings};
use beamai_policy::{
    DeniedPaths, Judgement, NetworkPolicy, Operand, PermissionRequest, PermissionRequests, Policy,
    PolicyText, ReadGuard, RedirectPolicy, StartRules, Verdict,
};
use beamai_tool::{
    CallContext, Consultation, Consulted, ExecutionClass, Interrupt, Limits, Prepared, Progress, SeenFiles,
    Services, Session, SessionState, SkillSettings, Tool, WebSettings,
    delegation::{Delegation, DelegationReport},
    lsp_settings::LspSettings,
    question::{Answers, Question},
    web_settings::Secret,
};
use beamai_workspace::{Workspace, WorkspaceId, journal};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// In place of a dialect: what the host itself asks of a door. Hosts write it so in their calls.
const HOST_ACTS: &str = "mcp";

/// What a host settles once for many calls, as plain data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSettings {
    /// The directory that tools are confined to.
    pub workspace: WorkspaceId,
    /// Who may do what.
    #[serde(default)]
    pub permissions: PolicyText,
    /// How commands are isolated.
    #[serde(default)]
    pub sandbox: SandboxSettings,
    /// Bounds on input and output.
    #[serde(default)]
    pub limits: Limits,
    /// Where skills are kept.
    #[serde(default)]
    pub skills: SkillSettings,
    /// How language servers are run.
    #[serde(default)]
    pub lsp: LspSettings,
    /// What tools may do on the network.
    #[serde(default)]
    pub web: WebSettings,
}

/// Settings made ready: workspace opened, policy checked.
#[derive(Debug)]
pub struct Host {
    workspace: Workspace,
    policy: Arc<Policy>,
    guard: ReadGuard,
    denied_paths: Arc<DeniedPaths>,
    network: Option<Arc<NetworkPolicy>>,
    sandbox: Arc<SandboxSettings>,
    limits: Limits,
    skills: Arc<SkillSettings>,
    lsp: Arc<LspSettings>,
    web: Arc<WebSettings>,
    services: Arc<Services>,
}

/// One call, as plain data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallRequest {
    /// Name of the tool.
    pub tool: String,
    /// Whose tool of that name; without, the first dialect that has it.
    #[serde(default)]
    pub dialect: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Milliseconds until the call must have ended; without, it may run for ever.
    #[serde(default)]
    pub timeout: Option<u64>,
    /// Fingerprint of the request that was approved, if one was.
    #[serde(default)]
    pub approved: Option<String>,
    /// The session that the call belongs to.
    #[serde(default)]
    pub session: Option<CallSession>,
    /// What came of the questions that the call put when it was made before.
    #[serde(default)]
    pub answers: Option<Answers>,
    /// What came of the work that the call delegated when it was made before.
    #[serde(default)]
    pub report: Option<DelegationReport>,
    /// Whether the host has a chat model that an operation may consult.
    #[serde(default)]
    pub has_model: bool,
    /// What the model said when the call consulted it before.
    #[serde(default)]
    pub consulted: Option<Consulted>,
    /// The key of the search engine, where the settings say that it comes with the call.
    #[serde(default)]
    pub search_key: Option<Secret>,
    /// Whether somebody can be asked about what the call's command starts, and connects to, while it runs. The question comes with its
    /// progress, `{"start": Id, "request": Request}`, and is answered by the act `start_answer`.
    #[serde(default)]
    pub asks_starts: bool,
}

impl CallRequest {
    /// A call of a dialect's tool that nothing is known of but its arguments.
    pub fn new(tool: impl Into<String>, dialect: Option<String>, args: Map<String, Value>) -> Self {
        Self {
            tool: tool.into(),
            dialect,
            args,
            timeout: None,
            approved: None,
            session: None,
            answers: None,
            report: None,
            has_model: false,
            consulted: None,
            search_key: None,
            asks_starts: false,
        }
    }
}

/// What of a session a call needs to know.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CallSession {
    /// Which session: a text that no other session has and that nobody can guess.
    #[serde(default)]
    pub id: Option<String>,
    /// Absolute path of its private temporary directory.
    #[serde(default)]
    pub temp_dir: Option<String>,
    /// Its name, where the contents of files that it has seen are to be remembered: a file that somebody else
    /// changes after that is not changed without being read again. No two sessions ever have the same.
    #[serde(default)]
    pub seen_as: Option<String>,
    /// Its state, for tools that work on it.
    #[serde(default)]
    pub state: SessionState,
}

/// What a door adds to a call.
#[derive(Default)]
pub struct CallOptions {
    /// Raised when the caller cancels or is gone.
    pub cancel: CancelToken,
    /// Most bytes that may be touched on this thread; see [`CallContext::inline_bytes`].
    pub inline_bytes: Option<u64>,
    /// Whether nothing else can go on meanwhile; see [`CallContext::must_not_wait`]. Such a call knows no temporary
    /// directory: finding it may mean to wait.
    pub must_not_wait: bool,
    /// Where progress goes.
    pub progress: Option<Progress>,
    /// When the call came in, if it had to wait since: its time runs from here.
    pub arrived: Option<Instant>,
}

/// How a call ended.
#[derive(Debug)]
pub enum CallOutcome {
    /// With a result, and the session's new state where the call changed it.
    Ok(Value, Option<SessionState>),
    /// With an error.
    Error(ToolError),
    /// It has done nothing: somebody must be asked first. The request's fingerprint stands
    /// for exactly this call: sent back as [`CallRequest::approved`], the call runs.
    Ask(Value),
    /// It has done nothing: a person must answer these first, and then the call must be made again with
    /// [`CallRequest::answers`].
    Question(Vec<Question>),
    /// It has done nothing: a sub-agent of the host must do the work, and then the call must be made again with
    /// [`CallRequest::report`].
    Delegate(Delegation),
    /// The host's chat model must be asked, and then the call must be made again with [`CallRequest::consulted`]: it goes
    /// on from there. Only where the host [has a model](CallRequest::has_model).
    Consult(Consultation),
    /// It has done nothing: it is too large for this thread.
    Defer,
}

impl Host {
    /// Makes settings ready. `services` are those of the door.
    ///
    /// # Errors
    /// A workspace that is gone or another one, a malformed rule, settings that can never work.
    pub fn new(settings: &HostSettings, services: Arc<Services>) -> Result<Self> {
        settings.lsp.check()?;
        settings.sandbox.check()?;
        let workspace = Workspace::pinned(&settings.workspace)?;
        let rule_of = &catalogue::canonical_rule;
        let policy = Policy::new(&settings.permissions, catalogue::rules(), rule_of, &workspace)?;
        let policy = Arc::new(policy.with_sandbox(&settings.sandbox));
        let network = NetworkPolicy::of(&policy, &settings.sandbox, &settings.web.blocked_domains)?;
        Ok(Self {
            workspace,
            guard: policy.read_guard(),
            denied_paths: Arc::new(policy.denied_paths()),
            network: network.map(Arc::new),
            policy,
            sandbox: Arc::new(settings.sandbox.clone()),
            limits: settings.limits.clone(),
            skills: Arc::new(settings.skills.clone()),
            lsp: Arc::new(settings.lsp.clone()),
            web: Arc::new(settings.web.clone()),
            services,
        })
    }

    /// The tool of a name: of a dialect, or of what the host itself asks of this door.
    ///
    /// # Errors
    /// `unknown_tool` with the nearest names, `invalid_argument` for an unknown dialect.
    pub fn find(&self, name: &str, dialect: Option<&str>) -> Result<&Arc<dyn Tool>> {
        match dialect {
            Some(HOST_ACTS) => self.services.host_acts().find(name),
            dialect => catalogue::find(name, dialect),
        }
    }

    /// Runs a call: the tool is found, its arguments are checked, the policy is asked, the work is done. A panic
    /// in the tool becomes an error.
    pub fn call(&self, call: CallRequest, run: CallOptions) -> CallOutcome {
        let name = call.tool.clone();
        let ended = panics::caught(|| self.try_call(call, run)).unwrap_or_else(|panic| {
            let message = format!("the tool crashed: {panic}; this is a defect of the tool");
            Err(Interrupt::Failed(ToolError::new(Reason::Crash, message)))
        });
        match ended {
            Ok(outcome) => outcome,
            Err(Interrupt::Defer) => CallOutcome::Defer,
            Err(Interrupt::Question(questions)) => CallOutcome::Question(questions),
            Err(Interrupt::Delegate(delegation)) => CallOutcome::Delegate(delegation),
            Err(Interrupt::Consult(consultation)) => CallOutcome::Consult(consultation),
            Err(Interrupt::Failed(error)) => CallOutcome::Error(ToolError { tool: name, ..error }),
        }
    }

    fn try_call(&self, call: CallRequest, run: CallOptions) -> Result<CallOutcome, Interrupt> {
        let mut cx = self.context(&call, run)?;
        let tool = self.find(&call.tool, call.dialect.as_deref())?;
        // No tool sees what a process that died has left half done.
        if tool.traits().pace != ExecutionClass::Instant && !journal::recover_if_needed(cx.must_not_wait) {
            return Err(Interrupt::Defer);
        }
        if tool.traits().pace != ExecutionClass::Instant {
            if cx.must_not_wait && !self.workspace.is_local() {
                return Err(Interrupt::Defer);
            }
            self.workspace.expect_in_place()?;
        }
        // Some tools ask by what they work on; among those that are long, a digest costs nothing.
        let may_ask =
            tool.traits().pace == ExecutionClass::Long || self.policy.may_ask(tool.requires_permission());
        let digest = may_ask.then(|| digest(&call.args));
        let prepared = tool.prepare(call.args)?;
        if !tool.is_judged() {
            return run_prepared(prepared, &cx);
        }
        let permissions = prepared.permissions(&cx)?;
        let (judgement, permission) = self.policy.judge_all(&permissions);
        match judgement.verdict {
            Verdict::Allow(_) => {
                self.policy.hold(&permissions, &cx.guard, &cx.workspace, false);
                cx.starts = StartRules::of(&self.policy, &permissions, false);
                run_prepared(prepared, &cx)
            }
            Verdict::Deny(_) => Err(denied(permission, &judgement).into()),
            Verdict::Ask(_) => {
                let request = approval::request(&call.tool, &permissions, &judgement, digest);
                match &call.approved {
                    None => Ok(CallOutcome::Ask(self.tried(request, &*prepared, &permissions, &cx)?)),
                    Some(approved) if request["fingerprint"] == approved.as_str() => {
                        cx.guard = cx.guard.approved();
                        self.policy.hold(&permissions, &cx.guard, &cx.workspace, true);
                        cx.starts = StartRules::of(&self.policy, &permissions, true);
                        run_prepared(prepared, &cx)
                    }
                    Some(_) => Err(changed(&permissions).into()),
                }
            }
        }
    }

    /// The request with the diff that the call would make. Nobody is asked for what must fail; whether it would is told by
    /// reading the files that it is about, and so only where they may be read.
    fn tried(
        &self,
        mut request: Value,
        prepared: &dyn Prepared,
        permissions: &PermissionRequests,
        cx: &CallContext,
    ) -> Result<Value, Interrupt> {
        let Some(reads) = approval::reads(permissions) else { return Ok(request) };
        if !matches!(self.policy.judge_all(&reads).0.verdict, Verdict::Allow(_)) {
            return Ok(request);
        }
        self.policy.hold(&reads, &cx.guard, &cx.workspace, false);
        if let Some(diff) = prepared.preview(cx)? {
            approval::show_diff(&mut request, &diff);
        }
        Ok(request)
    }

    /// The verdict on a call and the rule behind it, without running it.
    ///
    /// # Errors
    /// Wrong arguments, an unknown tool, a path outside the workspace.
    pub fn explain(&self, call: CallRequest) -> Result<Value> {
        let cx = self.context(&call, CallOptions::default())?;
        let tool = self.find(&call.tool, call.dialect.as_deref())?;
        let permissions = tool.prepare(call.args)?.permissions(&cx)?;
        let judgement = self.policy.judge_all(&permissions).0;
        let mut explained = explained(&judgement);
        if let Some(enforced) = self.enforced(&permissions, &judgement.verdict) {
            explained["enforced"] = enforced.into();
        }
        Ok(explained)
    }

    /// What may still be stopped when a command that may run starts its programs.
    fn enforced(&self, permissions: &PermissionRequests, verdict: &Verdict) -> Option<&'static str> {
        let is_approved = match verdict {
            Verdict::Allow(_) => false,
            Verdict::Ask(_) => true,
            Verdict::Deny(_) => return None,
        };
        let rules = StartRules::of(&self.policy, permissions, is_approved)?;
        Some(match self.sandbox.mode {
            SandboxMode::Off => {
                "the sandbox is off: rules judge the words of the command only, and nothing is decided when programs start"
            }
            _ => rules.enforced(),
        })
    }

    /// The verdict on a tool that the host implements itself: `Ok(None)` lets it run, `Ok(Some(request))` asks.
    ///
    /// # Errors
    /// `denied` with the rule.
    pub fn judge(&self, tool: &str, requires_permission: bool) -> Result<Option<Value>> {
        let permission = host_need(tool, requires_permission);
        let judgement = self.policy.judge(&permission);
        match judgement.verdict {
            Verdict::Allow(_) => Ok(None),
            Verdict::Ask(_) => Ok(Some(approval::request(tool, &permission.into(), &judgement, None))),
            Verdict::Deny(_) => Err(ToolError { tool: tool.to_owned(), ..denied(&permission, &judgement) }),
        }
    }

    /// [`Host::explain`] for a tool that the host implements itself.
    pub fn explain_own(&self, tool: &str, requires_permission: bool) -> Value {
        explained(&self.policy.judge(&host_need(tool, requires_permission)))
    }

    fn context(&self, call: &CallRequest, run: CallOptions) -> Result<CallContext> {
        let temp = call.session.as_ref().and_then(|session| session.temp_dir.as_deref());
        let workspace = match temp {
            Some(temp) if !run.must_not_wait => self.workspace.unguarded().with_temp(Path::new(temp))?,
            _ => self.workspace.unguarded(),
        };
        Ok(CallContext {
            workspace,
            guard: self.guard.clone(),
            redirect_policy: RedirectPolicy::under(Arc::clone(&self.policy)),
            denied_paths: Arc::clone(&self.denied_paths),
            starts: None,
            network: self.network.clone(),
            asks_starts: call.asks_starts,
            cancel: run.cancel,
            deadline: call
                .timeout
                .map(|ms| run.arrived.unwrap_or_else(Instant::now) + Duration::from_millis(ms)),
            limits: self.limits.clone(),
            skills: Arc::clone(&self.skills),
            lsp: Arc::clone(&self.lsp),
            web: call
                .search_key
                .as_ref()
                .map_or_else(|| Arc::clone(&self.web), |key| Arc::new(self.web.with_key(key))),
            sandbox: Arc::clone(&self.sandbox),
            inline_bytes: run.inline_bytes,
            must_not_wait: run.must_not_wait,
            progress: run.progress,
            session: Session::new(
                call.session.as_ref().map(|session| session.state.clone()).unwrap_or_default(),
            ),
            session_id: call.session.as_ref().and_then(|session| session.id.clone()),
            seen_files: SeenFiles::of(call.session.as_ref().and_then(|session| session.seen_as.as_deref())),
            answers: call.answers.clone(),
            report: call.report.clone(),
            services: Arc::clone(&self.services),
            has_model: call.has_model,
            consulted: call.consulted.clone(),
        })
    }
}

fn run_prepared(prepared: Box<dyn Prepared>, cx: &CallContext) -> Result<CallOutcome, Interrupt> {
    cx.check()?;
    prepared.run(cx).map(|value| CallOutcome::Ok(value, cx.session.changed()))
}

/// A hash of the arguments, so that an approval holds for these and no others.
fn digest(args: &Map<String, Value>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    // Writing into a hasher cannot fail, and a JSON map can always be written.
    _ = serde_json::to_writer(&mut hasher, args);
    hasher.finalize()
}

fn host_need(tool: &str, requires_permission: bool) -> PermissionRequest {
    PermissionRequest {
        rule: tool.to_owned(),
        touches: &[],
        allowed_by: &[],
        is_safe: !requires_permission,
        operand: Operand::None,
    }
}

fn explained(judgement: &Judgement) -> Value {
    let (verdict, rule) = judgement.verdict.parts();
    json!({"verdict": verdict, "rule": rule, "because": judgement.because()})
}

fn denied(permission: &PermissionRequest, judgement: &Judgement) -> ToolError {
    let rule = judgement.verdict.parts().1;
    let why = match rule {
        Some(rule) => format!("the permission rule {rule} denies it"),
        None => "the permissions deny what no rule allows".to_owned(),
    };
    let message = format!(
        "{} is not allowed: {why}{}; do something else, or ask for the rule to be changed",
        permission.subject(),
        judgement.because()
    );
    let error =
        ToolError::new(Reason::Denied, message).with("matched_rule", rule.map_or(Value::Null, Value::from));
    match permission.operand.detail() {
        None => error,
        Some((key, text)) => error.with(key, text),
    }
}

fn changed(permissions: &PermissionRequests) -> ToolError {
    let message = format!("{} is not what was approved; ask again", permissions.subject());
    ToolError::new(Reason::NeedsApproval, message)
}

/// A tool that a door may list: what [`Tool`] tells, as one JSON object.
pub fn listing(tool: &dyn Tool) -> Value {
    let mut listing = json!({
        "name": tool.name(),
        "description": tool.description(),
        "parameters": beamai_schema::positioned(tool.parameters()),
        "requires_permission": tool.requires_permission(),
        "rule": tool.rule(),
        "sees_files": tool.sees_files(),
        "several_files": tool.changes_several_files(),
        // A person may take any time to answer, and a sub-agent to be done.
        "timeout": if tool.waits() { Value::Null } else { json!(120_000) },
        "output_schema": tool.output_schema(),
    });
    if let (Value::Object(listing), Ok(Value::Object(traits))) =
        (&mut listing, serde_json::to_value(tool.traits()))
    {
        listing.extend(traits);
    }
    listing
}
