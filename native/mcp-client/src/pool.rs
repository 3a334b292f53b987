//! The MCP servers that run.

use super::plan::ConnectionPlan;
use super::server::McpServer;
use super::settings::McpServerSettings;
use beamai_base::Result;
use beamai_servers::{self as servers, PooledServer, ServerIdentity, ServerPool, watch};
use beamai_tool::CallContext;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Most servers at once.
const MOST: usize = 32;

/// A server for the time of a call, during which it is kept.
pub(super) type Lease = servers::Lease<McpServer>;

/// The servers of this program: one for each workspace and settings.
fn pool() -> &'static ServerPool<McpServer> {
    static POOL: OnceLock<ServerPool<McpServer>> = OnceLock::new();
    POOL.get_or_init(|| ServerPool::new(MOST))
}

/// The server of these settings, started if need be.
///
/// # Errors
/// Those of a [plan](Plan::of); there is no thread for it.
pub(super) fn lease(cx: &CallContext, settings: McpServerSettings) -> Result<Lease> {
    let plan = ConnectionPlan::of(cx, settings)?;
    let identity = plan.identity.clone();
    pool().lease(cx, &identity, || McpServer::start(plan))
}

/// Ends every server of these settings, wherever it works, and waits for that.
///
/// # Errors
/// `cancelled` and `timeout`, while they end.
pub(super) fn close(cx: &CallContext, settings: &McpServerSettings) -> Result<usize> {
    let closed = pool().take(|server| server.plan.identity.spec.is_same(settings));
    closed.iter().for_each(|server| server.stop());
    for server in &closed {
        watch(cx, server);
        server.over(cx)?;
    }
    Ok(closed.len())
}

impl PooledServer for McpServer {
    type Spec = McpServerSettings;

    fn identity(&self) -> &ServerIdentity<McpServerSettings> {
        &self.plan.identity
    }

    fn is_over(&self) -> bool {
        Self::is_over(self)
    }

    fn idle_limit(&self) -> Option<Duration> {
        self.plan.idle_timeout()
    }

    fn wake(&self) {
        Self::wake(self);
    }

    fn dismiss(self: Arc<Self>) {
        self.stop();
    }
}
