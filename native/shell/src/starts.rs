//! Judging what a running command starts, and asking about it.
//!
//! A start that somebody has to decide waits: the question goes out with the call's progress, and the answer comes as a call
//! of its own, as that of an MCP server's question does. Where nobody can be asked, the command ends there.

use beamai_base::{CancelToken, Reason, ToolError};
use beamai_isolation::{HeldStart, ProgramStart, StartCoverage, StartDecision, StartJudge};
use beamai_policy::starts::{shown, shown_starter};
use beamai_policy::{StartRules, StartVerdict};
use beamai_port_tools::shell::output::RefusedStart;
use beamai_process::Pause;
use beamai_tool::{CallContext, Progress};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most refused starts that a result lists.
const MOST_REFUSED: usize = 20;
/// Most starts that an error names as those that have happened.
const MOST_NAMED: usize = 20;
/// Most questions of one command that are open at a time; a start beyond them is refused.
const MOST_OPEN: usize = 16;
/// Most arguments that a question shows, and most bytes of each.
const MOST_ARGUMENTS: usize = 64;
const LONGEST_ARGUMENT: usize = 1_000;

/// The judge of one command's starts.
pub(super) struct StartMonitor {
    rules: Arc<StartRules>,
    /// Where questions go; without it nobody can be asked.
    asker: Option<Progress>,
    /// Ends the command.
    stop: CancelToken,
    /// Time in which somebody is asked.
    pub(super) pause: Arc<Pause>,
    noted: Mutex<StartLog>,
}

#[derive(Default)]
struct StartLog {
    /// What the command's shell has started.
    ran: Vec<String>,
    refused: Vec<RefusedStart>,
    /// What it ended for.
    stopped: Option<StoppingStart>,
    /// Starts that wait for its end.
    waiting: Vec<Box<dyn HeldStart>>,
    /// Questions that are open.
    open: Vec<String>,
    has_ended: bool,
}

/// The start for which a command ended.
#[derive(Clone)]
struct StoppingStart {
    command: String,
    by: String,
    rule: Option<String>,
    why: Option<String>,
    wanted: Vec<String>,
}

/// A question that waits for its answer.
struct StartQuestion {
    starts: Arc<StartMonitor>,
    start: ProgramStart,
    held: Box<dyn HeldStart>,
}

/// What a person said of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StartChoice {
    /// It goes on.
    Allow,
    /// It fails.
    Deny,
}

/// The answer to the question about a start.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartAnswer {
    start: String,
    decision: StartChoice,
    /// Rules that allow what the command starts from here on, too.
    #[serde(default)]
    rules: Vec<String>,
    /// Why it was refused.
    #[serde(default)]
    reason: Option<String>,
}

static ASKED: Mutex<Option<HashMap<String, StartQuestion>>> = Mutex::new(None);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StartAnswer {
    /// Whether the start still waited for it.
    ///
    /// # Errors
    /// `invalid_argument` for a malformed rule; the start is refused then.
    pub fn run(self, _: &CallContext) -> beamai_base::Result<Value> {
        let asked = lock(&ASKED).as_mut().and_then(|asked| asked.remove(&self.start));
        let is_taken = asked.is_some();
        if let Some(asked) = asked {
            if let Err(error) = self.rules.iter().try_for_each(|rule| asked.starts.rules.add(rule)) {
                asked.answered(&self.start, StartChoice::Deny, Some(error.message.clone()));
                return Err(error);
            }
            asked.answered(&self.start, self.decision, self.reason);
        }
        Ok(json!({"taken": is_taken}))
    }
}

impl StartQuestion {
    fn answered(self, id: &str, decision: StartChoice, reason: Option<String>) {
        let Self { starts, start, held } = self;
        starts.closed(id);
        match decision {
            StartChoice::Allow => held.start(starts.rules.approve(&start)),
            StartChoice::Deny => {
                starts.note_refused(&start, None, reason);
                held.refuse();
            }
        }
    }
}

