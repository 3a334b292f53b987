//! A start that waits for somebody's answer.

use super::lineage::{Origin, Pending};
use super::listener::{Listener, Report};
use super::resolver::View;
use super::supervisor::Watch;
use super::target::Target;
use beamai_isolation::{Coverage, HeldStart};
use rustix::io::Errno;
use std::sync::{Arc, Weak};

/// A start that waits. It keeps no listener open: where nobody supervises any more, it has failed already.
pub(super) struct Held {
    listener: Weak<Listener>,
    report: Report,
    watch: Arc<Watch>,
    view: Arc<View>,
    /// What was asked about, and what the start is if it goes on.
    asked: Option<(Target, Pending)>,
}

impl Held {
    pub(super) fn new(
        listener: &Arc<Listener>,
        report: Report,
        watch: &Arc<Watch>,
        view: &Arc<View>,
        asked: (Target, Pending),
    ) -> Self {
        let (watch, view) = (Arc::clone(watch), Arc::clone(view));
        Self { listener: Arc::downgrade(listener), report, watch, view, asked: Some(asked) }
    }
}

impl HeldStart for Held {
    /// Lets it go on, if it still is what was asked about: a person takes seconds to answer, in which another process can
    /// exchange a file or a link.
    fn start(mut self: Box<Self>, coverage: Coverage) {
        let Some(listener) = self.listener.upgrade() else { return };
        let Some((target, mut pending)) = self.asked.take() else { return };
        if self.watch.target(&self.view, &self.report).as_ref() != Ok(&target) {
            return listener.fail(self.report.id, Errno::ACCESS);
        }
        pending.origin = Arc::new(Origin { coverage, ..Origin::clone(&pending.origin) });
        self.watch.expect(pending);
        listener.go_on(self.report.id);
    }

    fn refuse(self: Box<Self>) {}
}

impl Drop for Held {
    fn drop(&mut self) {
        if let (Some(_), Some(listener)) = (self.asked.take(), self.listener.upgrade()) {
            listener.fail(self.report.id, Errno::ACCESS);
        }
    }
}
