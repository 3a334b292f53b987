//! Reads threads and processes from `/proc`. The values are reliable only if the notification is found to be still pending
//! afterwards.

use super::memory::ArgumentList;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, StatxFlags, statx};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Device (major, minor) and inode number of a file.
pub(super) type FileId = (u64, u64, u64);

/// Identifies one start of a program: the Linux kernel places each at random addresses, which forks inherit. Without
/// address randomisation, two starts of a program may be indistinguishable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ProgramImage {
    pub(super) file: FileId,
    /// Start addresses of code, stack, heap, arguments and environment.
    layout: [u64; 5],
}

impl ProgramImage {
    fn stack(&self) -> u64 {
        self.layout[1]
    }
}

/// A process as shown in `/proc`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ProcessInfo {
    pub(super) pid: i32,
    pub(super) parent: i32,
    /// Start time, which distinguishes it from a later process with the same number.
    pub(super) started: u64,
    pub(super) image: ProgramImage,
}

impl ProcessInfo {
    /// Reads a process that this one is permitted to inspect.
    pub(super) fn of(pid: i32) -> Result<Self, Errno> {
        let mut room = [0; 1024];
        let text = read(&path(pid, "stat"), &mut room)?;
        let (parent, started, layout) = parse_stat(text).ok_or(Errno::PERM)?;
        Ok(Self {
            pid,
            parent,
            started,
            image: ProgramImage { file: file_id(CWD, &path(pid, "exe"))?, layout },
        })
    }

    /// Whether the layout of its image is random, so that it identifies one start.
    pub(super) fn has_random_layout(&self) -> bool {
        is_random_stack(self.image.stack()) || is_random(self.pid)
    }

    /// Reads a process without its image, which needs no permission.
    pub(super) fn unseen(pid: i32) -> Result<Self, Errno> {
        let mut room = [0; 1024];
        let (parent, started) = parse_times(read(&path(pid, "stat"), &mut room)?).ok_or(Errno::SRCH)?;
        Ok(Self { pid, parent, started, image: ProgramImage { file: (0, 0, 0), layout: [0; 5] } })
    }
}

/// The process id of a thread.
pub(super) fn process_of(thread: i32) -> Result<i32, Errno> {
    // Signal 0 to thread N of process N: succeeds only for a main thread.
    // SAFETY: only integers are passed.
    match unsafe { libc::syscall(libc::SYS_tgkill, thread, thread, 0) } {
        0 => return Ok(thread),
        _ if std::io::Error::last_os_error().raw_os_error() == Some(libc::EPERM) => return Ok(thread),
        _ => {}
    }
    status_field(thread, "Tgid:")
}

/// Whether any process has this number.
pub(super) fn is_number_taken(pid: i32) -> bool {
    let Some(pid) = rustix::process::Pid::from_raw(pid) else { return false };
    rustix::process::test_kill_process(pid) != Err(Errno::SRCH)
}

/// The id of a process in its own pid namespace.
pub(super) fn own_number(pid: i32) -> Result<i32, Errno> {
    status_field(pid, "NSpid:")
}

/// Whether programs of a process get random addresses. The machine-wide setting is read once.
fn is_random(pid: i32) -> bool {
    static MACHINES: LazyLock<bool> =
        LazyLock::new(|| number("/proc/sys/kernel/randomize_va_space", 10).is_some_and(|level| level > 0));
    let off = libc::ADDR_NO_RANDOMIZE as u64;
    *MACHINES && number(&path(pid, "personality"), 16).is_some_and(|personality| personality & off == 0)
}

/// Whether a stack that begins at this address shows by itself that addresses are random. On x86-64, stacks that are not
/// random begin at a fixed address, with arguments and environment above them.
fn is_random_stack(start: u64) -> bool {
    const FIXED: u64 = 0x7fff_ffff_f000;
    /// More than arguments and environment may have: `_STK_LIM / 4 * 3`.
    const ABOVE: u64 = 8 << 20;
    /// 32-bit programs have a fixed address of their own below it.
    const BITS_32: u64 = 1 << 32;
    cfg!(all(target_arch = "x86_64", target_pointer_width = "64"))
        && (BITS_32..FIXED - ABOVE).contains(&start)
}

fn number(path: &str, radix: u32) -> Option<u64> {
    let mut room = [0; 32];
    let text = std::str::from_utf8(read(path, &mut room).ok()?).ok()?;
    u64::from_str_radix(text.trim(), radix).ok()
}

/// The last number of a line in `/proc/PID/status`.
fn status_field(pid: i32, name: &str) -> Result<i32, Errno> {
    let mut room = [0; 8192];
    let text = read(&path(pid, "status"), &mut room)?;
    let text = String::from_utf8_lossy(text);
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_ascii_whitespace().last()?.parse().ok()).ok_or(Errno::SRCH)
}

