//! Decides about the programs that a running command starts, and asks for approval.
//!
//! A start that needs approval waits; see [`asking`]. If nobody can be asked, the command is ended.

use super::asking::{self, MOST_OPEN, PendingQuestion, StartChoice, lock};
use beamai_base::{CancelToken, HostHint, Reason, ToolError, excerpt};
use beamai_isolation::{GuardJudge, HeldStart, ProgramStart, StartCoverage, StartDecision, Starter};
use beamai_policy::starts::{asked_about, shown, shown_directory, shown_process, written};
use beamai_policy::{NETWORK, StartRules, StartVerdict};
use beamai_port_tools::shell::output::{RefusedStart, RefusedStarts};
use beamai_process::Pause;
use beamai_text::one_line;
use beamai_tool::{CallContext, Progress};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::{Arc, Mutex};

/// Maximum number of refused starts in a result, and of those that are counted once each. Beyond, each attempt counts.
const MOST_REFUSED: usize = 20;
const MOST_COUNTED: usize = 10_000;
/// Maximum number of earlier starts that an error lists.
const MOST_NAMED: usize = 20;
/// Maximum number of arguments that a request shows, and maximum bytes of each.
const MOST_ARGUMENTS: usize = 64;
const LONGEST_ARGUMENT: usize = 1_000;

/// Decides about the program starts of one command.
pub(super) struct StartMonitor {
    rules: Arc<StartRules>,
    /// The channel for approval requests; `None` if nobody can be asked.
    asker: Option<Progress>,
    /// Ends the command.
    stop: CancelToken,
    /// Stops the command's clock while somebody is being asked.
    pause: Arc<Pause>,
    noted: Mutex<StartLog>,
}

#[derive(Default)]
struct StartLog {
    /// Programs that the command's shell has started.
    ran: Vec<String>,
    refused: RefusedStarts,
    /// Hashes of all refused starts with their starters.
    known: HashSet<blake3::Hash>,
    /// The start for which the command was ended.
    stopped: Option<StoppingStart>,
    /// Starts held until the command has ended.
    waiting: Vec<Box<dyn HeldStart>>,
    /// Ids of open requests.
    open: Vec<String>,
    has_ended: bool,
}

/// The start for which a command was ended.
#[derive(Clone)]
struct StoppingStart {
    command: String,
    by: String,
    rule: Option<String>,
    why: Option<String>,
    wanted: Vec<String>,
}

/// An open request.
struct StartQuestion {
    starts: Arc<StartMonitor>,
    start: ProgramStart,
    held: Box<dyn HeldStart>,
}

impl PendingQuestion for StartQuestion {
    fn add(&self, rule: &str) -> beamai_base::Result<()> {
        match rule.starts_with(NETWORK) {
            true => Ok(()),
            false => self.starts.rules.add(rule),
        }
    }

    fn answered(self: Box<Self>, id: &str, decision: StartChoice, reason: Option<String>) {
        let Self { starts, start, held } = *self;
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
    /// The monitor of a call's command; `None` if none of its starts needs a decision.
    pub(super) fn of(
        cx: &CallContext,
        stop: CancelToken,
        in_background: bool,
        pause: &Arc<Pause>,
    ) -> Option<Arc<Self>> {
        let rules = cx.starts.as_ref()?;
        let asker = asking::asker(cx, in_background);
        let (rules, pause) = (Arc::clone(rules), Arc::clone(pause));
        Some(Arc::new(Self { rules, asker, stop, pause, noted: Mutex::default() }))
    }

    /// The starts that the approval of the command itself covers.
    pub(super) fn coverage(&self) -> StartCoverage {
        self.rules.coverage()
    }

    /// The starts refused so far.
    pub(super) fn refused(&self) -> RefusedStarts {
        lock(&self.noted).refused.clone()
    }

    /// Ends it with the command: starts that still wait fail.
    pub(super) fn end(&self) {
        let (open, waiting) = {
            let mut noted = lock(&self.noted);
            noted.has_ended = true;
            (std::mem::take(&mut noted.open), std::mem::take(&mut noted.waiting))
        };
        drop(waiting);
        asking::take_back(&open);
    }

    /// The error of a command that was ended because nobody could be asked about a start.
    pub(super) fn stopped(&self) -> Option<ToolError> {
        let noted = lock(&self.noted);
        let StoppingStart { command, by, rule, why, wanted } = noted.stopped.clone()?;
        let ran = match noted.ran.as_slice() {
            [] => "nothing had been started before".to_owned(),
            ran => {
                let shown: Vec<_> = ran.iter().map(|command| excerpt(command)).collect();
                format!("what had been started before: {}", shown.join("; "))
            }
        };
        let because = match (&rule, why) {
            (Some(rule), _) => format!("the rule {rule} requires approval"),
            (None, Some(why)) => format!("no rule covers it there: {why}"),
            (None, None) => "no rule covers it".to_owned(),
        };
        let message = format!(
            "the command was ended when {by} was about to start: {}; {because}, and nobody could be asked. It was not \
             started; {ran}; do without that program",
            excerpt(&command)
        );
        let stopped = json!({"command": command, "by": by});
        let hint = match &rule {
            Some(rule) => held_by(rule),
            None if wanted.is_empty() => HostHint::allow(["Bash"]),
            None => HostHint::allow(wanted.iter().map(String::as_str)),
        };
        let error = ToolError::new(Reason::NeedsApproval, message)
            .hint(hint)
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
            command: one_line(&shown(start)),
            by: one_line(&shown_process(&start.starter)),
            rule,
            reason,
        };
        self.list_refused(refused, &written(start));
    }

