//! A start that is held until somebody decides about it.

use super::lineage::{AllowedStart, PendingStart};
use super::listener::{Notification, NotificationListener};
use super::resolver::SandboxRoot;
use super::supervisor::OrderState;
use super::target::StartTarget;
use beamai_isolation::{HeldStart, StartCoverage};
use rustix::io::Errno;
use std::sync::{Arc, Weak};

/// A held start. It does not keep the listener open: without a supervisor, the start has failed already.
pub(super) struct WaitingStart {
    listener: Weak<NotificationListener>,
    report: Notification,
    watch: Arc<OrderState>,
    view: Arc<SandboxRoot>,
    /// What was asked about, and the entry for the lineage if the start is allowed.
    asked: Option<(StartTarget, PendingStart)>,
}

impl WaitingStart {
    pub(super) fn new(
        listener: &Arc<NotificationListener>,
        report: Notification,
        watch: &Arc<OrderState>,
        view: &Arc<SandboxRoot>,
        asked: (StartTarget, PendingStart),
    ) -> Self {
        let (watch, view) = (Arc::clone(watch), Arc::clone(view));
        Self { listener: Arc::downgrade(listener), report, watch, view, asked: Some(asked) }
    }
}

impl HeldStart for WaitingStart {
    /// Lets the start continue if program and arguments are still the ones asked about. A person takes seconds to answer;
    /// meanwhile another process can exchange a file or link.
    fn start(mut self: Box<Self>, coverage: StartCoverage) {
        let Some(listener) = self.listener.upgrade() else { return };
        let Some((target, mut pending)) = self.asked.take() else { return };
        if self.watch.target(&self.view, &self.report).as_ref() != Ok(&target) {
            return listener.fail(self.report.id, Errno::ACCESS);
        }
        pending.origin = Arc::new(AllowedStart { coverage, ..AllowedStart::clone(&pending.origin) });
        self.watch.expect(pending);
        listener.go_on(self.report.id);
    }

    fn refuse(self: Box<Self>) {}
}

impl Drop for WaitingStart {
    fn drop(&mut self) {
        if let (Some(_), Some(listener)) = (self.asked.take(), self.listener.upgrade()) {
            listener.fail(self.report.id, Errno::ACCESS);
        }
    }
}