impl StartMonitor {
    /// The judge of a call's command; `None` where nothing it starts has to be decided.
    pub(super) fn of(cx: &CallContext, stop: CancelToken, in_background: bool) -> Option<Arc<Self>> {
        let rules = cx.starts.as_ref()?;
        // A command in the background outlives its call, and with it whoever could be asked.
        let asker = cx.progress.clone().filter(|_| cx.asks_starts && !in_background);
        let (rules, pause) = (Arc::clone(rules), Arc::default());
        Some(Arc::new(Self { rules, asker, stop, pause, noted: Mutex::default() }))
    }

    /// What the command itself covers.
    pub(super) fn coverage(&self) -> StartCoverage {
        self.rules.coverage()
    }

    /// The starts that were refused so far.
    pub(super) fn refused(&self) -> Vec<RefusedStart> {
        lock(&self.noted).refused.clone()
    }

    /// The command has ended: what still waits fails.
    pub(super) fn end(&self) {
        let (open, waiting) = {
            let mut noted = lock(&self.noted);
            noted.has_ended = true;
            (std::mem::take(&mut noted.open), std::mem::take(&mut noted.waiting))
        };
        drop(waiting);
        let mut asked = lock(&ASKED);
        let left: Vec<_> = open.iter().filter_map(|id| asked.as_mut()?.remove(id)).collect();
        drop(asked);
        drop(left);
    }

    /// The error of a command that ended for a start about which nobody could be asked.
    pub(super) fn stopped(&self) -> Option<ToolError> {
        let noted = lock(&self.noted);
        let StoppingStart { command, by, rule, why, wanted } = noted.stopped.clone()?;
        let ran = match noted.ran.as_slice() {
            [] => "nothing had been started before".to_owned(),
            ran => format!("what had been started before: {}", ran.join("; ")),
        };
        let because = match (&rule, why) {
            (Some(rule), _) => format!("the rule {rule} wants it asked"),
            (None, Some(why)) => format!("no rule covers it there: {why}"),
            (None, None) => "no rule covers it".to_owned(),
        };
        let message = format!(
            "the command was ended when {by} was about to start: {command}; {because}, and nobody could be asked. It was \
             not started; {ran}. To allow it, add the rule {}",
            wanted.join(", ")
        );
        let stopped = json!({"command": command, "by": by});
        let error = ToolError::new(Reason::NeedsApproval, message)
            .with("matched_rule", rule)
            .with("rule", "Bash")
            .with("command", self.rules.typed())
            .with("stopped", stopped)
            .with("started", noted.ran.clone())
            .with("wanted", wanted);
        Some(error)
    }

    fn note_refused(&self, start: &ProgramStart, rule: Option<String>, reason: Option<String>) {
        let refused = RefusedStart {
            program: start.called.to_string_lossy().into_owned(),
            command: shown(start),
            by: shown_starter(start),
            rule,
            reason,
        };
        let mut noted = lock(&self.noted);
        // A program is looked for in several places.
        let is_known = |other: &RefusedStart| (&other.command, &other.by) == (&refused.command, &refused.by);
        if noted.refused.len() < MOST_REFUSED && !noted.refused.iter().any(is_known) {
            noted.refused.push(refused);
        }
    }

    fn note_started(&self, start: &ProgramStart) {
        let mut noted = lock(&self.noted);
        let shown = shown(start);
        if start.starter.coverage == StartCoverage::Judged
            && noted.ran.len() < MOST_NAMED
            && !noted.ran.contains(&shown)
        {
            noted.ran.push(shown);
        }
    }

    fn closed(&self, id: &str) {
        lock(&self.noted).open.retain(|open| open != id);
        self.pause.end();
    }