/// Opens the target of a link in a process's `/proc` directory.
pub(super) fn open_link(pid: i32, name: &str) -> Result<OwnedFd, Errno> {
    rustix::fs::open(path(pid, name), OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
}

/// The identity of the file at a path, following links.
pub(super) fn file_id(at: impl std::os::fd::AsFd, path: &str) -> Result<FileId, Errno> {
    let flags = if path.is_empty() { AtFlags::EMPTY_PATH } else { AtFlags::empty() };
    let found = statx(at, path, flags, StatxFlags::INO)?;
    Ok((found.stx_dev_major.into(), found.stx_dev_minor.into(), found.stx_ino))
}

/// The arguments of a process, as its memory has them now, shortened.
pub(super) fn arguments(pid: i32) -> ArgumentList {
    let mut room = [0; 1024];
    let most = room.len();
    let text = read(&path(pid, "cmdline"), &mut room).unwrap_or_default();
    let words = text.strip_suffix(b"\0").unwrap_or(text).split(|byte| *byte == 0);
    let list = words.filter(|_| !text.is_empty()).map(|word| OsStr::from_bytes(word).to_owned()).collect();
    ArgumentList { list, is_all: !text.is_empty() && text.len() < most }
}

/// The working directory of a thread, by its path in the sandbox.
pub(super) fn directory(thread: i32) -> Option<PathBuf> {
    std::fs::read_link(path(thread, "cwd")).ok()
}

/// The access mode of a descriptor; `None` if it is not open.
pub(super) fn access(thread: i32, descriptor: u32) -> Option<OFlags> {
    let mut room = [0; 4096];
    let text = read(&path(thread, &format!("fdinfo/{descriptor}")), &mut room).ok()?;
    let text = String::from_utf8_lossy(text);
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
    let flags = u32::from_str_radix(flags.trim(), 8).ok()?;
    Some(OFlags::from_bits_retain(flags) & OFlags::RWMODE)
}

/// What a descriptor leads to.
pub(super) fn link(thread: i32, descriptor: u32) -> Option<OsString> {
    std::fs::read_link(path(thread, &format!("fd/{descriptor}"))).ok().map(PathBuf::into_os_string)
}

fn path(pid: i32, name: &str) -> String {
    let mut path = String::with_capacity(32);
    _ = write!(path, "/proc/{pid}/{name}");
    path
}

fn read<'r>(path: &str, room: &'r mut [u8]) -> Result<&'r [u8], Errno> {
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let length = rustix::io::read(&file, &mut *room)?;
    Ok(&room[..length])
}

/// The fields after the process name, starting with the third. The name is in parentheses and may contain parentheses
/// itself.
fn fields(text: &[u8]) -> Option<impl Iterator<Item = &str>> {
    let end = text.iter().rposition(|byte| *byte == b')')?;
    Some(std::str::from_utf8(&text[end + 1..]).ok()?.split_ascii_whitespace())
}

/// Parent and start time.
fn parse_times(text: &[u8]) -> Option<(i32, u64)> {
    let mut fields = fields(text)?;
    Some((fields.nth(1)?.parse().ok()?, fields.nth(17)?.parse().ok()?))
}

/// Parent, start time and layout. `None` if the addresses are hidden, for lack of permission.
fn parse_stat(text: &[u8]) -> Option<(i32, u64, [u64; 5])> {
    let (parent, started) = parse_times(text)?;
    let all: Vec<u64> = fields(text)?.map(|field| field.parse().unwrap_or(0)).collect();
    // Positions after the third field: startcode, startstack, start_brk, arg_start, env_start.
    let layout = [23, 25, 44, 45, 47].map(|nth| all.get(nth).copied().unwrap_or(0));
    (layout[1] != 0 && layout[3] != 0).then_some((parent, started, layout))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_has_the_image_of_its_parent_and_another_start_has_not() {
        let own = ProcessInfo::of(std::process::id().cast_signed()).unwrap();
        assert!(is_number_taken(own.pid) && own.parent > 0);
        let mut children = [0, 1].map(|_| std::process::Command::new("sleep").arg("60").spawn().unwrap());
        let [one, another] = [&children[0], &children[1]].map(|child| {
            // Until the exec has happened it has this process's image.
            loop {
                // In the midst of it, it has no memory to be looked at.
                let Ok(task) = ProcessInfo::of(child.id().cast_signed()) else { continue };
                if task.image != own.image {
                    return task;
                }
            }
        });
        assert_eq!((one.parent, one.image.file), (own.pid, another.image.file));
        assert_ne!(one.image, another.image);
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert_eq!(ProcessInfo::of(one.pid).err(), Some(Errno::NOENT));
        assert!(!is_number_taken(one.pid));
    }

    #[test]
    fn a_thread_is_known_by_its_process() {
        let own = std::process::id().cast_signed();
        assert_eq!(process_of(own), Ok(own));
        let thread = std::thread::spawn(|| process_of(rustix::thread::gettid().as_raw_pid()));
        assert_eq!(thread.join().unwrap(), Ok(own));
        assert_eq!(own_number(own), Ok(own));
    }

    #[test]
    fn random_layouts_are_told_from_fixed_ones() {
        let machines = is_random(std::process::id().cast_signed());
        for (random, setarch) in [(true, &["env"][..]), (false, &["setarch", "-R"])] {
            for environment in ["", &"x".repeat(100_000)] {
                let [program, arguments @ ..] = setarch else { unreachable!() };
                let mut child = std::process::Command::new(program)
                    .args(arguments)
                    .args(["sleep", "60"])
                    .env("LONG", environment)
                    .spawn()
                    .unwrap();
                let pid = child.id().cast_signed();
                let is_sleep = || std::fs::read(path(pid, "comm")).is_ok_and(|name| name == b"sleep\n");
                // The kernel sets the name before the addresses, which it shows as 0 until then.
                let task = loop {
                    if let Some(task) = is_sleep().then(|| ProcessInfo::of(pid).ok()).flatten() {
                        break task;
                    }
                    std::thread::sleep(std::time::Duration::from_millis(1));
                };
                child.kill().unwrap();
                child.wait().unwrap();
                let stack = task.image.stack();
                assert_eq!(task.has_random_layout(), random && machines, "{stack:x}");
                assert_eq!(
                    is_random_stack(stack),
                    random && machines && cfg!(target_arch = "x86_64"),
                    "{stack:x}"
                );
            }
        }
    }

    #[test]
    fn a_process_cannot_lie_by_its_name() {
        let text = b"7 (a) R 1 (b) S 5 6 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0";
        assert_eq!(parse_times(text), Some((5, 99)));
        assert_eq!(parse_stat(text), None);
    }
}
