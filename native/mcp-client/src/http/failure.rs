//! Failed requests.

use beamai_base::{Reason, ToolError};
use rmcp::transport::streamable_http_client::StreamableHttpError;
use std::error::Error;

/// Why a request failed.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct HttpFailure(pub ToolError);

impl HttpFailure {
    /// The server's response is not valid.
    pub(super) fn answer(why: impl Into<String>) -> Self {
        Self(ToolError::new(Reason::McpServer, why))
    }
}

impl From<HttpFailure> for StreamableHttpError<HttpFailure> {
    fn from(failure: HttpFailure) -> Self {
        Self::Client(failure)
    }
}

/// The failure of an HTTP request, if it is the cause of the error. Other causes concern the conversation.
pub(crate) fn failure_of(error: &(dyn Error + 'static)) -> Option<HttpFailure> {
    match error.downcast_ref::<StreamableHttpError<HttpFailure>>()? {
        StreamableHttpError::Client(failure) => Some(failure.clone()),
        _ => None,
    }
}
