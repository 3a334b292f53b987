//! Runs shell commands under a reaper.
//!
//! Linux only; empty on other systems.

#![cfg(target_os = "linux")]

mod ansi;
mod asking;
mod background;
mod capture;
mod command;
mod foreign;
mod head_tail;
mod held_paths;
mod network;
mod offline;
mod recent;
mod registry;
mod shortcut;
mod spool;
mod starts;
mod symptoms;
mod text;

pub use asking::StartAnswer;
pub use registry::{EndingCommands, end_session};

use beamai_base::{CancelToken, HostHint, Reason, Result, ToolError, program_directories};
use beamai_isolation::{GuardJudge, Isolation, StartCoverage};
use beamai_port_tools::shell::output::RefusedStarts;
use beamai_port_tools::shell::{PrintedOutput, Shell, ShellKill, ShellOutput, ShellPoll};
use beamai_process::{
    CancelWaker, CommandReport, ExitStatus, KillCause, Launcher, MemoryExcess, NetworkAttempts, Pause,
    ProgramSpec, ProgressListener, RunEnd, RunOptions, RunResult, Stdin, collect, signal_name,
};
use beamai_sandbox::{Confinement, SetupFailure, environment, network_environment};
use beamai_tool::{CallContext, ExecutionClass, OperationBackend, Services, host_act};
use capture::Capture;
use network::NamedNetwork;
use offline::OfflineCommand;
use recent::RecentOutput;
use rustix::fs::Access;
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use serde_json::{Value, json};
use shortcut::shortcut;
use starts::{CommandJudge, StartMonitor};
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Default timeout in milliseconds.
const DEFAULT_TIMEOUT: u64 = 120_000;
const NOT_KILLED: &str =
    "some of its processes may still be there: they could not be killed within 10 seconds";
/// Paths where bash is looked for first, before the absolute directories of the host's PATH.
const USUAL_PLACES: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/// Registers the shell tools' backends, and the calls by which a host answers approval requests.
#[must_use]
pub fn serve(services: Services) -> Services {
    services
        .with(OperationBackend(|shell: Shell, cx: &CallContext| {
            network::renew(cx);
            match shell.run_in_background {
                true => Ok(background::start(shell, cx)?),
                false => Ok(run(&shell, cx)?),
            }
        }))
        .with(OperationBackend(|call: ShellPoll, cx: &CallContext| {
            network::renew(cx);
            Ok(background::poll(&call.id, cx)?)
        }))
        .with(OperationBackend(|call: ShellKill, cx: &CallContext| Ok(background::kill(&call.id, cx)?)))
        .with_host_acts(vec![host_act("start_answer", ExecutionClass::Instant, |act: StartAnswer, cx| {
            act.run(cx)
        })])
}

/// Runs the command to its end.
fn run(shell: &Shell, cx: &CallContext) -> Result<ShellOutput> {
    let started = Instant::now();
    let stop = CancelToken::new();
    let pause = Arc::new(Pause::default());
    let starts = StartMonitor::of(cx, stop.clone(), false, &pause);
    let network = NamedNetwork::of(cx, &shell.command, false, &pause);
    let spec = spec(shell, cx, starts.as_ref(), network.is_some())?;
    cx.cancel.on_cancel({
        let stop = stop.clone();
        move || stop.cancel()
    });
    let recent = cx.progress.is_some().then(|| Arc::new(Mutex::new(RecentOutput::default())));
    let tell = |time: Duration, output: u64| cx.report(progress(time, output, recent.as_deref()));
    let terms = RunOptions {
        input: shell.stdin.as_deref().unwrap_or_default().as_bytes(),
        deadline: Some(deadline(shell, cx, started)),
        pause: (starts.is_some() || network.is_some()).then_some(pause),
        wake: CancelWaker::on(&stop).map_err(not_started)?,
        listener: cx.progress.is_some().then_some(ProgressListener(&tell)),
    };
    let outlet = network.as_ref().map(|network| network.outlet());
    let child = Launcher::shared().spawn_connected(&spec, outlet.as_ref()).map_err(not_started)?;
    let isolation = child.isolation.reported(cx.sandbox.report);
    let mut capture = Capture::new(cx, shell.strip_ansi).with_recent(recent.clone());
    let collected = collect(child, &terms, &mut capture);
    let printed = capture.take_printed(false);
    starts.iter().for_each(|starts| starts.end());
    network.iter().for_each(|network| network.end());
    let blank = output(printed, None, None, isolation, started.elapsed());
    let blank = ShellOutput {
        refused: starts.as_ref().map(|starts| starts.refused()).unwrap_or_default(),
        network: network.map(|network| network.uses()),
        ..blank
    };
    let attempts = offline::attempts(&collected);
    let offline = OfflineCommand::of(cx, &shell.command);
    let ended = answer(collected, blank, more_time(shell, cx))
        .map(|output| with_hints(output, cx, offline, attempts));
    match starts.and_then(|starts| starts.stopped()) {
        Some(stopped) if !cx.cancel.is_cancelled() => Err(with_details_of(stopped, ended)),
        _ => ended,
    }
}

