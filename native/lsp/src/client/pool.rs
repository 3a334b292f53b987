//! The running language servers.

use super::plan::{ServerCommand, ServerPlan};
use super::server::LanguageServer;
use super::watch::SourceSnapshot;
use beamai_base::Result;
use beamai_servers::{self as servers, PooledServer, ServerIdentity, ServerPool, ServerView};
use beamai_tool::CallContext;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Maximum number of servers.
const MOST: usize = 16;

/// A server in use by a call; it is not stopped meanwhile.
pub(crate) type Lease = servers::Lease<LanguageServer>;

/// The servers of this program: one for each workspace, language and command.
fn pool() -> &'static ServerPool<LanguageServer> {
    static POOL: OnceLock<ServerPool<LanguageServer>> = OnceLock::new();
    POOL.get_or_init(|| ServerPool::new(MOST))
}

/// The server of a plan, started if necessary.
///
/// # Errors
/// Those of computing its confinement, and of starting a process.
pub(crate) fn lease(cx: &CallContext, mut plan: ServerPlan) -> Result<Lease> {
    plan.confine(cx)?;
    if let Some(running) = pool().running(cx, &plan.identity) {
        return Ok(running);
    }
    // The server is notified of all changes after this point.
    let snapshot = SourceSnapshot::take(&plan, cx)?;
    let identity = plan.identity.clone();
    pool().lease(cx, &identity, || LanguageServer::start(plan, snapshot))
}

/// The running servers with the workspace and settings of a call, except those of approved files.
pub(crate) fn running_for(cx: &CallContext) -> Vec<Lease> {
    let wanted = ServerView::of(cx);
    pool().all(cx, |server| {
        let ServerIdentity { spec, view } = &server.plan.identity;
        spec.approved.is_none() && view.has_settings_of(&wanted)
    })
}

impl PooledServer for LanguageServer {
    type Spec = ServerCommand;

    fn identity(&self) -> &ServerIdentity<ServerCommand> {
        &self.plan.identity
    }

    fn is_over(&self) -> bool {
        Self::is_over(self)
    }

    fn idle_limit(&self) -> Option<Duration> {
        Some(self.plan.idle)
    }

    fn wake(&self) {
        Self::wake(self);
    }

    /// In a separate thread, so that servers shut down in parallel.
    fn dismiss(self: Arc<Self>) {
        let ending = Arc::clone(&self);
        let spawned = std::thread::Builder::new().name("beamai-lsp-end".into()).spawn(move || ending.stop());
        if spawned.is_err() {
            self.kill();
        }
    }
}
