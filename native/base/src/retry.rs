//! System calls that a signal interrupts.

use rustix::io::Errno;

/// Repeats a call that a signal interrupted.
pub fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}