/// Adds hints to the result of a command that has failed because of the network, another user's files, or a path that is
/// kept in its place.
fn with_hints(
    output: ShellOutput,
    cx: &CallContext,
    offline: Option<OfflineCommand>,
    attempts: Option<NetworkAttempts>,
) -> ShellOutput {
    let PrintedOutput { stdout, stderr, .. } = &output.printed;
    let hint = |offline: OfflineCommand| offline.hint(output.exit_code, attempts, [stdout, stderr]);
    let network_off = offline.and_then(hint);
    let (foreign_files, held_paths) = (foreign::hint(&output, cx), held_paths::hint(&output, cx));
    ShellOutput { network_off, foreign_files, held_paths, ..output }
}

/// Adds what is known of the command's end to the error of a command that was stopped because of a program start.
fn with_details_of(mut stopped: ToolError, ended: Result<ShellOutput>) -> ToolError {
    match ended {
        Ok(output) => with_output(stopped, &output),
        Err(error) => {
            let own = std::mem::take(&mut stopped.details);
            stopped.details = error.details;
            stopped.details.extend(*own);
            stopped
        }
    }
}

/// A progress event: running time, bytes of output, and the new output.
fn progress(time: Duration, output: u64, recent: Option<&Mutex<RecentOutput>>) -> Value {
    let message = format!("running for {} s, {output} bytes of output", time.as_secs());
    let mut event =
        recent.map(|recent| recent.lock().unwrap_or_else(PoisonError::into_inner).take()).unwrap_or_default();
    event.insert("progress".to_owned(), json!(time.as_secs_f64()));
    event.insert("message".to_owned(), message.into());
    event.insert("output_bytes".to_owned(), output.into());
    Value::Object(event)
}

fn spec(
    shell: &Shell,
    cx: &CallContext,
    starts: Option<&Arc<StartMonitor>>,
    by_name: bool,
) -> Result<ProgramSpec> {
    let own = shell.variables()?.into_iter().map(|(name, value)| (name.into(), value.into()));
    let network = network_environment(cx.workspace.temp_path(), &cx.sandbox, by_name);
    let environment = environment(cx.workspace.temp_path(), &cx.sandbox, network.into_iter().chain(own));
    let shortcut = shortcut(shell, &environment, cx);
    // A command that begins with `-` or `+` would be parsed as an option.
    let end_of_options = shell.command.starts_with(['-', '+']).then_some("--");
    let words =
        ["--noprofile", "--norc", "-c"].into_iter().chain(end_of_options).chain([shell.command.as_str()]);
    Ok(ProgramSpec {
        program: bash()?,
        by_path: false,
        arguments: words.map(OsString::from).collect(),
        environment,
        directory: shell.directory(cx)?.open_dir()?,
        stdin: if shell.stdin.is_some() { Stdin::Pipe } else { Stdin::Empty },
        lingers: shell.run_in_background,
        shortcut,
        confinement: confinement(cx, by_name)?,
        judge: starts.map(|starts| Arc::new(CommandJudge(Arc::clone(starts))) as Arc<dyn GuardJudge>),
        coverage: starts.map_or(StartCoverage::Everything, |starts| starts.coverage()),
    })
}

/// The confinement of a call's programs.
fn confinement(cx: &CallContext, by_name: bool) -> Result<Arc<Confinement>> {
    let starts = cx.starts.as_deref();
    let confinement = Confinement::of(&cx.workspace, &cx.sandbox, &cx.denied_paths, starts, &|| cx.check())?;
    if !by_name {
        return Ok(confinement);
    }
    let is_decrypted = cx.sandbox.credentials.has_encrypted();
    let authority = is_decrypted.then(beamai_network_proxy::authority).transpose();
    let authority = authority.map_err(|why| ToolError::new(Reason::Io, why))?;
    Ok(Arc::new(confinement.with_proxy(authority)))
}

