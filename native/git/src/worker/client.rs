//! The port's side of a worker.

use super::keeper::LockKeeper;
use super::locks::AnnouncedLocks;
use super::{COMMAND, WorkerMessage, WorkerRequest, confine, exchanged, frame, idle};
use crate::task::Task;
use beamai_base::{Reason, Result, ToolError};
use beamai_git_repository::{DeniedReads, GitError, HostSettings, locate, out_of_time};
use beamai_isolation::StartCoverage;
use beamai_process::{Child, Launcher, ProgramSpec, Stdin};
use beamai_sandbox::{Confinement, ReadableDir, environment};
use beamai_tool::CallContext;
use beamai_workspace::WorkspacePath;
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, retry_on_intr};
use serde_json::Value;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a worker may exceed its deadline, which it checks itself.
const GRACE: Duration = Duration::from_secs(1);
/// How long a cancelled call waits for a worker that is writing.
const WRITE: Duration = Duration::from_secs(2);
/// Maximum age of a worker.
const LIFE: Duration = Duration::from_secs(600);
/// Read buffer size.
const CHUNK: usize = 64 << 10;

/// Environment variables for author, committer and the location of git's settings.
const PASSED: [&str; 8] = [
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
    "EMAIL",
    "XDG_CONFIG_HOME",
];

/// The properties by which workers are reused.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct WorkerKind {
    confinement: Arc<Confinement>,
    /// The directories that it may read; empty for all.
    readable: Vec<ReadableDir>,
    /// The absolute paths that it must not read.
    hidden: Vec<PathBuf>,
    /// The host's settings, of which it may read these files alone.
    settings: HostSettings,
}

impl WorkerKind {
    /// Whether such a worker serves one call only. What lies beside hidden paths is permitted file by file when it
    /// starts, so it could not read files that come later.
    fn is_for_one_call(&self) -> bool {
        self.hidden.iter().any(|hidden| self.readable.iter().any(|dir| hidden.starts_with(&dir.path)))
    }
}

/// A worker process. Killed on drop.
pub(super) struct Worker {
    child: Child,
    stdin: OwnedFd,
    stdout: OwnedFd,
    kind: WorkerKind,
    /// Started with the first lock files.
    keeper: Option<LockKeeper>,
    /// Bytes received but not yet parsed.
    heard: Vec<u8>,
    since: Instant,
}

/// Runs a task in a worker.
///
/// # Errors
/// Those of the task; `isolation_unavailable` if a required sandbox is not available; `cancelled`, `timeout`, and
/// `crash` if the worker dies.
pub(super) fn ask(task: &Task, cx: &CallContext) -> Result<Value> {
    loop {
        let settings = HostSettings::now();
        match ask_under(settings.clone(), task, cx) {
            // The worker could not read what has come since.
            Err(error) if error.reason == Reason::AccessDenied && settings != HostSettings::now() => {}
            answer => return answer,
        }
    }
}

