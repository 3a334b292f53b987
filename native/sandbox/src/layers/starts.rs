//! A filter for a process of our own that needs no other program: it can start none, whatever it is brought to do.

use super::seccomp::{Rules, compile, errno_of, no_other_numbers};
use crate::SetupFailure;
use libc::EPERM;
use rustix::io::Errno;
use seccompiler::apply_filter;

/// Has every start of a program by this thread, and by threads that it makes from here on, fail with `EPERM`. There is no
/// way back.
///
/// # Errors
/// Where the machine has no filters of system calls.
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
