//! Resource limits.

use super::{Layer, LayerContext};
use crate::{ResourceLimits, SetupFailure};
use beamai_isolation::LayerOff;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The Linux kernel reserves this many pids after the first wrap-around.
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
        if stage.profile.has_ipc() {
            // Where that is not permitted, the reaper alone limits it.
            _ = limit_shared_memory(&bounds);
        }
        // If memory runs out nevertheless, the command is killed first.
        _ = write("/proc/self/oom_score_adj", "500");
        Ok(())
    }
}

/// No core dumps, because they can start a program outside; no message queues, because they would outlast the command;
/// no raised priority.
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

/// Lowers a limit permanently; lower limits are kept.
fn lower(resource: Resource, limit: u64) -> Result<(), Errno> {
    let lowest = |known: Option<u64>| Some(known.map_or(limit, |known| known.min(limit)));
    let known = getrlimit(resource);
    setrlimit(resource, Rlimit { current: lowest(known.current), maximum: lowest(known.maximum) })
}

/// The Linux kernel's limit on processes counts all processes of a user and does not apply to root. Therefore the
/// number of pids in the pid namespace is limited. If that is not possible per namespace, or not permitted, the user's
/// limit is used; for root, the reaper counts.
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
    // In its own user namespace, a user has no other processes.
    let counts_apart = stage.profile.has_users() && kernel_is_at_least(5, 14);
    let others = if counts_apart { 0 } else { threads_of(stage.outside.uid) };
    lower(Resource::Nproc, u64::from(bounds.processes.saturating_add(others)))
}

/// Number of processes and threads of a user, according to `/proc`.
fn threads_of(uid: u32) -> u32 {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter(|entry| entry.file_name().as_encoded_bytes()[0].is_ascii_digit());
    let texts = pids.filter_map(|entry| std::fs::read_to_string(entry.path().join("status")).ok());
    texts.filter_map(|text| threads_in(&text, uid)).sum()
}

/// Number of threads of a process, if it belongs to the user.
fn threads_in(status: &str, uid: u32) -> Option<u32> {
    let value = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_ascii_whitespace().next()?.parse::<u32>().ok()
    };
    (value("Uid:")? == uid).then(|| value("Threads:"))?
}

/// Shared memory segments belong to no process, so they have a separate limit, and message queues are limited in
/// number.
fn limit_shared_memory(bounds: &ResourceLimits) -> Result<(), Errno> {
    // SAFETY: takes a number only.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).map_err(|_| Errno::INVAL)?;
    write("/proc/sys/kernel/shmall", &(bounds.memory_together / page).to_string())?;
    write("/proc/sys/kernel/msgmni", "64")
}

/// Whether the Linux kernel has at least this version.
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