    /// Lists a file that a shell was not allowed to open.
    fn note_unwritten(&self, path: &OsStr, by: &Starter) {
        let file = path.to_string_lossy();
        let refused = RefusedStart {
            program: file.clone().into_owned(),
            command: one_line(&format!("> {file}")),
            by: one_line(&shown_process(by)),
            rule: None,
            reason: Some("the text of the command, or a rule, does not have it write there".to_owned()),
        };
        self.list_refused(refused, &format!("> {file}"));
    }

    fn list_refused(&self, refused: RefusedStart, whole: &str) {
        let hash = blake3::hash(format!("{whole}\0{}", refused.by).as_bytes());
        let StartLog { known, refused: RefusedStarts { listed, more }, .. } = &mut *lock(&self.noted);
        // A shell tries several directories of the PATH, and each attempt is a start.
        if known.contains(&hash) {
            return;
        }
        if known.len() < MOST_COUNTED {
            known.insert(hash);
        }
        match listed.len() < MOST_REFUSED {
            true => listed.push(refused),
            false => *more = Some(more.unwrap_or_default().saturating_add(1)),
        }
    }

    fn note_started(&self, start: &ProgramStart) {
        let mut noted = lock(&self.noted);
        if !start.starter.coverage.is_judged() || noted.ran.len() >= MOST_NAMED {
            return;
        }
        let shown = shown(start);
        if !noted.ran.contains(&shown) {
            noted.ran.push(shown);
        }
    }

    fn closed(&self, id: &str) {
        lock(&self.noted).open.retain(|open| open != id);
        self.pause.end();
    }

    /// Ends the command because of a start, which is held until then.
    fn stop(&self, start: &ProgramStart, verdict: AskReason, held: Box<dyn HeldStart>) {
        let AskReason { rule, why, wanted } = verdict;
        let stopped =
            StoppingStart { command: shown(start), by: shown_process(&start.starter), rule, why, wanted };
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
        let id = asking::next_id();
        {
            let mut noted = lock(&self.noted);
            if noted.has_ended || noted.open.len() >= MOST_OPEN {
                drop(noted);
                return self.note_refused(&start, None, Some("too many questions were open".to_owned()));
            }
            noted.open.push(id.clone());
        }
        let request = self.request(&id, &start, verdict);
        self.pause.begin();
        let asked = StartQuestion { starts: Arc::clone(self), start, held };
        asking::ask(asker, &id, request, Box::new(asked));
    }

    /// The approval request for the host.
    fn request(&self, id: &str, start: &ProgramStart, verdict: &AskReason) -> Value {
        let ((shown, size), by) = (asked_about(start), shown_process(&start.starter));
        let because = verdict.why.as_ref().map(|why| format!(", because {why}")).unwrap_or_default();
        let directory = start.starter.directory.as_deref().unwrap_or(Path::new("?")).to_string_lossy();
        json!({
            "rule": "Bash",
            "subject": format!("Bash({shown})"),
            "message": format!(
                "a running command's {} wants to start in {}: {}{size}{because}",
                one_line(&by),
                one_line(&shown_directory(start)),
                one_line(&shown)
            ),
            "matched_rule": verdict.rule,
            // A rule that asks takes precedence over those that would allow it.
            "wanted": if verdict.rule.is_none() { &*verdict.wanted } else { &[] },
            "command": self.rules.typed(),
            "start": {
                "program": start.called.to_string_lossy(),
                "arguments": arguments(&start.arguments),
                "has_all_arguments": start.has_all_arguments && start.arguments.len() <= MOST_ARGUMENTS,
                "started_by": by,
                "directory": directory,
                "fingerprint": fingerprint(id, start),
            },
        })
    }
}

