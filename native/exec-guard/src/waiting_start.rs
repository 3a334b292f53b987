//! A start that is held until somebody decides about it.

use super::lineage::{AllowedStart, PendingStart};
use super::listener::{Notification, NotificationListener};
use super::program_cache::FileStamp;
use super::resolver::SandboxRoot;
use super::supervisor::{OrderState, start};
use super::task;
use beamai_isolation::{HeldStart, ProgramStart, StartCoverage};
use rustix::io::Errno;
use std::sync::{Arc, Weak};

/// A held start. It does not keep the listener open: without a supervisor, the start has failed already.
pub(super) struct WaitingStart {
    listener: Weak<NotificationListener>,
    report: Notification,
    watch: Arc<OrderState>,
    view: Arc<SandboxRoot>,
    asked: Option<AskedStart>,
}

/// A start as it was asked about, with the files that it concerns, and its entry for the lineage.
pub(super) struct AskedStart {
    pub(super) start: ProgramStart,
    pub(super) stamps: Vec<FileStamp>,
    pub(super) pending: PendingStart,
}

impl WaitingStart {
    pub(super) fn new(
        listener: &Arc<NotificationListener>,
        report: Notification,
        watch: &Arc<OrderState>,
        view: &Arc<SandboxRoot>,
        asked: AskedStart,
    ) -> Self {
        let (watch, view) = (Arc::clone(watch), Arc::clone(view));
        Self { listener: Arc::downgrade(listener), report, watch, view, asked: Some(asked) }
    }
}

impl HeldStart for WaitingStart {
    /// Lets the start continue if program, arguments and directory are still the ones asked about. A person takes
    /// seconds to answer; meanwhile another process can exchange a file or link.
    fn start(mut self: Box<Self>, coverage: StartCoverage) {
        let Some(listener) = self.listener.upgrade() else { return };
        let Some(AskedStart { start: asked, stamps, mut pending }) = self.asked.take() else { return };
        let is_same = self.watch.target(&self.view, &self.report).is_ok_and(|target| {
            target.program.stamps == stamps
                && task::directory(self.report.thread) == asked.starter.directory
                && start(target, asked.starter.clone()) == asked
        });
        if !is_same {
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