/// Runs a task in a worker with these settings of the host.
fn ask_under(settings: HostSettings, task: &Task, cx: &CallContext) -> Result<Value> {
    cx.check()?;
    cx.workspace.expect_in_place()?;
    let located = match locate(&cx.workspace.unguarded(), task.path()) {
        Ok(located) => located,
        Err(GitError::Unavailable(why)) => return task.unavailable(&why),
        Err(GitError::Error(error)) => return Err(error),
    };
    let (hidden, unchanged) = confine::closed(cx)?;
    let confined = confine::confinement(&located, &cx.sandbox, &cx.denied_paths, &unchanged)
        .and_then(|confinement| Ok((confinement, confine::readable(&located, cx)?)));
    let (confinement, readable) = match confined {
        Ok(confined) => confined,
        Err(GitError::Unavailable(why)) => return task.unavailable(&why),
        Err(GitError::Error(error)) => return Err(error),
    };
    let kind = WorkerKind { confinement, readable, hidden, settings };
    let request = frame::encode(&WorkerRequest {
        task: task.clone(),
        workspace: cx.workspace.named(),
        content_bytes: cx.limits.content_bytes,
        whole_file_bytes: cx.limits.whole_file_bytes,
        remaining: cx.remaining().map(|left| u64::try_from(left.as_millis()).unwrap_or(u64::MAX)),
        is_guarded: !cx.guard.is_open(),
        settings: kind.settings.clone(),
        hidden: kind.hidden.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect(),
    });
    let request = request.map_err(|error| ToolError::io("send", "a request to the git worker", error))?;
    let kept = idle::take(&kind);
    let was_kept = kept.is_some();
    let worker = kept.map_or_else(|| Worker::start(kind.clone(), cx), Ok)?;
    match talk(worker, &request, &located.common_dir, cx)? {
        Ok(answer) => answer,
        // It died while idle and has done nothing.
        Err((WorkerLoss::Ended, _)) if was_kept => {
            match talk(Worker::start(kind, cx)?, &request, &located.common_dir, cx)? {
                Ok(answer) => answer,
                Err((lost, ending)) => Err(lost.error(&ending)),
            }
        }
        Err((lost, ending)) => Err(lost.error(&ending)),
    }
}

/// A worker's answer, or how the worker was lost and how it ended.
type Talked = Result<Result<Value>, (WorkerLoss, String)>;

/// Sends a request to a worker, and keeps the worker for the next one.
fn talk(mut worker: Worker, request: &[u8], common: &WorkspacePath, cx: &CallContext) -> Result<Talked> {
    let mut talk = Exchange::new(cx, AnnouncedLocks::new(common.clone()))?;
    let heard = talk.through(&mut worker, request);
    if heard.is_ok() && talk.locks.are_announced() {
        worker.keep_nothing();
    }
    match heard {
        Ok(Ok(value)) => {
            keep(worker);
            Ok(Ok(Ok(value)))
        }
        Ok(Err(failed)) => {
            let error = ToolError::from(failed);
            // Its view may be outdated: directories were exchanged, or settings changed.
            if error.reason != Reason::Io {
                keep(worker);
            }
            // If a directory was exchanged, it could not remove its lock file either.
            if error.reason != Reason::Busy {
                talk.locks.remove();
            }
            Ok(Ok(Err(error)))
        }
        Err(lost) => {
            let ending = worker.end();
            let lost = match lost {
                // It died while writing.
                WorkerLoss::Ended if talk.locks.are_announced() => WorkerLoss::InWrite,
                lost => lost,
            };
            talk.locks.remove();
            Ok(Err((lost, ending)))
        }
    }
}

/// Keeps a worker for the next task, unless it serves one call only.
fn keep(worker: Worker) {
    if !worker.kind.is_for_one_call() {
        idle::keep(worker);
    }
}

/// Why a worker can no longer be used.
enum WorkerLoss {
    Cancelled,
    Late,
    Ended,
    /// As `Ended`, while writing.
    InWrite,
    Garbled(std::io::Error),
    Failed(Errno),
}

impl WorkerLoss {
    fn error(self, ending: &str) -> ToolError {
        match self {
            Self::Cancelled => ToolError::new(Reason::Cancelled, "the call was cancelled"),
            Self::Late => out_of_time(),
            Self::Ended | Self::InWrite => {
                let message = format!(
                    "the git worker died while writing ({ending}); check with git_status, and call again"
                );
                ToolError::new(Reason::Crash, message)
            }
            Self::Garbled(error) => ToolError::new(
                Reason::Crash,
                format!("the git worker sent a malformed message ({error}); call again"),
            ),
            Self::Failed(errno) => ToolError::io("talk to", "the git worker", errno),
        }
    }
}

/// One request and its response.
struct Exchange<'c> {
    cx: &'c CallContext,
    denied: DeniedReads,
    locks: AnnouncedLocks,
    /// Becomes readable when the call is cancelled.
    bell: Arc<OwnedFd>,
    /// When a cancelled call gives up.
    patience: Option<Instant>,
}