fn bash() -> Result<PathBuf> {
    let usual = USUAL_PLACES.iter().map(PathBuf::from);
    let listed = program_directories().iter().map(|dir| dir.join("bash"));
    let found = usual.chain(listed).find(|file| rustix::fs::access(file, Access::EXEC_OK).is_ok());
    found.ok_or_else(|| {
        let message = format!(
            "there is no bash on this machine: neither at {} nor on the PATH; install it",
            USUAL_PLACES.join(", ")
        );
        ToolError::new(Reason::Io, message)
    })
}

/// A timeout in the call takes precedence; otherwise the shorter of the default and the host's applies.
fn deadline(shell: &Shell, cx: &CallContext, started: Instant) -> Instant {
    let own = |ms| started + Duration::from_millis(ms);
    let default = own(DEFAULT_TIMEOUT);
    match shell.timeout {
        Some(ms) => own(ms),
        None => cx.deadline.map_or(default, |deadline| deadline.min(default)),
    }
}

/// 16 random hexadecimal digits that cannot be guessed.
fn random_name() -> Result<String> {
    let mut bytes = [0; 8];
    match getrandom(&mut bytes, GetRandomFlags::empty()) {
        Ok(_) => Ok(format!("{:016x}", u64::from_ne_bytes(bytes))),
        Err(errno) => Err(not_started(SetupFailure {
            step: "generate a random name".to_owned(),
            errno: errno.raw_os_error(),
            layer: None,
            instead: None,
        })),
    }
}

/// What to do for a command that needs more time.
fn more_time(shell: &Shell, cx: &CallContext) -> &'static str {
    match (shell.has_fixed_time, cx.session_id.is_some()) {
        (true, _) => "split the work into shorter commands",
        (false, true) => "give a longer \"timeout\", or \"run_in_background\":true",
        // In the background it would end with its session, at once.
        (false, false) => "give a longer \"timeout\"",
    }
}

/// The result of a command. `blank` holds the fields that are known in advance, `more_time` is advice for a command that
/// was too slow.
fn answer(collected: RunResult, blank: ShellOutput, more_time: &str) -> Result<ShellOutput> {
    let (exit, killed, cause) = match &collected.report {
        Ok(CommandReport::Ended { exit, killed, cause, .. }) => (Some(*exit), Some(*killed), cause.clone()),
        Ok(CommandReport::NotStarted(failure)) => return Err(not_started(failure.clone())),
        Err(_) => (None, None, None),
    };
    let planted = collected.planted;
    let (exit_code, signal) = (exit.and_then(code), exit.and_then(signal));
    let output = ShellOutput { planted, exit_code, signal, killed, ..blank };
    if let (RunEnd::Itself, Some(cause)) = (collected.end, cause.filter(|cause| is_reason(cause, killed))) {
        return Err(ended_for(cause, &output));
    }
    match (collected.end, collected.report) {
        // Nothing was left to kill: the command ended before the kill request took effect.
        (_, Ok(_)) if killed == Some(0) => Ok(ShellOutput { killed: None, ..output }),
        (RunEnd::Itself, Ok(_)) => Ok(output),
        (RunEnd::Itself, Err(errno)) => Err(lost(errno, &output)),
        (RunEnd::TimedOut, _) => Err(timed_out(&output, more_time)),
        (RunEnd::Cancelled, _) => Err(cancelled(&output)),
    }
}

fn output(
    printed: PrintedOutput,
    exit: Option<ExitStatus>,
    killed: Option<u32>,
    isolation: Option<Isolation>,
    duration: Duration,
) -> ShellOutput {
    ShellOutput {
        planted: Vec::new(),
        id: None,
        exit_code: exit.and_then(code),
        signal: exit.and_then(signal),
        printed,
        killed,
        refused: RefusedStarts::default(),
        network: None,
        network_off: None,
        foreign_files: None,
        held_paths: None,
        duration_ms: milliseconds(duration),
        isolation,
    }
}

fn code(exit: ExitStatus) -> Option<i32> {
    if let ExitStatus::Code(code) = exit { Some(code) } else { None }
}

