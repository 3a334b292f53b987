//! Messages that a server sends on its own: progress, notifications, requests.

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

/// Handles them. Sampling and roots are not offered, and rejected.
pub(super) struct NotificationHandler {
    pub(super) calls: Arc<ActiveCalls>,
    /// Whether the server has reported a change of its tool list.
    pub(super) has_new_tools: Arc<AtomicBool>,
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
        self.has_new_tools.store(true, Ordering::Relaxed);
    }
}
