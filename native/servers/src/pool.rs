//! A pool of running servers.

use super::identity::ServerIdentity;
use super::lock;
use beamai_base::Result;
use beamai_tool::CallContext;
use std::ops::Deref;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Interval of checks for idle servers.
const ROUND: Duration = Duration::from_secs(1);

/// A server in a pool.
pub trait PooledServer: Send + Sync + 'static {
    /// Its specification, without its access.
    type Spec: PartialEq;

    /// What a call compares to find it.
    fn identity(&self) -> &ServerIdentity<Self::Spec>;

    /// Whether it has exited.
    fn is_over(&self) -> bool;

    /// Idle time after which it is stopped; `None` for never.
    fn idle_limit(&self) -> Option<Duration>;

    /// Makes every waiting call check its state again.
    fn wake(&self);

    /// Stops it, without waiting for its exit.
    fn dismiss(self: Arc<Self>);
}

/// The running servers: one for each identity.
pub struct ServerPool<K> {
    entries: Arc<Mutex<Vec<PoolEntry<K>>>>,
    most: usize,
}

struct PoolEntry<K> {
    server: Arc<K>,
    used: Instant,
    /// Number of calls that use it now.
    users: usize,
}

/// A server in use by a call; it is not stopped meanwhile.
pub struct Lease<K: PooledServer> {
    server: Arc<K>,
    entries: Arc<Mutex<Vec<PoolEntry<K>>>>,
}

impl<K: PooledServer> ServerPool<K> {
    /// A pool that stops idle servers. If it exceeds `most` servers, the least recently used one that is not in use is
    /// stopped.
    pub fn new(most: usize) -> Self {
        let pool = Self { entries: Arc::default(), most };
        let entries = Arc::clone(&pool.entries);
        // Without the thread, idle servers run until the program exits.
        _ = std::thread::Builder::new().name("beamai-idle".into()).spawn(move || {
            loop {
                std::thread::sleep(ROUND);
                take(&entries, PoolEntry::is_idle).into_iter().for_each(K::dismiss);
            }
        });
        pool
    }

    /// The running server of that identity.
    pub fn running(&self, cx: &CallContext, identity: &ServerIdentity<K::Spec>) -> Option<Lease<K>> {
        self.remove_stale(identity);
        let mut all = lock(&self.entries);
        let entry = all.iter_mut().find(|entry| entry.server.identity() == identity)?;
        Some(self.lease_entry(entry, cx))
    }

    /// The server of that identity, started if necessary.
    ///
    /// # Errors
    /// Those of `start`.
    pub fn lease(
        &self,
        cx: &CallContext,
        identity: &ServerIdentity<K::Spec>,
        start: impl FnOnce() -> Result<Arc<K>>,
    ) -> Result<Lease<K>> {
        self.remove_stale(identity);
        let mut all = lock(&self.entries);
        let at = match all.iter().position(|entry| entry.server.identity() == identity) {
            Some(at) => at,
            None => {
                all.push(PoolEntry { server: start()?, used: Instant::now(), users: 0 });
                all.len() - 1
            }
        };
        let lease = self.lease_entry(&mut all[at], cx);
        drop(all);
        self.make_room();
        Ok(lease)
    }

    /// All running servers that `wanted` selects.
    pub fn all(&self, cx: &CallContext, wanted: impl Fn(&K) -> bool) -> Vec<Lease<K>> {
        let mut all = lock(&self.entries);
        let found = all.iter_mut().filter(|entry| !entry.server.is_over() && wanted(&entry.server));
        found.map(|entry| self.lease_entry(entry, cx)).collect()
    }

    /// Removes servers from the pool. They still run.
    pub fn take(&self, wanted: impl Fn(&K) -> bool) -> Vec<Arc<K>> {
        take(&self.entries, |entry| wanted(&entry.server))
    }

    /// Removes servers that have exited, or that still have access to paths that are denied now.
    fn remove_stale(&self, identity: &ServerIdentity<K::Spec>) {
        let is_replaced =
            |entry: &PoolEntry<K>| entry.users == 0 && identity.replaces(entry.server.identity());
        let gone = take(&self.entries, |entry| entry.server.is_over() || is_replaced(entry));
        gone.into_iter().for_each(K::dismiss);
    }

    fn lease_entry(&self, entry: &mut PoolEntry<K>, cx: &CallContext) -> Lease<K> {
        entry.users += 1;
        watch(cx, &entry.server);
        Lease { server: Arc::clone(&entry.server), entries: Arc::clone(&self.entries) }
    }

    fn make_room(&self) {
        let mut all = lock(&self.entries);
        if all.len() <= self.most {
            return;
        }
        let unused = all.iter().enumerate().filter(|(_, entry)| entry.users == 0);
        let oldest = unused.min_by_key(|(_, entry)| entry.used).map(|(at, _)| at);
        let gone = oldest.map(|at| all.swap_remove(at));
        drop(all);
        if let Some(gone) = gone {
            gone.server.dismiss();
        }
    }
}

/// Wakes a call that waits for a server when it is cancelled.
pub fn watch<K: PooledServer>(cx: &CallContext, server: &Arc<K>) {
    let server = Arc::downgrade(server);
    cx.cancel.on_cancel(move || {
        if let Some(server) = server.upgrade() {
            server.wake();
        }
    });
}

