//! The MCP servers that run.

use super::plan::Plan;
use super::server::Server;
use super::settings::ServerSettings;
use beamai_base::Result;
use beamai_servers::{self as servers, Identity, Kept, Pool, watch};
use beamai_tool::CallContext;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Most servers at once.
const MOST: usize = 32;

/// A server for the time of a call, during which it is kept.
pub(super) type Lease = servers::Lease<Server>;

/// The servers of this program: one for each workspace and settings.
fn pool() -> &'static Pool<Server> {
    static POOL: OnceLock<Pool<Server>> = OnceLock::new();
    POOL.get_or_init(|| Pool::new(MOST))
}

/// The server of these settings, started if need be.
///
/// # Errors
/// Those of a [plan](Plan::of); there is no thread for it.
pub(super) fn lease(cx: &CallContext, settings: ServerSettings) -> Result<Lease> {
    let plan = Plan::of(cx, settings)?;
    let identity = plan.identity.clone();
    pool().lease(cx, &identity, || Server::start(plan))
}

/// Ends every server of these settings, wherever it works, and waits for that.
///
/// # Errors
/// `cancelled` and `timeout`, while they end.
pub(super) fn close(cx: &CallContext, settings: &ServerSettings) -> Result<usize> {
    let closed = pool().take(|server| server.plan.identity.what.is_same(settings));
    closed.iter().for_each(|server| server.stop());
    for server in &closed {
        watch(cx, server);
        server.over(cx)?;
    }
    Ok(closed.len())
}

impl Kept for Server {
    type What = ServerSettings;

    fn identity(&self) -> &Identity<ServerSettings> {
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
