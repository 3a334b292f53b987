//! The dialect `beamai`.

use super::registry_of;
use crate::registry::Registry;

pub(super) fn registry() -> Registry {
    registry_of(vec![])
}
