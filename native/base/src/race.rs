//! Calls that fail because of what happens elsewhere at the same time.

use rustix::io::Errno;

/// Maximum number of attempts.
const MOST_ATTEMPTS: usize = 100;

/// Repeats a call of openat2(2) while it fails with `EAGAIN`: with a `..` on the way, it does so if something is
/// renamed or mounted meanwhile, wherever that is.
///
/// # Errors
/// Those of the call; `EAGAIN` after 100 attempts.
pub fn while_raced<T>(mut open: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    (0..MOST_ATTEMPTS)
        .map(|_| open())
        .find(|opened| !matches!(opened, Err(Errno::AGAIN)))
        .unwrap_or(Err(Errno::AGAIN))
}