impl<K: PooledServer> PoolEntry<K> {
    fn is_idle(&self) -> bool {
        let limit = self.server.idle_limit();
        self.users == 0 && limit.is_some_and(|limit| self.used.elapsed() >= limit)
    }
}

fn take<K>(entries: &Mutex<Vec<PoolEntry<K>>>, wanted: impl Fn(&PoolEntry<K>) -> bool) -> Vec<Arc<K>> {
    lock(entries).extract_if(.., |entry| wanted(entry)).map(|entry| entry.server).collect()
}

impl<K: PooledServer> Deref for Lease<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.server
    }
}

impl<K: PooledServer> Drop for Lease<K> {
    fn drop(&mut self) {
        let mut all = lock(&self.entries);
        if let Some(entry) = all.iter_mut().find(|entry| Arc::ptr_eq(&entry.server, &self.server)) {
            entry.users -= 1;
            entry.used = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ServerView;
    use super::*;
    use beamai_workspace::Workspace;
    use std::sync::atomic::{AtomicBool, Ordering};

    struct ProbeServer {
        identity: ServerIdentity<u32>,
        is_over: AtomicBool,
        is_ended: AtomicBool,
        limit: Option<Duration>,
    }

    impl PooledServer for ProbeServer {
        type Spec = u32;

        fn identity(&self) -> &ServerIdentity<u32> {
            &self.identity
        }

        fn is_over(&self) -> bool {
            self.is_over.load(Ordering::Relaxed)
        }

        fn idle_limit(&self) -> Option<Duration> {
            self.limit
        }

        fn wake(&self) {}

        fn dismiss(self: Arc<Self>) {
            self.is_ended.store(true, Ordering::Relaxed);
        }
    }

    struct Fixture {
        cx: CallContext,
        pool: ServerPool<ProbeServer>,
        limit: Option<Duration>,
    }

    impl Fixture {
        fn new(limit: Option<Duration>) -> Self {
            let workspace = Workspace::open(std::path::Path::new("/")).unwrap();
            Self { cx: CallContext::new(workspace), pool: ServerPool::new(2), limit }
        }

        fn lease(&self, spec: u32, kept: &[&str]) -> Lease<ProbeServer> {
            self.lease_among(spec, kept, 0)
        }

        fn lease_among(&self, spec: u32, kept: &[&str], mounts: u64) -> Lease<ProbeServer> {
            let view = ServerView {
                workspace: self.cx.workspace.id(),
                sandbox: Arc::clone(&self.cx.sandbox),
                denied_paths: Arc::clone(&self.cx.denied_paths),
                kept: kept.iter().map(|&name| (name.into(), (1, 1, None))).collect(),
                mounts: vec![mounts],
            };
            let identity = ServerIdentity { spec, view };
            let server = Arc::new(ProbeServer {
                identity: identity.clone(),
                is_over: AtomicBool::new(false),
                is_ended: AtomicBool::new(false),
                limit: self.limit,
            });
            self.pool.lease(&self.cx, &identity, || Ok(server)).unwrap()
        }
    }

    fn is_ended(server: &Arc<ProbeServer>) -> bool {
        server.is_ended.load(Ordering::Relaxed)
    }

    #[test]
    fn a_server_is_there_for_every_call_of_its_identity_until_it_is_over() {
        let world = Fixture::new(None);
        let one = Arc::clone(&world.lease(1, &[]).server);
        assert!(Arc::ptr_eq(&one, &world.lease(1, &[]).server));
        assert!(!Arc::ptr_eq(&one, &world.lease(2, &[]).server));
        one.is_over.store(true, Ordering::Relaxed);
        assert!(!Arc::ptr_eq(&one, &world.lease(1, &[]).server));
    }

    #[test]
    fn a_server_that_sees_what_it_may_not_ends_when_nobody_uses_it() {
        let world = Fixture::new(None);
        let used = world.lease(1, &[]);
        let first = Arc::clone(&used.server);
        let second = Arc::clone(&world.lease(1, &["secret"]).server);
        assert!(!Arc::ptr_eq(&first, &second) && !is_ended(&first));
        drop(used);
        world.lease(1, &["secret"]);
        assert!(is_ended(&first) && !is_ended(&second));
        // One that runs does not see what is mounted later.
        let third = Arc::clone(&world.lease_among(1, &["secret"], 1).server);
        assert!(is_ended(&second) && !is_ended(&third));
    }

    #[test]
    fn the_one_that_was_of_use_the_longest_time_ago_makes_room() {
        let world = Fixture::new(None);
        let used = world.lease(1, &[]);
        let unused = Arc::clone(&world.lease(2, &[]).server);
        world.lease(3, &[]);
        assert!(is_ended(&unused) && !is_ended(&used.server));
    }

    #[test]
    fn an_idle_server_ends_and_one_in_use_does_not() {
        let world = Fixture::new(Some(Duration::from_millis(10)));
        let used = world.lease(1, &[]);
        let unused = Arc::clone(&world.lease(2, &[]).server);
        let end = Instant::now() + Duration::from_secs(20);
        while !is_ended(&unused) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(is_ended(&unused) && !is_ended(&used.server));
    }
}
