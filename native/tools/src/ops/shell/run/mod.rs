//! Running a command under a reaper.

mod text;

use super::{Shell, ShellOutput};
use crate::context::CallContext;
use crate::error::{Reason, Result, ToolError};
use crate::process::{
    Captured, Collected, Confinement, End, Exit, Failure, Isolation, Launcher, Report, Spec, Stdin, Terms,
    Wake, collect, environment, signal_name,
};
use rustix::fs::Access;
use rustix::io::Errno;
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use text::Text;

/// Milliseconds that a command may run when nobody says otherwise.
const DEFAULT_TIMEOUT: u64 = 120_000;
/// Where bash is looked for first; then in the absolute directories of the host's PATH.
const USUAL_PLACES: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/// Runs the command to its end.
pub(super) fn run(shell: &Shell, cx: &CallContext) -> Result<ShellOutput> {
    let started = Instant::now();
    let spec = spec(shell, cx)?;
    let terms = terms(shell, cx, started)?;
    let child = Launcher::shared().spawn(&spec).map_err(not_started)?;
    let isolation = child.isolation.clone();
    let collected = collect(child, &terms);
    answer(shell, collected, isolation, started.elapsed())
}

fn spec(shell: &Shell, cx: &CallContext) -> Result<Spec> {
    let own = shell.variables()?.into_iter().map(|(name, value)| (name.into(), value.into()));
    let words = ["--noprofile", "--norc", "-c", shell.command.as_str()];
    Ok(Spec {
        program: bash()?,
        arguments: words.map(OsString::from).into(),
        environment: environment(cx.workspace.temp_path(), &cx.sandbox, own),
        directory: shell.directory(cx)?.open_dir()?,
        stdin: if shell.stdin.is_some() { Stdin::Pipe } else { Stdin::Empty },
        confinement: Confinement::of(cx),
    })
}

fn bash() -> Result<PathBuf> {
    let usual = USUAL_PLACES.iter().map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let listed = std::env::split_paths(&path).filter(|dir| dir.is_absolute()).map(|dir| dir.join("bash"));
    let found = usual.chain(listed).find(|file| rustix::fs::access(file, Access::EXEC_OK).is_ok());
    found.ok_or_else(|| {
        let message = format!(
            "there is no bash on this machine: neither at {} nor on the PATH; install it",
            USUAL_PLACES.join(", ")
        );
        ToolError::new(Reason::Io, message)
    })
}

fn terms<'a>(shell: &'a Shell, cx: &'a CallContext, started: Instant) -> Result<Terms<'a>> {
    // A timeout of its own governs; without one, the host's does where it is the shorter one.
    let own = |ms| started + Duration::from_millis(ms);
    let default = own(DEFAULT_TIMEOUT);
    let deadline = match shell.timeout {
        Some(ms) => own(ms),
        None => cx.deadline.map_or(default, |deadline| deadline.min(default)),
    };
    Ok(Terms {
        input: shell.stdin.as_deref().unwrap_or_default().as_bytes(),
        cap: cx.limits.output_bytes,
        deadline: Some(deadline),
        wake: Wake::on(&cx.cancel).map_err(not_started)?,
    })
}

fn answer(
    shell: &Shell,
    collected: Collected,
    isolation: Isolation,
    duration: Duration,
) -> Result<ShellOutput> {
    let (exit, killed) = match collected.report {
        Ok(Report::Ended { exit, killed, .. }) => (Some(exit), Some(killed)),
        Ok(Report::NotStarted(failure)) => return Err(not_started(failure)),
        Err(_) => (None, None),
    };
    let output = output(shell, &collected, exit, killed, isolation, duration);
    match (collected.end, collected.report) {
        // Where nothing was left to kill, it was faster than the order to.
        (_, Ok(_)) if killed == Some(0) => Ok(ShellOutput { killed: None, ..output }),
        (End::Itself, Ok(_)) => Ok(output),
        (End::Itself, Err(errno)) => Err(lost(errno, &output)),
        (End::TimedOut, _) => Err(ended(Reason::Timeout, &output)),
        (End::Cancelled, _) => Err(ended(Reason::Cancelled, &output)),
    }
}

fn output(
    shell: &Shell,
    collected: &Collected,
    exit: Option<Exit>,
    killed: Option<u32>,
    isolation: Isolation,
    duration: Duration,
) -> ShellOutput {
    let whole = |captured: &Captured| captured.is_cut().then_some(captured.total);
    let stdout = Text::of(&collected.stdout, shell.strip_ansi);
    let stderr = Text::of(&collected.stderr, shell.strip_ansi);
    ShellOutput {
        exit_code: exit.and_then(|exit| if let Exit::Code(code) = exit { Some(code) } else { None }),
        signal: exit
            .and_then(|exit| if let Exit::Signal(number) = exit { Some(signal_name(number)) } else { None }),
        stdout: stdout.text,
        stderr: stderr.text,
        stdout_base64: stdout.base64,
        stderr_base64: stderr.base64,
        truncated: collected.stdout.is_cut() || collected.stderr.is_cut(),
        stdout_bytes: whole(&collected.stdout),
        stderr_bytes: whole(&collected.stderr),
        killed,
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
        isolation,
    }
}

/// The error of a command that was ended before its end, with everything that is known of it.
fn ended(reason: Reason, output: &ShellOutput) -> ToolError {
    let what = match reason {
        Reason::Timeout => format!(
            "the command had not ended after {} ms and was killed; give it a longer timeout or less to do",
            output.duration_ms
        ),
        _ => format!("the command was cancelled after {} ms and killed", output.duration_ms),
    };
    let how = match output.killed {
        Some(count) => format!("{count} processes were killed"),
        None => {
            "some of its processes may still be there: they could not be killed within 10 seconds".to_owned()
        }
    };
    with_output(
        ToolError::new(reason, format!("{what} ({how}; its output so far is in the details)")),
        output,
    )
}

/// The error of a command whose reaper was killed from outside.
fn lost(errno: Errno, output: &ShellOutput) -> ToolError {
    let message = format!(
        "the command was lost ({errno}): the process that watched over it is gone, perhaps for want of memory; the \
         command was killed with it and may have done part of its work"
    );
    with_output(ToolError::new(Reason::Io, message), output)
}

fn with_output(mut error: ToolError, output: &ShellOutput) -> ToolError {
    if let Ok(Value::Object(mut fields)) = serde_json::to_value(output) {
        fields.retain(|name, _| !["exit_code", "signal"].contains(&name.as_str()));
        fields.insert("killed".to_owned(), output.killed.into());
        error.details.extend(fields);
    }
    error
}

fn not_started(failure: Failure) -> ToolError {
    if let Some(error) = failure.not_isolated("the command was not run") {
        return error;
    }
    let errno = Errno::from_raw_os_error(failure.errno);
    let (reason, advice) = match errno {
        Errno::TOOBIG | Errno::MSGSIZE => {
            (Reason::TooLarge, "; command and environment are too large: pass data by stdin or in a file")
        }
        Errno::STALE => (Reason::Stale, "; the directory was moved just now: try again"),
        Errno::ACCESS => (Reason::AccessDenied, "; the operating system does not permit it"),
        _ if failure.is_shortage() => (Reason::Busy, "; too much is running: try again later"),
        _ => (Reason::Io, ""),
    };
    ToolError::new(reason, format!("the command was not run: {failure}{advice}")).with("errno", failure.errno)
}