impl std::fmt::Debug for StartMonitor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Starts").field(&self.rules).finish()
    }
}

/// Why a start needs approval.
struct AskReason {
    rule: Option<String>,
    why: Option<String>,
    wanted: Vec<String>,
}

/// How the host lets a command go on that a rule holds: no other rule helps.
fn held_by(rule: &str) -> HostHint {
    HostHint::new(
        format!(
            "Give the kernel or the context an approve callback, or take the rule {rule} out of the permissions"
        ),
        format!(
            "Run it where somebody can be asked, or without the rule {rule}, of an option --ask or of the settings"
        ),
    )
}

/// A key for this start by this program. If parts of the start are unknown, the key is unique.
fn fingerprint(id: &str, start: &ProgramStart) -> String {
    let mut hash = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| _ = hash.update(&bytes.len().to_le_bytes()).update(bytes);
    let Starter { program, arguments, has_all_arguments, directory, .. } = &start.starter;
    for path in [program, &start.called, &start.file].into_iter().chain(directory) {
        add(path.as_os_str().as_encoded_bytes());
    }
    for words in [arguments, &start.arguments] {
        add(&words.len().to_le_bytes());
        words.iter().for_each(|word| add(word.as_encoded_bytes()));
    }
    if !(start.has_all_arguments && *has_all_arguments && directory.is_some()) {
        add(id.as_bytes());
    }
    hash.finalize().to_hex().to_string()
}

fn arguments(given: &[OsString]) -> Vec<String> {
    let text = |text: &OsString| {
        let text = text.to_string_lossy();
        text[..text.floor_char_boundary(LONGEST_ARGUMENT)].to_owned()
    };
    given.iter().skip(1).take(MOST_ARGUMENTS).map(text).collect()
}

/// Connects the monitor to the exec guard, which sees starts through the Linux kernel.
pub(super) struct CommandJudge(pub(super) Arc<StartMonitor>);

impl GuardJudge for CommandJudge {
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

    fn admits(&self, start: &ProgramStart) -> bool {
        self.0.rules.admits(start)
    }

    fn writes(&self, path: &OsStr, file: Option<&Path>, by: &Starter) -> bool {
        let Self(starts) = self;
        let may_write = starts.rules.writes(path, file);
        if !may_write {
            starts.note_unwritten(path, by);
        }
        may_write
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    fn start(called: &str, arguments: &[&str]) -> ProgramStart {
        let starter = Starter {
            pid: 1,
            program: PathBuf::from("/usr/bin/awk"),
            arguments: vec!["awk".into()],
            has_all_arguments: true,
            directory: Some("/w".into()),
            coverage: StartCoverage::NOTHING,
        };
        ProgramStart {
            called: called.into(),
            links: Vec::new(),
            file: called.into(),
            identity: (0, 0),
            given: called.into(),
            loaded: beamai_isolation::NamedFile::default(),
            interpreters: Vec::new(),
            elf_interpreters: Vec::new(),
            arguments: arguments.iter().map(Into::into).collect(),
            has_all_arguments: true,
            is_writable: false,
            starter,
        }
    }

    #[test]
    fn a_fingerprint_stands_for_one_start_by_one_program() {
        let own = start("/w/a/run", &["run", "x"]);
        let mut by_another = own.clone();
        by_another.starter.arguments.push("-f".into());
        let mut elsewhere = own.clone();
        elsewhere.starter.directory = Some("/w/a".into());
        let long = "x".repeat(5_000);
        let others = [
            start("/w/b/run", &["run", "x"]),
            start("/w/a/run", &["run", "x", ""]),
            start("/w/a/run", &["run x"]),
            start("/w/a/run", &["run", &(long.clone() + "1")]),
            start("/w/a/run", &["run", &(long + "2")]),
            by_another,
            elsewhere,
        ];
        let mut all: Vec<String> = others.iter().map(|start| fingerprint("1", start)).collect();
        assert_eq!(fingerprint("1", &own), fingerprint("2", &own));
        all.push(fingerprint("1", &own));
        let cut = ProgramStart { has_all_arguments: false, ..own };
        all.extend(["1", "2"].map(|id| fingerprint(id, &cut)));
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