    /// Ends the command before a start, which waits until that is done.
    fn stop(&self, start: &ProgramStart, verdict: AskReason, held: Box<dyn HeldStart>) {
        let AskReason { rule, why, wanted } = verdict;
        let stopped = StoppingStart { command: shown(start), by: shown_starter(start), rule, why, wanted };
        {
            let mut noted = lock(&self.noted);
            if noted.has_ended {
                return;
            }
            noted.stopped.get_or_insert(stopped);
            noted.waiting.push(held);
        }
        self.stop.cancel();
    }

    fn ask(
        self: &Arc<Self>,
        asker: &Progress,
        start: ProgramStart,
        verdict: &AskReason,
        held: Box<dyn HeldStart>,
    ) {
        let id = next_id();
        {
            let mut noted = lock(&self.noted);
            if noted.has_ended || noted.open.len() >= MOST_OPEN {
                drop(noted);
                return self.note_refused(&start, None, Some("too many questions were open".to_owned()));
            }
            noted.open.push(id.clone());
        }
        let request = self.request(&start, verdict);
        self.pause.begin();
        let asked = StartQuestion { starts: Arc::clone(self), start, held };
        lock(&ASKED).get_or_insert_default().insert(id.clone(), asked);
        asker(json!({"start": id, "request": request}));
    }

    /// The question that a host puts to a person.
    fn request(&self, start: &ProgramStart, verdict: &AskReason) -> Value {
        let (shown, by) = (shown(start), shown_starter(start));
        let because = verdict.why.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
        json!({
            "rule": "Bash",
            "subject": format!("Bash({shown})"),
            "message": format!("a running command's {by} wants to start: {shown}{because}"),
            "matched_rule": verdict.rule,
            "wanted": verdict.wanted,
            "command": self.rules.typed(),
            "start": {
                "program": start.called.to_string_lossy(),
                "arguments": arguments(&start.arguments),
                "has_all_arguments": start.has_all_arguments && start.arguments.len() <= MOST_ARGUMENTS,
                "started_by": by,
            },
        })
    }
}

impl std::fmt::Debug for StartMonitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Starts").field(&self.rules).finish()
    }
}

/// Why a start is asked about.
struct AskReason {
    rule: Option<String>,
    why: Option<String>,
    wanted: Vec<String>,
}

fn next_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("start_{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn arguments(given: &[OsString]) -> Vec<String> {
    let text = |text: &OsString| {
        let text = text.to_string_lossy();
        text[..text.floor_char_boundary(LONGEST_ARGUMENT)].to_owned()
    };
    given.iter().skip(1).take(MOST_ARGUMENTS).map(text).collect()
}

/// What the Linux kernel's side of the guard talks to.
pub(super) struct CommandStartJudge(pub(super) Arc<StartMonitor>);

impl StartJudge for CommandStartJudge {
    fn decide(&self, start: &ProgramStart) -> StartDecision {
        let Self(starts) = self;
        match starts.rules.judge(start) {
            StartVerdict::Start(coverage) => {
                starts.note_started(start);
                StartDecision::Start(coverage)
            }
            StartVerdict::Refuse(rule) => {
                starts.note_refused(start, rule, None);
                StartDecision::Refuse
            }
            StartVerdict::Ask { .. } => StartDecision::Hold,
        }
    }

    fn hold(&self, start: ProgramStart, held: Box<dyn HeldStart>) {
        let Self(starts) = self;
        match (starts.rules.judge(&start), &starts.asker) {
            (StartVerdict::Ask { rule, why, wanted }, Some(asker)) => {
                starts.ask(asker, start, &AskReason { rule, why, wanted }, held);
            }
            (StartVerdict::Ask { rule, why, wanted }, None) => {
                starts.stop(&start, AskReason { rule, why, wanted }, held);
            }
            (StartVerdict::Start(coverage), _) => held.start(coverage),
            (StartVerdict::Refuse(rule), _) => {
                starts.note_refused(&start, rule, None);
                held.refuse();
            }
        }
    }
}
