//! The memory of all processes of a command together.
//!
//! The kernel bounds the memory of each process by itself (`resource_limits`), and that of several together only for
//! whoever may make a control group, which few users may. So the reaper looks, the more often the nearer the processes
//! are to the bound.

use super::process_tree;
use crate::message::MemoryExcess;
use beamai_sandbox::{Confinement, layers::SandboxProfile};
use rustix::event::Timespec;
use rustix::process::Pid;
use std::time::{Duration, Instant};

/// Bytes in a second that are reckoned with between two looks.
const PACE: u64 = 8 << 30;
/// Shortest and longest time between two looks.
const PAUSES: (Duration, Duration) = (Duration::from_millis(20), Duration::from_millis(500));
/// At most this part of the time is spent on looking.
const PART: u32 = 10;

/// Looks at the memory of the processes beneath this one.
pub(super) struct MemoryMeter {
    limit: u64,
    /// Directories of files in memory whose size is looked at, and what each may have. The size of others is given.
    files: &'static [&'static str],
    limit_of_files: u64,
    /// Whether memory that is no process's is looked at.
    has_ipc: bool,
    /// Whether this process is the init of a pid namespace.
    has_pids: bool,
    next: Instant,
}

/// Bytes of memory of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MemoryBytes(u64);

impl MemoryMeter {
    /// For a command that starts now; none without a limit.
    pub(super) fn new(confinement: &Confinement, profile: SandboxProfile) -> Option<Self> {
        let limit = confinement.bounds.memory_together;
        // What bwrap has made has no bounds of its own.
        let is_by_bwrap = profile.is_by_bwrap();
        (limit < u64::MAX).then(|| Self {
            limit,
            files: if is_by_bwrap { profile.private(confinement) } else { &[] },
            limit_of_files: confinement.bounds.memory,
            has_ipc: is_by_bwrap && profile.has_ipc(),
            has_pids: profile.has_pids(),
            next: Instant::now() + pause(limit, Duration::ZERO),
        })
    }

    /// Time until the next look.
    pub(super) fn time(&self) -> Timespec {
        let left = self.next.saturating_duration_since(Instant::now());
        Timespec { tv_sec: left.as_secs().cast_signed(), tv_nsec: i64::from(left.subsec_nanos()) }
    }

    /// Looks, if it is time to.
    pub(super) fn look(&mut self) -> Option<MemoryExcess> {
        let started = Instant::now();
        if started < self.next {
            return None;
        }
        let taken = self.taken();
        let in_files = self.files.iter().map(|dir| size_of_files(dir)).max().unwrap_or(0);
        let bounded = [(taken, self.limit), (in_files, self.limit_of_files)];
        let left = bounded.map(|(taken, limit)| limit.saturating_sub(taken));
        self.next = Instant::now() + pause(left[0].min(left[1]), started.elapsed());
        let excess = bounded.into_iter().find(|(taken, limit)| taken > limit);
        excess.map(|(taken, limit)| MemoryExcess { taken, limit })
    }

    /// What is shared counts for each that has it at first, which is quick, and is looked at closely only when that
    /// is too much.
    fn taken(&self) -> u64 {
        let pids = process_tree::beneath(self.has_pids);
        let all: Vec<(Pid, MemoryBytes)> =
            pids.into_iter().filter_map(|pid| Some((pid, whole(pid)?))).collect();
        let sum =
            |all: &[(Pid, MemoryBytes)]| all.iter().fold(0_u64, |sum, (_, of)| sum.saturating_add(of.0));
        let of_nobody = if self.has_ipc { memory_of_nobody() } else { 0 };
        match sum(&all).saturating_add(of_nobody) {
            total if total <= self.limit => total,
            _ => {
                let parts = all.into_iter().filter_map(|(pid, _)| Some((pid, part(pid)?)));
                of_nobody.saturating_add(sum(&parts.collect::<Vec<_>>()))
            }
        }
    }
}

/// Bytes of the files in a file system in memory.
fn size_of_files(dir: &str) -> u64 {
    rustix::fs::statvfs(dir).map_or(0, |stat| (stat.f_blocks - stat.f_bfree) * stat.f_frsize)
}

/// Bytes of System V's shared memory and of messages that nobody has taken. What a process has attached counts with
/// that, too.
fn memory_of_nobody() -> u64 {
    let list = |name: &str| std::fs::read_to_string(format!("/proc/sysvipc/{name}")).unwrap_or_default();
    let shared = list("shm");
    [column(&shared, "rss"), column(&shared, "swap"), column(&list("msg"), "cbytes")]
        .into_iter()
        .fold(0, u64::saturating_add)
}

/// The sum of a column of a list that has a heading.
fn column(list: &str, name: &str) -> u64 {
    let mut lines = list.lines().map(str::split_ascii_whitespace);
    let Some(at) = lines.next().and_then(|mut names| names.position(|one| one == name)) else { return 0 };
    let numbers = lines.filter_map(|mut line| line.nth(at)?.parse::<u64>().ok());
    numbers.fold(0, u64::saturating_add)
}

fn pause(left: u64, cost: Duration) -> Duration {
    let (shortest, longest) = PAUSES;
    let reach = Duration::from_millis(left.saturating_mul(1_000) / PACE);
    reach.clamp(shortest, longest).max(cost * PART)
}

/// All that a process uses and that is in no file, and the kernel's tables of it; `None` when it has no memory any more.
fn whole(pid: Pid) -> Option<MemoryBytes> {
    status(pid).map(|(_, text)| all_of(&text))
}

/// Its part of what it uses and that is in no file, and the tables, which are its own. One that does not let itself be
/// looked at has all that it uses, and one that has ended since it was listed has nothing: what it shared is the others'.
fn part(pid: Pid) -> Option<MemoryBytes> {
    let (thread, text) = status(pid)?;
    let Ok(parts) = std::fs::read_to_string(format!("{thread}/smaps_rollup")) else { return whole(pid) };
    let shared = sum(&parts, &["Pss_Anon:", "Pss_Shmem:", "SwapPss:"]);
    Some(MemoryBytes(shared.0 + sum(&text, &[TABLES]).0))
}

fn all_of(status: &str) -> MemoryBytes {
    sum(status, &["RssAnon:", "RssShmem:", "VmSwap:", TABLES])
}

/// The directory and the status of a process that has memory. Where its first thread has ended, only the others show that.
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

/// Memory that is only looked at takes none but for the tables in which it stands.
const TABLES: &str = "VmPTE:";

/// The sum of some lines, which are in units of 1,024 bytes.
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
    fn a_column_is_found_by_its_name() {
        let list =
            "       key      shmid perms                  size  cpid\n 1 2 1600 4096 7\n 2 3 1600 100 8\n";
        assert_eq!((column(list, "size"), column(list, "lpid"), column("", "size")), (4196, 0, 0));
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
        assert!(part.0 > 0 && whole.0 > 0);
    }
}
