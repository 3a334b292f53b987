//! Limits the number of connections, and chooses which one is closed when there are more.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// All slots.
pub(crate) struct ConnectionLimit {
    most: usize,
    /// The slots in use; the connection that has been idle longest comes first.
    taken: Mutex<Vec<Arc<ConnectionSlot>>>,
    /// Notified when a slot becomes free, or its connection becomes idle.
    news: Notify,
}

/// The slot of one connection.
pub(crate) struct ConnectionSlot {
    slots: Arc<ConnectionLimit>,
    /// Number of requests being answered. Without any, the connection may be closed.
    requests: AtomicUsize,
    must_leave: Notify,
}

/// Frees the slot on drop.
pub(crate) struct SlotGuard(Arc<ConnectionSlot>);

/// A request being answered, until dropped.
pub(crate) struct RequestGuard(Arc<ConnectionSlot>);

impl ConnectionLimit {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default(), news: Notify::new() })
    }

    /// Reserves a slot for a new connection. If none is free, the connection that has been idle longest is closed; if
    /// none is idle, the new one waits.
    pub(crate) async fn take(self: &Arc<Self>) -> Arc<ConnectionSlot> {
        loop {
            let news = self.news.notified();
            if let Some(slot) = self.try_take() {
                return slot;
            }
            news.await;
        }
    }

    fn try_take(self: &Arc<Self>) -> Option<Arc<ConnectionSlot>> {
        let mut taken = self.taken();
        if taken.len() >= self.most {
            let idle = taken.iter().position(|slot| slot.requests.load(Ordering::SeqCst) == 0)?;
            taken.remove(idle).must_leave.notify_one();
        }
        let slot = Arc::new(ConnectionSlot {
            slots: Arc::clone(self),
            requests: AtomicUsize::new(0),
            must_leave: Notify::new(),
        });
        taken.push(Arc::clone(&slot));
        Some(slot)
    }

    fn taken(&self) -> MutexGuard<'_, Vec<Arc<ConnectionSlot>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, slot: &Arc<ConnectionSlot>) {
        self.taken().retain(|one| !Arc::ptr_eq(one, slot));
        self.news.notify_one();
    }

    /// Marks its connection as idle from now on.
    fn wait_anew(&self, slot: &Arc<ConnectionSlot>) {
        let mut taken = self.taken();
        if let Some(at) = taken.iter().position(|one| Arc::ptr_eq(one, slot)) {
            let own = taken.remove(at);
            taken.push(own);
        }
        self.news.notify_one();
    }
}

impl ConnectionSlot {
    /// Marks the slot as used until the result is dropped.
    pub(crate) fn taken(self: &Arc<Self>) -> SlotGuard {
        SlotGuard(Arc::clone(self))
    }

    /// Keeps the slot while a request is being answered; `None` if the connection is already being closed, so that no
    /// request is run whose answer could not be sent.
    pub(crate) fn serving(self: &Arc<Self>) -> Option<RequestGuard> {
        let taken = self.slots.taken();
        let is_taken = taken.iter().any(|one| Arc::ptr_eq(one, self));
        is_taken.then(|| {
            self.requests.fetch_add(1, Ordering::SeqCst);
            RequestGuard(Arc::clone(self))
        })
    }

    /// Waits until the connection has to be closed.
    pub(crate) async fn called_up(&self) {
        self.must_leave.notified().await;
    }
}

impl Drop for SlotGuard {
    fn drop(&mut self) {
        self.0.slots.leave(&self.0);
    }
}

impl Drop for RequestGuard {
    fn drop(&mut self) {
        if self.0.requests.fetch_sub(1, Ordering::SeqCst) == 1 {
            self.0.slots.wait_anew(&self.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(test);
    }

    async fn now<T>(what: impl Future<Output = T>) -> Option<T> {
        tokio::time::timeout(Duration::from_millis(50), what).await.ok()
    }

    #[test]
    fn the_connection_that_has_waited_longest_makes_room() {
        run(async {
            let slots = ConnectionLimit::new(2);
            let (first, second) = (slots.take().await, slots.take().await);
            drop(first.serving());
            let third = now(slots.take()).await;
            assert!(third.is_some() && now(second.called_up()).await.is_some());
            assert!(second.serving().is_none());
            assert!(now(first.called_up()).await.is_none());
        });
    }

    #[test]
    fn a_connection_whose_request_is_being_answered_keeps_its_seat() {
        run(async {
            let slots = ConnectionLimit::new(1);
            let first = slots.take().await;
            let taken = first.taken();
            let serving = first.serving();
            assert!(serving.is_some() && now(slots.take()).await.is_none());
            assert!(now(first.called_up()).await.is_none());
            drop((serving, taken));
            assert!(now(slots.take()).await.is_some());
        });
    }
}