fn signal(exit: ExitStatus) -> Option<String> {
    if let ExitStatus::Signal(number) = exit { Some(signal_name(number)) } else { None }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The error of a command that timed out, with everything that is known of it.
fn timed_out(output: &ShellOutput, more_time: &str) -> ToolError {
    let what = match output.killed {
        Some(1) => "the command was still running and was killed".to_owned(),
        Some(count) => format!("the command was still running and was killed, {count} processes in all"),
        None => format!("the command was still running and was killed ({NOT_KILLED})"),
    };
    let message = format!("timeout after {} ms: {what}; {more_time}", output.duration_ms);
    with_output(ToolError::new(Reason::Timeout, message), output)
}

/// The error of a command that was cancelled, with everything that is known of it.
fn cancelled(output: &ShellOutput) -> ToolError {
    let lost = if output.killed.is_some() { String::new() } else { format!(" ({NOT_KILLED})") };
    let message = format!("the command was cancelled after {} ms and killed{lost}", output.duration_ms);
    with_output(ToolError::new(Reason::Cancelled, message), output)
}

/// Whether the command was ended for this cause; it may have ended by itself before the reaper acted.
fn is_reason(cause: &KillCause, killed: Option<u32>) -> bool {
    matches!(cause, KillCause::Created(_)) || killed.is_some_and(|count| count > 0)
}

/// The error of a command that its reaper ended.
fn ended_for(cause: KillCause, output: &ShellOutput) -> ToolError {
    let error = |reason| with_output(ToolError::new(reason, cause_message(&cause)), output);
    match &cause {
        KillCause::Created(path) => error(Reason::AccessDenied).file(path),
        KillCause::Processes(MemoryExcess { taken, limit }) => {
            let error =
                error(Reason::TooManyProcesses).with("processes", *taken).with("process_limit", *limit);
            error.hint(higher("processes", "COUNT"))
        }
        KillCause::Memory(MemoryExcess { taken, limit }) => {
            let error = error(Reason::OutOfMemory).with("memory", *taken).with("memory_limit", *limit);
            error.hint(higher("memory", "BYTES"))
        }
    }
}

/// How the host can raise a limit of the sandbox.
fn higher(limit: &str, unit: &str) -> HostHint {
    HostHint::new(
        format!("Set the limit higher with sandbox => #{{{limit} => {unit}}}"),
        format!("Set the limit higher in a file for --settings: {{\"sandbox\": {{\"{limit}\": {unit}}}}}"),
    )
}

fn cause_message(cause: &KillCause) -> String {
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    match cause {
        KillCause::Memory(MemoryExcess { taken, limit }) => format!(
            "the command's processes had {} MiB of memory together, where {} MiB is the limit, and were killed; do less \
             at a time",
            mebibytes(*taken),
            mebibytes(*limit)
        ),
        KillCause::Processes(MemoryExcess { taken, limit }) => format!(
            "the command had {taken} processes and threads, where {limit} is the limit, and was killed; start fewer at a \
             time"
        ),
        KillCause::Created(path) => format!(
            "the command was killed because it created {path}, from which git would take settings and programs to run; \
             the file was removed, or is beside it as \".planted\""
        ),
    }
}

/// The error of a command whose reaper was killed from outside.
fn lost(errno: Errno, output: &ShellOutput) -> ToolError {
    with_output(ToolError::new(Reason::Io, lost_message(errno)), output)
}

fn lost_message(errno: Errno) -> String {
    format!(
        "the command was lost ({errno}): the process that watched over it is gone, perhaps for want of memory; the \
         command was killed with it and may have done part of its work"
    )
}

fn with_output(mut error: ToolError, output: &ShellOutput) -> ToolError {
    if let Ok(Value::Object(mut fields)) = serde_json::to_value(output) {
        fields.retain(|name, _| !["exit_code", "signal"].contains(&name.as_str()));
        fields.insert("killed".to_owned(), output.killed.into());
        error.details.extend(fields);
    }
    error
}

fn not_started(failure: SetupFailure) -> ToolError {
    if let Some(error) = failure.not_isolated("the command was not run") {
        return error;
    }
    let errno = Errno::from_raw_os_error(failure.errno);
    let (reason, advice) = match errno {
        Errno::TOOBIG | Errno::MSGSIZE => {
            (Reason::TooLarge, "; command and environment are too large: pass data by stdin or in a file")
        }
        Errno::STALE => (
            Reason::Stale,
            "; it was moved just now, or a deny rule keeps commands from it: try again, or name another one",
        ),
        Errno::ACCESS => (Reason::AccessDenied, "; the operating system does not permit it"),
        Errno::NOENT => (
            Reason::Io,
            "; the shell or what it needs is missing: does a rule deny Read for system directories such as /usr?",
        ),
        _ if failure.is_shortage() => (Reason::Busy, "; too much is running: try again later"),
        _ => (Reason::Io, ""),
    };
    ToolError::new(reason, format!("the command was not run: {failure}{advice}")).with("errno", failure.errno)
}
