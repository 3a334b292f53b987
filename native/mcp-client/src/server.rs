//! A running server.

use super::calls::{ActiveCalls, CallChannel};
use super::diagnostics::ConversationDiagnostics;
use super::exchange::McpRequest;
use super::http::failure_of;
use super::plan::{ConnectionPlan, Route};
use beamai_base::{Reason, Result, ToolError};
use beamai_servers::lock;
use beamai_tool::{CallContext, Progress};
use rmcp::RoleClient;
use rmcp::model::{ClientRequest, ErrorData, ServerPeerInfo, ServerResult};
use rmcp::service::{Peer, ServiceError};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use tokio::runtime::Handle;
use tokio::sync::Notify;

/// A server that is running or has ended.
pub(super) struct McpServer {
    pub(super) plan: ConnectionPlan,
    phase: Mutex<ConnectionPhase>,
    changed: Condvar,
    pub(super) calls: Arc<ActiveCalls>,
    pub(super) has_new_tools: Arc<AtomicBool>,
    /// Diagnostics of the conversation.
    pub(super) diagnostics: Mutex<Arc<ConversationDiagnostics>>,
    is_closed: AtomicBool,
    /// Whether a host has received its tools.
    is_used: AtomicBool,
    pub(super) stop: Notify,
}

#[derive(Clone)]
pub(super) enum ConnectionPhase {
    Starting,
    Ready(ConnectedPeer),
    Over(ToolError),
}

/// A connected server.
#[derive(Clone)]
pub(super) struct ConnectedPeer {
    pub(super) peer: Peer<RoleClient>,
    pub(super) runtime: Handle,
    pub(super) info: Arc<ServerPeerInfo>,
}

/// The response to a request: a result, or an error of the protocol.
type ServerResponse = Result<ServerResult, ErrorData>;

/// A message to a waiting call.
enum CallEvent {
    Answered(Box<Result<ServerResult, ServiceError>>),
    /// There will be no response.
    Gone,
    Look,
}

/// Reports to a waiting call that there will be no response, if it is dropped first.
struct WaitingCall(mpsc::Sender<CallEvent>);

impl Drop for WaitingCall {
    fn drop(&mut self) {
        _ = self.0.send(CallEvent::Gone);
    }
}

impl McpServer {
    /// Starts a server; [`McpServer::ready`] returns the result.
    ///
    /// # Errors
    /// No thread can be started.
    pub(super) fn start(plan: ConnectionPlan) -> Result<Arc<Self>> {
        let server = Arc::new(Self {
            plan,
            phase: Mutex::new(ConnectionPhase::Starting),
            changed: Condvar::new(),
            calls: Arc::default(),
            has_new_tools: Arc::default(),
            diagnostics: Mutex::default(),
            is_closed: AtomicBool::new(false),
            is_used: AtomicBool::new(false),
            stop: Notify::new(),
        });
        let own = Arc::clone(&server);
        let live = move || {
            let end = own.run();
            own.enter(ConnectionPhase::Over(end));
        };
        let spawned = std::thread::Builder::new().name("beamai-mcp".into()).spawn(live);
        spawned.map_err(|error| ToolError::io("start", "a thread for an MCP server", error))?;
        Ok(server)
    }

    pub(super) fn enter(&self, phase: ConnectionPhase) {
        *self.phase() = phase;
        self.changed.notify_all();
    }

