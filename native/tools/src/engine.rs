//! How every call runs, whichever door it came through: find, check, judge, run.

use crate::cancel::CancelToken;
use crate::catalogue;
use crate::context::{CallContext, Limits, Progress, Sandbox, Stop};
use crate::error::{Reason, Result, ToolError};
use crate::ops::question::{Answers, Question};
use crate::ops::skill::SkillSettings;
use crate::panics;
use crate::policy::{Need, Needs, Operand, Policy, PolicyText, Verdict};
use crate::session::{Session, SessionState};
use crate::tool::{Prepared, Tool};
use crate::workspace::{Workspace, WorkspaceId};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What a host settles once for many calls, as plain data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The directory that tools are confined to.
    pub workspace: WorkspaceId,
    /// Who may do what.
    #[serde(default)]
    pub permissions: PolicyText,
    /// How commands are isolated.
    #[serde(default)]
    pub sandbox: Sandbox,
    /// Bounds on input and output.
    #[serde(default)]
    pub limits: Limits,
    /// Where skills are kept.
    #[serde(default)]
    pub skills: SkillSettings,
}

/// Settings made ready: workspace opened, policy checked.
#[derive(Debug)]
pub struct Host {
    workspace: Workspace,
    policy: Policy,
    sandbox: Sandbox,
    limits: Limits,
    skills: Arc<SkillSettings>,
}

/// One call, as plain data.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Call {
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
}

/// What of a session a call needs to know.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct CallSession {
    /// Absolute path of its private temporary directory.
    #[serde(default)]
    pub temp_dir: Option<String>,
    /// Its state, for tools that work on it.
    #[serde(default)]
    pub state: SessionState,
}

/// What a door adds to a call.
#[derive(Default)]
pub struct Run {
    /// Raised when the caller cancels or is gone.
    pub cancel: CancelToken,
    /// Most bytes that may be touched on this thread; see [`CallContext::inline_bytes`].
    pub inline_bytes: Option<u64>,
    /// Where progress goes.
    pub progress: Option<Progress>,
    /// When the call came in, if it had to wait since: its time runs from here.
    pub arrived: Option<Instant>,
}

/// How a call ended.
#[derive(Debug)]
pub enum Outcome {
    /// With a result, and the session's new state where the call changed it.
    Ok(Value, Option<SessionState>),
    /// With an error.
    Error(ToolError),
    /// It has done nothing: somebody must be asked first. See [`request`].
    Ask(Value),
    /// It has done nothing: a person must answer these first, and then the call must be made again with
    /// [`Call::answers`].
    Question(Vec<Question>),
    /// It has done nothing: it is too large for this thread.
    Defer,
}

impl Host {
    /// Makes settings ready.
    ///
    /// # Errors
    /// A workspace that is gone or another one, a malformed rule.
    pub fn new(settings: &Settings) -> Result<Self> {
        Ok(Self {
            workspace: Workspace::pinned(&settings.workspace)?,
            policy: Policy::new(&settings.permissions, catalogue::canonical_rule)?,
            sandbox: settings.sandbox,
            limits: settings.limits.clone(),
            skills: Arc::new(settings.skills.clone()),
        })
    }

    /// Runs a call: the tool is found, its arguments are checked, the policy is asked, the work is done. A panic
    /// in the tool becomes an error.
    pub fn call(&self, call: Call, run: Run) -> Outcome {
        let name = call.tool.clone();
        let ended = panics::caught(|| self.try_call(call, run)).unwrap_or_else(|panic| {
            let message = format!("the tool crashed: {panic}; this is a defect of the tool");
            Err(Stop::Failed(ToolError::new(Reason::Crash, message)))
        });
        match ended {
            Ok(outcome) => outcome,
            Err(Stop::Defer) => Outcome::Defer,
            Err(Stop::Question(questions)) => Outcome::Question(questions),
            Err(Stop::Failed(error)) => Outcome::Error(ToolError { tool: name, ..error }),
        }
    }

    fn try_call(&self, call: Call, run: Run) -> Result<Outcome, Stop> {
        let cx = self.context(&call, run)?;
        let tool = catalogue::find(&call.tool, call.dialect.as_deref())?;
        let digest = self.policy.may_ask(tool.requires_permission()).then(|| digest(&call.args));
        let prepared = tool.prepare(call.args)?;
        let needs = prepared.needs(&cx)?;
        match self.policy.judge_all(&needs) {
            (Verdict::Allow(_), _) => run_prepared(prepared, &cx),
            (Verdict::Deny(rule), need) => Err(denied(need, rule).into()),
            (Verdict::Ask(_), _) => {
                let request = request(&call.tool, &needs, digest);
                match &call.approved {
                    None => Ok(Outcome::Ask(request)),
                    Some(approved) if request["fingerprint"] == approved.as_str() => {
                        run_prepared(prepared, &cx)
                    }
                    Some(_) => Err(changed(&needs).into()),
                }
            }
        }
    }

    /// The verdict on a call and the rule behind it, without running it.
    ///
    /// # Errors
    /// Wrong arguments, an unknown tool, a path outside the workspace.
    pub fn explain(&self, call: Call) -> Result<Value> {
        let cx = self.context(&call, Run::default())?;
        let tool = catalogue::find(&call.tool, call.dialect.as_deref())?;
        let needs = tool.prepare(call.args)?.needs(&cx)?;
        Ok(explained(&self.policy.judge_all(&needs).0))
    }

