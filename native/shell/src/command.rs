//! A background command.

use super::capture::Capture;
use super::network::NamedNetwork;
use super::offline::{self, OfflineCommand};
use super::starts::StartMonitor;
use super::{NOT_KILLED, cause_message, code, is_reason, lost_message, milliseconds, not_started, signal};
use beamai_base::{CancelToken, HostTerms, ToolError};
use beamai_isolation::Planted;
use beamai_port_tools::shell::{BackgroundOutput, CommandStatus};
use beamai_process::{CommandReport, OutputSink, OutputStream, RunEnd, RunResult};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A background command, from before its start until its session forgets it.
#[derive(Debug)]
pub(super) struct BackgroundCommand {
    pub(super) id: String,
    /// Kills the command.
    pub(super) cancel: CancelToken,
    started: Instant,
    capture: Mutex<Capture>,
    last: Mutex<Option<FinishedCommand>>,
    starts: Mutex<Option<Arc<StartMonitor>>>,
    network: Mutex<Option<Arc<NamedNetwork>>>,
    offline: Mutex<Option<OfflineCommand>>,
    host_terms: HostTerms,
    ended: Condvar,
}

/// The outcome of a command that has ended.
#[derive(Debug, Clone)]
struct FinishedCommand {
    status: CommandStatus,
    exit_code: Option<i32>,
    signal: Option<String>,
    killed: Option<u32>,
    error: Option<String>,
    /// What the host can configure against the error.
    configure: Option<String>,
    network_off: Option<String>,
    planted: Vec<Planted>,
    duration: Duration,
}

impl BackgroundCommand {
    pub(super) fn new(id: String, capture: Capture, host_terms: HostTerms) -> Self {
        Self {
            id,
            cancel: CancelToken::new(),
            started: Instant::now(),
            capture: Mutex::new(capture),
            last: Mutex::default(),
            starts: Mutex::default(),
            network: Mutex::default(),
            offline: Mutex::default(),
            host_terms,
            ended: Condvar::new(),
        }
    }

    /// Sets the judges of the programs that it starts and of its connections, or what tells that it has no network.
    pub(super) fn judged_by(
        &self,
        starts: Option<Arc<StartMonitor>>,
        network: Option<Arc<NamedNetwork>>,
        offline: Option<OfflineCommand>,
    ) {
        *lock(&self.starts) = starts;
        *lock(&self.network) = network;
        *lock(&self.offline) = offline;
    }

    pub(super) fn is_running(&self) -> bool {
        lock(&self.last).is_none()
    }

    /// The sink for its output.
    pub(super) fn sink(&self) -> impl OutputSink {
        struct SharedCapture<'c>(&'c Mutex<Capture>);
        impl OutputSink for SharedCapture<'_> {
            fn take(&mut self, source: OutputStream, bytes: &[u8]) {
                lock(self.0).take(source, bytes);
            }
        }
        SharedCapture(&self.capture)
    }

    /// Records that it has ended.
    pub(super) fn finish(&self, collected: RunResult) {
        let attempts = offline::attempts(&collected);
        let mut last = FinishedCommand::of(collected, self.started.elapsed(), self.host_terms);
        // Output that has been polled is not kept.
        let hint = |offline: &OfflineCommand| offline.hint(last.exit_code, attempts, ["", ""]);
        last.network_off = lock(&self.offline).as_ref().and_then(hint);
        let starts = lock(&self.starts).clone();
        starts.iter().for_each(|starts| starts.end());
        self.end(match starts.and_then(|starts| starts.stopped()) {
            Some(error) => last.failed(&error, self.host_terms),
            None => last,
        });
    }

    /// Records that it could not be started, or was lost.
    pub(super) fn give_up(&self, error: &ToolError) {
        self.end(FinishedCommand::running(self.started.elapsed()).failed(error, self.host_terms));
    }

    fn end(&self, last: FinishedCommand) {
        lock(&self.capture).close();
        *lock(&self.last) = Some(last);
        self.ended.notify_all();
        // Releases the kill request.
        self.cancel.cancel();
    }

    /// Waits for it to end, at most until `deadline`. Returns false on timeout.
    pub(super) fn wait(&self, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        let waited = self.ended.wait_timeout_while(lock(&self.last), left, |last| last.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.is_some()
    }

    /// Its status, and its output since the last poll.
    pub(super) fn poll(&self) -> BackgroundOutput {
        // Read the outcome first: once it is set, all output has been captured.
        let last = lock(&self.last).clone();
        let printed = lock(&self.capture).take_printed(last.is_none());
        let last = last.unwrap_or_else(|| FinishedCommand::running(self.started.elapsed()));
        BackgroundOutput {
            planted: last.planted,
            id: self.id.clone(),
            status: last.status,
            exit_code: last.exit_code,
            signal: last.signal,
            printed,
            killed: last.killed,
            refused: lock(&self.starts).as_ref().map(|starts| starts.refused()).unwrap_or_default(),
            network: lock(&self.network).as_ref().map(|network| network.uses()),
            network_off: last.network_off,
            error: last.error,
            configure: last.configure,
            duration_ms: milliseconds(last.duration),
        }
    }
}

impl FinishedCommand {
    fn running(duration: Duration) -> Self {
        let (exit_code, signal, killed, error, configure, network_off) = Default::default();
        Self {
            status: CommandStatus::Running,
            exit_code,
            signal,
            killed,
            error,
            configure,
            network_off,
            planted: Vec::new(),
            duration,
        }
    }

    /// The same, failed with this error.
    fn failed(self, error: &ToolError, terms: HostTerms) -> Self {
        let configure = error.hint.as_deref().map(|hint| hint.clone().in_terms(terms));
        Self { status: CommandStatus::Failed, error: Some(error.message.clone()), configure, ..self }
    }

    fn of(RunResult { end, report, planted }: RunResult, duration: Duration, terms: HostTerms) -> Self {
        let blank = Self { planted, ..Self::running(duration) };
        let forced = match end {
            RunEnd::Itself => CommandStatus::Failed,
            RunEnd::TimedOut => CommandStatus::TimedOut,
            RunEnd::Cancelled => CommandStatus::Killed,
        };
        match report {
            Ok(CommandReport::Ended { killed, cause: Some(cause), .. })
                if end == RunEnd::Itself && is_reason(&cause, Some(killed)) =>
            {
                Self {
                    status: CommandStatus::Failed,
                    killed: Some(killed),
                    error: Some(cause_message(&cause)),
                    ..blank
                }
            }
            // Nothing was left to kill: the command ended before the kill request took effect.
            Ok(CommandReport::Ended { exit, killed, .. }) if end == RunEnd::Itself || killed == 0 => Self {
                status: CommandStatus::Exited,
                exit_code: code(exit),
                signal: signal(exit),
                killed: Some(killed).filter(|killed| *killed > 0),
                ..blank
            },
            Ok(CommandReport::Ended { exit, killed, .. }) => {
                Self { status: forced, exit_code: code(exit), killed: Some(killed), ..blank }
            }
            Ok(CommandReport::NotStarted(failure)) => blank.failed(&not_started(failure), terms),
            Err(errno) if end == RunEnd::Itself => {
                Self { status: CommandStatus::Failed, error: Some(lost_message(errno)), ..blank }
            }
            Err(_) => Self { status: forced, error: Some(NOT_KILLED.to_owned()), ..blank },
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
