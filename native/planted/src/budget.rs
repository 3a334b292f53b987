//! What one cleaning may read. A command can leave files of any number and size, of which reading all would take too
//! long. Files beyond the budget are set aside, like files that cannot be read. Files that have not changed since the
//! command started are always read: the command cannot have made them more or larger.

use rustix::fs::Stat;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// Maximum number of bytes that one cleaning reads.
const MOST_BYTES: u64 = 512 << 20;
/// The time that it reads: half of what a program has that is told to end.
const MOST_TIME: Duration = Duration::from_secs(5);
/// Maximum size of a file that is read whatever number of bytes has been read: no file that names another one is larger.
const SMALL: u64 = 4 << 10;
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
    time: Duration,
    since: ChangeTime,
}

/// When a file changed, by the clock that file systems use. No program can set it back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ChangeTime {
    seconds: i64,
    nanoseconds: i64,
}

impl ChangeTime {
    pub(super) fn now() -> Self {
        let now = clock_gettime(ClockId::RealtimeCoarse);
        Self { seconds: now.tv_sec, nanoseconds: now.tv_nsec }
    }

    #[allow(
        clippy::useless_conversion,
        clippy::unnecessary_cast,
        reason = "types differ between architectures"
    )]
    pub(super) fn of(stat: &Stat) -> Self {
        Self { seconds: stat.st_ctime as i64, nanoseconds: stat.st_ctime_nsec as i64 }
    }
}

/// Bounds what this thread reads while it exists.
pub(super) struct BudgetScope(());

impl BudgetScope {
    /// For what has changed since that time.
    pub(super) fn begin(since: ChangeTime) -> Self {
        Self::of(MOST_BYTES, MOST_TIME, since)
    }

    fn of(bytes: u64, time: Duration, since: ChangeTime) -> Self {
        CURRENT.set(Some(ReadBudget { bytes, time, since }));
        Self(())
    }
}

impl Drop for BudgetScope {
    fn drop(&mut self) {
        CURRENT.take();
    }
}

/// Reads a file of this size, and takes that from the budget of this thread.
///
/// # Errors
/// [`UNREAD`] if the bytes are too many, or the time is over.
pub(super) fn reading<T>(
    bytes: u64,
    changed: ChangeTime,
    read: impl FnOnce() -> Result<T, Errno>,
) -> Result<T, Errno> {
    CURRENT.with_borrow_mut(|budget| {
        let Some(budget) = budget.as_mut().filter(|budget| changed >= budget.since) else { return read() };
        if budget.time.is_zero() {
            return Err(UNREAD);
        }
        if bytes > SMALL {
            budget.bytes = budget.bytes.checked_sub(bytes).ok_or(UNREAD)?;
        }
        let started = Instant::now();
        let text = read();
        budget.time = budget.time.saturating_sub(started.elapsed());
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::OpenDirectory;

    #[test]
    fn a_cleaning_reads_no_more_than_its_budget() {
        let dir = tempfile::tempdir().unwrap();
        for (name, size) in [("large", 5_000), ("small", 4_096)] {
            std::fs::write(dir.path().join(name), vec![0; size]).unwrap();
        }
        let directory = OpenDirectory::root(dir.path()).unwrap();
        let read = |name: &str| directory.read(name).map(|text| text.len());
        let (long, all) = (Duration::from_secs(1000), ChangeTime::default());
        {
            let _budget = BudgetScope::of(11_000, long, all);
            let large = [read("large"), read("large"), read("large")];
            assert_eq!(large, [Ok(5_000), Ok(5_000), Err(UNREAD)]);
            // A command cannot keep small ones from being read by large ones.
            assert_eq!(read("small"), Ok(4_096));
        }
        assert_eq!(read("large"), Ok(5_000));
        let _budget = BudgetScope::of(11_000, Duration::ZERO, all);
        assert_eq!([read("large"), read("small")], [Err(UNREAD); 2]);
    }

    #[test]
    fn what_has_not_changed_is_read_without_a_budget() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("old"), vec![0; 5_000]).unwrap();
        // Longer than a tick of that clock.
        std::thread::sleep(Duration::from_millis(30));
        let _budget = BudgetScope::of(0, Duration::ZERO, ChangeTime::now());
        std::thread::sleep(Duration::from_millis(30));
        let directory = OpenDirectory::root(dir.path()).unwrap();
        assert_eq!(directory.read("old").map(|text| text.len()), Ok(5_000));
        std::fs::write(dir.path().join("new"), "x").unwrap();
        assert_eq!(directory.read("new"), Err(UNREAD));
        // Whoever moves an old file over another one changes it.
        std::fs::rename(dir.path().join("old"), dir.path().join("new")).unwrap();
        assert_eq!(directory.read("new"), Err(UNREAD));
    }
}
