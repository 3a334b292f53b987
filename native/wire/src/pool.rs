//! A pool of native threads for jobs: created on demand, ended after some idle time.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long an idle thread waits for a job before it ends.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Too many jobs are queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolBusy;

/// A bounded pool of threads with a bounded FIFO queue. Clones share it.
#[derive(Clone)]
pub(crate) struct JobPool {
    shared: Arc<PoolInner>,
}

struct PoolInner {
    name: &'static str,
    most_threads: usize,
    most_waiting: usize,
    state: Mutex<PoolState>,
    arrived: Condvar,
}

#[derive(Default)]
struct PoolState {
    waiting: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

impl JobPool {
    /// A pool of at most `most_threads` threads and at most `most_waiting` queued jobs.
    pub(crate) fn new(name: &'static str, most_threads: usize, most_waiting: usize) -> Self {
        let state = Mutex::new(PoolState::default());
        Self {
            shared: Arc::new(PoolInner { name, most_threads, most_waiting, state, arrived: Condvar::new() }),
        }
    }

    /// Queues a job for the next free thread.
    ///
    /// # Errors
    /// [`PoolBusy`] when the queue is full or no thread can be started; the job has not run.
    pub(crate) fn submit(&self, job: impl FnOnce() + Send + 'static) -> Result<(), PoolBusy> {
        let mut state = self.shared.lock();
        if state.waiting.len() >= self.shared.most_waiting {
            return Err(PoolBusy);
        }
        state.waiting.push_back(Box::new(job));
        if state.idle >= state.waiting.len() {
            self.shared.arrived.notify_one();
        } else if state.threads < self.shared.most_threads {
            self.add_thread(&mut state)?;
        }
        Ok(())
    }

    fn add_thread(&self, state: &mut PoolState) -> Result<(), PoolBusy> {
        let shared = Arc::clone(&self.shared);
        let spawned =
            std::thread::Builder::new().name(self.shared.name.to_owned()).spawn(move || shared.work());
        match spawned {
            Ok(_) => state.threads += 1,
            // The existing threads will run the job.
            Err(_) if state.threads > 0 => {}
            Err(_) => {
                state.waiting.pop_back();
                return Err(PoolBusy);
            }
        }
        Ok(())
    }
}

impl PoolInner {
    fn lock(&self) -> MutexGuard<'_, PoolState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            // A job handles its own panics; one that escapes must not end the thread uncounted.
            _ = beamai_base::panics::caught(job);
        }
    }

    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            state.idle += 1;
            let (after, waited) =
                self.arrived.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = after;
            state.idle -= 1;
            if waited.timed_out() && state.waiting.is_empty() {
                state.threads -= 1;
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn every_job_runs_though_threads_are_few() {
        let pool = JobPool::new("test", 3, 1000);
        let (done, results) = mpsc::channel();
        for number in 0..500 {
            let done = done.clone();
            pool.submit(move || done.send(number).unwrap()).unwrap();
        }
        drop(done);
        assert_eq!(results.iter().count(), 500);
    }

    #[test]
    fn a_full_queue_is_busy_and_a_panic_ends_no_thread() {
        let pool = JobPool::new("test", 1, 1);
        let (release, gate) = mpsc::channel::<()>();
        let (started, running) = mpsc::channel();
        pool.submit(move || {
            started.send(()).unwrap();
            gate.recv().unwrap();
            panic!("on purpose");
        })
        .unwrap();
        running.recv().unwrap();
        let (done, result) = mpsc::channel();
        pool.submit(move || done.send(()).unwrap()).unwrap();
        assert_eq!(pool.submit(|| ()), Err(PoolBusy));
        release.send(()).unwrap();
        result.recv().unwrap();
    }
}
