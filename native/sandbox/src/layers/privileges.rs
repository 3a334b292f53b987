//! No new privileges: programs that would run as somebody else, or with capabilities, run as what started them.

use super::{Layer, Stage};
use crate::Failure;

pub(super) struct Privileges;

impl Layer for Privileges {
    fn name(&self) -> &'static str {
        "no_new_privileges"
    }

    fn enter(&self, _: &mut Stage<'_>) -> Result<(), Failure> {
        rustix::thread::set_no_new_privs(true).map_err(|errno| Failure::new("give up privileges", errno))
    }
}
