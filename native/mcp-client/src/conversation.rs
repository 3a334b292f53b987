//! The life cycle of a server: start or connect, communicate, explain the end.

use super::diagnostics::ConversationDiagnostics;
use super::http::{HttpFailure, HttpTransport, RemoteServer, failure_of};
use super::listener::NotificationHandler;
use super::plan::{Launch, Route};
use super::secrets::Secrets;
use super::server::{ConnectedPeer, ConnectionPhase, McpServer};
use super::stdio::{self, McpServerProcess, StdioTransport};
use beamai_base::{Reason, ToolError};
use beamai_servers::lock;
use rmcp::RoleClient;
use rmcp::model::ProtocolVersion;
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle,
};
use rmcp::transport::Transport;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::time::timeout;

/// Timeout for ending a conversation.
const SHUTDOWN: Duration = Duration::from_secs(2);
/// Timeout for establishing a connection.
const CONNECTING: Duration = Duration::from_secs(30);

impl McpServer {
    /// Runs the server until it ends; returns why.
    pub(super) fn run(&self) -> ToolError {
        let runtime = match Builder::new_current_thread().enable_io().enable_time().build() {
            Ok(runtime) => runtime,
            Err(error) => return ToolError::io("start", "an MCP server", error),
        };
        let end = runtime.block_on(async {
            match self.converse(ClientLifecycleMode::Initialize).await {
                // Servers that support only the newest revision have no handshake, and begin with another request.
                Err(StartRefused(refusal)) => {
                    let preferred_versions = vec![ProtocolVersion::LATEST];
                    let again = self.converse(ClientLifecycleMode::Discover { preferred_versions }).await;
                    again.ok().filter(|_| self.is_ready()).unwrap_or(refusal)
                }
                Ok(end) => end,
            }
        });
        // Nothing is waiting for the remaining tasks.
        runtime.shutdown_background();
        end
    }

    async fn converse(&self, lifecycle: ClientLifecycleMode) -> Result<ToolError, StartRefused> {
        let diagnostics = Arc::new(ConversationDiagnostics::without(self.plan.secrets()));
        *lock(&self.diagnostics) = Arc::clone(&diagnostics);
        let (end, problem) = match &self.plan.route {
            Route::Stdio(launch) => match self.converse_with_process(launch, &diagnostics, lifecycle).await {
                Ok(ended) => ended,
                Err(error) => return Ok(error),
            },
            Route::Http(remote) => self.converse_with_remote(remote, &diagnostics, lifecycle).await,
        };
        match problem {
            Some(StartProblem::Refused(_)) => Err(StartRefused(end)),
            _ => Ok(end),
        }
    }

    /// Starts the process and runs the conversation until either ends.
    async fn converse_with_process(
        &self,
        launch: &Launch,
        diagnostics: &Arc<ConversationDiagnostics>,
        lifecycle: ClientLifecycleMode,
    ) -> Result<(ToolError, Option<StartProblem>), ToolError> {
        let (process, streams) = stdio::start(launch, &self.plan.title())?;
        let (lines, stderr) = StdioTransport::over(streams, diagnostics, &self.calls)
            .map_err(|error| ToolError::io("use", "the streams of an MCP server", error))?;
        let listening = tokio::spawn(Arc::clone(diagnostics).listen(stderr));
        let problem = self.run_conversation(lines, lifecycle).await;
        let end = self.exit_reason(process, diagnostics, listening, problem.as_ref()).await;
        Ok((end, problem))
    }

    /// Runs the conversation with a remote server until it ends.
    async fn converse_with_remote(
        &self,
        remote: &RemoteServer,
        diagnostics: &Arc<ConversationDiagnostics>,
        lifecycle: ClientLifecycleMode,
    ) -> (ToolError, Option<StartProblem>) {
        let connecting = self.plan.start_timeout().min(CONNECTING);
        let http = HttpTransport::with(remote, connecting, diagnostics, &self.calls);
        let problem = self.run_conversation(http, lifecycle).await;
        (remote.secrets.hide_in(self.end_reason(diagnostics, problem.as_ref())), problem)
    }

    /// Runs a conversation until it ends; returns the error if it could not be started.
    async fn run_conversation<T>(&self, transport: T, lifecycle: ClientLifecycleMode) -> Option<StartProblem>
    where
        T: Transport<RoleClient> + 'static,
    {
        let listener = NotificationHandler {
            calls: Arc::clone(&self.calls),
            has_new_tools: Arc::clone(&self.has_new_tools),
        };
        let opening = serve_client_with_lifecycle(listener, transport, lifecycle);
        let opened = tokio::select! {
            opened = timeout(self.plan.start_timeout(), opening) => Some(opened),
            () = self.stop.notified() => None,
        };
        match opened? {
            Ok(Ok(service)) => {
                self.accept_calls(service).await;
                None
            }
            Ok(Err(error)) => Some(StartProblem::of(error, &self.plan.secrets())),
            Err(_) => Some(StartProblem::Told(self.no_response())),
        }
    }

