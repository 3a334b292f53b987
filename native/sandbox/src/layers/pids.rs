//! A pid namespace: the reaper is its init.

use super::Layer;

pub(super) struct Pids;

impl Layer for Pids {
    fn name(&self) -> &'static str {
        "pid_namespace"
    }

    fn namespaces(&self) -> libc::c_int {
        libc::CLONE_NEWPID
    }
}
