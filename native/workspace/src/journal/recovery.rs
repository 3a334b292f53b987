//! Looking for journals without an owner.

use super::ledger::{Ledger, StateDir, is_own, is_owner_gone, places};
use super::record::Record;
use super::undo::{self, UndoReport};
use crate::{cached, names};
use rustix::fs::{FileType, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Directories' dates are as fine as the kernel's clock ticks: of changes that are closer, both may have one date.
const FINE_NS: i64 = 50_000_000;
/// Between two tries of a lock that is being waited for.
const PAUSE: Duration = Duration::from_millis(1);
/// How long to wait for somebody else who undoes a change.
const UNDOING: Duration = Duration::from_secs(10);
/// Longest journal.
const MOST_BYTES: u64 = 256 << 20;
/// After this time a journal whose workspace is gone, or one that was never completed, is of no use to anybody.
const OLD: Duration = Duration::from_secs(7 * 24 * 3600);

static LISTENER: OnceLock<fn(&str)> = OnceLock::new();

/// Has `tell` called with a line for each change that was undone or brought to its end here. Without, the line goes to
/// standard error. Counts once, the first time.
pub fn on_recovery(tell: fn(&str)) {
    _ = LISTENER.set(tell);
}

fn tell(line: &str) {
    match LISTENER.get() {
        Some(tell) => tell(line),
        None => eprintln!("beamai: {line}"),
    }
}

/// Undoes what processes of this user did not live to finish, in whatever workspace. Waits so long for processes that
/// are about to end.
pub fn recover(patience: Duration) {
    for place in places() {
        recover_at(place, patience).undone.iter().for_each(|line| tell(line));
    }
}

/// As [`recover`] without patience, for the beginning of each call: looking where nothing has happened takes a
/// microsecond or so. False where there is something to do and `must_not_wait` forbids it.
pub fn settle(must_not_wait: bool) -> bool {
    static CLEAN: [AtomicI64; 2] = [AtomicI64::new(i64::MIN), AtomicI64::new(i64::MIN)];
    static LOCAL: LazyLock<[bool; 2]> = LazyLock::new(|| [0, 1].map(|at| is_local(&places()[at])));
    if must_not_wait && LOCAL.contains(&false) {
        return false;
    }
    for (place, clean) in places().iter().zip(&CLEAN) {
        let Some(changed) = date(place) else { continue };
        if clean.load(Ordering::Relaxed) == changed {
            continue;
        }
        if must_not_wait {
            return false;
        }
        look_through(place, clean, changed);
    }
    true
}

fn look_through(place: &StateDir, clean: &AtomicI64, changed: i64) {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let looked = recover_at(place, Duration::ZERO);
    looked.undone.iter().for_each(|line| tell(line));
    let is_past = i64::try_from(now.as_nanos()).is_ok_and(|now| now - changed > FINE_NS);
    if !looked.is_any_held && is_past {
        clean.store(changed, Ordering::Relaxed);
    }
}

/// When names in the directory changed last, in nanoseconds; `None` where it is not there.
#[allow(clippy::useless_conversion, clippy::unnecessary_cast, clippy::cast_possible_wrap)]
fn date(place: &StateDir) -> Option<i64> {
    let stat = rustix::fs::stat(place.c_path.as_c_str()).ok()?;
    Some((stat.st_mtime as i64).wrapping_mul(1_000_000_000).wrapping_add(stat.st_mtime_nsec as i64))
}

/// Whether a look asks nobody but this machine's kernel.
fn is_local(place: &StateDir) -> bool {
    let above = place.path().ancestors();
    let mut opened = above.filter_map(|above| rustix::fs::open(above, OFlags::PATH, Mode::empty()).ok());
    opened.next().is_some_and(cached::is_local)
}

/// What was found in a place.
#[derive(Debug, Default)]
pub(crate) struct RecoveryResult {
    /// A line for each change that was undone or brought to its end.
    pub undone: Vec<String>,
    /// Whether there are journals whose owners live.
    pub is_any_held: bool,
}

/// Undoes what the journals in one place say.
pub(crate) fn recover_at(place: &StateDir, patience: Duration) -> RecoveryResult {
    let mut looked = RecoveryResult::default();
    let Ok(ledger) = place.open() else { return looked };
    let Ok((journals, unfinished)) = ledger.names() else { return looked };
    let deadline = Instant::now() + patience;
    for name in &journals {
        match take(&ledger, name, deadline) {
            Ok(JournalState::Held) => looked.is_any_held = true,
            Ok(JournalState::Done(line)) => looked.undone.push(line),
            // Gone meanwhile, another's, or of a workspace that is not here.
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

fn take(ledger: &Ledger, name: &OsStr, deadline: Instant) -> io::Result<JournalState> {
    let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::openat(&ledger.dir, name, flags, Mode::empty())?);
    let stat = rustix::fs::fstat(&file)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || !is_own(&file, 0o077)? {
        return Ok(JournalState::Nothing);
    }
    // What is not held by its owner is being undone by somebody else right now, and nobody may see half of that.
    let is_locked =
        lock(&file, deadline)? || is_owner_gone(name) && lock(&file, deadline.max(Instant::now() + UNDOING))?;
    if !is_locked {
        return Ok(JournalState::Held);
    }
    // Its owner was done, or another process has recovered it meanwhile.
    if rustix::fs::fstat(&file)?.st_nlink == 0 {
        return Ok(JournalState::Nothing);
    }
    let mut bytes = Vec::new();
    (&file).take(MOST_BYTES).read_to_end(&mut bytes)?;
    let done = match Record::read(&bytes) {
        Ok(None) => return Ok(JournalState::Nothing),
        Ok(Some((is_sealed, record))) => undo::settle(&record, is_sealed).as_ref().map(UndoReport::to_string),
        Err(why) => {
            Some(format!("{} was no journal of this program and has been removed: {why}", name.display()))
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
