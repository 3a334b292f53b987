//! Starting at once what a shell would only give its place to.

use super::start::{execute, pointers};
use crate::message::Order;
use rustix::fs::{Access, AtFlags, CWD, FileType, accessat, stat};
use std::ffi::{CStr, CString, c_char};

/// The shell's name for where it found the program, as its variable begins.
const FOUND: &CStr = c"_=";
/// A shell counts itself, and takes that back when it gives up its place.
const LEVEL: &CStr = c"SHLVL=0";

/// A program that may take the place of the one that is ordered.
pub(super) struct ShortcutExec<'a> {
    candidates: &'a [&'a CStr],
    words: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    token: u64,
    /// Keeps the text that `environment` points to.
    _directory: CString,
}

impl<'a> ShortcutExec<'a> {
    /// The shortcut of an order, for a program in this process's working directory; `None` where the order has none.
    pub(super) fn of(order: &'a Order<'_>) -> Option<Self> {
        if order.candidates.is_empty() {
            return None;
        }
        let directory = rustix::process::getcwd(Vec::new()).ok()?;
        let directory = CString::new([b"PWD=", directory.as_bytes()].concat()).ok()?;
        let mut environment = pointers(&order.environment);
        // Before the null at the end; the last one is where the program was found.
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

    /// Becomes the program that stands at the first place that has one. Returns where none has, or it cannot be started:
    /// the shell does then what is right, and has the words for it. Takes no memory.
    pub(super) fn take(&mut self) {
        let Some(nth) = self.candidates.iter().position(|candidate| is_program(path(candidate))) else {
            return;
        };
        let candidate = self.candidates[nth];
        let found = self.environment.len() - 2;
        self.environment[found] = candidate.as_ptr();
        // SAFETY: both lists end with a null pointer and point to strings that the order, `LEVEL` and `_directory` keep.
        unsafe { execute(path(candidate), &self.words, &self.environment, self.token, nth as u64 + 1) };
    }
}

fn path(candidate: &CStr) -> &CStr {
    let bytes = candidate.to_bytes_with_nul();
    CStr::from_bytes_with_nul(bytes.strip_prefix(FOUND.to_bytes()).unwrap_or(bytes)).unwrap_or_default()
}

/// As bash looks for one: a directory of that name is none, nor is a file that may not be executed.
fn is_program(path: &CStr) -> bool {
    stat(path).is_ok_and(|found| FileType::from_raw_mode(found.st_mode) == FileType::RegularFile)
        && accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS).is_ok()
}
