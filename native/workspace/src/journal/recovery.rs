//! Finds journals without a living owner.

use super::ledger::{Ledger, StateDir, is_own, is_owner_gone, state_dirs};
use super::record::Record;
use super::undo::{self, UndoReport};
use crate::names;
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Directory timestamps have the granularity of the Linux kernel's tick: closer changes may share one timestamp.
const FINE_NS: i64 = 50_000_000;
/// Pause between attempts to take a lock.
const PAUSE: Duration = Duration::from_millis(1);
/// How long to wait for another process that is undoing a change.
const UNDOING: Duration = Duration::from_secs(10);
/// Maximum size of a journal.
const MOST_BYTES: u64 = 256 << 20;
/// Age at which an incomplete journal, or one whose workspace is gone, is removed.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

static LISTENER: OnceLock<fn(&str)> = OnceLock::new();

/// Sets a function that is called with a line for each change that was undone or finished. Without it, the lines go to
/// standard error. Only the first call counts.
pub fn on_recovery(listener: fn(&str)) {
    _ = LISTENER.set(listener);
}

fn report(line: &str) {
    match LISTENER.get() {
        Some(listener) => listener(line),
        None => eprintln!("beamai: {line}"),
    }
}

/// Undoes unfinished changes of this user's dead processes, in any workspace. Waits up to `patience` for processes that
/// are about to end.
pub fn recover(patience: Duration) {
    for state_dir in state_dirs() {
        recover_at(state_dir, patience).undone.iter().for_each(|line| report(line));
    }
}

/// As [`recover`] without waiting, for the beginning of each call: about a microsecond when nothing has happened.
/// Returns false when there is something to do and `must_not_wait` forbids it.
pub fn recover_if_needed(must_not_wait: bool) -> bool {
    static CLEAN: [AtomicI64; 2] = [AtomicI64::new(i64::MIN), AtomicI64::new(i64::MIN)];
    static LOCAL: LazyLock<[bool; 2]> = LazyLock::new(|| [0, 1].map(|at| is_local(&state_dirs()[at])));
    if must_not_wait && LOCAL.contains(&false) {
        return false;
    }
    for (state_dir, clean) in state_dirs().iter().zip(&CLEAN) {
        let Some(changed) = date(state_dir) else { continue };
        if clean.load(Ordering::Relaxed) == changed {
            continue;
        }
        if must_not_wait {
            return false;
        }
        scan(state_dir, clean, changed);
    }
    true
}

fn scan(state_dir: &StateDir, clean: &AtomicI64, changed: i64) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let looked = recover_at(state_dir, Duration::ZERO);
    looked.undone.iter().for_each(|line| report(line));
    let is_past = i64::try_from(now.as_nanos()).is_ok_and(|now| now - changed > FINE_NS);
    if !looked.is_any_held && is_past {
        clean.store(changed, Ordering::Relaxed);
    }
}

/// When names in the directory last changed, in nanoseconds; `None` if it does not exist.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast, clippy::cast_possible_wrap)]
fn date(state_dir: &StateDir) -> Option<i64> {
    let stat = rustix::fs::stat(state_dir.c_path.as_c_str()).ok()?;
    Some((stat.st_mtime as i64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec as i64))
}

/// Whether looking at the directory needs no network.
fn is_local(state_dir: &StateDir) -> bool {
    let above = state_dir.path().ancestors();
    let mut opened = above.filter_map(|above| rustix::fs::open(above, OFlags::PATH, Mode::empty()).ok());
    opened.next().is_some_and(beamai_base::is_local)
}

/// The result of recovery in one directory.
#[derive(Debug, Default)]
pub(crate) struct RecoveryResult {
    /// A line for each change that was undone or finished.
    pub undone: Vec<String>,
    /// Whether there are journals whose owners are alive.
    pub is_any_held: bool,
}

/// Undoes the changes recorded in one directory.
pub(crate) fn recover_at(state_dir: &StateDir, patience: Duration) -> RecoveryResult {
    let mut looked = RecoveryResult::default();
    let Ok(ledger) = state_dir.open() else { return looked };
    let Ok((journals, unfinished)) = ledger.names() else { return looked };
    let deadline = Instant::now() + patience;
    for name in &journals {
        match recover_journal(&ledger, name, deadline) {
            Ok(JournalState::Held) => looked.is_any_held = true,
            Ok(JournalState::Done(line)) => looked.undone.push(line),
            // Gone meanwhile, another version's, or of a workspace that does not exist here.
            Ok(JournalState::Nothing) | Err(_) => {}
        }
    }
    for name in &unfinished {
        if is_old(&ledger, name) {
            _ = names::unlink((ledger.dir.as_fd(), name));
        }
    }
    looked
}

enum JournalState {
    Held,
    Nothing,
    Done(String),
}

fn recover_journal(ledger: &Ledger, name: &OsStr, deadline: Instant) -> io::Result<JournalState> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(&ledger.dir, name, flags, Mode::empty())?);
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_own(&file, 0o077)? {
        return Ok(JournalState::Nothing);
    }
    // A journal that its owner no longer locks is being recovered by another process; wait until that is complete.
    let is_locked =
        lock(&file, deadline)? || is_owner_gone(name) && lock(&file, deadline.max(Instant::now() + UNDOING))?;
    if !is_locked {
        return Ok(JournalState::Held);
    }
    // Its owner finished, or another process has recovered it meanwhile.
    if rustix::fs::fstat(&file)?.st_nlink == 0 {
        return Ok(JournalState::Nothing);
    }
    let mut bytes = Vec::new();
    (&file).take(MOST_BYTES).read_to_end(&mut bytes)?;
    let done = match Record::read(&bytes) {
        Ok(None) => return Ok(JournalState::Nothing),
        Ok(Some((is_sealed, record))) => {
            undo::recover_change(&record, is_sealed).as_ref().map(UndoReport::to_string)
        }
        Err(why) => {
            Some(format!("{} was not a journal of this program and has been removed: {why}", name.display()))
        }
    };
    if done.is_some() || is_old(ledger, name) {
        names::unlink((ledger.dir.as_fd(), name))?;
    }
    Ok(done.map_or(JournalState::Nothing, JournalState::Done))
}

fn lock(file: &File, deadline: Instant) -> io::Result<bool> {
    loop {
        match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
    }
}

fn is_old(ledger: &Ledger, name: &OsStr) -> bool {
    let stat = rustix::fs::statat(&ledger.dir, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
    stat.is_ok_and(|stat| {
        let changed = Duration::from_secs(u64::try_from(stat.st_mtime as i64).unwrap_or(0));
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        now.saturating_sub(changed) > OLD
    })
}
