//! Limits the total memory of a command's processes.
//!
//! The Linux kernel limits the memory of single processes (`resource_limits`), but of several processes only with a
//! control group, which few users may create. Therefore the reaper samples their memory, more often the closer it is to
//! the limit.

use super::process_tree;
use super::shared_memory::{self, SharedObjects};
use crate::message::{KillCause, MemoryExcess};
use beamai_sandbox::Confinement;
use beamai_sandbox::layers::{KCMP_VM, SandboxProfile};
use rustix::event::Timespec;
use rustix::process::{Pid, Signal};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Assumed maximum growth in bytes per second between two samples.
const PACE: u64 = 8 << 30;
/// Minimum and maximum time between two samples.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// At most this fraction of the time is spent on sampling.
const PART: u32 = 10;
/// Maximum number of processes that may have ended between being listed and being looked at. If there are more, and
/// more than are left, or as many as may exceed the limit with them, all are stopped for a sample. Stopping them for
/// every sample would disturb those that watch their children.
const MOST_GONE: usize = 8;

/// Within this time a fork ends that was under way.
const LONGEST_FORK: Duration = Duration::from_secs(2);

/// Samples the memory of the processes below this one, and counts them if the Linux kernel does not.
pub(super) struct MemoryMeter {
    limit: u64,
    /// Maximum number of processes and threads.
    most: Option<u32>,
    /// Whether it has an IPC namespace.
    has_ipc: bool,
    /// Whether its signals reach no other processes than these.
    reaches_these: bool,
    next: Instant,
    /// When all were last stopped for a sample, until a child of that time can no longer be left stopped.
    stopped: Option<Instant>,
}

/// What each process uses, and how many do not any more.
struct Usages {
    all: Vec<(Pid, ProcessUsage)>,
    /// Those that others of the command have yet to reap.
    unreaped: usize,
    /// Those that had ended before they were looked at, of others included where it is not known whose they were.
    gone: usize,
}

/// What processes use together.
struct Sample {
    taken: u64,
    threads: u64,
    /// Whether a limit may be exceeded by processes that ended before they were looked at.
    is_doubtful: bool,
}

/// Bytes of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MemoryBytes(u64);

impl MemoryMeter {
    /// A meter for a command that starts now; `None` if it has no limits.
    pub(super) fn new(
        confinement: &Confinement,
        profile: SandboxProfile,
        counts_processes: bool,
        reaches_these: bool,
    ) -> Option<Self> {
        let limit = confinement.bounds.memory_together;
        let most = Some(confinement.bounds.processes).filter(|_| counts_processes);
        (limit < u64::MAX || most.is_some()).then(|| Self {
            limit,
            most,
            has_ipc: profile.has_ipc(),
            reaches_these,
            next: Instant::now() + pause(limit, Duration::ZERO),
            stopped: None,
        })
    }

