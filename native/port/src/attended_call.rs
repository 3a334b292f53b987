//! A call with a user at the terminal, who is asked for approvals and sees the progress of long calls.

use crate::options;
use crate::progress_line::{ProgressHandle, ProgressLine};
use crate::terminal::{Approval, Terminal};
use crate::told_to_end;
use beamai_base::{CancelToken, Reason, Result as ToolResult, ToolError};
use beamai_engine::{CallOptions, CallOutcome, CallRequest, CallSession, Host, HostSettings};
use beamai_engine::{catalogue, refusal};
use beamai_private_dir::PrivateDir;
use beamai_services::services;
use beamai_tool::question::Answers;
use beamai_tool::{Door, Progress};
use serde_json::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// Makes a call under these settings. Leaves nothing in the temporary directory: output that does not fit into the
/// result is dropped, and the result says so.
///
/// # Errors
/// Those of the settings and of the call.
pub(crate) fn run(mut settings: HostSettings, mut call: CallRequest) -> ToolResult<Value> {
    settings.limits.output_file_bytes = 0;
    let runs_in_port = catalogue::find(&call.tool, call.dialect.as_deref())?.traits().door == Door::Port;
    let mut temp = None;
    let cancel = CancelToken::new();
    if runs_in_port {
        #[cfg(target_os = "linux")]
        beamai_protected::do_not_watch();
        told_to_end::cancel_on_signal(&cancel);
        options::warn(&settings.sandbox);
        temp = PrivateDir::where_needed(&settings.sandbox)?;
    }
    if let Some(path) = temp.as_ref().and_then(|dir| dir.path().to_str()) {
        call.session = Some(CallSession { temp_dir: Some(path.to_owned()), ..CallSession::default() });
    }
    let host = Arc::new(Host::new(&settings, Arc::new(services().for_command_line()))?);
    attended(&host, call, Terminal::of_this_program().map(Arc::new).as_ref(), &cancel)
}

/// Makes the call, and repeats it with the user's responses. Each kind of request is made at most once.
fn attended(
    host: &Arc<Host>,
    call: CallRequest,
    terminal: Option<&Arc<Terminal>>,
    cancel: &CancelToken,
) -> ToolResult<Value> {
    let line = ProgressLine::new();
    let request = CallRequest { asks_starts: terminal.is_some(), ..call.clone() };
    let run = CallOptions { cancel: cancel.clone(), ..listening(host, terminal, line.as_ref()) };
    let outcome = host.call(request, run);
    // A prompt must have the terminal to itself.
    drop(line);
    match outcome {
        CallOutcome::Ok(value, _) => Ok(value),
        CallOutcome::Error(error) => Err(error),
        CallOutcome::Ask(request) => match terminal.filter(|_| call.approved.is_none()) {
            None => Err(refusal::nobody_to_ask(&request, "there is nobody to ask")),
            Some(person) => match person.approves(&request) {
                Approval::Given => {
                    let approved = request["fingerprint"].as_str().map(str::to_owned);
                    attended(host, CallRequest { approved, ..call }, terminal, cancel)
                }
                Approval::Declined => Err(refusal::said_no(&request, "the person at the terminal")),
                Approval::Cancelled => Err(refusal::gave_no_answer(&request, "the person at the terminal")),
            },
        },
        CallOutcome::Question(questions) if call.answers.is_none() => {
            let answers = terminal.map_or(Answers::NoFrontend, |it| it.answers(&questions));
            attended(host, CallRequest { answers: Some(answers), ..call }, terminal, cancel)
        }
        CallOutcome::Question(_) => {
            Err(ToolError::new(Reason::Crash, "a call asked again what was answered"))
        }
        CallOutcome::Delegate(delegation) => Err(delegation.nobody()),
        CallOutcome::Consult(_) => {
            Err(ToolError::new(Reason::Crash, "a call asked for a model that it was not given"))
        }
        CallOutcome::Defer => Err(ToolError::new(Reason::Crash, "a call without a bound was deferred")),
    }
}

/// Runs a call that shows progress, and whose command may ask the user at the terminal about program starts.
fn listening(host: &Arc<Host>, terminal: Option<&Arc<Terminal>>, line: Option<&ProgressLine>) -> CallOptions {
    let (host, terminal, line) = (Arc::clone(host), terminal.map(Arc::clone), line.map(ProgressLine::handle));
    if terminal.is_none() && line.is_none() {
        return CallOptions::default();
    }
    let progress: Progress = Arc::new(move |message: Value| match (message["start"].as_str(), &terminal) {
        (Some(id), Some(terminal)) => {
            ask(&host, terminal, line.clone(), id.to_owned(), message["request"].clone());
        }
        _ => line.iter().for_each(|line| line.tell(message.clone())),
    });
    CallOptions { progress: Some(progress), ..CallOptions::default() }
}

/// Asks about a program on a separate thread, because the guard's thread must not wait for a person.
fn ask(host: &Arc<Host>, terminal: &Arc<Terminal>, line: Option<ProgressHandle>, id: String, request: Value) {
    let (host, terminal) = (Arc::clone(host), Arc::clone(terminal));
    std::thread::spawn(move || {
        // One question at a time.
        static ASKING: Mutex<()> = Mutex::new(());
        let _asking = ASKING.lock().unwrap_or_else(PoisonError::into_inner);
        let decided = match line {
            Some(line) => line.while_paused(|| terminal.decides(&request)),
            None => terminal.decides(&request),
        };
        let call = match decided {
            Some(rules) => CallRequest::approve_start(&id, &rules),
            None => CallRequest::refuse_start(&id, "the person at the terminal said no"),
        };
        host.call(call, CallOptions::default());
    });
}
