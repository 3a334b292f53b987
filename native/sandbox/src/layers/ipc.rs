//! An IPC namespace: shared memory, semaphores and message queues of the machine are out of reach.

use super::Layer;

pub(super) struct Ipc;

impl Layer for Ipc {
    fn name(&self) -> &'static str {
        "ipc_namespace"
    }

    fn namespaces(&self) -> libc::c_int {
        libc::CLONE_NEWIPC
    }
}
