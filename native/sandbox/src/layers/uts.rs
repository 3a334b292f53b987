//! A UTS namespace: the machine's name can be read, and changed for nobody.

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
