//! The dialect `probe`: tools without effect, for tests and measurements of the doors. Only with the feature `probes`.

use super::registry_of;
use beamai_session::probe::{Noop, Panic, Sleep};
use beamai_tool::{ToolBinding, ToolRegistry};
use std::sync::Arc;

pub(super) fn registry() -> ToolRegistry {
    registry_of(vec![
        Arc::new(ToolBinding::<Noop>::new("probe_noop", "Does nothing and returns its argument.")),
        Arc::new(ToolBinding::<Sleep>::new(
            "probe_sleep",
            "Waits, reports progress every 10 ms, and stops when cancelled.",
        )),
        Arc::new(ToolBinding::<Panic>::new("probe_panic", "Crashes.")),
    ])
}
