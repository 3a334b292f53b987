//! Starts, polls and kills background commands.

use super::capture::Capture;
use super::command::BackgroundCommand;
use super::network::NamedNetwork;
use super::offline::OfflineCommand;
use super::registry::{CommandRegistry, PATIENCE};
use super::starts::StartMonitor;
use super::{not_started, random_name, spec};
use beamai_base::{Reason, Result, ToolError, panics};
use beamai_isolation::Isolation;
use beamai_port_tools::shell::output::RefusedStarts;
use beamai_port_tools::shell::{BackgroundOutput, PrintedOutput, Shell, ShellOutput};
use beamai_process::{CancelWaker, Child, Launcher, Pause, RunOptions, collect};
use beamai_tool::CallContext;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Starts the command without waiting for it.
pub(crate) fn start(shell: Shell, cx: &CallContext) -> Result<ShellOutput> {
    let session = cx.session_id.as_deref().ok_or_else(without_session)?;
    let id = format!("bg_{}", random_name()?);
    let command = Arc::new(BackgroundCommand::new(
        id.clone(),
        Capture::new(cx, shell.strip_ansi),
        cx.services.host_terms(),
    ));
    let registry = CommandRegistry::shared();
    registry.add(session, &command)?;
    match launch(shell, cx, &command) {
        Ok(isolation) => Ok(started(id, isolation)),
        Err(error) => {
            registry.remove(session, &id);
            command.give_up(&error);
            Err(error)
        }
    }
}

fn launch(shell: Shell, cx: &CallContext, command: &Arc<BackgroundCommand>) -> Result<Option<Isolation>> {
    // A background command cannot ask anybody, so its clock never pauses.
    let pause = Arc::new(Pause::default());
    let starts = StartMonitor::of(cx, command.cancel.clone(), true, &pause);
    let network = NamedNetwork::of(cx, &shell.command, true, &pause);
    let spec = spec(&shell, cx, starts.as_ref(), network.is_some())?;
    // Only the command's own timeout applies: the host's is for the call.
    let deadline = shell.timeout.map(|ms| Instant::now() + Duration::from_millis(ms));
    let wake = CancelWaker::on(&command.cancel).map_err(not_started)?;
    let outlet = network.as_ref().map(|network| network.outlet());
    let child = Launcher::shared().spawn_connected(&spec, outlet.as_ref()).map_err(not_started)?;
    let isolation = child.isolation.reported(cx.sandbox.report);
    let input = shell.stdin.unwrap_or_default();
    command.judged_by(starts, network, OfflineCommand::of(cx, &shell.command));
    let command = Arc::clone(command);
    let watch = move || watch(&command, child, &input, deadline, wake);
    // If no thread can be started, the child is dropped, which kills it.
    match std::thread::Builder::new().name("beamai-background".to_owned()).spawn(watch) {
        Ok(_) => Ok(isolation),
        Err(error) => {
            let message = format!(
                "the command was not run: no thread could be started for it ({error}); try again later"
            );
            Err(ToolError::new(Reason::Busy, message))
        }
    }
}

fn watch(
    command: &BackgroundCommand,
    child: Child,
    input: &str,
    deadline: Option<Instant>,
    wake: CancelWaker,
) {
    let terms = RunOptions { input: input.as_bytes(), deadline, pause: None, wake, listener: None };
    match panics::caught(|| collect(child, &terms, &mut command.sink())) {
        Ok(collected) => command.finish(collected),
        // The child was dropped, which killed it.
        Err(panic) => {
            let message = format!("the command was lost: {panic}; this is a defect of the tool");
            command.give_up(&ToolError::new(Reason::Crash, message));
        }
    }
}

fn started(id: String, isolation: Option<Isolation>) -> ShellOutput {
    ShellOutput {
        planted: Vec::new(),
        id: Some(id),
        exit_code: None,
        signal: None,
        printed: PrintedOutput::default(),
        killed: None,
        refused: RefusedStarts::default(),
        network: None,
        network_off: None,
        foreign_files: None,
        held_paths: None,
        duration_ms: 0,
        isolation,
    }
}

fn without_session() -> ToolError {
    let message = "the command was not run: in the background it would end with its session, and this call belongs to \
                   none, so it would end at once; run it in the foreground";
    ToolError::new(Reason::InvalidArgument, message).with("argument", "run_in_background")
}

/// Returns the command's status, and its output since the last poll.
pub(crate) fn poll(id: &str, cx: &CallContext) -> Result<BackgroundOutput> {
    Ok(CommandRegistry::shared().find(cx.session_id.as_deref(), id)?.poll())
}

/// Kills a command and returns how it ended. A command that has already ended is unaffected.
pub(crate) fn kill(id: &str, cx: &CallContext) -> Result<BackgroundOutput> {
    let command = CommandRegistry::shared().find(cx.session_id.as_deref(), id)?;
    command.cancel.cancel();
    let patience = Instant::now() + PATIENCE;
    match command.wait(cx.deadline.map_or(patience, |deadline| deadline.min(patience))) {
        true => Ok(command.poll()),
        false => {
            let message = format!("{id} is being killed and has not ended yet; look again later");
            Err(ToolError::new(Reason::Timeout, message))
        }
    }
}
