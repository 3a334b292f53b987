//! A start that waits for somebody's answer.

use super::lineage::{Origin, Pending};
use super::listener::Listener;
use super::supervisor::Watch;
use beamai_isolation::{Coverage, HeldStart};
use rustix::io::Errno;
use std::sync::{Arc, Weak};

/// A start that waits. It keeps no listener open: where nobody supervises any more, it has failed already.
pub(super) struct Held {
    listener: Weak<Listener>,
    id: u64,
    watch: Arc<Watch>,
    /// What it is if it goes on.
    pending: Option<Pending>,
}

impl Held {
    pub(super) fn new(listener: &Arc<Listener>, id: u64, watch: &Arc<Watch>, pending: Pending) -> Self {
        Self { listener: Arc::downgrade(listener), id, watch: Arc::clone(watch), pending: Some(pending) }
    }
}

impl HeldStart for Held {
    fn start(mut self: Box<Self>, coverage: Coverage) {
        let (Some(mut pending), Some(listener)) = (self.pending.take(), self.listener.upgrade()) else {
            return;
        };
        pending.origin = Arc::new(Origin { coverage, ..Origin::clone(&pending.origin) });
        self.watch.expect(pending);
        listener.go_on(self.id);
    }

    fn refuse(self: Box<Self>) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        if let (Some(_), Some(listener)) = (self.pending.take(), self.listener.upgrade()) {
            listener.fail(self.id, Errno::ACCESS);
        }
    }
}
