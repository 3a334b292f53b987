//! Workers that wait for their next task.

use super::client::{Worker, WorkerKind};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

/// Most workers that wait; for a further one, the one that has waited longest ends.
const MOST: usize = 8;
/// How long one waits.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often those that have waited too long are looked for.
const ROUND: Duration = Duration::from_secs(5);

/// The workers that wait, the one that came last at the end.
static WAITING: Mutex<Vec<(Worker, Instant)>> = Mutex::new(Vec::new());

/// A worker of this kind that still runs.
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

/// Has a worker wait.
pub(super) fn keep(worker: Worker) {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // Without the thread, workers end with the program, or make room for others.
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
