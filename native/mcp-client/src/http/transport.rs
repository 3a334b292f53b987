//! The HTTP transport of a conversation.

use super::client::HttpClient;
use super::failure::HttpFailure;
use super::remote::RemoteServer;
use crate::{
    calls::ActiveCalls,
    diagnostics::{ConversationDiagnostics, LONGEST},
};
use rmcp::RoleClient;
use rmcp::model::JsonRpcMessage;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::common::client_side_sse::SseRetryPolicy;
use rmcp::transport::streamable_http_client::{
    StreamableHttpClientTransport, StreamableHttpClientTransportConfig, StreamableHttpError,
};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Timeout for ending a conversation.
const SHUTDOWN: Duration = Duration::from_secs(2);
/// Capacity of the channels between the parts.
const CAPACITY: usize = 4;
/// Maximum number of requests that wait for response headers.
const MOST_REQUESTS: usize = 256;

/// A conversation over HTTP.
pub(crate) struct HttpTransport {
    inner: StreamableHttpClientTransport<HttpClient>,
    diagnostics: Arc<ConversationDiagnostics>,
    calls: Arc<ActiveCalls>,
}

impl HttpTransport {
    /// A conversation that begins with the first message. `connecting` is the timeout of a connection.
    pub(crate) fn with(
        remote: &RemoteServer,
        connecting: Duration,
        diagnostics: &Arc<ConversationDiagnostics>,
        calls: &Arc<ActiveCalls>,
    ) -> Self {
        let client = HttpClient::new(remote.clone(), connecting, Arc::clone(diagnostics));
        let mut config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str())
            .max_sse_event_size(LONGEST)
            .max_concurrent_requests(MOST_REQUESTS);
        config.retry_config = Arc::new(ReconnectPolicy);
        config.channel_buffer_capacity = CAPACITY;
        let inner = StreamableHttpClientTransport::with_client(client, config);
        Self { inner, diagnostics: Arc::clone(diagnostics), calls: Arc::clone(calls) }
    }

    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        if self.diagnostics.check_unread().is_some() {
            tokio::select! {
                biased;
                () = self.diagnostics.given_up() => {}
                message = self.inner.receive() => return message,
            }
        }
        self.end().await;
        None
    }

    /// Ends the session and all pending requests. Remaining messages are drained: rmcp's worker blocks on them before
    /// it checks whether to stop.
    async fn end(&mut self) {
        self.inner.cancel_token().cancel();
        let rest = async { while self.inner.receive().await.is_some() {} };
        _ = timeout(SHUTDOWN, rest).await;
    }
}

impl Transport<RoleClient> for HttpTransport {
    type Error = StreamableHttpError<HttpFailure>;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        // The future of a request completes when its response begins, which may take long.
        let is_request = matches!(message, JsonRpcMessage::Request(_));
        let sending = self.inner.send(message);
        let diagnostics = Arc::clone(&self.diagnostics);
        async move {
            match is_request {
                true => sending.await,
                false => diagnostics.count_unread(sending).await,
            }
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.next().await;
        if message.is_none() {
            // No pending question can be answered any more.
            self.calls.cancel_questions();
        }
        message
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.end().await;
        Ok(())
    }
}

/// Delays and number of attempts to resume a stream.
#[derive(Debug)]
struct ReconnectPolicy;

impl SseRetryPolicy for ReconnectPolicy {
    fn retry(&self, times: usize) -> Option<Duration> {
        const PAUSES: [u64; 4] = [500, 1_000, 2_000, 4_000];
        PAUSES.get(times).map(|&pause| Duration::from_millis(pause))
    }
}
