//! Whether a command has left something behind in its reaper.

use super::layers::Way;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit};
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
pub(super) struct Traces {
    condition: Condition,
    witnesses: Vec<OwnedFd>,
}

impl Traces {
    /// To be called when every layer has been entered.
    pub(super) fn watch(way: Way) -> Result<Self, Errno> {
        Ok(Self { condition: Condition::now(), witnesses: way.witnesses()? })
    }

    /// Whether anything is not as it was. Processes are not looked for: the reaper knows of them.
    pub(super) fn are_left(&self) -> bool {
        self.condition != Condition::now() || self.has_witness()
    }

    fn has_witness(&self) -> bool {
        let mut fds: Vec<_> = self.witnesses.iter().map(|fd| PollFd::new(fd, PollFlags::PRI)).collect();
        poll(&mut fds, Some(&Timespec { tv_sec: 0, tv_nsec: 0 })) != Ok(0)
    }
}

/// Limits and scheduling of this process.
#[derive(PartialEq)]
struct Condition {
    limits: [Rlimit; LIMITS.len()],
    /// Policy, priority and clamps, as the kernel lays them out.
    schedule: [u64; 16],
    affinity: Option<rustix::thread::CpuSet>,
    io_priority: libc::c_long,
}

impl Condition {
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
