//! The threads of a door that serves several sessions.

use crate::pool::{JobPool, PoolBusy};
use beamai_tool::ExecutionClass;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of running long calls where most of them wait for a process.
pub const MOST_WAITING_FOR_PROCESSES: usize = 128;
/// Maximum number of other running calls.
const MOST_SHORT: usize = 16;
/// Maximum number of waiting calls of each kind, and of long ones in each session.
const MOST_WAITING: usize = 4096;

type Job = Box<dyn FnOnce() + Send>;

/// Runs calls so that those that wait for something do not keep others waiting: calls that are not long have threads
/// of their own, and one session holds at most half of the threads for long ones.
pub struct CallPool {
    short: JobPool,
    long: JobPool,
    /// Maximum number of running long calls of one session; its further ones wait.
    most_of_a_session: usize,
    sessions: Arc<Mutex<HashMap<String, SessionJobs>>>,
}

/// The long calls of a session.
#[derive(Default)]
struct SessionJobs {
    /// Number of those that run, or wait for a thread.
    started: usize,
    /// Those that may not start yet.
    waiting: VecDeque<Job>,
}

impl CallPool {
    /// A pool whose threads have this name, at most `most_long` of them for long calls.
    pub fn new(name: &'static str, most_long: usize) -> Self {
        Self {
            short: JobPool::new(name, MOST_SHORT, MOST_WAITING),
            long: JobPool::new(name, most_long, MOST_WAITING),
            most_of_a_session: most_long / 2,
            sessions: Arc::default(),
        }
    }

    /// Runs the job of a call of this pace and [owner](beamai_engine::CallRequest::owner) on a thread, as soon as one
    /// is free. Calls without an owner count as those of one.
    ///
    /// # Errors
    /// [`PoolBusy`] if too many are waiting; the job has not run.
    pub fn submit(
        &self,
        pace: ExecutionClass,
        session: Option<&str>,
        job: impl FnOnce() + Send + 'static,
    ) -> Result<(), PoolBusy> {
        match pace {
            ExecutionClass::Long => self.submit_long(session.unwrap_or_default(), Box::new(job)),
            ExecutionClass::Instant | ExecutionClass::Cached | ExecutionClass::Bounded => {
                self.short.submit(job)
            }
        }
    }

    fn submit_long(&self, session: &str, job: Job) -> Result<(), PoolBusy> {
        let mut sessions = lock(&self.sessions);
        let own = sessions.entry(session.to_owned()).or_default();
        if own.started >= self.most_of_a_session {
            if own.waiting.len() >= MOST_WAITING {
                return Err(PoolBusy);
            }
            own.waiting.push_back(job);
            return Ok(());
        }
        let (all, name) = (Arc::clone(&self.sessions), session.to_owned());
        // A job that cannot be submitted is dropped, and with it nothing has been counted.
        let submitted = self.long.submit(move || run_with_next(&all, &name, job));
        match submitted {
            Ok(()) => own.started += 1,
            Err(PoolBusy) if own.started == 0 => _ = sessions.remove(session),
            Err(PoolBusy) => {}
        }
        submitted
    }
}

/// Runs a job, and then those of its session that were waiting for it.
fn run_with_next(sessions: &Mutex<HashMap<String, SessionJobs>>, session: &str, job: Job) {
    let mut next = Some(job);
    while let Some(job) = next {
        // A job handles its own panics; one that escapes must not leave the session without a place.
        _ = beamai_base::panics::caught(job);
        next = next_of(&mut lock(sessions), session);
    }
}

/// The session's next waiting job; without one, its place is free.
fn next_of(sessions: &mut HashMap<String, SessionJobs>, session: &str) -> Option<Job> {
    let own = sessions.get_mut(session)?;
    let next = own.waiting.pop_front();
    if next.is_none() {
        own.started -= 1;
        if own.started == 0 {
            sessions.remove(session);
        }
    }
    next
}

fn lock(sessions: &Mutex<HashMap<String, SessionJobs>>) -> MutexGuard<'_, HashMap<String, SessionJobs>> {
    sessions.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Sender, channel};
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(60);

    /// A pool with `number` long calls of session "a" that wait until the result is dropped; one in ten panics then.
    fn held_by_a(number: usize) -> (CallPool, Vec<Sender<()>>) {
        let pool = CallPool::new("test", MOST_WAITING_FOR_PROCESSES);
        let hold = |index: usize| {
            let (release, gate) = channel::<()>();
            let job = move || {
                _ = gate.recv();
                assert_ne!(index % 10, 0, "on purpose");
            };
            pool.submit(ExecutionClass::Long, Some("a"), job).unwrap();
            release
        };
        let held = (0..number).map(hold).collect();
        (pool, held)
    }

    fn runs(pool: &CallPool, pace: ExecutionClass, session: Option<&str>) -> std::sync::mpsc::Receiver<()> {
        let (done, result) = channel();
        pool.submit(pace, session, move || _ = done.send(())).unwrap();
        result
    }

    #[test]
    fn a_session_whose_calls_all_wait_holds_neither_those_of_others_nor_its_own_short_ones() {
        let (pool, held) = held_by_a(300);
        runs(&pool, ExecutionClass::Long, Some("b")).recv_timeout(PATIENCE).unwrap();
        runs(&pool, ExecutionClass::Long, None).recv_timeout(PATIENCE).unwrap();
        runs(&pool, ExecutionClass::Bounded, Some("a")).recv_timeout(PATIENCE).unwrap();
        let own = runs(&pool, ExecutionClass::Long, Some("a"));
        assert!(own.recv_timeout(Duration::from_millis(100)).is_err(), "the session's places are taken");
        drop(held);
        own.recv_timeout(PATIENCE).unwrap();
    }

    #[test]
    fn a_session_is_forgotten_when_its_calls_have_ended_though_some_panicked() {
        let (pool, held) = held_by_a(200);
        assert_eq!(lock(&pool.sessions)["a"].started, pool.most_of_a_session);
        drop(held);
        let until = std::time::Instant::now() + PATIENCE;
        while !lock(&pool.sessions).is_empty() {
            assert!(std::time::Instant::now() < until, "the session still has places");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn calls_beyond_those_that_may_wait_are_busy() {
        let (pool, _held) = held_by_a(MOST_WAITING_FOR_PROCESSES / 2 + MOST_WAITING);
        assert_eq!(pool.submit(ExecutionClass::Long, Some("a"), || ()), Err(PoolBusy));
        runs(&pool, ExecutionClass::Long, Some("b")).recv_timeout(PATIENCE).unwrap();
    }
}
