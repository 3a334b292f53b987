//! A server that runs.

use super::calls::{Calls, Line};
use super::listener::Listener;
use super::plan::Plan;
use super::process::{self, Process};
use super::wire::{Lines, Traces, lock};
use crate::context::{CallContext, Progress};
use crate::error::{Reason, Result, ToolError};
use rmcp::RoleClient;
use rmcp::model::{
    ClientRequest, ErrorData, InputRequest, InputRequiredResult, InputResponses, ProtocolVersion,
    ServerPeerInfo, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, Peer, PeerRequestOptions, RunningService, ServiceError,
    serve_client_with_lifecycle,
};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::Notify;
use tokio::time::timeout;

/// The longest that a conversation may take to end.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often one call may come back with questions.
const MOST_ROUNDS: usize = 10;

/// A server that runs, or has run.
pub(super) struct Server {
    pub(super) plan: Plan,
    phase: Mutex<Phase>,
    changed: Condvar,
    calls: Arc<Calls>,
    has_news: Arc<AtomicBool>,
    is_closed: AtomicBool,
    /// Whether a host has got its tools.
    is_of_use: AtomicBool,
    stop: Notify,
}

#[derive(Clone)]
enum Phase {
    Starting,
    Ready(Ready),
    Over(ToolError),
}

/// A server that answers.
#[derive(Clone)]
pub(super) struct Ready {
    peer: Peer<RoleClient>,
    runtime: Handle,
    pub(super) info: Arc<ServerPeerInfo>,
}

/// What a server makes of a request: a result, or an error of the protocol.
type Answer = Result<ServerResult, ErrorData>;

/// What a waiting call is told.
enum Event {
    Answered(Box<Result<ServerResult, ServiceError>>),
    /// There will be no answer.
    Gone,
    Look,
}

/// Tells a waiting call that there will be no answer, if it goes before there is one.
struct Asker(mpsc::Sender<Event>);

impl Drop for Asker {
    fn drop(&mut self) {
        _ = self.0.send(Event::Gone);
    }
}

impl Server {
    /// Starts a server; [`Server::ready`] tells how that went.
    ///
    /// # Errors
    /// There is no thread for it.
    pub(super) fn start(plan: Plan) -> Result<Arc<Self>> {
        let server = Arc::new(Self {
            plan,
            phase: Mutex::new(Phase::Starting),
            changed: Condvar::new(),
            calls: Arc::default(),
            has_news: Arc::default(),
            is_closed: AtomicBool::new(false),
            is_of_use: AtomicBool::new(false),
            stop: Notify::new(),
        });
        let own = Arc::clone(&server);
        let live = move || {
            let end = own.live();
            own.enter(Phase::Over(end));
        };
        let spawned = std::thread::Builder::new().name("beamai-mcp".into()).spawn(live);
        spawned.map_err(|error| ToolError::io("start", "a thread for an MCP server", error))?;
        Ok(server)
    }

    /// Runs the server until it is over, and tells why it is.
    fn live(&self) -> ToolError {
        let runtime = match Builder::new_current_thread().enable_io().enable_time().build() {
            Ok(runtime) => runtime,
            Err(error) => return ToolError::io("start", "an MCP server", error),
        };
        let end = runtime.block_on(async {
            match self.converse(ClientLifecycleMode::Initialize).await {
                // Servers of the newest revision alone have no handshake, and begin with another question.
                Err(Refused(refusal)) => {
                    let preferred_versions = vec![ProtocolVersion::LATEST];
                    let again = self.converse(ClientLifecycleMode::Discover { preferred_versions }).await;
                    again.ok().filter(|_| self.is_ready()).unwrap_or(refusal)
                }
                Ok(end) => end,
            }
        });
        // What a task still waits for is gone.
        runtime.shutdown_background();
        end
    }

    /// Starts the process and talks to it until one of both is over.
    async fn converse(&self, lifecycle: ClientLifecycleMode) -> Result<ToolError, Refused> {
        let (process, streams) = match process::start(&self.plan) {
            Ok(started) => started,
            Err(error) => return Ok(error),
        };
        let traces = Arc::new(Traces::default());
        let (lines, stderr) = match Lines::over(streams, &traces, &self.calls) {
            Ok(opened) => opened,
            Err(error) => return Ok(ToolError::io("use", "the streams of an MCP server", error)),
        };
        let listening = tokio::spawn(Arc::clone(&traces).listen(stderr));
        let listener = Listener { calls: Arc::clone(&self.calls), has_news: Arc::clone(&self.has_news) };
        let opening = serve_client_with_lifecycle(listener, lines, lifecycle);
        let opened = tokio::select! {
            opened = timeout(self.plan.start_timeout(), opening) => Some(opened),
            () = self.stop.notified() => None,
        };
        let problem = match opened {
            Some(Ok(Ok(service))) => {
                self.talk(service).await;
                None
            }
            Some(Ok(Err(error))) => Some(Problem::of(error)),
            Some(Err(_)) => Some(Problem::Told(self.silence())),
            None => None,
        };
        let end = self.obituary(process, &traces, listening, problem.as_ref()).await;
        match problem {
            Some(Problem::Refused(_)) => Err(Refused(end)),
            _ => Ok(end),
        }
    }

