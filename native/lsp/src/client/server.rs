//! A running server.

use super::documents::DocumentStore;
use super::frame;
use super::handshake::{self, ServerCapabilities};
use super::plan::{ServerPlan, Unavailable};
use super::process::{self, BlockingStreams, LanguageServerProcess};
use super::state::{ServerPhase, ServerReply, ServerState};
use super::watch::SourceSnapshot;
use super::wire::ResponseError;
use beamai_base::{Reason, Result, ToolError};
use beamai_servers::lock;
use beamai_tool::CallContext;
use serde_json::{Value, json};
use std::fs::File;
use std::io::{BufReader, Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Timeout for the response to `initialize`.
const START: Duration = Duration::from_secs(60);
/// Timeout for other responses, if the call has none.
const REPLY: Duration = Duration::from_secs(120);
/// Timeout for a shutdown.
const SHUTDOWN: Duration = Duration::from_secs(2);
/// Maximum bytes queued for a server that does not read them; beyond it, the server is killed.
const MOST_UNREAD: usize = 64 << 20;
/// Maximum bytes of stderr that are kept.
const STDERR_TAIL: usize = 2 << 10;
/// Number of attempts of a request with transient errors.
const TRIES: usize = 5;
/// Id of the `initialize` request.
pub(super) const INITIALIZE: u64 = 0;

/// A server that is running or has exited.
#[derive(Debug)]
pub(crate) struct LanguageServer {
    pub(super) plan: ServerPlan,
    pub(super) documents: DocumentStore,
    state: Mutex<ServerState>,
    changed: Condvar,
    next_id: AtomicU64,
    outgoing: mpsc::Sender<Vec<u8>>,
    unread: Arc<AtomicUsize>,
    process: LanguageServerProcess,
}

/// The result of a check of the state.
pub(super) enum WaitStatus<T> {
    /// The condition is met.
    Done(T),
    /// Check again on the next event, or at this time.
    Later(Option<Instant>),
}

impl LanguageServer {
    /// Starts a server and sends `initialize`; [`LanguageServer::ready`] returns the result. `snapshot` is the state of
    /// the workspace just before.
    ///
    /// # Errors
    /// Those of starting a process.
    pub(super) fn start(plan: ServerPlan, snapshot: SourceSnapshot) -> Result<Arc<Self>> {
        let (process, streams) = process::start(&plan)?;
        let (outgoing, queue) = mpsc::channel();
        let server = Arc::new(Self {
            plan,
            documents: DocumentStore::new(snapshot),
            state: Mutex::new(ServerState::new()),
            changed: Condvar::new(),
            next_id: AtomicU64::new(INITIALIZE + 1),
            outgoing,
            unread: Arc::default(),
            process,
        });
        server.serve(streams, queue)?;
        server.post(&request(INITIALIZE, "initialize", &handshake::initialize(&server.plan)));
        Ok(server)
    }

    /// Starts the threads for the streams.
    fn serve(self: &Arc<Self>, streams: BlockingStreams, queue: mpsc::Receiver<Vec<u8>>) -> Result<()> {
        let BlockingStreams { stdin, stdout, stderr } = streams;
        let unread = Arc::clone(&self.unread);
        thread("beamai-lsp-out", move || write_all(stdin, &queue, &unread))?;
        let stderr_tail = Arc::new(Mutex::new(Vec::new()));
        let words = Arc::clone(&stderr_tail);
        let listener = thread("beamai-lsp-err", move || read_stderr(stderr, &words))?;
        let server = Arc::clone(self);
        let read = move || {
            let ended = server.read_all(stdout);
            server.process.kill();
            let how = server.process.ending();
            // After the exit, all of stderr has been read.
            _ = listener.join();
            server.end(&exit_reason(ended, &how, &lock(&stderr_tail)));
        };
        thread("beamai-lsp-in", read)?;
        Ok(())
    }

    /// Handles messages until the end; returns the error if there was one.
    fn read_all(&self, stdout: File) -> Option<String> {
        let mut stdout = BufReader::with_capacity(64 << 10, stdout);
        loop {
            match frame::read(&mut stdout) {
                Ok(Some(message)) => self.handle(message),
                Ok(None) => return None,
                Err(why) => return Some(why),
            }
        }
    }

    /// Records that the server has exited.
    fn end(&self, why: &str) {
        let mut state = self.state();
        state.phase = match &state.phase {
            ServerPhase::Starting => ServerPhase::Broken(self.plan.broken(why)),
            ServerPhase::Ready(_) => {
                ServerPhase::Gone(format!("the language server {} has ended: {why}", self.plan.name()))
            }
            ended => ended.clone(),
        };
        drop(state);
        self.wake();
    }

    /// Whether it has exited.
    pub(super) fn is_over(&self) -> bool {
        matches!(self.state().phase, ServerPhase::Broken(_) | ServerPhase::Gone(_))
    }

    /// Waits until the server is initialized.
    ///
    /// # Errors
    /// The outer one when the call ends; the inner one when the server does not start.
    pub(crate) fn ready(&self, cx: &CallContext) -> Result<Result<Arc<ServerCapabilities>, Unavailable>> {
        let ready = self.wait_any(cx, Some(Instant::now() + START), |state, _| match &state.phase {
            ServerPhase::Starting => WaitStatus::Later(None),
            ServerPhase::Ready(capabilities) => WaitStatus::Done(Ok(Arc::clone(capabilities))),
            ServerPhase::Broken(unavailable) => WaitStatus::Done(Err(unavailable.clone())),
            ServerPhase::Gone(why) => WaitStatus::Done(Err(self.plan.broken(why))),
        })?;
        Ok(ready.unwrap_or_else(|| {
            self.process.kill();
            Err(self.plan.broken(&format!("no response within {} seconds", START.as_secs())))
        }))
    }

    /// Sends a request and waits for the response. Cancelling the call cancels the request.
    ///
    /// # Errors
    /// `cancelled` and `timeout`; `language_server` when the server returns an error or has exited.
    pub(crate) fn request(&self, cx: &CallContext, method: &str, params: &Value) -> Result<Value> {
        for again in 1.. {
            match self.ask(cx, method, params)? {
                Ok(answer) => return Ok(answer),
                Err(error) if error.is_passing() && again < TRIES => self.pause(cx, again)?,
                Err(error) => return Err(self.refused(method, &error)),
            }
        }
        unreachable!("the last try returns")
    }

    fn ask(&self, cx: &CallContext, method: &str, params: &Value) -> Result<ServerReply> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.state().expect(id);
        self.post(&request(id, method, params));
        let until = Some(Instant::now() + REPLY);
        let reply = self.wait(cx, until, |state, _| {
            state.take_reply(id).map_or(WaitStatus::Later(None), WaitStatus::Done)
        });
        let reply = reply.and_then(|reply| reply.ok_or_else(|| self.no_response(method)));
        reply.inspect_err(|_| {
            self.state().forget(id);
            self.notify("$/cancelRequest", &json!({"id": id}));
        })
    }

    fn no_response(&self, method: &str) -> ToolError {
        let message =
            format!("{} did not respond to {method} within {} seconds", self.name(), REPLY.as_secs());
        ToolError::new(Reason::Timeout, message)
    }

    fn pause(&self, cx: &CallContext, times: usize) -> Result<()> {
        let until = Instant::now() + Duration::from_millis(100 << times);
        self.wait(cx, Some(until), |_, _| WaitStatus::<()>::Later(None)).map(|_| ())
    }

    fn refused(&self, method: &str, error: &ResponseError) -> ToolError {
        let message = format!(
            "{} responded to {method} with an error: {} ({})",
            self.plan.name(),
            error.message,
            error.code
        );
        ToolError::new(Reason::LanguageServer, message).with("code", error.code)
    }

    /// Waits until the server has no unfinished work, at most until `until`; returns whether it has none.
    ///
    /// # Errors
    /// Those of a [wait](Self::wait).
    pub(crate) fn idle(&self, cx: &CallContext, until: Instant) -> Result<bool> {
        let idle = self.wait(cx, Some(until), |state, now| {
            match (state.is_busy(), state.may_begin_work_until(now)) {
                (true, _) => WaitStatus::Later(None),
                (false, Some(may_begin_work_until)) => WaitStatus::Later(Some(may_begin_work_until)),
                (false, None) => WaitStatus::Done(()),
            }
        })?;
        Ok(idle.is_some())
    }

    /// Waits until `look` is done, at most until `until` (`None`).
    ///
    /// # Errors
    /// `cancelled`, `timeout`, and `language_server` when the server has exited.
    pub(super) fn wait<T>(
        &self,
        cx: &CallContext,
        until: Option<Instant>,
        mut look: impl FnMut(&mut ServerState, Instant) -> WaitStatus<T>,
    ) -> Result<Option<T>> {
        let found = self.wait_any(cx, until, |state, now| match look(state, now) {
            WaitStatus::Done(found) => WaitStatus::Done(Ok(found)),
            WaitStatus::Later(then) => match gone(&state.phase) {
                Some(error) => WaitStatus::Done(Err(error)),
                None => WaitStatus::Later(then),
            },
        })?;
        found.transpose()
    }

    fn wait_any<T>(
        &self,
        cx: &CallContext,
        until: Option<Instant>,
        mut look: impl FnMut(&mut ServerState, Instant) -> WaitStatus<T>,
    ) -> Result<Option<T>> {
        let mut state = self.state();
        loop {
            cx.check()?;
            let now = Instant::now();
            let then = match look(&mut state, now) {
                WaitStatus::Done(found) => return Ok(Some(found)),
                WaitStatus::Later(_) if until.is_some_and(|until| now >= until) => return Ok(None),
                WaitStatus::Later(then) => [then, until, cx.deadline].into_iter().flatten().min(),
            };
            state = match then {
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(then) => {
                    let left = then.saturating_duration_since(now);
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Makes every waiting call check the state again.
    pub(super) fn wake(&self) {
        // Taking the lock prevents a lost wakeup of a call that has just checked and is about to wait.
        drop(self.state());
        self.changed.notify_all();
    }

    pub(super) fn state(&self) -> MutexGuard<'_, ServerState> {
        lock(&self.state)
    }

    /// Sends a notification.
    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.post(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a message. Does nothing if the server has exited, which is handled elsewhere.
    pub(super) fn post(&self, message: &Value) {
        let bytes = frame::encode(message);
        if self.unread.fetch_add(bytes.len(), Ordering::Relaxed) > MOST_UNREAD {
            self.process.kill();
        }
        _ = self.outgoing.send(bytes);
    }

    /// Kills it without a shutdown request.
    pub(super) fn kill(&self) {
        self.process.kill();
    }

    /// How it wants notifications of saved files; see [`ServerCapabilities::save`].
    pub(super) fn save_option(&self) -> Option<bool> {
        match &self.state().phase {
            ServerPhase::Ready(capabilities) => capabilities.save(),
            _ => None,
        }
    }

    /// Sends a shutdown request, and kills the server after a timeout.
    pub(super) fn stop(&self) {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.post(&request(id, "shutdown", &Value::Null));
        self.notify("exit", &Value::Null);
        let end = Instant::now() + SHUTDOWN;
        while !self.is_over() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        self.process.kill();
    }

    /// The program's name, for messages.
    pub(crate) fn name(&self) -> String {
        self.plan.name()
    }

    /// Its working directory.
    pub(crate) fn root(&self) -> &Path {
        self.plan.workspace.path()
    }
}

fn request(id: u64, method: &str, params: &Value) -> Value {
    let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
    if !params.is_null() {
        message["params"] = params.clone();
    }
    message
}

fn gone(phase: &ServerPhase) -> Option<ToolError> {
    let why = match phase {
        ServerPhase::Gone(why) | ServerPhase::Broken(Unavailable(why, _)) => why,
        ServerPhase::Starting | ServerPhase::Ready(_) => return None,
    };
    let message = format!("{why}; it is started again with the next request");
    Some(ToolError::new(Reason::LanguageServer, message))
}

/// Describes how a server exited: the protocol error, or else the exit status, and the end of stderr.
fn exit_reason(wrong: Option<String>, how: &str, stderr_tail: &[u8]) -> String {
    let why = wrong.unwrap_or_else(|| how.to_owned());
    let words = String::from_utf8_lossy(stderr_tail);
    match words.trim() {
        "" => why,
        words => format!("{why}; the end of its stderr: {words}"),
    }
}

fn write_all(mut stdin: File, queue: &mpsc::Receiver<Vec<u8>>, unread: &AtomicUsize) {
    for bytes in queue {
        if stdin.write_all(&bytes).is_err() {
            return;
        }
        unread.fetch_sub(bytes.len(), Ordering::Relaxed);
    }
}

/// Reads to the end, and keeps the last part.
fn read_stderr(mut stderr: File, stderr_tail: &Mutex<Vec<u8>>) {
    let mut chunk = [0; 4 << 10];
    while let Ok(count @ 1..) = stderr.read(&mut chunk) {
        let mut words = lock(stderr_tail);
        words.extend_from_slice(&chunk[..count]);
        let surplus = words.len().saturating_sub(STDERR_TAIL);
        words.drain(..surplus);
    }
}

fn thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<std::thread::JoinHandle<()>> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map_err(|error| ToolError::io("start", "a thread for a language server", error))
}
