//! Limits the total memory of a command's processes.
//!
//! The Linux kernel limits the memory of single processes (`resource_limits`), but of several processes only with a
//! control group, which few users may create. Therefore the reaper samples their memory, more often the closer it is to
//! the limit.

use super::process_tree;
use crate::message::{KillCause, MemoryExcess};
use beamai_sandbox::{Confinement, layers::SandboxProfile};
use rustix::event::Timespec;
use rustix::process::Pid;
use std::time::{Duration, Instant};

/// Assumed maximum growth in bytes per second between two samples.
const PACE: u64 = 8 << 30;
/// Minimum and maximum time between two samples.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// At most this fraction of the time is spent on sampling.
const PART: u32 = 10;

/// Samples the memory of the processes below this one, and counts them if the Linux kernel does not.
pub(super) struct MemoryMeter {
    limit: u64,
    /// Maximum number of processes and threads.
    most: Option<u32>,
    /// Whether this process is the init of a pid namespace.
    has_pids: bool,
    next: Instant,
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
    ) -> Option<Self> {
        let limit = confinement.bounds.memory_together;
        let most = Some(confinement.bounds.processes).filter(|_| counts_processes);
        (limit < u64::MAX || most.is_some()).then(|| Self {
            limit,
            most,
            has_pids: profile.has_pids(),
            next: Instant::now() + pause(limit, Duration::ZERO),
        })
    }

    /// Time until the next sample.
    pub(super) fn time(&self) -> Timespec {
        let left = self.next.saturating_duration_since(Instant::now());
        Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) }
    }

    /// Takes a sample if it is due.
    pub(super) fn look(&mut self) -> Option<KillCause> {
        let started = Instant::now();
        if started < self.next {
            return None;
        }
        let (taken, threads) = self.taken();
        let left = self.limit.saturating_sub(taken);
        // New processes appear faster than memory fills.
        let pace = if self.most.is_some() { 0 } else { left };
        self.next = Instant::now() + pause(pace, started.elapsed());
        if let Some(most) = self.most.filter(|most| threads > u64::from(*most)) {
            return Some(KillCause::Processes(MemoryExcess { taken: threads, limit: most.into() }));
        }
        (taken > self.limit).then_some(KillCause::Memory(MemoryExcess { taken, limit: self.limit }))
    }

    /// Memory and threads in total. Shared memory is first counted for every process that maps it, which is quick, and
    /// exactly only if the result exceeds the limit.
    fn taken(&self) -> (u64, u64) {
        let pids = process_tree::beneath(self.has_pids);
        let all: Vec<(Pid, ProcessUsage)> =
            pids.into_iter().filter_map(|pid| Some((pid, whole(pid)?))).collect();
        let threads = all.iter().map(|(_, used)| used.threads).sum();
        let sum = all.iter().fold(0_u64, |sum, (_, used)| sum.saturating_add(used.memory.0));
        if sum <= self.limit {
            return (sum, threads);
        }
        let close = all.into_iter().filter_map(|(pid, _)| Some(part(pid)?.0));
        (close.fold(0, u64::saturating_add), threads)
    }
}

/// The resource usage of a process.
#[derive(Debug, Clone, Copy)]
struct ProcessUsage {
    memory: MemoryBytes,
    threads: u64,
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
    let threads = text.lines().find_map(|line| line.strip_prefix("Threads:")?.trim().parse().ok());
    Some(ProcessUsage { memory: all_of(&text), threads: threads.unwrap_or(1) })
}

/// The proportional share of its memory that is not backed by a file, and its page tables. For a process that cannot be
/// inspected, all of its memory; for one that has ended since it was listed, nothing, because its shared memory is
/// counted for the others.
fn part(pid: Pid) -> Option<MemoryBytes> {
    let (thread, text) = status(pid)?;
    let Ok(parts) = std::fs::read_to_string(format!("{thread}/smaps_rollup")) else {
        return Some(all_of(&text));
    };
    let shared = sum(&parts, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]);
    Some(MemoryBytes(shared.0 + sum(&text, &[TABLES]).0))
}

fn all_of(status: &str) -> MemoryBytes {
    sum(status, &["RssAnon:", "RssShmem:", "VmSwap:", TABLES])
}

/// The directory and status of a process that has memory. After the main thread has exited, only the other threads show
/// it.
fn status(pid: Pid) -> Option<(String, String)> {
    let read = |directory: String| {
        let text = std::fs::read_to_string(format!("{directory}/status")).ok()?;
        text.contains(TABLES).then_some((directory, text))
    };
    let threads = || std::fs::read_dir(format!("/proc/{pid}/task")).ok();
    read(format!("/proc/{pid}")).or_else(|| {
        threads()?.flatten().find_map(|thread| read(thread.path().to_string_lossy().into_owned()))
    })
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
    fn memory_is_told_from_files() {
        let text = "VmRSS:\t  900 kB\nRssAnon:\t     300 kB\nRssFile:\t 500 kB\nRssShmem:\t 100 kB\nVmSwap:\t 7 kB\n";
        assert_eq!(sum(text, &["RssAnon:", "RssShmem:", "VmSwap:"]), MemoryBytes(407 << 10));
    }

    #[test]
    fn this_process_has_memory_and_its_part_is_no_more_than_all() {
        let own = rustix::process::getpid();
        let (whole, part) = (whole(own).unwrap(), part(own).unwrap());
        assert!(part.0 > 0 && whole.memory.0 > 0 && whole.threads > 0);
    }
}
