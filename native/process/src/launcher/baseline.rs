//! Whether a command has left something behind in its reaper.

use beamai_sandbox::{Confinement, layers::SandboxProfile};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::fd::OwnedFd;

/// What a command can change of its reaper, being the same user, and what the next command would inherit.
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

/// How a reaper was before its first command.
pub(super) struct Baseline {
    condition: ProcessLimits,
    witnesses: Vec<OwnedFd>,
    /// Directories of the reaper's own, and what is in them.
    private: Vec<(&'static str, BTreeSet<OsString>)>,
    has_ipc: bool,
}

impl Baseline {
    /// To be called when every layer has been entered.
    pub(super) fn watch(profile: SandboxProfile, confinement: &Confinement) -> Result<Self, Errno> {
        let private = profile.private(confinement).iter().map(|dir| (*dir, names(dir))).collect();
        let has_ipc = profile.has_ipc();
        Ok(Self { condition: ProcessLimits::now(), witnesses: profile.witnesses()?, private, has_ipc })
    }

    /// Descriptors that poll as exceptional once a layer is not what it was.
    pub(super) fn witnesses(&self) -> Vec<PollFd<'_>> {
        self.witnesses.iter().map(|fd| PollFd::new(fd, PollFlags::PRI)).collect()
    }

    /// Whether anything is not as it was. Processes are not looked for: the reaper knows of them.
    pub(super) fn are_left(&self) -> bool {
        self.condition != ProcessLimits::now()
            || self.has_witness()
            || self.private.iter().any(|(dir, known)| names(dir) != *known)
            || (self.has_ipc && has_ipc_objects())
    }

    /// Whether a layer is not what it was.
    pub(super) fn has_witness(&self) -> bool {
        let mut fds = self.witnesses();
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
    }
}

/// The names in a directory; none where there is no such directory.
fn names(dir: &str) -> BTreeSet<OsString> {
    let entries = std::fs::read_dir(dir).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.file_name())).collect()
}

/// Whether the IPC namespace has shared memory, message queues or semaphores in it: more than the heading of a list.
fn has_ipc_objects() -> bool {
    let lists = ["/proc/sysvipc/shm", "/proc/sysvipc/msg", "/proc/sysvipc/sem"];
    lists.iter().any(|list| std::fs::read_to_string(list).is_ok_and(|text| text.lines().count() > 1))
}

/// Limits and scheduling of this process.
#[derive(PartialEq)]
struct ProcessLimits {
    limits: [Rlimit; LIMITS.len()],
    /// Policy, priority and clamps, as the kernel lays them out.
    schedule: [u64; 16],
    affinity: Option<rustix::thread::CpuSet>,
    io_priority: libc::c_long,
}

impl ProcessLimits {
    fn now() -> Self {
        let mut schedule = [0; 16];
        // SAFETY: the kernel writes at most as many bytes as it is told there are. The second call takes no pointer.
        let io_priority = unsafe {
            libc::syscall(libc::SYS_sched_getattr, 0, schedule.as_mut_ptr(), size_of_val(&schedule), 0);
            libc::syscall(libc::SYS_ioprio_get, 1, 0)
        };
        let affinity = rustix::thread::sched_getaffinity(None).ok();
        Self { limits: LIMITS.map(getrlimit), schedule, affinity, io_priority }
    }
}