impl<'c> Exchange<'c> {
    fn new(cx: &'c CallContext, locks: AnnouncedLocks) -> Result<Self> {
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK);
        let bell = Arc::new(bell.map_err(|errno| ToolError::io("make", "a bell", errno))?);
        let ringer = Arc::clone(&bell);
        cx.cancel.on_cancel(move || _ = rustix::io::write(&ringer, &1_u64.to_ne_bytes()));
        Ok(Self { cx, denied: DeniedReads::here(cx), locks, bell, patience: None })
    }

    fn through(
        &mut self,
        worker: &mut Worker,
        request: &[u8],
    ) -> Result<Result<Value, super::WorkerError>, WorkerLoss> {
        self.send(worker, request)?;
        loop {
            match self.hear(worker)? {
                WorkerMessage::Done(value) => return Ok(Ok(value)),
                WorkerMessage::Failed(failed) => return Ok(Err(failed)),
                WorkerMessage::Locks(paths) => {
                    self.locks.announce(paths);
                    // Without a keeper, they stay if this program is killed.
                    _ = worker.keep(&self.locks);
                    self.send(worker, &frame::encode(&true).map_err(WorkerLoss::Garbled)?)?;
                }
                WorkerMessage::Denied(paths) => {
                    let answers = self.denied.of(&paths).unwrap_or_else(|_| vec![true; paths.len()]);
                    self.send(worker, &frame::encode(&answers).map_err(WorkerLoss::Garbled)?)?;
                }
            }
        }
    }

    fn send(&mut self, worker: &Worker, mut bytes: &[u8]) -> Result<(), WorkerLoss> {
        while !bytes.is_empty() {
            match rustix::io::write(&worker.stdin, bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::AGAIN) => self.wait(&worker.stdin, PollFlags::OUT)?,
                Err(Errno::INTR) => {}
                Err(Errno::PIPE) => return Err(WorkerLoss::Ended),
                Err(errno) => return Err(WorkerLoss::Failed(errno)),
            }
        }
        Ok(())
    }

    fn hear(&mut self, worker: &mut Worker) -> Result<WorkerMessage, WorkerLoss> {
        let head = self.take(worker, frame::HEAD)?;
        let head = <[u8; frame::HEAD]>::try_from(head).map_err(|_| WorkerLoss::Ended)?;
        let body = self.take(worker, frame::length(head).map_err(WorkerLoss::Garbled)?)?;
        serde_json::from_slice(&body).map_err(|error| WorkerLoss::Garbled(error.into()))
    }

    /// Reads the next bytes from the worker.
    fn take(&mut self, worker: &mut Worker, count: usize) -> Result<Vec<u8>, WorkerLoss> {
        while worker.heard.len() < count {
            let have = worker.heard.len();
            worker.heard.resize(have + CHUNK.max(count - have), 0);
            let read = rustix::io::read(&worker.stdout, &mut worker.heard[have..]);
            worker.heard.truncate(have + read.unwrap_or(0));
            match read {
                Ok(0) => return Err(WorkerLoss::Ended),
                Err(Errno::AGAIN) => self.wait(&worker.stdout, PollFlags::IN)?,
                Ok(_) | Err(Errno::INTR) => {}
                Err(errno) => return Err(WorkerLoss::Failed(errno)),
            }
        }
        let rest = worker.heard.split_off(count);
        Ok(std::mem::replace(&mut worker.heard, rest))
    }

    /// Waits for one of the worker's streams, at most until the call's deadline.
    fn wait(&mut self, stream: &OwnedFd, flags: PollFlags) -> Result<(), WorkerLoss> {
        if self.cx.cancel.is_cancelled() && !(self.locks.are_announced() && self.is_patient()) {
            return Err(WorkerLoss::Cancelled);
        }
        let end = self.patience.or(self.cx.deadline.map(|deadline| deadline + GRACE));
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        if left == Some(Duration::ZERO) {
            return Err(if self.patience.is_some() { WorkerLoss::Cancelled } else { WorkerLoss::Late });
        }
        let time = left.and_then(|left| Timespec::try_from(left).ok());
        let mut fds = vec![PollFd::new(stream, flags)];
        // The descriptor stays readable after a cancellation, so polling it again would spin.
        if self.patience.is_none() {
            fds.push(PollFd::new(&self.bell, PollFlags::IN));
        }
        retry_on_intr(|| poll(&mut fds, time.as_ref())).map(drop).map_err(WorkerLoss::Failed)
    }

    /// Whether a worker that is writing gets time to finish.
    fn is_patient(&mut self) -> bool {
        let end = *self.patience.get_or_insert_with(|| Instant::now() + WRITE);
        Instant::now() < end
    }
}