    /// Lets calls in until the conversation ends.
    async fn talk(&self, service: RunningService<RoleClient, Listener>) {
        let Some(info) = service.peer().peer_info() else { return };
        let token = service.cancellation_token();
        self.enter(Phase::Ready(Ready { peer: service.peer().clone(), runtime: Handle::current(), info }));
        let mut over = std::pin::pin!(service.waiting());
        tokio::select! {
            _ = &mut over => {}
            () = self.stop.notified() => {
                token.cancel();
                _ = timeout(FAREWELL, over).await;
            }
        }
    }

    fn silence(&self) -> String {
        let limit = self.plan.start_timeout().as_millis();
        format!("it has not answered the first question within {limit} ms")
    }

    /// Ends the process, and says why it is over: what was wrong with the conversation, else how the process ended, and
    /// its last words.
    async fn obituary(
        &self,
        process: Process,
        traces: &Traces,
        listening: tokio::task::JoinHandle<()>,
        problem: Option<&Problem>,
    ) -> ToolError {
        let ending = tokio::task::spawn_blocking(move || process.ending());
        let how = ending.await.unwrap_or_else(|_| "it is lost".to_owned());
        let title = self.plan.title();
        if self.is_closed.load(Ordering::Relaxed) {
            let message = format!("{title} was closed; the next call starts it again");
            return ToolError::new(Reason::McpServer, message);
        }
        // What it said last is there when its process is not.
        _ = timeout(FAREWELL, listening).await;
        let was_ready = self.is_ready();
        let told = problem.and_then(Problem::text);
        let mut why = traces.fault().or(told).unwrap_or(how);
        if let Some(noise) = traces.noise().filter(|_| !was_ready) {
            why = format!("{why}; {noise}");
        }
        let words = traces.last_words();
        if !words.is_empty() {
            why = format!("{why}; its last words were: {words}");
        }
        let message = match was_ready {
            true => format!("{title} has ended: {why}; the next call starts it again"),
            false => format!("{title} does not start: {why}"),
        };
        ToolError::new(Reason::McpServer, message).with("stderr", words)
    }

    fn enter(&self, phase: Phase) {
        *self.phase() = phase;
        self.changed.notify_all();
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        lock(&self.phase)
    }

    fn is_ready(&self) -> bool {
        matches!(*self.phase(), Phase::Ready(_))
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(*self.phase(), Phase::Over(_))
    }

    /// Whether it has said that its list of tools is another one now.
    pub(super) fn has_news(&self) -> bool {
        self.has_news.load(Ordering::Relaxed)
    }

    /// Notes that a host has got its tools.
    pub(super) fn be_of_use(&self) {
        self.is_of_use.store(true, Ordering::Relaxed);
    }

    /// Ends a server of which no host has got the tools.
    pub(super) fn discard(&self) {
        if !self.is_of_use.load(Ordering::Relaxed) {
            self.stop();
        }
    }

    /// Has every waiting call look again.
    pub(super) fn wake(&self) {
        // A call that has just looked and is about to wait must not miss it.
        drop(self.phase());
        self.changed.notify_all();
    }

    /// Asks the server to end. It is over when its process is.
    pub(super) fn stop(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.stop.notify_one();
    }

    /// Waits until the server answers.
    ///
    /// # Errors
    /// `cancelled` and `timeout`; why it does not start, or is over.
    pub(super) fn ready(&self, cx: &CallContext) -> Result<Ready> {
        self.wait(cx, |phase| match phase {
            Phase::Starting => None,
            Phase::Ready(ready) => Some(Ok(ready.clone())),
            Phase::Over(error) => Some(Err(error.clone())),
        })?
    }

