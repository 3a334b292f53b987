//! No new privileges: programs that would run as somebody else, or with capabilities, run as what started them.

use super::{Layer, LayerContext};
use crate::SetupFailure;

pub(super) struct Privileges;

impl Layer for Privileges {
    fn name(&self) -> &'static str {
        "no_new_privileges"
    }

    fn enter(&self, _: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        rustix::thread::set_no_new_privs(true).map_err(|errno| SetupFailure::new("give up privileges", errno))
    }
}
