//! Exhausts memory and processes.

use super::{checked, number};
use std::io::{self, Read, Write};
use std::ptr;

/// Allocates this many bytes of memory.
pub(super) fn memory(bytes: &str) -> io::Result<()> {
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory that nothing refers to, and that is not used.
    match unsafe { libc::mmap(ptr::null_mut(), number(bytes)?, protection, flags, -1, 0) } {
        libc::MAP_FAILED => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Creates this many children at once. They exit with this process.
pub(super) fn processes(count: &str) -> io::Result<()> {
    let mut children = Vec::new();
    let mut result = Ok(());
    for _ in 0..number::<u32>(count)? {
        // SAFETY: this process has one thread; the child only waits until it is killed.
        match checked(unsafe { libc::fork() }.into()) {
            Ok(0) => wait_for_the_end(),
            Ok(child) => children.push(child),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    for child in children {
        // SAFETY: a child that has not been waited for.
        unsafe { libc::kill(i32::try_from(child).unwrap_or(0), libc::SIGKILL) };
    }
    result
}

/// The work of a child.
fn wait_for_the_end() -> ! {
    // SAFETY: takes numbers only, and does not return.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::pause();
        libc::_exit(0)
    }
}

/// Creates this many children, each of which uses this many bytes of memory. They exit two seconds after the last one
/// has its memory.
pub(super) fn memory_together(count: &str, bytes: &str) -> io::Result<()> {
    let (count, bytes) = (number::<u32>(count)?, number::<usize>(bytes)?);
    let (mut filled, fill) = io::pipe()?;
    let (mut ended, end) = io::pipe()?;
    for _ in 0..count {
        // SAFETY: this process has one thread; the child uses memory of its own and exits.
        if checked(unsafe { libc::fork() }.into())? == 0 {
            drop(end);
            let used = vec![1_u8; bytes];
            (&fill).write_all(b".")?;
            // Until the parent drops its end.
            ended.read_to_end(&mut Vec::new())?;
            std::process::exit(i32::from(std::hint::black_box(used)[bytes / 2] != 1));
        }
    }
    drop(fill);
    // Less if a child did not get its memory.
    (&mut filled).take(count.into()).read_to_end(&mut Vec::new())?;
    std::thread::sleep(std::time::Duration::from_secs(2));
    drop(end);
    for _ in 0..count {
        let mut status = 0;
        // SAFETY: the status outlives the call.
        checked(unsafe { libc::wait(&raw mut status) }.into())?;
        if status != 0 {
            return Err(io::Error::other("a child did not get its memory"));
        }
    }
    Ok(())
}

/// Fills this many shared mappings of this many bytes each, one after the other, and drops the pages of each from the page
/// tables. The Linux kernel keeps them.
pub(super) fn dropped_memory(count: &str, bytes: &str) -> io::Result<()> {
    let (count, length) = (number::<u32>(count)?, number::<usize>(bytes)?);
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    for _ in 0..count {
        // SAFETY: new memory that nothing refers to; it is written within its length.
        unsafe {
            let start = libc::mmap(ptr::null_mut(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0);
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            ptr::write_bytes(start.cast::<u8>(), 1, length);
            checked(libc::madvise(start, length, libc::MADV_DONTNEED).into())?;
        }
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    Ok(())
}

/// Makes the Linux kernel create page tables of this size, for memory that is read and never written.
pub(super) fn page_tables(bytes: &str) -> io::Result<()> {
    // One page of a table covers 512 pages.
    let (length, step) = (number::<usize>(bytes)?.saturating_mul(512), 4096 * 512);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: new memory that nothing refers to; it is only read, within its length.
    unsafe {
        let start = libc::mmap(ptr::null_mut(), length, libc::PROT_READ, flags, -1, 0);
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        checked(libc::madvise(start, length, libc::MADV_NOHUGEPAGE).into())?;
        for at in (0..length).step_by(step) {
            ptr::read_volatile(start.cast::<u8>().add(at));
        }
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    Ok(())
}
