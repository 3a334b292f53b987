//! Runs calls, whichever door they came through: find the tool, check arguments, check permissions, run.

use crate::approval;
use crate::catalogue;
use beamai_base::{CancelToken, Reason, Result, Secret, ToolError, excerpt, panics};
use beamai_isolation::{HostCredentials, SandboxMode, SandboxSettings, secrets};
use beamai_policy::{
    DeniedPaths, Judgement, NetworkPolicy, Operand, PermissionRequest, PermissionRequests, Policy,
    PolicyText, ReadGuards, RedirectPolicy, StartRules, Verdict,
};
use beamai_port_tools::lsp;
use beamai_tool::{
    CallContext, Consultation, Consulted, ExecutionClass, Interrupt, Limits, Prepared, Progress, SeenFiles,
    Services, Session, SessionState, SkillSettings, Tool, WebSettings,
    delegation::{Delegation, DelegationReport},
    lsp_settings::LspSettings,
    question::{Answers, Question},
};
use beamai_workspace::{Workspace, WorkspaceId, journal};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The pseudo-dialect of the host's own requests to a door; hosts send this name.
const HOST_ACTS: &str = "mcp";

/// A host's settings for many calls, as plain data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostSettings {
    /// The workspace that tools are confined to.
    pub workspace: WorkspaceId,
    /// The permission policy.
    #[serde(default)]
    pub permissions: PolicyText,
    /// The sandbox of commands.
    #[serde(default)]
    pub sandbox: SandboxSettings,
    /// Limits on input and output.
    #[serde(default)]
    pub limits: Limits,
    /// Directories of skills.
    #[serde(default)]
    pub skills: SkillSettings,
    /// Language server settings.
    #[serde(default)]
    pub lsp: LspSettings,
    /// Web settings.
    #[serde(default)]
    pub web: WebSettings,
}

/// What the rules about files mean for tools and for the programs that they start.
#[derive(Debug, Clone)]
struct FileRules {
    guards: ReadGuards,
    /// Paths that commands must not read or change, and programs that must not start.
    denied_to_commands: Arc<DeniedPaths>,
    /// The same for language servers.
    denied_to_servers: Arc<DeniedPaths>,
}

impl FileRules {
    fn of(policy: &Policy) -> Self {
        Self {
            guards: policy.read_guards(),
            denied_to_commands: Arc::new(policy.denied_paths()),
            denied_to_servers: Arc::new(policy.denied_to_servers(lsp::RULE)),
        }
    }

    /// The paths to deny to programs that a tool with this canonical name starts.
    fn denied_to(&self, tool: &str) -> Arc<DeniedPaths> {
        Arc::clone(match tool {
            lsp::RULE => &self.denied_to_servers,
            _ => &self.denied_to_commands,
        })
    }
}

/// Prepared settings: workspace opened, policy parsed.
#[derive(Debug, Clone)]
pub struct Host {
    workspace: Workspace,
    policy: Arc<Policy>,
    files: FileRules,
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
    /// The dialect of the tool; without it, the first dialect that has the tool.
    #[serde(default)]
    pub dialect: Option<String>,
    /// Its arguments.
    #[serde(default)]
    pub args: Map<String, Value>,
    /// Milliseconds until the call times out; without it, there is no timeout.
    #[serde(default)]
    pub timeout: Option<u64>,
    /// Fingerprint of the approved request, if there is one.
    #[serde(default)]
    pub approved: Option<String>,
    /// The session that the call belongs to.
    #[serde(default)]
    pub session: Option<CallSession>,
    /// A number for the session that the host counts the call to, whether it has begun or not. Long calls of one owner
    /// do not take every thread.
    #[serde(default)]
    pub owner: Option<u64>,
    /// Answers to the questions that the call asked when it was first made.
    #[serde(default)]
    pub answers: Option<Answers>,
    /// The sub-agent's report on the work that the call delegated when it was first made.
    #[serde(default)]
    pub report: Option<DelegationReport>,
    /// Whether the host has a chat model for operations to consult.
    #[serde(default)]
    pub has_model: bool,
    /// The chat model's answer, if the call consulted it when it was first made.
    #[serde(default)]
    pub consulted: Option<Consulted>,
    /// The search engine's API key, if the settings say that it comes with each call.
    #[serde(default)]
    pub search_key: Option<Secret>,
    /// The sandbox's credentials, if the settings say that their values come with each call.
    #[serde(default)]
    pub credentials: Option<HostCredentials>,
    /// Whether somebody can be asked for approval of program starts and connections while a command runs. Requests
    /// arrive as progress events, `{"start": Id, "request": Request}`, and are answered by the act `start_answer`.
    #[serde(default)]
    pub asks_starts: bool,
}