    /// Time until the next sample.
    pub(super) fn time(&self) -> Timespec {
        let left = self.next.saturating_duration_since(Instant::now());
        Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) }
    }

    /// Takes a sample if it is due. Gives up when `goes_on` is false, such as when the command is to end. Where many
    /// processes end, all are stopped for it, and `reap` takes those that have ended, one by one.
    pub(super) fn look(
        &mut self,
        goes_on: &impl Fn() -> bool,
        many_end: bool,
        reap: impl FnMut() -> Option<Pid>,
    ) -> Option<KillCause> {
        let started = Instant::now();
        if started < self.next {
            return None;
        }
        self.continue_children();
        let stops = many_end && self.reaches_these;
        let taken = match stops {
            true => self.stopped(|meter| {
                std::iter::from_fn(reap).for_each(drop);
                meter.sample(goes_on)
            }),
            false => self.taken(goes_on),
        };
        let Sample { taken, threads, .. } = taken?;
        let left = self.limit.saturating_sub(taken);
        // New processes appear faster than memory fills.
        let pace = if self.most.is_some() { 0 } else { left };
        self.next = Instant::now() + pause(pace, started.elapsed());
        if let Some(most) = self.most.filter(|most| threads > u64::from(*most)) {
            return Some(KillCause::Processes(MemoryExcess { taken: threads, limit: most.into() }));
        }
        (taken > self.limit).then_some(KillCause::Memory(MemoryExcess { taken, limit: self.limit }))
    }

    /// A sample. If processes ended during it, and so a limit may be exceeded, it is taken again while all are stopped.
    fn taken(&mut self, goes_on: &impl Fn() -> bool) -> Option<Sample> {
        let first = self.sample(goes_on)?;
        match first.is_doubtful && self.reaches_these {
            true => self.stopped(|meter| meter.sample(goes_on)),
            false => Some(first),
        }
    }

    /// What `look` finds while all are stopped.
    fn stopped<T>(&mut self, look: impl FnOnce(&mut Self) -> T) -> T {
        process_tree::signal_reached(Signal::STOP);
        let found = look(self);
        process_tree::signal_reached(Signal::CONT);
        self.stopped = Some(Instant::now());
        found
    }

    /// Continues children that were left stopped. If a process is forking while all are stopped, its child gets the
    /// stop signal, too. The child does not get the signal that continues the others, so it needs another one. (The
    /// Linux kernel drops an ignored signal before it reaches such a child: `__send_signal_locked`.)
    fn continue_children(&mut self) {
        if self.stopped.is_some() {
            process_tree::signal_reached(Signal::CONT);
        }
        self.stopped = self.stopped.filter(|at| at.elapsed() < LONGEST_FORK);
    }

    /// Memory and threads in total. Shared memory is first counted for every process that maps it, and mappings that may
    /// be shared are taken for full, which is quick; exactly only if the result exceeds the limit.
    fn sample(&self, goes_on: &impl Fn() -> bool) -> Option<Sample> {
        let Usages { all, unreaped, gone } = Self::usages(goes_on)?;
        // What has ended takes up a pid until it is reaped.
        let threads = all.iter().map(|(_, used)| used.threads).sum::<u64>() + unreaped as u64;
        let kept = if self.has_ipc { shared_memory::of_no_process() } else { 0 };
        let sum = all.iter().fold(kept, |sum, (_, used)| sum.saturating_add(used.memory.0));
        // As if those that have gone had used as much as the others.
        let counted = all.len().max(1) as u64;
        let missing = if gone > MOST_GONE { (sum / counted).saturating_mul(gone as u64) } else { 0 };
        let sample = |taken: u64, missing: u64| Sample {
            taken,
            threads,
            is_doubtful: gone > MOST_GONE.max(all.len())
                || self.most.is_some_and(|most| threads + gone as u64 > most.into())
                || taken <= self.limit && taken.saturating_add(missing) > self.limit,
        };
        let shareable = all.iter().fold(0_u64, |sum, (_, used)| sum.saturating_add(used.shareable.0));
        // Mapped objects may be empty, but they hold no more than all shared memory of the machine.
        let machine = shared_memory::of_the_machine();
        let most = sum.saturating_add(shareable.min(machine));
        if most <= self.limit {
            return Some(sample(most, missing));
        }
        let objects = objects(&all, goes_on)?.min(machine);
        let most = sum.saturating_add(objects);
        if most <= self.limit {
            return Some(sample(most, missing));
        }
        let (exact, unseen) = exactly(&all, objects, goes_on)?;
        Some(sample(exact.saturating_add(kept), missing.saturating_add(unseen)))
    }

    fn usages(goes_on: &impl Fn() -> bool) -> Option<Usages> {
        let beneath = process_tree::beneath(goes_on)?;
        let running = beneath.pids.len();
        let all = each(beneath.pids, goes_on, |pid| Some((pid, whole(pid)?)))?;
        let gone = beneath.gone + running - all.len();
        Some(Usages { all, unreaped: beneath.unreaped, gone })
    }
}

/// The results of `look` for those processes that have one. `None` as soon as `goes_on` is false.
fn each<P, T>(
    processes: impl IntoIterator<Item = P>,
    goes_on: impl Fn() -> bool,
    look: impl Fn(P) -> Option<T>,
) -> Option<Vec<T>> {
    let looked: Option<Vec<_>> =
        processes.into_iter().map(|process| goes_on().then(|| look(process))).collect();
    Some(looked?.into_iter().flatten().collect())
}

