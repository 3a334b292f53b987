//! The running MCP servers.

use super::plan::ConnectionPlan;
use super::server::McpServer;
use super::settings::McpServerSettings;
use beamai_base::Result;
use beamai_servers::{self as servers, PooledServer, ServerIdentity, ServerPool, watch};
use beamai_tool::CallContext;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Maximum number of servers.
const MOST: usize = 32;

/// A server in use by a call; it is not stopped meanwhile.
pub(super) type Lease = servers::Lease<McpServer>;

/// The servers of this program: one for each workspace and settings.
fn pool() -> &'static ServerPool<McpServer> {
    static POOL: OnceLock<ServerPool<McpServer>> = OnceLock::new();
    POOL.get_or_init(|| ServerPool::new(MOST))
}

/// The server with these settings, started if necessary.
///
/// # Errors
/// Those of a [plan](ConnectionPlan::of), and of starting a thread.
pub(super) fn lease(cx: &CallContext, settings: McpServerSettings) -> Result<Lease> {
    let plan = ConnectionPlan::of(cx, settings)?;
    let identity = plan.identity.clone();
    pool().lease(cx, &identity, || McpServer::start(plan))
}

/// Stops all servers with these settings, in any workspace, and waits for their exit.
///
/// # Errors
/// `cancelled` and `timeout`, while waiting.
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
