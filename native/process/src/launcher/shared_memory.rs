//! Memory that belongs to no file and not to one process: anonymous shared memory, memory files, and what System V's
//! calls keep.
//!
//! Its pages stay until the last mapping of the object is gone, also those that are in no page table any more, for
//! instance after `MADV_DONTNEED`. The Linux kernel counts these for no process, and tells the size of an object only
//! to root outside. Therefore an object counts with what is mapped of it, once for all processes.

use std::collections::HashMap;

/// How the Linux kernel names these objects in `/proc/PID/maps`.
const NAMES: [&str; 3] = ["/dev/zero (deleted)", "/SYSV", "/memfd:"];

/// Objects by device and inode, with the bytes from their start to the last mapped one.
#[derive(Debug, Default)]
pub(super) struct SharedObjects(HashMap<(String, u64), u64>);

impl SharedObjects {
    /// Adds the objects that a process maps, from the text of its `/proc/PID/maps`.
    pub(super) fn add(&mut self, maps: &str) {
        for (object, end) in maps.lines().filter_map(mapped) {
            let known = self.0.entry(object).or_default();
            *known = end.max(*known);
        }
    }

    /// Bytes of all objects.
    pub(super) fn total(&self) -> u64 {
        self.0.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }
}

/// The object of a line, and where the mapping ends in it.
fn mapped(line: &str) -> Option<((String, u64), u64)> {
    let (numbers, name) = line.split_at(line.find('/')?);
    if !NAMES.iter().any(|known| name.starts_with(known)) {
        return None;
    }
    let mut numbers = numbers.split_ascii_whitespace();
    let (start, end) = numbers.next()?.split_once('-')?;
    let hex = |text| u64::from_str_radix(text, 16).ok();
    let offset = hex(numbers.nth(1)?)?;
    let object = (numbers.next()?.to_owned(), numbers.next()?.parse().ok()?);
    Some((object, offset.saturating_add(hex(end)?.saturating_sub(hex(start)?))))
}

/// Bytes of what System V's calls of this process's IPC namespace keep without any process: segments that none has attached,
/// semaphores, and messages.
pub(super) fn of_no_process() -> u64 {
    let text = |name| std::fs::read_to_string(format!("/proc/sysvipc/{name}")).unwrap_or_default();
    [detached(&text("shm")), column(&text("sem"), 3).saturating_mul(SEMAPHORE), messages(&text("msg"))]
        .into_iter()
        .fold(0, u64::saturating_add)
}

/// Bytes of a semaphore in the Linux kernel: each has a cache line.
const SEMAPHORE: u64 = 64;

/// Bytes that the Linux kernel sets before the text of a message.
const HEADER: u64 = 48;

/// At most the bytes of all messages, from `/proc/sysvipc/msg`. The Linux kernel rounds each up to less than twice of
/// what it needs.
fn messages(queues: &str) -> u64 {
    column(queues, 4).saturating_mul(HEADER).saturating_add(column(queues, 3)).saturating_mul(2)
}

/// Bytes in memory and swapped out of the segments that no process has attached, from `/proc/sysvipc/shm`.
fn detached(segments: &str) -> u64 {
    let is_detached = |line: &&str| line.split_ascii_whitespace().nth(6) == Some("0");
    let lines: Vec<&str> = segments.lines().filter(is_detached).collect();
    column(&lines.join("\n"), 14) + column(&lines.join("\n"), 15)
}

/// The sum of a column; headings do not count.
fn column(table: &str, at: usize) -> u64 {
    let value = |line: &str| line.split_ascii_whitespace().nth(at)?.parse::<u64>().ok();
    table.lines().filter_map(value).fold(0, u64::saturating_add)
}

/// An upper bound for all shared memory of the machine: what is in memory, and all that is swapped out.
pub(super) fn of_the_machine() -> u64 {
    let known = rustix::system::sysinfo();
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    let units = known.sharedram as u64 + (known.totalswap as u64).saturating_sub(known.freeswap as u64);
    units.saturating_mul(known.mem_unit.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
        55d0c0000000-55d0c0001000 r-xp 00000000 fe:00 77                         /usr/bin/x\n\
        7f0000000000-7f0000004000 rw-s 00000000 00:01 5                          /dev/zero (deleted)\n\
        7f0000010000-7f0000012000 rw-s 00006000 00:01 5                          /dev/zero (deleted)\n\
        7f0000020000-7f0000021000 rw-s 00000000 00:01 32768                      /SYSV00000000 (deleted)\n\
        7f0000030000-7f0000031000 rw-s 00000000 00:01 9                          /memfd:a b (deleted)\n\
        7f0000040000-7f0000050000 rw-s 00000000 00:1b 9                          /dev/shm/file\n\
        7f0000050000-7fff00000000 ---p 00000000 00:00 0 \n\
        7fff00000000-7fff00001000 rw-p 00000000 00:05 3                          /dev/zero\n";

    #[test]
    fn each_object_counts_once_up_to_the_last_byte_that_is_mapped() {
        let mut objects = SharedObjects::default();
        objects.add(MAPS);
        objects.add(MAPS);
        assert_eq!(objects.total(), 0x8000 + 0x1000 + 0x1000);
    }

    #[test]
    fn segments_count_while_no_process_has_them() {
        let table = "       key      shmid perms  size  cpid  lpid nattch   uid   gid  cuid  cgid  atime  dtime  ctime   rss  swap\n\
                              77          0  1600  4096     1     1      0     0     0     0     0      1      2      3  4096     7\n\
                              78          1  1600  8192     1     1      2     0     0     0     0      1      2      3  8192     0\n";
        assert_eq!(detached(table), 4103);
        assert_eq!(
            column("       key      semid perms      nsems\n  0  0  600  250\n  0  1  600  8\n", 3),
            258
        );
    }

    #[test]
    fn messages_count_for_what_the_kernel_takes() {
        let table =
            "       key      msqid perms      cbytes       qnum\n  0  0  600  9770  10\n  0  1  600  0  4\n";
        assert_eq!(messages(table), 2 * (9770 + 14 * 48));
    }

    #[test]
    fn private_memory_and_files_are_no_objects() {
        let mut objects = SharedObjects::default();
        let others = MAPS.lines().filter(|line| !line.contains("00:01"));
        others.for_each(|line| objects.add(line));
        assert_eq!(objects.total(), 0);
    }
}
