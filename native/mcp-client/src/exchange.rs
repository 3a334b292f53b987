//! A request in progress.

use super::calls::{ActiveCalls, CallChannel};
use rmcp::RoleClient;
use rmcp::model::{ClientRequest, InputRequest, InputRequiredResult, InputResponses, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, ServiceError};
use std::sync::Arc;
use tokio::sync::Notify;

/// Maximum number of times that one call may ask for input.
const MOST_ROUNDS: usize = 10;

/// A request in progress, in the server's thread.
pub(super) struct McpRequest {
    pub(super) peer: Peer<RoleClient>,
    pub(super) calls: Arc<ActiveCalls>,
    pub(super) line: Arc<CallChannel>,
}

impl McpRequest {
    /// The server's response to a request, once all of its questions are answered. If the caller stops waiting, the
    /// request is cancelled.
    ///
    /// # Errors
    /// Those of the protocol, and of a conversation that has ended.
    pub(super) async fn run(
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

    /// Answers the input requests of a server (newest revision only).
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
