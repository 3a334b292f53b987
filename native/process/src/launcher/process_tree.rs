//! Kills all processes below a reaper, with or without a pid namespace.
//!
//! Orphans are reparented to the nearest subreaper, so the tree below a subreaper is complete. Its processes are first
//! stopped, because stopped processes neither fork nor reap, and then killed. Process groups, namespaces and signal scopes
//! receive a signal in one step that no fork can escape. No group extends beyond the tree, because the command leads its
//! own session.

use rustix::fs::{Dir, DirEntry, Mode, OFlags};
use rustix::process::{
    Pid, Signal, getpgrp, getpid, kill_process, kill_process_group, setpriority_pgrp, setpriority_process,
};
use std::collections::{HashMap, HashSet};
use std::os::fd::OwnedFd;

/// Maximum rounds of stopping before the known part of the tree is killed; callers repeat until nothing is left.
const MAX_ROUNDS: usize = 200;

/// Maximum number of ended children that are reaped in a round.
const MOST_REAPED: usize = 1_000;

/// A process as shown in `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ProcessEntry {
    pid: Pid,
    parent: Pid,
    group: Pid,
    is_zombie: bool,
    /// Whether no thread of it is left: it has ended, and was not reaped.
    is_dead: bool,
}

/// The processes below this one, at a look.
#[derive(Default)]
pub(super) struct ProcessesBeneath {
    /// Those that run.
    pub(super) pids: Vec<Pid>,
    /// How many have ended and are still to be reaped by others of the command.
    pub(super) unreaped: usize,
    /// How many were listed and had ended before it was known whose they were, or are still to be reaped by this process.
    pub(super) gone: usize,
}

/// Kills all processes that the signals of this process reach: it must be the init of a pid namespace, or in a signal
/// scope. Returns those that were alive according to `/proc`. `reap` takes one child that has ended, if there is any:
/// where processes fork and end, they are thousands, and a look at all takes long.
pub(super) fn kill_reached(is_init: bool, reap: impl FnMut() -> Option<Pid>) -> HashSet<Pid> {
    signal_reached(Signal::STOP);
    std::iter::from_fn(reap).for_each(drop);
    let all: Vec<_> = processes().collect();
    let found = match (is_init, shows_this_namespace()) {
        (true, true) => living(&all),
        (true, false) => HashSet::new(),
        (false, _) => living(&tree(&all, getpid(), &|_| false)),
    };
    signal_reached(Signal::KILL);
    found
}

/// Sends a signal to all processes that this one's signals reach. No fork escapes: the Linux kernel gives up one whose
/// process has got a signal meanwhile.
pub(super) fn signal_reached(signal: Signal) {
    _ = kill_process_group(Pid::INIT, signal);
}

/// The processes below this one. `None` as soon as `goes_on` is false: thousands of busy processes leave this one
/// little time, and then the list takes long.
pub(super) fn beneath(goes_on: impl Fn() -> bool) -> Option<ProcessesBeneath> {
    // A `/proc` of another namespace shows this process and its descendants with their pids there.
    let shown = rustix::fs::readlink("/proc/self", Vec::new()).ok();
    let shown = shown.and_then(|name| Pid::from_raw(name.to_str().ok()?.parse().ok()?));
    let Some((proc, listed)) = listed() else { return Some(ProcessesBeneath::default()) };
    let (mut all, mut found) = (Vec::new(), ProcessesBeneath::default());
    for pid in listed {
        if !goes_on() {
            return None;
        }
        match stat(&proc, pid) {
            Some(text) => all.extend(parse_stat(pid, &text)),
            None => found.gone += 1,
        }
    }
    let top = shown.unwrap_or_else(getpid);
    for seen in tree(&all, top, &|_| false) {
        match (seen.is_dead, seen.parent == top) {
            (false, _) => found.pids.push(seen.pid),
            (true, true) => found.gone += 1,
            (true, false) => found.unreaped += 1,
        }
    }
    Some(found)
}

/// Whether `/proc` belongs to the namespace of this process.
pub(super) fn shows_this_namespace() -> bool {
    let own = getpid().as_raw_nonzero().to_string();
    rustix::fs::readlink("/proc/self", Vec::new()).is_ok_and(|name| name.as_bytes() == own.as_bytes())
}

