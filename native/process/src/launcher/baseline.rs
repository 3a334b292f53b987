//! Checks whether a command has left anything behind in its reaper.

use beamai_sandbox::{Confinement, layers::SandboxProfile};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

/// Limits that a command can change in its reaper, because it runs as the same user, and that the next command would
/// inherit.
const LIMITS: [Resource; 16] = [
    Resource::Cpu,
    Resource::Fsize,
    Resource::Data,
    Resource::Stack,
    Resource::Core,
    Resource::Rss,
    Resource::Nproc,
    Resource::Nofile,
    Resource::Memlock,
    Resource::As,
    Resource::Locks,
    Resource::Sigpending,
    Resource::Msgqueue,
    Resource::Nice,
    Resource::Rtprio,
    Resource::Rttime,
];

/// The state of a reaper before its first command.
pub(super) struct Baseline {
    condition: ProcessLimits,
    witnesses: Vec<OwnedFd>,
    /// Private directories of the reaper, and their entries.
    private: Vec<(&'static str, BTreeSet<OsString>)>,
    has_ipc: bool,
}

impl Baseline {
    /// Records the state. Call it after all layers have been entered.
    pub(super) fn watch(profile: SandboxProfile, confinement: &Confinement) -> Result<Self, Errno> {
        let private = profile.private(confinement).iter().map(|dir| (*dir, names(dir))).collect();
        let has_ipc = profile.has_ipc();
        Ok(Self { condition: ProcessLimits::now(), witnesses: profile.witnesses()?, private, has_ipc })
    }

    /// Descriptors that poll as exceptional after a layer has changed.
    pub(super) fn witnesses(&self) -> Vec<PollFd<'_>> {
        self.witnesses.iter().map(|fd| PollFd::new(fd, PollFlags::PRI)).collect()
    }

    /// Whether anything differs. Processes are not checked: the reaper knows them.
    pub(super) fn are_left(&self) -> bool {
        self.condition != ProcessLimits::now()
            || self.has_witness()
            || self.private.iter().any(|(dir, known)| names(dir) != *known)
            || (self.has_ipc && has_ipc_objects())
    }

    /// Whether a layer has changed.
    pub(super) fn has_witness(&self) -> bool {
        let mut fds = self.witnesses();
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
    }
}

/// The names in a directory; empty if it does not exist.
fn names(dir: &str) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}

/// Whether the IPC namespace has shared memory, message queues or semaphores: the lists have more than a header.
fn has_ipc_objects() -> bool {
    let lists = ["/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem"];
    lists.iter().any(|list| lines_of(list).is_ok_and(|lines| lines > 1))
}

/// The lines of a small file of `/proc`, which has no size: without the capacity it is read in pieces of 32 bytes.
fn lines_of(file: &str) -> std::io::Result<usize> {
    let mut text = String::with_capacity(1 << 10);
    File::open(file)?.read_to_string(&mut text)?;
    Ok(text.lines().count())
}

/// Limits and scheduling of this process.
#[derive(PartialEq)]
struct ProcessLimits {
    limits: [Rlimit; LIMITS.len()],
    /// Policy, priority and clamps, in the layout of the Linux kernel.
    schedule: [u64; 16],
    affinity: Option<rustix::thread::CpuSet>,
    io_priority: libc::c_long,
}

impl ProcessLimits {
    fn now() -> Self {
        let mut schedule = [0; 16];
        // SAFETY: the Linux kernel writes at most the given number of bytes. The second call takes no pointer.
        let io_priority = unsafe {
            libc::syscall(libc::SYS_sched_getattr, 0, schedule.as_mut_ptr(), size_of_val(&schedule), 0);
            libc::syscall(libc::SYS_ioprio_get, 1, 0)
        };
        let affinity = rustix::thread::sched_getaffinity(None).ok();
        Self { limits: LIMITS.map(getrlimit), schedule, affinity, io_priority }
    }
}
