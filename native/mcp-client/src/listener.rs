//! What a server sends by itself: progress, news, requests.

#![allow(deprecated, reason = "what a protocol gives up, servers of its earlier revisions still ask for")]

use super::calls::ActiveCalls;
use rmcp::ClientHandler;
use rmcp::RoleClient;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability, ErrorCode,
    ErrorData, FormElicitationCapability, Implementation, ListRootsResult, ProgressNotificationParam,
    ProtocolVersion,
};
use rmcp::service::{NotificationContext, RequestContext};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Hears what a server sends by itself. Sampling and roots are not offered, and refused.
pub(super) struct NotificationHandler {
    pub(super) calls: Arc<ActiveCalls>,
    /// Whether the server has said that its list of tools is another one now.
    pub(super) has_news: Arc<AtomicBool>,
}

impl ClientHandler for NotificationHandler {
    fn get_info(&self) -> ClientConfig {
        let mut can = ClientCapabilities::default();
        can.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        let name = Implementation::new("beamai", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(can, name).with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(self.calls.elicit(&request).await)
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "roots/list", None))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.calls.progress(&params);
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.has_news.store(true, Ordering::Relaxed);
    }
}
