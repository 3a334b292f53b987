//! Work shared among the threads of a walk.
//!
//! Each thread has a stack of its own and works depth first. A thread without work waits here, and the others
//! see that somebody is hungry and hand over what they would do last: the directories nearest to the root.

use beamai_base::ToolError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    ready: Condvar,
    /// Threads that wait, for a look without the lock.
    hungry: AtomicUsize,
    /// Whether the walk was stopped, likewise.
    is_stopped: AtomicBool,
}

struct QueueState<T> {
    tasks: Vec<T>,
    /// Threads that work or wait.
    threads: usize,
    waiting: usize,
    is_over: bool,
    error: Option<ToolError>,
}

impl<T> Queue<T> {
    /// A queue for that many threads, with the task to begin with.
    pub(super) fn new(threads: usize, first: T) -> Self {
        let state = QueueState { tasks: vec![first], threads, waiting: 0, is_over: false, error: None };
        let (hungry, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { state: Mutex::new(state), ready: Condvar::new(), hungry, is_stopped }
    }

    /// The next task; waits for one. `None` when all work is done or the walk was stopped.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(task) = state.tasks.pop() {
                return Some(task);
            }
            state.waiting += 1;
            self.hungry.store(state.waiting, Ordering::Relaxed);
            if state.waiting == state.threads {
                state.is_over = true;
                self.ready.notify_all();
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            self.hungry.store(state.waiting, Ordering::Relaxed);
        }
    }

    /// Whether a thread waits for work.
    pub(super) fn is_hungry(&self) -> bool {
        self.hungry.load(Ordering::Relaxed) > 0
    }

    /// Hands tasks to the threads that wait.
    pub(super) fn give(&self, tasks: impl Iterator<Item = T>) {
        self.lock().tasks.extend(tasks);
        self.ready.notify_all();
    }

    /// Ends the walk; the first error of all threads is the one that counts.
    pub(super) fn stop(&self, error: ToolError) {
        let mut state = self.lock();
        state.error.get_or_insert(error);
        state.is_over = true;
        self.is_stopped.store(true, Ordering::Relaxed);
        self.ready.notify_all();
    }

    /// Whether the walk was stopped before its end.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Takes note that a thread could not be started. Must come before any thread has seen the work end.
    pub(super) fn lose_a_thread(&self) {
        self.lock().threads -= 1;
    }

    /// The error that stopped the walk.
    pub(super) fn into_error(self) -> Option<ToolError> {
        self.state.into_inner().unwrap_or_else(PoisonError::into_inner).error
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