    fn phase(&self) -> MutexGuard<'_, ConnectionPhase> {
        lock(&self.phase)
    }

    pub(super) fn is_ready(&self) -> bool {
        matches!(*self.phase(), ConnectionPhase::Ready(_))
    }

    /// Whether it has ended.
    pub(super) fn is_over(&self) -> bool {
        matches!(*self.phase(), ConnectionPhase::Over(_))
    }

    /// Whether it was asked to stop.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// How often its session was lost and replaced.
    pub(super) fn renewals(&self) -> usize {
        self.diagnostics().renewals()
    }

    fn diagnostics(&self) -> Arc<ConversationDiagnostics> {
        Arc::clone(&lock(&self.diagnostics))
    }

    /// Whether it has reported a change of its tool list.
    pub(super) fn has_new_tools(&self) -> bool {
        self.has_new_tools.load(Ordering::Relaxed)
    }

    /// Records that a host has received its tools.
    pub(super) fn mark_used(&self) {
        self.is_used.store(true, Ordering::Relaxed);
    }

    /// Stops a server if no host has received its tools.
    pub(super) fn discard(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.stop();
        }
    }

    /// Makes every waiting call check the phase again.
    pub(super) fn wake(&self) {
        // Taking the lock prevents a lost wakeup of a call that has just checked and is about to wait.
        drop(self.phase());
        self.changed.notify_all();
    }

    /// Asks the server to stop. It has ended when its process has exited.
    pub(super) fn stop(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        self.stop.notify_one();
    }

    /// Waits until the server is connected.
    ///
    /// # Errors
    /// `cancelled` and `timeout`; why it does not start, or has ended.
    pub(super) fn ready(&self, cx: &CallContext) -> Result<ConnectedPeer> {
        self.wait(cx, |phase| match phase {
            ConnectionPhase::Starting => None,
            ConnectionPhase::Ready(ready) => Some(Ok(ready.clone())),
            ConnectionPhase::Over(error) => Some(Err(error.clone())),
        })?
    }

    /// Waits until the server has ended; returns why.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub(super) fn over(&self, cx: &CallContext) -> Result<ToolError> {
        self.wait(cx, |phase| match phase {
            ConnectionPhase::Over(error) => Some(error.clone()),
            ConnectionPhase::Starting | ConnectionPhase::Ready(_) => None,
        })
    }

    fn wait<T>(&self, cx: &CallContext, look: impl Fn(&ConnectionPhase) -> Option<T>) -> Result<T> {
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

    /// Sends a request and waits for the response. If the call ends first, the request is cancelled.
    ///
    /// # Errors
    /// `cancelled` and `timeout`; why the server has ended.
    pub(super) fn request(
        &self,
        cx: &CallContext,
        request: ClientRequest,
        progress: Option<Progress>,
    ) -> Result<ServerResponse> {
        let ready = self.ready(cx)?;
        let (sender, events) = mpsc::channel();
        let abandoned = Arc::new(Notify::new());
        let (peer, calls) = (ready.peer, Arc::clone(&self.calls));
        let who = match &request {
            ClientRequest::CallToolRequest(call) => {
                format!("{}, in its tool {}", self.plan.title(), call.params.name)
            }
            _ => self.plan.title(),
        };
        let exchange =
            McpRequest { peer, calls, line: CallChannel::new(progress, &who, self.plan.secrets()) };
        let (asker, given_up) = (WaitingCall(sender.clone()), Arc::clone(&abandoned));
        ready.runtime.spawn(async move {
            let answer = exchange.run(request, &given_up).await;
            _ = asker.0.send(CallEvent::Answered(Box::new(answer)));
        });
        cx.cancel.on_cancel(move || _ = sender.send(CallEvent::Look));
        let answer = wait_for(cx, &events).inspect_err(|_| abandoned.notify_one())?;
        match answer {
            Some(Ok(result)) => Ok(Ok(result)),
            Some(Err(ServiceError::McpError(error))) => Ok(Err(self.plan.secrets().hide_in_data(error))),
            Some(Err(ServiceError::InputRequiredRoundsExceeded { max_rounds })) => {
                let message = format!("{} asks for more input after {max_rounds} answers", self.plan.title());
                Err(ToolError::new(Reason::McpServer, message))
            }
            Some(Err(error)) => match self.lost(&error) {
                Some(lost) => Err(lost),
                None => Err(self.over(cx)?),
            },
            None => Err(self.over(cx)?),
        }
    }

    /// Why a request to a remote server failed. `None` if the conversation has ended, whose reason is about to be
    /// known.
    fn lost(&self, error: &ServiceError) -> Option<ToolError> {
        let Route::Http(remote) = &self.plan.route else { return None };
        let diagnostics = self.diagnostics();
        if self.is_closed() || diagnostics.fault().is_some() {
            return None;
        }
        match error {
            ServiceError::TransportSend(error) => match failure_of(&*error.error) {
                Some(failure) => Some(remote.told(failure)),
                None => {
                    diagnostics.give_up(&format!("a new session cannot be started: {error}"));
                    None
                }
            },
            ServiceError::TransportClosed => Some(remote.broken(diagnostics.trouble())),
            _ => None,
        }
    }
}

/// Waits for a response; `None` if there will be none.
fn wait_for(
    cx: &CallContext,
    events: &mpsc::Receiver<CallEvent>,
) -> Result<Option<Result<ServerResult, ServiceError>>> {
    loop {
        cx.check()?;
        let event = match cx.remaining() {
            None => events.recv().ok(),
            Some(left) => events.recv_timeout(left).ok(),
        };
        match event {
            Some(CallEvent::Answered(answer)) => return Ok(Some(*answer)),
            Some(CallEvent::Gone) => return Ok(None),
            Some(CallEvent::Look) | None => {}
        }
    }
}
