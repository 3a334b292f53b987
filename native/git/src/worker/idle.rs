//! Idle workers, kept for the next task.

use super::client::{Worker, WorkerKind};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of idle workers; beyond it, the one that has been idle longest is ended.
const MOST: usize = 8;
/// How long a worker may be idle.
const PATIENCE: Duration = Duration::from_secs(60);
/// Interval at which idle workers are checked.
const ROUND: Duration = Duration::from_secs(5);

/// Idle workers, most recent last.
static WAITING: Mutex<Vec<(Worker, Instant)>> = Mutex::new(Vec::new());

/// Takes an idle worker of this kind that is still alive.
pub(super) fn take(kind: &WorkerKind) -> Option<Worker> {
    loop {
        let mut waiting = lock();
        let at = waiting.iter().rposition(|(worker, _)| worker.kind() == kind)?;
        let (worker, _) = waiting.remove(at);
        drop(waiting);
        if worker.is_alive() {
            return Some(worker);
        }
    }
}

/// Keeps a worker.
pub(super) fn keep(worker: Worker) {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // Without the thread, idle workers live until the program ends or others displace them.
        _ = std::thread::Builder::new().name("beamai-git-idle".into()).spawn(|| {
            loop {
                std::thread::sleep(ROUND);
                let gone: Vec<_> = lock().extract_if(.., |(_, since)| since.elapsed() >= PATIENCE).collect();
                drop(gone);
            }
        });
    });
    let mut waiting = lock();
    waiting.push((worker, Instant::now()));
    let oldest = (waiting.len() > MOST).then(|| waiting.remove(0));
    drop(waiting);
    drop(oldest);
}

fn lock() -> MutexGuard<'static, Vec<(Worker, Instant)>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}
