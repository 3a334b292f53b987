//! The servers that run.

use super::plan::Plan;
use super::server::{Server, lock};
use super::watch::Snapshot;
use crate::context::CallContext;
use crate::error::Result;
use crate::workspace::WorkspaceId;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Most servers at once; the one that was of use the longest time ago ends for another.
const MOST: usize = 16;
/// How often idle servers are looked for.
const ROUND: Duration = Duration::from_secs(1);

/// The servers that run: one for each workspace, language and command.
#[derive(Default)]
pub(crate) struct Pool(Arc<Mutex<Vec<Kept>>>);

struct Kept {
    server: Arc<Server>,
    used: Instant,
    /// Calls that use it now.
    users: usize,
}

/// A server for the time of a call, during which it is kept.
pub(crate) struct Lease {
    server: Arc<Server>,
    pool: Arc<Mutex<Vec<Kept>>>,
}

impl Pool {
    /// The servers of this program.
    pub(crate) fn shared() -> &'static Self {
        static SHARED: OnceLock<Pool> = OnceLock::new();
        SHARED.get_or_init(|| {
            let pool = Self::default();
            let kept = Arc::clone(&pool.0);
            // Without the thread, servers end with the program alone.
            _ = std::thread::Builder::new().name("beamai-lsp-idle".into()).spawn(move || {
                loop {
                    std::thread::sleep(ROUND);
                    end(take(&kept, Kept::is_idle));
                }
            });
            pool
        })
    }

    /// The server of a plan, started if need be.
    ///
    /// # Errors
    /// Those of working out its confinement, and of starting a process.
    pub(crate) fn lease(&self, cx: &CallContext, mut plan: Plan) -> Result<Lease> {
        plan.confine(cx)?;
        // What was there may have died since, or sees what it may not see any more.
        let is_replaced = |kept: &Kept| kept.users == 0 && plan.identity.replaces(&kept.server.plan.identity);
        end(take(&self.0, |kept| kept.server.is_over() || is_replaced(kept)));
        let is_same = |kept: &Kept| kept.server.plan.identity == plan.identity;
        if let Some(kept) = lock(&self.0).iter_mut().find(|kept| is_same(kept)) {
            return Ok(self.let_out(kept, cx));
        }
        // Whatever changes from here on, the server will be told of.
        let snapshot = Snapshot::take(&plan, cx)?;
        let mut all = lock(&self.0);
        let at = match all.iter().position(is_same) {
            Some(at) => at,
            None => {
                all.push(Kept { server: Server::start(plan, snapshot)?, used: Instant::now(), users: 0 });
                all.len() - 1
            }
        };
        let lease = self.let_out(&mut all[at], cx);
        drop(all);
        self.make_room();
        Ok(lease)
    }

    /// Every server that runs in a workspace.
    pub(crate) fn of(&self, cx: &CallContext, workspace: &WorkspaceId) -> Vec<Lease> {
        let mut all = lock(&self.0);
        let here = all
            .iter_mut()
            .filter(|kept| kept.server.plan.identity.workspace == *workspace && !kept.server.is_over());
        here.map(|kept| self.let_out(kept, cx)).collect()
    }

    fn let_out(&self, kept: &mut Kept, cx: &CallContext) -> Lease {
        kept.users += 1;
        let server = Arc::downgrade(&kept.server);
        cx.cancel.on_cancel(move || {
            if let Some(server) = server.upgrade() {
                server.wake();
            }
        });
        Lease { server: Arc::clone(&kept.server), pool: Arc::clone(&self.0) }
    }

    fn make_room(&self) {
        let mut all = lock(&self.0);
        if all.len() <= MOST {
            return;
        }
        let unused = all.iter().enumerate().filter(|(_, kept)| kept.users == 0);
        let oldest = unused.min_by_key(|(_, kept)| kept.used).map(|(at, _)| at);
        let gone = oldest.map(|at| all.swap_remove(at));
        drop(all);
        end(gone.into_iter().collect());
    }
}

impl Kept {
    fn is_idle(&self) -> bool {
        self.users == 0 && self.used.elapsed() >= self.server.plan.idle
    }
}

fn take(all: &Mutex<Vec<Kept>>, wanted: impl Fn(&Kept) -> bool) -> Vec<Kept> {
    lock(all).extract_if(.., |kept| wanted(kept)).collect()
}

/// Ends servers, each on a thread of its own: none waits for another's farewell.
fn end(servers: Vec<Kept>) {
    for Kept { server, .. } in servers {
        let ending = Arc::clone(&server);
        let spawned = std::thread::Builder::new().name("beamai-lsp-end".into()).spawn(move || ending.stop());
        if spawned.is_err() {
            server.kill();
        }
    }
}

impl Deref for Lease {
    type Target = Server;

    fn deref(&self) -> &Server {
        &self.server
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut all = lock(&self.pool);
        if let Some(kept) = all.iter_mut().find(|kept| Arc::ptr_eq(&kept.server, &self.server)) {
            kept.users -= 1;
            kept.used = Instant::now();
        }
    }
}