fn living<'a>(processes: impl IntoIterator<Item = &'a ProcessEntry>) -> HashSet<Pid> {
    let living = processes.into_iter().filter(|seen| !seen.is_zombie && seen.pid != getpid());
    living.map(|seen| seen.pid).collect()
}

/// Kills all processes below this one, except for the children named by `spared` and their descendants. Does not wait
/// for them. Returns those that were alive. `reap` takes one child that has ended, if there is any: a process that
/// forks and ends, again and again, would otherwise use up all pids meanwhile, and make each look at the processes take
/// longer than the last one.
pub(super) fn kill_tree(spared: impl Fn(Pid) -> bool, mut reap: impl FnMut() -> Option<Pid>) -> HashSet<Pid> {
    // A fork bomb would starve this process. Its own share is reduced if this priority is not permitted.
    _ = setpriority_process(None, -20);
    let mut stopped = StoppedProcesses::default();
    for _ in 0..MAX_ROUNDS {
        let has_found = stopped.stop_tree(getpid(), &spared);
        std::iter::from_fn(&mut reap).take(MOST_REAPED).for_each(|pid| stopped.forget(pid));
        if !has_found {
            break;
        }
    }
    stopped.kill();
    stopped.alive
}

/// The processes of a tree that have been stopped.
#[derive(Default)]
struct StoppedProcesses {
    pids: HashSet<Pid>,
    seen_groups: HashSet<Pid>,
    /// Groups of several processes, which have been stopped as a whole.
    groups: HashSet<Pid>,
    alive: HashSet<Pid>,
}

impl StoppedProcesses {
    /// Stops what a look at all processes shows below `top`, and tells whether there was anything new. Each is stopped
    /// at once, because processes that fork on leave this one little time: where each has its own session, a look at
    /// some thousands of them takes minutes.
    fn stop_tree(&mut self, top: Pid, spared: &impl Fn(Pid) -> bool) -> bool {
        let known = self.pids.len();
        let mut below = HashSet::from([top]);
        let mut all = Vec::new();
        for seen in processes() {
            let is_spared = seen.parent == top && spared(seen.pid);
            if below.contains(&seen.parent) && !is_spared {
                below.insert(seen.pid);
                self.stop(seen);
            }
            all.push(seen);
        }
        // They come by their pids, and a child can have a lower one than its parent.
        tree(&all, top, spared).into_iter().for_each(|seen| self.stop(seen));
        self.pids.len() > known
    }

    fn stop(&mut self, seen: ProcessEntry) {
        if !self.pids.insert(seen.pid) {
            return;
        }
        self.alive.extend(living([&seen]));
        // Most groups of a fork bomb that makes sessions have one member, and time is short.
        let is_first = self.seen_groups.insert(seen.group);
        if !is_first && may_be_signalled(seen.group) && self.groups.insert(seen.group) {
            _ = setpriority_pgrp(Some(seen.group), 19);
            _ = kill_process_group(seen.group, Signal::STOP);
        }
        _ = kill_process(seen.pid, Signal::STOP);
        // For what it has forked meanwhile.
        _ = setpriority_process(Some(seen.pid), 19);
    }

    /// Forgets a process that was reaped: its pid may now be that of another one.
    fn forget(&mut self, pid: Pid) {
        self.pids.remove(&pid);
        self.groups.remove(&pid);
        self.seen_groups.remove(&pid);
    }

    fn kill(&self) {
        // Errors mean that the group has already ended.
        self.groups.iter().for_each(|group| _ = kill_process_group(*group, Signal::KILL));
        self.pids.iter().for_each(|pid| _ = kill_process(*pid, Signal::KILL));
    }
}

/// Excludes the reaper's own group, which a command is in until it has its own session, and pid 1, because -1 means all
/// processes.
fn may_be_signalled(group: Pid) -> bool {
    group != getpgrp() && !group.is_init()
}