/// The memory of processes and of the objects that they map, without counting anything twice; and what those used that
/// have ended since they were listed.
fn exactly(all: &[(Pid, ProcessUsage)], objects: u64, goes_on: impl Fn() -> bool) -> Option<(u64, u64)> {
    let counted = once_for_each_address_space(all);
    let parts = each(counted, goes_on, |(pid, used)| Some(part(*pid).ok_or(used.memory)))?;
    let sum = |bytes: fn(&ProcessPart) -> MemoryBytes| {
        parts.iter().flatten().fold(0_u64, |sum, part| sum.saturating_add(bytes(part).0))
    };
    let unseen = parts.iter().filter_map(|part| part.as_ref().err());
    let unseen = unseen.fold(0_u64, |sum, bytes| sum.saturating_add(bytes.0));
    Some((sum(|part| part.seen).max(sum(|part| part.own).saturating_add(objects)), unseen))
}

/// All processes except those that have the address space of their parent, as between vfork(2) and the start of a program.
fn once_for_each_address_space(all: &[(Pid, ProcessUsage)]) -> impl Iterator<Item = &(Pid, ProcessUsage)> {
    let can_compare = process_tree::shows_this_namespace();
    let threads: HashMap<Pid, Pid> = all.iter().map(|(pid, used)| (*pid, used.thread)).collect();
    let has_that_of_its_parent = move |used: &ProcessUsage| {
        let parent = used.parent.and_then(|parent| threads.get(&parent));
        parent.is_some_and(|parent| share_memory(used.thread, *parent))
    };
    all.iter().filter(move |(_, used)| !(can_compare && has_that_of_its_parent(used)))
}

/// Whether two threads have one address space. kcmp(2) says so, too, of threads that have none any more.
fn share_memory(one: Pid, other: Pid) -> bool {
    let [first, second] = [one, other].map(Pid::as_raw_nonzero);
    // SAFETY: takes only integers.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, first, second, KCMP_VM, 0, 0) };
    let has_memory = |thread| status_in(&format!("/proc/{thread}")).is_some();
    order == 0 && has_memory(one) && has_memory(other)
}

/// Bytes of the shared memory objects that processes map.
fn objects(all: &[(Pid, ProcessUsage)], goes_on: impl Fn() -> bool) -> Option<u64> {
    let mut objects = SharedObjects::default();
    let mut unknown = 0_u64;
    for (pid, used) in all {
        if !goes_on() {
            return None;
        }
        let Some((thread, _)) = status(*pid) else { continue };
        match std::fs::read(format!("{thread}/maps")) {
            Ok(maps) => objects.add(&String::from_utf8_lossy(&maps)),
            // A process can refuse to be inspected.
            Err(_) => unknown = unknown.saturating_add(used.shareable.0),
        }
    }
    Some(objects.total().saturating_add(unknown))
}

/// The resource usage of a process.
#[derive(Debug, Clone, Copy)]
struct ProcessUsage {
    /// A thread that has its memory.
    thread: Pid,
    parent: Option<Pid>,
    memory: MemoryBytes,
    /// Mappings that are neither private data nor a stack, and so may be shared memory.
    shareable: MemoryBytes,
    threads: u64,
}

/// The share of a process in the memory that several map.
#[derive(Debug, Clone, Copy)]
struct ProcessPart {
    /// With what it sees of shared memory.
    seen: MemoryBytes,
    /// Without shared memory.
    own: MemoryBytes,
}

fn pause(left: u64, cost: Duration) -> Duration {
    let (shortest, longest) = PAUSES;
    let reach = Duration::from_millis(left.saturating_mul(1_000) / PACE);
    reach.clamp(shortest, longest).max(cost * PART)
}

