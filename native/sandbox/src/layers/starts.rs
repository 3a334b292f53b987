//! A filter for one of our own processes that needs no other programs: it cannot start any.

use super::seccomp::{Rules, compile, errno_of, no_other_numbers};
use crate::SetupFailure;
use libc::EPERM;
use rustix::io::Errno;
use seccompiler::apply_filter;

/// Makes every program start by this thread, and by threads that it creates later, fail with `EPERM`. Permanent.
///
/// # Errors
/// If the machine has no system call filters.
pub fn forbid_starts() -> Result<(), SetupFailure> {
    let failure = |errno| SetupFailure::new("keep this process from starting programs", errno);
    let rules: Rules = [libc::SYS_execve, libc::SYS_execveat].map(|number| (number, Vec::new())).into();
    let program = compile(rules, EPERM).ok_or_else(|| failure(Errno::OPNOTSUPP))?;
    for filter in [program, no_other_numbers()] {
        apply_filter(&filter).map_err(|error| failure(errno_of(&error)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_thread_that_forbids_itself_to_start_programs_starts_none() {
        let forbidden = || {
            assert!(Command::new("true").status().unwrap().success());
            forbid_starts().unwrap();
            Command::new("true").status().unwrap_err().raw_os_error()
        };
        assert_eq!(std::thread::spawn(forbidden).join().unwrap(), Some(EPERM));
        assert!(Command::new("true").status().unwrap().success());
    }
}
