//! A private `/dev` with harmless devices, its own terminals and its own shared memory.

use super::mount::{MountCopy, READ_ONLY, failed, make_room, memory, point};
use crate::SetupFailure;
use rustix::fs::FileType;
use rustix::mount::MountFlags;
use std::os::fd::AsFd;
use std::path::Path;

/// Devices that are taken over from the machine.
pub(super) const NODES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

const LINKS: [(&str, &str); 5] = [
    ("/proc/self/fd", "/dev/fd"),
    ("/proc/self/fd/0", "/dev/stdin"),
    ("/proc/self/fd/1", "/dev/stdout"),
    ("/proc/self/fd/2", "/dev/stderr"),
    ("pts/ptmx", "/dev/ptmx"),
];

/// The machine's devices, opened before `/dev` is covered.
pub(super) struct Devices(Vec<(&'static str, MountCopy)>);

impl Devices {
    pub(super) fn take() -> Result<Self, SetupFailure> {
        // Programs can still write to them. On a read-only mount, they cannot change their modes and times.
        let take = |path: &'static str| {
            let copy = point(Path::new(path)).and_then(|fd| MountCopy::of(fd.as_fd())?.with(READ_ONLY));
            copy.map(|copy| (path, copy)).map_err(failed("take", Path::new(path)))
        };
        NODES.into_iter().map(take).collect::<Result<_, _>>().map(Self)
    }

    /// Covers `/dev`. Shared memory is limited to `bytes`; `attributes` are those of writable mounts.
    pub(super) fn arrange(self, bytes: u64, attributes: u64) -> Result<(), SetupFailure> {
        cover("/dev", "0755", None, attributes)?;
        for (path, copy) in self.0 {
            let path = Path::new(path);
            make_room(path, FileType::CharacterDevice).map_err(failed("make room for", path))?;
            point(path).and_then(|target| copy.attach(target.as_fd())).map_err(failed("mount", path))?;
        }
        for (target, path) in LINKS {
            rustix::fs::symlink(target, path).map_err(failed("link", Path::new(path)))?;
        }
        for path in ["/dev/shm", "/dev/pts"] {
            make_room(Path::new(path), FileType::Directory).map_err(failed("make", Path::new(path)))?;
        }
        cover("/dev/shm", "1777", Some(bytes), attributes)?;
        let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
        rustix::mount::mount("devpts", "/dev/pts", "devpts", flags, c"newinstance,ptmxmode=0666,mode=0620")
            .map_err(failed("mount", Path::new("/dev/pts")))
    }
}

fn cover(path: &str, mode: &str, bytes: Option<u64>, attributes: u64) -> Result<(), SetupFailure> {
    let path = Path::new(path);
    memory(path, mode, bytes, attributes).map_err(failed("mount", path))
}
