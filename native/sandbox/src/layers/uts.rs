//! A UTS namespace: the host name can be read, and changes to it affect nobody else.

use super::Layer;

pub(super) struct Uts;

impl Layer for Uts {
    fn name(&self) -> &'static str {
        "uts_namespace"
    }

    fn namespaces(&self) -> libc::c_int {
        libc::CLONE_NEWUTS
    }
}