/// All memory of a process that is not backed by a file, and its page tables; `None` if the process has no memory any
/// more.
fn whole(pid: Pid) -> Option<ProcessUsage> {
    let (_, text) = status(pid)?;
    let number = |name: &str| -> Option<i32> {
        text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    let threads = number("Threads:").map_or(1, |threads| threads.unsigned_abs().into());
    let private = sum(&text, &["VmData:", "VmStk:"]);
    let shareable = MemoryBytes(sum(&text, &["VmSize:"]).0.saturating_sub(private.0));
    let [thread, parent] = ["Pid:", "PPid:"].map(|name| number(name).and_then(Pid::from_raw));
    Some(ProcessUsage { thread: thread?, parent, memory: all_of(&text), shareable, threads })
}

/// The proportional share of its memory that is not backed by a file, and its page tables. For a process that cannot be
/// inspected, all of its memory; `None` for one that has ended since it was listed.
fn part(pid: Pid) -> Option<ProcessPart> {
    let (thread, text) = status(pid)?;
    let private = sum(&text, &["RssAnon:", "VmSwap:", TABLES]);
    let Ok(parts) = std::fs::read_to_string(format!("{thread}/smaps_rollup")) else {
        return Some(ProcessPart { seen: all_of(&text), own: private });
    };
    let tables = sum(&text, &[TABLES]).0;
    // What is swapped out contains shared memory here, and there it is counted for every process.
    let swapped = sum(&parts, &["SwapPss:"]).0.min(sum(&text, &["VmSwap:"]).0);
    let seen = sum(&parts, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]).0 + tables;
    let own = sum(&parts, &["Pss_Anon:"]).0 + swapped + tables;
    Some(ProcessPart { seen: MemoryBytes(seen), own: MemoryBytes(own) })
}

fn all_of(status: &str) -> MemoryBytes {
    sum(status, &["RssAnon:", "RssShmem:", "VmSwap:", TABLES])
}

/// The directory and status of a process that has memory. After the main thread has exited, only the other threads show
/// it.
fn status(pid: Pid) -> Option<(String, String)> {
    let read = |directory: String| status_in(&directory).map(|text| (directory, text));
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).ok();
    read(format!("/proc/{pid}")).or_else(|| {
        threads()?.flatten().find_map(|thread| read(thread.path().to_string_lossy().into_owned()))
    })
}

/// The status of a process or thread with this directory in `/proc`; `None` if it has no memory (any more).
fn status_in(directory: &str) -> Option<String> {
    std::fs::read_to_string(format!("{directory}/status")).ok().filter(|text| text.contains(TABLES))
}

/// Pages that are mapped but only read need no memory except for page tables.
const TABLES: &str = "VmPTE:";

/// The sum of some lines, in units of 1,024 bytes.
fn sum(text: &str, names: &[&str]) -> MemoryBytes {
    let number = |line: &str| line.split_ascii_whitespace().nth(1)?.parse::<u64>().ok();
    let lines = text.lines().filter(|line| names.iter().any(|name| line.starts_with(name)));
    MemoryBytes(lines.filter_map(number).sum::<u64>() << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_come_faster_near_the_limit_and_never_take_all_the_time() {
        assert_eq!(pause(0, Duration::ZERO), PAUSES.0);
        assert_eq!(pause(1 << 30, Duration::ZERO), Duration::from_millis(125));
        assert_eq!(pause(u64::MAX, Duration::ZERO), PAUSES.1);
        assert_eq!(pause(0, Duration::from_secs(1)), Duration::from_secs(10));
    }

    #[test]
    fn a_look_ends_where_the_caller_does_not_go_on() {
        let left = std::cell::Cell::new(2);
        let goes_on = || left.replace(left.get() - 1) > 0;
        assert_eq!(each([1, 2], goes_on, Some), Some(vec![1, 2]));
        assert_eq!(each([1], goes_on, |_| -> Option<i32> { panic!("looked") }), None);
    }

    #[test]
    fn memory_is_told_from_files() {
        let text = "VmRSS:\t  900 kB\nRssAnon:\t     300 kB\nRssFile:\t 500 kB\nRssShmem:\t 100 kB\nVmSwap:\t 7 kB\n";
        assert_eq!(sum(text, &["RssAnon:", "RssShmem:", "VmSwap:"]), MemoryBytes(407 << 10));
    }

    #[test]
    fn this_process_has_memory_and_its_part_is_no_more_than_all() {
        let own = rustix::process::getpid();
        let (whole, part) = (whole(own).unwrap(), part(own).unwrap());
        assert!(part.own.0 > 0 && part.own.0 <= part.seen.0 && whole.memory.0 > 0 && whole.threads > 0);
    }
}
