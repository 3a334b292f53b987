//! The servers that run.

use super::plan::{Plan, ServerSettings};
use super::server::Server;
use super::wire::lock;
use crate::context::CallContext;
use crate::error::Result;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

/// Most servers at once that nobody is waiting for; the one that was of use the longest time ago ends for another.
const MOST: usize = 32;
/// How often idle servers are looked for.
const ROUND: Duration = Duration::from_secs(1);

/// The servers that run: one for each workspace and settings.
#[derive(Default)]
pub(super) struct Pool(Arc<Mutex<Vec<Kept>>>);

struct Kept {
    server: Arc<Server>,
    used: Instant,
    /// Calls that use it now.
    users: usize,
}

/// A server for the time of a call, during which it is kept.
pub(super) struct Lease {
    server: Arc<Server>,
    pool: Arc<Mutex<Vec<Kept>>>,
}

impl Pool {
    /// The servers of this program.
    pub(super) fn shared() -> &'static Self {
        static SHARED: OnceLock<Pool> = OnceLock::new();
        SHARED.get_or_init(|| {
            let pool = Self::default();
            let kept = Arc::clone(&pool.0);
            // Without the thread, servers end with the program alone.
            _ = std::thread::Builder::new().name("beamai-mcp-idle".into()).spawn(move || {
                loop {
                    std::thread::sleep(ROUND);
                    take(&kept, Kept::is_idle).iter().for_each(|server| server.stop());
                }
            });
            pool
        })
    }

    /// The server of a plan, started if need be.
    ///
    /// # Errors
    /// There is no thread for it.
    pub(super) fn lease(&self, cx: &CallContext, plan: Plan) -> Result<Lease> {
        // What was there may have died since, or sees what it may not see any more.
        let is_replaced = |kept: &Kept| kept.users == 0 && plan.identity.replaces(&kept.server.plan.identity);
        take(&self.0, |kept| kept.server.is_over() || is_replaced(kept))
            .iter()
            .for_each(|server| server.stop());
        let mut all = lock(&self.0);
        let at = match all.iter().position(|kept| kept.server.plan.identity == plan.identity) {
            Some(at) => at,
            None => {
                all.push(Kept { server: Server::start(plan)?, used: Instant::now(), users: 0 });
                all.len() - 1
            }
        };
        let kept = &mut all[at];
        kept.users += 1;
        let lease = Lease { server: Arc::clone(&kept.server), pool: Arc::clone(&self.0) };
        drop(all);
        watch(cx, &lease.server);
        self.make_room();
        Ok(lease)
    }

    /// Ends every server of these settings, wherever it works.
    ///
    /// # Errors
    /// `cancelled` and `timeout`, while they end.
    pub(super) fn close(&self, cx: &CallContext, settings: &ServerSettings) -> Result<usize> {
        let closed = take(&self.0, |kept| kept.server.plan.identity.settings.is_same(settings));
        closed.iter().for_each(|server| server.stop());
        for server in &closed {
            watch(cx, server);
            server.over(cx)?;
        }
        Ok(closed.len())
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
        if let Some(gone) = gone {
            gone.server.stop();
        }
    }
}

/// Has a call that waits for a server look again when it is cancelled.
fn watch(cx: &CallContext, server: &Arc<Server>) {
    let server = Arc::downgrade(server);
    cx.cancel.on_cancel(move || {
        if let Some(server) = server.upgrade() {
            server.wake();
        }
    });
}

impl Kept {
    fn is_idle(&self) -> bool {
        let limit = self.server.plan.idle_timeout();
        self.users == 0 && limit.is_some_and(|limit| self.used.elapsed() >= limit)
    }
}

fn take(all: &Mutex<Vec<Kept>>, wanted: impl Fn(&Kept) -> bool) -> Vec<Arc<Server>> {
    lock(all).extract_if(.., |kept| wanted(kept)).map(|kept| kept.server).collect()
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