    /// The verdict on a tool that the host implements itself: `Ok(None)` lets it run, `Ok(Some(request))` asks.
    ///
    /// # Errors
    /// `denied` with the rule.
    pub fn judge(&self, tool: &str, requires_permission: bool) -> Result<Option<Value>> {
        let need = host_need(tool, requires_permission);
        match self.policy.judge(&need) {
            Verdict::Allow(_) => Ok(None),
            Verdict::Ask(_) => Ok(Some(request(tool, &need.into(), None))),
            Verdict::Deny(rule) => Err(ToolError { tool: tool.to_owned(), ..denied(&need, rule) }),
        }
    }

    /// [`Host::explain`] for a tool that the host implements itself.
    pub fn explain_own(&self, tool: &str, requires_permission: bool) -> Value {
        explained(&self.policy.judge(&host_need(tool, requires_permission)))
    }

    fn context(&self, call: &Call, run: Run) -> Result<CallContext> {
        let temp = call.session.as_ref().and_then(|session| session.temp_dir.as_deref());
        let workspace = match temp {
            Some(temp) => self.workspace.with_temp(Path::new(temp))?,
            None => self.workspace.clone(),
        };
        Ok(CallContext {
            workspace,
            cancel: run.cancel,
            deadline: call
                .timeout
                .map(|ms| run.arrived.unwrap_or_else(Instant::now) + Duration::from_millis(ms)),
            limits: self.limits.clone(),
            skills: Arc::clone(&self.skills),
            sandbox: self.sandbox,
            inline_bytes: run.inline_bytes,
            progress: run.progress,
            session: Session::new(
                call.session.as_ref().map(|session| session.state.clone()).unwrap_or_default(),
            ),
            answers: call.answers.clone(),
        })
    }
}

fn run_prepared(prepared: Box<dyn Prepared>, cx: &CallContext) -> Result<Outcome, Stop> {
    cx.check()?;
    prepared.run(cx).map(|value| Outcome::Ok(value, cx.session.changed()))
}

/// A hash of the arguments, so that an approval holds for these and no others.
fn digest(args: &Map<String, Value>) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    // Writing into a hasher cannot fail, and a JSON map can always be written.
    _ = serde_json::to_writer(&mut hasher, args);
    hasher.finalize()
}

fn host_need(tool: &str, requires_permission: bool) -> Need {
    Need {
        rule: tool.to_owned(),
        touches: &[],
        allowed_by: &[],
        is_safe: !requires_permission,
        operand: Operand::None,
    }
}

fn explained(verdict: &Verdict) -> Value {
    let (verdict, rule) = verdict.parts();
    json!({"verdict": verdict, "rule": rule})
}

/// The question that a host puts to a person. `fingerprint` stands for exactly this call: sent back with it as
/// `approved`, the call runs; with any other, it is refused.
fn request(tool: &str, needs: &Needs, digest: Option<blake3::Hash>) -> Value {
    let subject = needs.subject();
    let text =
        format!("{tool}\0{subject}\0{}", digest.map_or(String::new(), |hash| hash.to_hex().to_string()));
    let mut request = json!({
        "tool": tool,
        "rule": needs.first.rule,
        "subject": subject,
        "message": needs.question(tool),
        "fingerprint": blake3::hash(text.as_bytes()).to_hex().as_str(),
    });
    match &needs.first.operand {
        _ if !needs.more.is_empty() => {
            request["subjects"] = needs.iter().map(Need::subject).collect();
            request["files"] = needs.iter().filter_map(file).collect();
        }
        Operand::None | Operand::Name(_) => {}
        Operand::File(file) => request["file"] = file.as_str().into(),
        Operand::Command(command) => request["command"] = command.as_str().into(),
    }
    request
}

fn file(need: &Need) -> Option<&str> {
    match &need.operand {
        Operand::File(file) => Some(file),
        _ => None,
    }
}

fn denied(need: &Need, rule: Option<String>) -> ToolError {
    let why = match &rule {
        Some(rule) => format!("the permission rule {rule} denies it"),
        None => "the permissions deny what no rule allows".to_owned(),
    };
    let message = format!(
        "{} is not allowed: {why}; do something else, or ask for the rule to be changed",
        need.subject()
    );
    let error =
        ToolError::new(Reason::Denied, message).with("matched_rule", rule.map_or(Value::Null, Value::from));
    match &need.operand {
        Operand::None | Operand::Name(_) => error,
        Operand::File(file) => error.with("file", file.as_str()),
        Operand::Command(command) => error.with("command", command.as_str()),
    }
}

fn changed(needs: &Needs) -> ToolError {
    let message = format!("{} is not what was approved; ask again", needs.subject());
    ToolError::new(Reason::NeedsApproval, message)
}

/// A tool that a door may list: what [`Tool`] tells, as one JSON object.
pub fn listing(tool: &dyn Tool) -> Value {
    let mut listing = json!({
        "name": tool.name(),
        "description": tool.description(),
        "parameters": tool.parameters(),
        "requires_permission": tool.requires_permission(),
        "rule": tool.rule(),
        "timeout": 120_000,
        "output_schema": tool.output_schema(),
    });
    if let (Value::Object(listing), Ok(Value::Object(traits))) =
        (&mut listing, serde_json::to_value(tool.traits()))
    {
        listing.extend(traits);
    }
    listing
}
