//! A user namespace: the way to the other namespaces for a process without privileges.

use super::{Layer, Outside};
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

    /// Everybody stays who they are, so that files look as they do outside, and a command that is not root
    /// outside has no capabilities inside.
    fn enter(&self, outside: &Outside) -> Result<(), Errno> {
        write("/proc/self/setgroups", "deny")?;
        write("/proc/self/uid_map", &format!("{0} {0} 1", outside.uid))?;
        write("/proc/self/gid_map", &format!("{0} {0} 1", outside.gid))
    }
}

fn write(path: &str, text: &str) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text.as_bytes()).map(drop)
}
