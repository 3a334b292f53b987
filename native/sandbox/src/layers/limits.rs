//! Bounds on what processes use.

use super::{Layer, LayerContext};
use crate::{ResourceLimits, SetupFailure};
use beamai_isolation::LayerOff;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The kernel keeps this many numbers of processes for itself, once they have been counted through.
const RESERVED: u32 = 300;

pub(super) struct ResourceBounds;

impl Layer for ResourceBounds {
    fn name(&self) -> &'static str {
        "resource_limits"
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let bounds = stage.confinement.bounds;
        for (resource, limit) in limits(&bounds) {
            lower(resource, limit)
                .map_err(|errno| SetupFailure::new(&format!("limit {}", name(resource)), errno))?;
        }
        let limited = limit_processes(&bounds, stage);
        limited.map_err(|errno| SetupFailure::new("limit the number of processes", errno))?;
        if stage.counts_processes {
            let why = "no limit of the Linux kernel binds the processes of root here: the reaper counts them, and ends a \
                       command that has too many";
            stage.partly.push(LayerOff::new(self.name(), why));
        }
        if stage.profile.has_ipc() && limit_shared_memory(&bounds).is_err() {
            let why = "this kernel does not let the shared memory of System V be limited";
            stage.partly.push(LayerOff::new(self.name(), why));
        }
        // When memory runs out all the same, it is the command that has to go.
        _ = write("/proc/self/oom_score_adj", "500");
        Ok(())
    }
}

/// No core dumps, because a program outside would be started to take them; no message queues, because they would
/// outlast the command; no priority above the usual one.
fn limits(bounds: &ResourceLimits) -> impl Iterator<Item = (Resource, u64)> {
    let given = [(Resource::Cpu, bounds.cpu), (Resource::Fsize, bounds.file_size)];
    let fixed = [
        (Resource::Data, bounds.memory),
        (Resource::Core, 0),
        (Resource::Msgqueue, 0),
        (Resource::Nice, 0),
        (Resource::Rtprio, 0),
    ];
    given.into_iter().filter_map(|(resource, limit)| Some((resource, limit?))).chain(fixed)
}

/// Lowers a limit for good; one that is lower stays.
fn lower(resource: Resource, limit: u64) -> Result<(), Errno> {
    let lowest = |known: Option<u64>| Some(known.map_or(limit, |known| known.min(limit)));
    let known = getrlimit(resource);
    setrlimit(resource, Rlimit { current: lowest(known.current), maximum: lowest(known.maximum) })
}

/// The limit that the kernel has for it counts a user's processes everywhere and does not bind root, so it is the
/// numbers of the pid namespace that run out. Where the kernel has no such numbers for each namespace, or they are not
/// this process's to set, the user's limit has to do; for root, which has none, the reaper counts.
fn limit_processes(bounds: &ResourceLimits, stage: &mut LayerContext<'_>) -> Result<(), Errno> {
    let numbers =
        || write("/proc/sys/kernel/pid_max", &bounds.processes.saturating_add(RESERVED).to_string());
    if stage.profile.has_pids() && kernel_is_at_least(6, 14) && numbers().is_ok() {
        return Ok(());
    }
    if stage.outside.uid == 0 {
        stage.counts_processes = true;
        return Ok(());
    }
    // In a user namespace of its own, a user has no other processes.
    let counts_apart = stage.profile.has_users() && kernel_is_at_least(5, 14);
    let others = if counts_apart { 0 } else { threads_of(stage.outside.uid) };
    lower(Resource::Nproc, u64::from(bounds.processes.saturating_add(others)))
}

/// How many processes and threads a user has, as far as `/proc` shows them.
fn threads_of(uid: u32) -> u32 {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    let texts = pids.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
    texts.filter_map(|text| threads_in(&text, uid)).sum()
}

/// The number of threads of a process, if it is the user's.
fn threads_in(status: &str, uid: u32) -> Option<u32> {
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse::<u32>().ok()
    };
    (value("Uid:")? == uid).then(|| value("Threads:"))?
}

/// Segments of shared memory are no process's; so they have a limit of their own, and message queues are few.
fn limit_shared_memory(bounds: &ResourceLimits) -> Result<(), Errno> {
    // SAFETY: takes a number only.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(|_| Errno::INVAL)?;
    write("/proc/sys/kernel/shmall", &(bounds.memory_together / page).to_string())?;
    write("/proc/sys/kernel/msgmni", "64")
}

/// Whether the Linux kernel has this version or a later one.
pub fn kernel_is_at_least(major: u32, minor: u32) -> bool {
    let uname = rustix::system::uname();
    let release = uname.release().to_string_lossy();
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map_while(|part| part.parse::<u32>().ok());
    let known = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    known >= (major, minor)
}

fn write(path: &str, text: &str) -> Result<(), Errno> {
    let file = rustix::fs::open(path, OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty())?;
    rustix::io::write(file, text.as_bytes()).map(drop)
}

fn name(resource: Resource) -> &'static str {
    match resource {
        Resource::Data => "memory",
        Resource::Cpu => "CPU time",
        Resource::Fsize => "the size of files",
        Resource::Core => "core dumps",
        Resource::Msgqueue => "message queues",
        _ => "priority",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_count_for_their_user_only() {
        let status = "Name:\tx\nUid:\t1000\t1000\t1000\t1000\nThreads:\t7\n";
        assert_eq!((threads_in(status, 1000), threads_in(status, 0)), (Some(7), None));
        assert!(threads_of(rustix::process::getuid().as_raw()) >= 1);
    }
}
