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
        limit_processes(&bounds, stage)
            .map_err(|errno| SetupFailure::new("limit the number of processes", errno))?;
        // Where it is not to be had by whoever may enter the namespaces only, the reaper looks at it.
        let is_looked_at = stage.profile.is_by_bwrap();
        if stage.profile.has_ipc() && !is_looked_at && limit_shared_memory(&bounds).is_err() {
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
/// this process's to set, the user's limit has to do, and root has none.
fn limit_processes(bounds: &ResourceLimits, stage: &LayerContext<'_>) -> Result<(), Errno> {
    let may_write = !stage.profile.is_by_bwrap();
    let has_own_numbers =
        may_write && stage.profile.has_pids() && stage.profile.has_mounts() && kernel_is_at_least(6, 14);
    if has_own_numbers {
        return write("/proc/sys/kernel/pid_max", &bounds.processes.saturating_add(RESERVED).to_string());
    }
    match stage.outside.uid {
        0 => Err(Errno::OPNOTSUPP),
        _ => lower(Resource::Nproc, u64::from(bounds.processes.saturating_add(stage.others()))),
    }
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