    /// Accepts calls until the conversation ends.
    async fn accept_calls(&self, service: RunningService<RoleClient, NotificationHandler>) {
        let Some(info) = service.peer().peer_info() else { return };
        let token = service.cancellation_token();
        self.enter(ConnectionPhase::Ready(ConnectedPeer {
            peer: service.peer().clone(),
            runtime: Handle::current(),
            info,
        }));
        let mut over = std::pin::pin!(service.waiting());
        tokio::select! {
            _ = &mut over => {}
            () = self.stop.notified() => {
                token.cancel();
                _ = timeout(SHUTDOWN, over).await;
            }
        }
    }

    fn no_response(&self) -> String {
        let limit = self.plan.start_timeout().as_millis();
        format!("no response to the first request within {limit} ms")
    }

    /// Ends the process and describes why it ended: the protocol error, or else the exit status, and the end of stderr.
    async fn exit_reason(
        &self,
        process: McpServerProcess,
        diagnostics: &ConversationDiagnostics,
        listening: tokio::task::JoinHandle<()>,
        problem: Option<&StartProblem>,
    ) -> ToolError {
        let ending = tokio::task::spawn_blocking(move || process.ending());
        let how = ending.await.unwrap_or_else(|_| "it is lost".to_owned());
        let title = self.plan.title();
        if self.is_closed() {
            let message = format!("{title} was closed; the next call starts it again");
            return ToolError::new(Reason::McpServer, message);
        }
        // After the exit, all of stderr has been read.
        _ = timeout(SHUTDOWN, listening).await;
        let was_ready = self.is_ready();
        let told = problem.and_then(StartProblem::text);
        let mut why = diagnostics.fault().or(told).unwrap_or(how);
        if let Some(noise) = diagnostics.noise().filter(|_| !was_ready) {
            why = format!("{why}; {noise}");
        }
        let words = diagnostics.stderr_tail();
        if !words.is_empty() {
            why = format!("{why}; the end of its stderr: {words}");
        }
        let message = match was_ready {
            true => format!("{title} has ended: {why}; the next call starts it again"),
            false => format!("{title} does not start: {why}"),
        };
        ToolError::new(Reason::McpServer, message).with("stderr", words)
    }

    /// Describes why a conversation with a remote server ended.
    fn end_reason(&self, diagnostics: &ConversationDiagnostics, problem: Option<&StartProblem>) -> ToolError {
        let title = self.plan.title();
        if self.is_closed() {
            let message = format!("{title} was closed; the next call connects to it again");
            return ToolError::new(Reason::McpServer, message);
        }
        let in_words = |why| ToolError::new(Reason::McpServer, why);
        let told = match problem {
            Some(StartProblem::Failed(failure)) => Some(failure.0.clone()),
            other => other.and_then(StartProblem::text).map(in_words),
        };
        let fault = diagnostics.fault().map(in_words);
        let error = fault.or(told).unwrap_or_else(|| in_words(diagnostics.trouble().unwrap_or_else(closed)));
        let message = match self.is_ready() {
            true => {
                let why = &error.message;
                format!("the conversation with {title} has ended: {why}; the next call connects to it again")
            }
            false => format!("{title} cannot be used: {}", error.message),
        };
        ToolError { message, ..error }
    }
}

fn closed() -> String {
    "it closed the connection without a response".to_owned()
}

/// The server rejects this way to start.
struct StartRefused(ToolError);

/// Why a conversation could not be started.
enum StartProblem {
    /// The server responded with an error.
    Refused(String),
    /// The first request failed.
    Failed(HttpFailure),
    /// Another reason.
    Told(String),
    /// The streams ended.
    Closed,
}

impl StartProblem {
    fn of(error: ClientInitializeError, secrets: &Secrets) -> Self {
        match error {
            ClientInitializeError::JsonRpcError(error) => {
                let error = secrets.hide_in_data(error);
                Self::Refused(format!("it responded to the first request with an error: {error}"))
            }
            ClientInitializeError::TransportError { error, .. } => {
                failure_of(&*error.error).map_or(Self::Closed, Self::Failed)
            }
            ClientInitializeError::ConnectionClosed(_) => Self::Closed,
            ClientInitializeError::ExpectedInitResult(_) => {
                Self::Told("it responded to the first request with another message".to_owned())
            }
            other => Self::Told(other.to_string()),
        }
    }

    fn text(&self) -> Option<String> {
        match self {
            Self::Refused(text) | Self::Told(text) => Some(text.clone()),
            Self::Failed(failure) => Some(failure.to_string()),
            Self::Closed => None,
        }
    }
}
