//! Executes a program directly that a shell would only be replaced by.

use super::start::{execute, pointers};
use crate::message::Order;
use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, stat};
use std::ffi::{CStr, CString, c_char};

/// The prefix of the variable in which a shell passes the path of the program.
const FOUND: &CStr = c"_=";
/// A shell increments SHLVL, and decrements it when it is replaced.
const LEVEL: &CStr = c"SHLVL=0";

/// A program that may be executed in place of the ordered one.
pub(super) struct ShortcutExec<'a> {
    candidates: &'a [&'a CStr],
    words: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    token: u64,
    /// Owns the string that `environment` points to.
    _directory: CString,
}

impl<'a> ShortcutExec<'a> {
    /// The shortcut of an order, for a program in the current working directory; `None` if the order has none.
    pub(super) fn of(order: &'a Order<'_>) -> Option<Self> {
        if order.candidates.is_empty() {
            return None;
        }
        let directory = rustix::process::getcwd(Vec::new()).ok()?;
        let directory = CString::new([b"PWD=", directory.as_bytes()].concat()).ok()?;
        let mut environment = pointers(&order.environment);
        // Before the terminating null; the last one is the path of the program.
        let added = [directory.as_ptr(), LEVEL.as_ptr(), FOUND.as_ptr(), std::ptr::null()];
        environment.splice(environment.len() - 1.., added);
        Some(Self {
            candidates: &order.candidates,
            words: pointers(&order.words),
            environment,
            token: order.token,
            _directory: directory,
        })
    }

    /// Executes the first candidate that is a program. Returns if there is none, or if it cannot be executed: the shell
    /// then does the right thing and reports it. Allocates no memory.
    pub(super) fn take(&mut self) {
        let Some(nth) = self.candidates.iter().position(|candidate| is_program(path(candidate))) else {
            return;
        };
        let candidate = self.candidates[nth];
        let found = self.environment.len() - 2;
        self.environment[found] = candidate.as_ptr();
        // SAFETY: both lists end with a null pointer and point to strings that the order, `LEVEL` and `_directory` own.
        unsafe { execute(path(candidate), &self.words, &self.environment, self.token, nth as u64 + 1) };
    }
}

fn path(candidate: &CStr) -> &CStr {
    let bytes = candidate.to_bytes_with_nul();
    CStr::from_bytes_with_nul(bytes.strip_prefix(FOUND.to_bytes()).unwrap_or(bytes)).unwrap_or_default()
}

/// As in bash: directories and files without execute permission do not count.
fn is_program(path: &CStr) -> bool {
    stat(path).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
        && accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}