    /// Waits until the server is over, and tells why.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub(super) fn over(&self, cx: &CallContext) -> Result<ToolError> {
        self.wait(cx, |phase| match phase {
            Phase::Over(error) => Some(error.clone()),
            Phase::Starting | Phase::Ready(_) => None,
        })
    }

    fn wait<T>(&self, cx: &CallContext, look: impl Fn(&Phase) -> Option<T>) -> Result<T> {
        let mut phase = self.phase();
        loop {
            if let Some(found) = look(&phase) {
                return Ok(found);
            }
            cx.check()?;
            phase = match cx.remaining() {
                None => self.changed.wait(phase).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    self.changed.wait_timeout(phase, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Asks the server something, and waits. Where the call ends before there is an answer, the server is told.
    ///
    /// # Errors
    /// `cancelled` and `timeout`; why the server is over.
    pub(super) fn request(
        &self,
        cx: &CallContext,
        request: ClientRequest,
        progress: Option<Progress>,
    ) -> Result<Answer> {
        let ready = self.ready(cx)?;
        let (sender, events) = mpsc::channel();
        let abandoned = Arc::new(Notify::new());
        let (peer, calls) = (ready.peer, Arc::clone(&self.calls));
        let exchange = Exchange { peer, calls, line: Line::new(progress) };
        let (asker, given_up) = (Asker(sender.clone()), Arc::clone(&abandoned));
        ready.runtime.spawn(async move {
            let answer = exchange.run(request, &given_up).await;
            _ = asker.0.send(Event::Answered(Box::new(answer)));
        });
        cx.cancel.on_cancel(move || _ = sender.send(Event::Look));
        let answer = wait_for(cx, &events).inspect_err(|_| abandoned.notify_one())?;
        match answer {
            Some(Ok(result)) => Ok(Ok(result)),
            Some(Err(ServiceError::McpError(error))) => Ok(Err(error)),
            Some(Err(ServiceError::InputRequiredRoundsExceeded { max_rounds })) => {
                let message = format!("{} asks for more after {max_rounds} answers", self.plan.title());
                Err(ToolError::new(Reason::McpServer, message))
            }
            // The conversation is over, and soon it is known why.
            Some(Err(_)) | None => Err(self.over(cx)?),
        }
    }
}

/// Waits for an answer; `None` where there is none to come.
fn wait_for(
    cx: &CallContext,
    events: &mpsc::Receiver<Event>,
) -> Result<Option<Result<ServerResult, ServiceError>>> {
    loop {
        cx.check()?;
        let event = match cx.remaining() {
            None => events.recv().ok(),
            Some(left) => events.recv_timeout(left).ok(),
        };
        match event {
            Some(Event::Answered(answer)) => return Ok(Some(*answer)),
            Some(Event::Gone) => return Ok(None),
            Some(Event::Look) | None => {}
        }
    }
}

/// A request on its way, in the server's own thread.
struct Exchange {
    peer: Peer<RoleClient>,
    calls: Arc<Calls>,
    line: Arc<Line>,
}

impl Exchange {
    async fn run(
        &self,
        mut request: ClientRequest,
        abandoned: &Notify,
    ) -> Result<ServerResult, ServiceError> {
        for _ in 0..MOST_ROUNDS {
            let required = match self.once(request.clone(), abandoned).await? {
                ServerResult::InputRequiredResult(required) => required,
                other => return Ok(other),
            };
            let ClientRequest::CallToolRequest(call) = &mut request else {
                return Err(ServiceError::UnexpectedResponse);
            };
            call.params.request_state = required.request_state.clone();
            call.params.input_responses = tokio::select! {
                responses = self.fill_in(required) => Some(responses?),
                () = abandoned.notified() => return Err(ServiceError::Cancelled { reason: None }),
            };
        }
        Err(ServiceError::InputRequiredRoundsExceeded { max_rounds: MOST_ROUNDS })
    }

    async fn once(&self, request: ClientRequest, abandoned: &Notify) -> Result<ServerResult, ServiceError> {
        let options = PeerRequestOptions::no_options();
        let mut handle = self.peer.send_request_with_option(request, options).await?;
        let _entry = self.calls.enter(handle.progress_token.clone(), Arc::clone(&self.line));
        let answer = tokio::select! {
            answer = &mut handle.rx => Some(answer),
            () = abandoned.notified() => None,
        };
        match answer {
            Some(answer) => answer.unwrap_or(Err(ServiceError::TransportClosed)),
            None => {
                _ = handle.cancel(Some("the caller has stopped waiting".to_owned())).await;
                Err(ServiceError::Cancelled { reason: None })
            }
        }
    }

    /// What servers of the newest revision want to know before they go on with a call.
    async fn fill_in(&self, required: InputRequiredResult) -> Result<InputResponses, ServiceError> {
        let mut responses = InputResponses::new();
        for (key, request) in required.input_requests.unwrap_or_default() {
            let InputRequest::Elicitation(request) = request else {
                return Err(ServiceError::UnexpectedResponse);
            };
            let result = self.line.elicit(&request.params).await;
            responses.insert(key, serde_json::to_value(result).unwrap_or_default());
        }
        Ok(responses)
    }
}

/// The server refuses to begin like this.
struct Refused(ToolError);

/// Why a conversation did not begin.
enum Problem {
    /// The server answered with an error.
    Refused(String),
    /// In words.
    Told(String),
    /// The streams ended.
    Closed,
}

impl Problem {
    fn of(error: ClientInitializeError) -> Self {
        match error {
            ClientInitializeError::JsonRpcError(error) => {
                Self::Refused(format!("it answers the first question with an error: {error}"))
            }
            ClientInitializeError::ConnectionClosed(_) | ClientInitializeError::TransportError { .. } => {
                Self::Closed
            }
            ClientInitializeError::ExpectedInitResult(_) => {
                Self::Told("it answers the first question with something else".to_owned())
            }
            other => Self::Told(other.to_string()),
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Refused(text) | Self::Told(text) => Some(text.clone()),
            Self::Closed => None,
        }
    }
}