impl CallRequest {
    /// A call of a built-in tool with nothing but arguments.
    pub fn new(tool: impl Into<String>, dialect: Option<String>, args: Map<String, Value>) -> Self {
        Self {
            tool: tool.into(),
            dialect,
            args,
            timeout: None,
            approved: None,
            session: None,
            owner: None,
            answers: None,
            report: None,
            has_model: false,
            consulted: None,
            search_key: None,
            credentials: None,
            asks_starts: false,
        }
    }

    /// Whose call it is: the owner's number, or else the session's id.
    pub fn owner(&self) -> Option<String> {
        let session = || self.session.as_ref().and_then(|session| session.id.clone());
        self.owner.map(|owner| owner.to_string()).or_else(session)
    }

    /// The answer to an approval request of a running command: allows the start with this id, and adds rules for later
    /// starts of the command.
    pub fn approve_start(id: &str, rules: &[String]) -> Self {
        Self::start_answer(&json!({"start": id, "decision": "allow", "rules": rules}))
    }

    /// The answer that refuses the start.
    pub fn refuse_start(id: &str, reason: &str) -> Self {
        Self::start_answer(&json!({"start": id, "decision": "deny", "reason": reason}))
    }

    fn start_answer(args: &Value) -> Self {
        let args = args.as_object().cloned().unwrap_or_else(Map::new);
        Self::new("start_answer", Some(HOST_ACTS.to_owned()), args)
    }
}

/// The parts of a session that a call needs.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CallSession {
    /// Id of the session: unique and unguessable.
    #[serde(default)]
    pub id: Option<String>,
    /// Absolute path of its private temporary directory.
    #[serde(default)]
    pub temp_dir: Option<String>,
    /// Key under which the session remembers the contents of files it has seen: a file that was changed by somebody
    /// else since is not edited before it is read again. Unique among all sessions.
    #[serde(default)]
    pub seen_as: Option<String>,
    /// Its state, for tools that read or change it.
    #[serde(default)]
    pub state: SessionState,
}

/// What a door adds to a call.
#[derive(Default)]
pub struct CallOptions {
    /// Cancelled when the caller cancels or disappears.
    pub cancel: CancelToken,
    /// Maximum bytes that may be read or written on this thread; see [`CallContext::inline_bytes`].
    pub inline_bytes: Option<u64>,
    /// Whether the thread must not block; see [`CallContext::must_not_wait`]. Such a call has no temporary directory,
    /// since opening it may block.
    pub must_not_wait: bool,
    /// Receives progress.
    pub progress: Option<Progress>,
    /// When the call arrived, if it has been queued since; its timeout starts then.
    pub arrived: Option<Instant>,
}

/// The outcome of a call.
#[derive(Debug)]
pub enum CallOutcome {
    /// A result, and the session's new state if the call changed it.
    Ok(Value, Option<SessionState>),
    /// An error.
    Error(ToolError),
    /// Nothing was done: approval is needed. The request's fingerprint identifies exactly this call; repeated with it
    /// as [`CallRequest::approved`], the call runs.
    Ask(Value),
    /// Nothing was done: a person must answer these questions. Then repeat the call with [`CallRequest::answers`].
    Question(Vec<Question>),
    /// Nothing was done: a sub-agent of the host must do the work. Then repeat the call with [`CallRequest::report`].
    Delegate(Delegation),
    /// The host's chat model must be consulted. Then repeat the call with [`CallRequest::consulted`]; it continues from
    /// there. Only if the host [has a model](CallRequest::has_model).
    Consult(Consultation),
    /// Nothing was done: the call is too large for this thread.
    Defer,
}

impl Host {
    /// Prepares settings. `services` are the backends of the door.
    ///
    /// # Errors
    /// A missing or exchanged workspace, a malformed rule, contradictory settings.
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
            files: FileRules::of(&policy),
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

    /// Finds a tool of a dialect, or one of the host's own requests.
    ///
    /// # Errors
    /// `unknown_tool` with the nearest names, `invalid_argument` for an unknown dialect.
    pub fn find(&self, name: &str, dialect: Option<&str>) -> Result<&Arc<dyn Tool>> {
        match dialect {
            Some(HOST_ACTS) => self.services.host_acts().find(name),
            dialect => catalogue::find(name, dialect),
        }
    }

