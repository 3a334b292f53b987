//! A user namespace: gives access to the other namespaces without privileges, and makes a privileged process lose its
//! privileges outside.

use super::{Layer, LayerContext};
use crate::SetupFailure;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

pub(super) struct User;

impl Layer for User {
    fn name(&self) -> &'static str {
        "user_namespace"
    }

    fn namespaces(&self) -> libc::c_int {
        libc::CLONE_NEWUSER
    }

    fn is_optional(&self) -> bool {
        false
    }

    /// User and group ids are mapped to themselves, so that file owners look as they do outside.
    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let map = |id: u32| format!("{id} {id} 1");
        let write = |path, text: &str| {
            write(path, text).map_err(|errno| SetupFailure::new(&format!("write {path}"), errno))
        };
        write("/proc/self/setgroups", "deny")?;
        write("/proc/self/uid_map", &map(stage.outside.uid))?;
        write("/proc/self/gid_map", &map(stage.outside.gid))
    }
}

fn write(path: &str, text: &str) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text.as_bytes()).map(drop)
}
