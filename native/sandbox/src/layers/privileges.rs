//! No new privileges: set-user-ID programs and file capabilities have no effect.

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