impl Worker {
    fn start(kind: WorkerKind, cx: &CallContext) -> Result<Self> {
        let passed = PASSED.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
        // libgit2 takes an empty one for a directory, git for none.
        let passed = passed.filter(|(name, value)| name != "XDG_CONFIG_HOME" || !value.is_empty());
        let spec = ProgramSpec {
            // The launcher is this program, so its children find it at this path, wherever its file is.
            program: "/proc/self/exe".into(),
            by_path: true,
            arguments: [COMMAND.into()]
                .into_iter()
                .chain(kind.readable.iter().map(confine::argument))
                .collect(),
            environment: environment(None, &cx.sandbox, passed),
            directory: cx.workspace.unguarded().top().open_dir()?,
            stdin: Stdin::Pipe,
            lingers: false,
            shortcut: None,
            confinement: Arc::clone(&kind.confinement),
            judge: None,
            coverage: StartCoverage::Everything,
        };
        let mut child = Launcher::shared().spawn(&spec).map_err(|failure| match failure.is_stale() {
            true => exchanged(),
            false => failure.not_started("the git worker"),
        })?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(ToolError::new(Reason::Io, "the git worker has no streams"));
        };
        Ok(Self { child, stdin, stdout, kind, keeper: None, heard: Vec::new(), since: Instant::now() })
    }

    /// Has these lock files removed if this program is killed.
    fn keep(&mut self, locks: &AnnouncedLocks) -> std::io::Result<()> {
        if self.keeper.is_none() {
            self.keeper = Some(LockKeeper::start(self.stdout.try_clone()?)?);
        }
        self.keeper.as_mut().map_or(Ok(()), |keeper| keeper.tell(locks.notice().as_ref()))
    }

    /// Tells the keeper that no lock file is left to remove.
    fn keep_nothing(&mut self) {
        _ = self.keeper.as_mut().map(|keeper| keeper.tell(None));
    }

    pub(super) fn kind(&self) -> &WorkerKind {
        &self.kind
    }

    /// Whether it can take another task: it is alive, has sent nothing unexpected, and is not too old.
    pub(super) fn is_alive(&self) -> bool {
        let mut fds = [
            PollFd::new(&self.stdout, PollFlags::IN),
            PollFd::from_borrowed_fd(self.child.control(), PollFlags::IN),
        ];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        self.heard.is_empty()
            && self.since.elapsed() < LIFE
            && retry_on_intr(|| poll(&mut fds, Some(&now))) == Ok(0)
    }

    /// Kills it and waits. Returns how it ended, with the last lines of its standard error.
    fn end(self) -> String {
        self.child.kill();
        let mut said = vec![0; 4 << 10];
        let report = self.child.wait();
        let read =
            self.child.stderr.as_ref().map_or(Ok(0), |stderr| rustix::io::read(stderr.as_fd(), &mut said));
        said.truncate(read.unwrap_or(0));
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        let ended = report.map_or_else(|_| "it is lost".to_owned(), |report| report.to_string());
        if said.is_empty() { ended } else { format!("{ended}: {said}") }
    }
}
