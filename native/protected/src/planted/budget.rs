//! What one cleaning may read. A command can leave files of any number and size, of which reading all would take too long.
//! What is not read is treated as what cannot be read: it is set aside.

use rustix::io::Errno;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Maximum number of bytes that one cleaning reads.
const MOST_BYTES: u64 = 512 << 20;
/// The time after which it reads nothing more.
const MOST_TIME: Duration = Duration::from_secs(10);
/// The error of a file that is not read.
pub(super) const UNREAD: Errno = Errno::DQUOT;
/// What is reported of such a file.
pub(super) const TOO_MUCH: &str = "not read, because there is too much to read";

thread_local! {
    /// That of the cleaning on this thread.
    static CURRENT: RefCell<Option<ReadBudget>> = const { RefCell::new(None) };
}

struct ReadBudget {
    bytes: u64,
    until: Instant,
}

/// Bounds what this thread reads while it exists.
pub(super) struct BudgetScope(());

impl BudgetScope {
    pub(super) fn begin() -> Self {
        Self::of(MOST_BYTES, MOST_TIME)
    }

    fn of(bytes: u64, time: Duration) -> Self {
        CURRENT.set(Some(ReadBudget { bytes, until: Instant::now() + time }));
        Self(())
    }
}

impl Drop for BudgetScope {
    fn drop(&mut self) {
        CURRENT.take();
    }
}

/// Takes the bytes of a file from the budget of this thread.
///
/// # Errors
/// [`UNREAD`] if they are too many, or the time is over.
pub(super) fn take(bytes: u64) -> Result<(), Errno> {
    CURRENT.with_borrow_mut(|budget| {
        let Some(budget) = budget else { return Ok(()) };
        budget.bytes = budget.bytes.checked_sub(bytes).ok_or(UNREAD)?;
        if Instant::now() < budget.until { Ok(()) } else { Err(UNREAD) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planted::directory::OpenDirectory;

    #[test]
    fn a_cleaning_reads_no_more_than_its_budget() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a"), [0; 100]).unwrap();
        let directory = OpenDirectory::root(dir.path()).unwrap();
        let read = || directory.read("a").map(|text| text.len());
        {
            let _budget = BudgetScope::of(250, Duration::from_secs(1000));
            assert_eq!([read(), read(), read()], [Ok(100), Ok(100), Err(UNREAD)]);
        }
        assert_eq!(read(), Ok(100));
        let _budget = BudgetScope::of(250, Duration::ZERO);
        assert_eq!(read(), Err(UNREAD));
    }
}