    /// Runs a call: finds the tool, checks the arguments and the permissions, and runs it. A panic in the tool becomes
    /// an error.
    pub fn call(&self, call: CallRequest, run: CallOptions) -> CallOutcome {
        let name = call.tool.clone();
        let ended = panics::caught(|| self.ready(&call, &run)?.try_call(call, run)).unwrap_or_else(|panic| {
            let message = format!("the tool crashed: {panic}; this is a defect of the tool");
            Err(Interrupt::Failed(ToolError::new(Reason::Crash, message)))
        });
        match ended {
            Ok(outcome) => outcome,
            Err(Interrupt::Defer) => CallOutcome::Defer,
            Err(Interrupt::Question(questions)) => CallOutcome::Question(questions),
            Err(Interrupt::Delegate(delegation)) => CallOutcome::Delegate(delegation),
            Err(Interrupt::Consult(consultation)) => CallOutcome::Consult(consultation),
            Err(Interrupt::Failed(error)) => {
                CallOutcome::Error(ToolError { tool: name, ..error }.in_terms(self.services.host_terms()))
            }
        }
    }

    /// These settings as links lead now, once what a call relies on is known and in order.
    fn ready(&self, call: &CallRequest, run: &CallOptions) -> Result<Cow<'_, Self>, Interrupt> {
        let tool = self.find(&call.tool, call.dialect.as_deref())?;
        if tool.traits().pace == ExecutionClass::Instant {
            return Ok(Cow::Borrowed(self));
        }
        if run.must_not_wait && !(secrets::is_fresh() && self.workspace.is_local()) {
            return Err(Interrupt::Defer);
        }
        // Complete or undo changes of dead processes first, so that no tool sees them half done.
        if !journal::recover_if_needed(run.must_not_wait) {
            return Err(Interrupt::Defer);
        }
        self.workspace.expect_in_place()?;
        Ok(self.now())
    }

    /// These settings as the paths of permission rules and links to secrets lead now.
    fn now(&self) -> Cow<'_, Self> {
        let policy = self.policy.now();
        if Arc::ptr_eq(&policy, &self.policy) {
            return Cow::Borrowed(self);
        }
        Cow::Owned(Self { files: FileRules::of(&policy), policy, ..self.clone() })
    }

    fn try_call(&self, call: CallRequest, run: CallOptions) -> Result<CallOutcome, Interrupt> {
        let tool = self.find(&call.tool, call.dialect.as_deref())?;
        let mut cx = self.context(&call, &**tool, run)?;
        // Long-running tools may ask depending on what they work on; for them the cost of a digest is negligible.
        let may_ask =
            tool.traits().pace == ExecutionClass::Long || self.policy.may_ask(tool.requires_permission());
        let digest = may_ask.then(|| digest(&call.args));
        let again = call.approved.is_some().then(|| call.args.clone());
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
                let request = approval::request(&call.tool, &permissions, &judgement, digest, &self.policy);
                // An approval covers the diff that was shown, so it is made once more.
                let request = self.tried(request, &*prepared, &permissions, &cx)?;
                match call.approved.zip(again) {
                    None => Ok(CallOutcome::Ask(request)),
                    Some((approved, args)) if request["fingerprint"] == approved.as_str() => {
                        // Nothing that the trial has opened is used.
                        cx.workspace = cx.workspace.unguarded();
                        let prepared = tool.prepare(args)?;
                        cx.guard = cx.guard.approved(&permissions);
                        self.policy.hold(&permissions, &cx.guard, &cx.workspace, true);
                        cx.starts = StartRules::of(&self.policy, &permissions, true);
                        run_prepared(prepared, &cx)
                    }
                    Some(_) => Err(changed(&permissions).into()),
                }
            }
        }
    }

    /// Adds the diff that the call would make to the request. A call that would fail returns its error instead of
    /// asking. Both need to read the files. If reading needs an approval too, only the person sees their contents.
    fn tried(
        &self,
        mut request: Value,
        prepared: &dyn Prepared,
        permissions: &PermissionRequests,
        cx: &CallContext,
    ) -> Result<Value, Interrupt> {
        let Some(reads) = approval::reads(permissions) else { return Ok(request) };
        let is_asked = match self.policy.judge_all(&reads).0.verdict {
            Verdict::Allow(_) => false,
            Verdict::Ask(_) => true,
            Verdict::Deny(_) => return Ok(request),
        };
        self.policy.hold(&reads, &cx.guard, &cx.workspace, is_asked);
        match prepared.preview(cx) {
            Ok(Some(preview)) => approval::show_preview(&mut request, &preview),
            Ok(None) => {}
            Err(_) if is_asked => {}
            Err(error) => return Err(error),
        }
        Ok(request)
    }

    /// The verdict on a call and the rule behind it, without running the call.
    ///
    /// # Errors
    /// Invalid arguments, an unknown tool, a path outside the workspace.
    pub fn explain(&self, call: CallRequest) -> Result<Value> {
        let host = self.now();
        let tool = host.find(&call.tool, call.dialect.as_deref())?;
        let cx = host.context(&call, &**tool, CallOptions::default())?;
        let permissions = tool.prepare(call.args)?.permissions(&cx)?;
        let judgement = host.policy.judge_all(&permissions).0;
        let mut explained = explained(&judgement);
        if let Some(enforced) = host.enforced(&permissions, &judgement.verdict) {
            explained["enforced"] = enforced.into();
        }
        Ok(explained)
    }

    /// How programs that an allowed command starts are checked at run time.
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

    /// The verdict on a custom tool: `Ok(None)` allows it, `Ok(Some(request))` asks for approval.
    ///
    /// # Errors
    /// `denied`, with the rule.
    pub fn judge(&self, tool: &str, requires_permission: bool) -> Result<Option<Value>> {
        let permission = host_need(tool, requires_permission);
        let judgement = self.policy.judge(&permission);
        match judgement.verdict {
            Verdict::Allow(_) => Ok(None),
            Verdict::Ask(_) => {
                Ok(Some(approval::request(tool, &permission.into(), &judgement, None, &self.policy)))
            }
            Verdict::Deny(_) => Err(ToolError { tool: tool.to_owned(), ..denied(&permission, &judgement) }),
        }
    }

    /// [`Host::explain`] for a custom tool.
    pub fn explain_own(&self, tool: &str, requires_permission: bool) -> Value {
        explained(&self.policy.judge(&host_need(tool, requires_permission)))
    }

    fn context(&self, call: &CallRequest, tool: &dyn Tool, run: CallOptions) -> Result<CallContext> {
        let temp = call.session.as_ref().and_then(|session| session.temp_dir.as_deref());
        let workspace = match temp {
            Some(temp) if !run.must_not_wait => self.workspace.unguarded().with_temp(Path::new(temp))?,
            _ => self.workspace.unguarded(),
        };
        Ok(CallContext {
            workspace,
            guard: self.files.guards.of(tool.rule()),
            redirect_policy: RedirectPolicy::under(Arc::clone(&self.policy)),
            denied_paths: self.files.denied_to(tool.rule()),
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
            sandbox: match &call.credentials {
                Some(given) => Arc::new(SandboxSettings {
                    credentials: given.clone(),
                    ..SandboxSettings::clone(&self.sandbox)
                }),
                None => Arc::clone(&self.sandbox),
            },
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

/// A hash of the arguments, so that an approval is valid only for them.
fn digest(args: &Map<String, Value>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    // A hasher does not fail, and every JSON map can be serialized.
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
        "{} is not allowed: {why}{}; do something else",
        excerpt(&permission.subject()),
        judgement.because()
    );
    let error = ToolError::new(Reason::Denied, message)
        .with("matched_rule", rule.map_or(Value::Null, Value::from))
        .hint(judgement.hint(permission));
    match permission.operand.detail() {
        None => error,
        Some((key, text)) => error.with(key, text),
    }
}

fn changed(permissions: &PermissionRequests) -> ToolError {
    let message = format!("{} is not what was approved; ask again", excerpt(&permissions.subject()));
    ToolError::new(Reason::NeedsApproval, message)
}

/// The description of a tool for hosts: the properties of [`Tool`] as one JSON object.
pub fn listing(tool: &dyn Tool) -> Value {
    let mut listing = json!({
        "name": tool.name(),
        "description": tool.description(),
        "parameters": beamai_schema::positioned(tool.parameters()),
        "requires_permission": tool.requires_permission(),
        "rule": tool.rule(),
        "sees_files": tool.sees_files(),
        "several_files": tool.changes_several_files(),
        // No timeout if a person answers or a sub-agent works.
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