/// The processes below `top`.
fn tree(processes: &[ProcessEntry], top: Pid, spared: &impl Fn(Pid) -> bool) -> Vec<ProcessEntry> {
    let mut children: HashMap<Pid, Vec<ProcessEntry>> = HashMap::new();
    for seen in processes {
        children.entry(seen.parent).or_default().push(*seen);
    }
    let mut found = children.remove(&top).unwrap_or_default();
    found.retain(|seen| !spared(seen.pid));
    let mut next = 0;
    while let Some(seen) = found.get(next) {
        let below = children.remove(&seen.pid).unwrap_or_default();
        found.extend(below);
        next += 1;
    }
    found
}

/// All processes in `/proc`, by their pids, each read when it is taken; none without `/proc`.
fn processes() -> impl Iterator<Item = ProcessEntry> {
    listed().into_iter().flat_map(|(proc, listed)| listed.into_iter().filter_map(move |pid| see(&proc, pid)))
}

/// The directory `/proc`, and the pids in it. They are listed before any is read: where processes fork and end all the
/// time, reading each beside its name would never reach the last one.
fn listed() -> Option<(OwnedFd, Vec<Pid>)> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let proc = rustix::fs::open("/proc", flags, Mode::empty()).ok()?;
    let names = Dir::read_from(&proc).into_iter().flatten();
    let pid = |entry: rustix::io::Result<DirEntry>| {
        Pid::from_raw(entry.ok()?.file_name().to_str().ok()?.parse().ok()?)
    };
    let pids = names.filter_map(pid).collect();
    Some((proc, pids))
}

/// A process; `None` if it is gone. Zombies count: other threads of them may still run.
fn see(proc: &OwnedFd, pid: Pid) -> Option<ProcessEntry> {
    parse_stat(pid, &stat(proc, pid)?)
}

/// What `/proc/PID/stat` begins with; `None` if the process is gone.
fn stat(proc: &OwnedFd, pid: Pid) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::openat(proc, format!("{pid}/stat"), flags, Mode::empty()).ok()?;
    let mut text = vec![0; 512];
    let length = rustix::io::read(&file, &mut text).ok()?;
    text.truncate(length);
    Some(text)
}

/// State, parent and group follow the name, which is in parentheses and may itself contain parentheses.
fn parse_stat(pid: Pid, text: &[u8]) -> Option<ProcessEntry> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    let rest = std::str::from_utf8(&text[end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let is_zombie = fields.next()? == "Z";
    let mut next = || Pid::from_raw(fields.next()?.parse().ok()?);
    // The parent of a namespace's init is 0, which is not a process.
    let (parent, group) = (next()?, next()?);
    // The number of threads is the 20th field.
    let threads = fields.nth(14).and_then(|text| text.parse::<u64>().ok());
    let is_dead = is_zombie && threads.is_some_and(|threads| threads < 2);
    Some(ProcessEntry { pid, parent, group, is_zombie, is_dead })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pid(number: i32) -> Pid {
        Pid::from_raw(number).unwrap()
    }

    #[test]
    fn a_process_cannot_hide_its_parent_behind_its_name() {
        let seen = |state| {
            let is_zombie = state == "Z";
            Some(ProcessEntry { pid: pid(7), parent: pid(5), group: pid(6), is_zombie, is_dead: false })
        };
        let dead = b"7 (a) Z 5 6 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0";
        assert!(parse_stat(pid(7), dead).unwrap().is_dead);
        assert_eq!(parse_stat(pid(7), b"7 (a) Z 1 (b) S 5 6 7 0"), seen("S"));
        assert_eq!(parse_stat(pid(7), b"7 (a) Z 5 6 7 0"), seen("Z"));
        assert_eq!(parse_stat(pid(2), b"2 (kthreadd) S 0 0 0 0"), None);
        assert_eq!(parse_stat(pid(7), b"7 (a"), None);
    }

    #[test]
    fn the_tree_is_everything_below_but_not_beneath_the_spared() {
        let seen = |(child, parent)| ProcessEntry {
            pid: pid(child),
            parent: pid(parent),
            group: pid(child),
            is_zombie: false,
            is_dead: false,
        };
        let processes = [(2, 1), (3, 2), (4, 1), (5, 4), (6, 5), (7, 9)].map(seen);
        let found = tree(&processes, pid(1), &|child| child == pid(2));
        assert_eq!(found.iter().map(|seen| seen.pid).collect::<Vec<_>>(), [pid(4), pid(5), pid(6)]);
    }
}
