//! An IPC namespace: the machine's shared memory, semaphores and message queues are unreachable.

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
