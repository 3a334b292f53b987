//! Work distribution among the threads of a walk.
//!
//! Each thread has its own stack and works depth first. A thread without work waits here; the others notice and hand
//! over the bottom of their stacks: the directories nearest to the root.

use beamai_base::ToolError;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

pub(super) struct Queue<T> {
    state: Mutex<QueueState<T>>,
    ready: Condvar,
    /// Number of waiting threads, readable without the lock.
    waiting: AtomicUsize,
    /// Whether the walk was stopped, also without the lock.
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
    /// A queue for `threads` threads with the first task.
    pub(super) fn new(threads: usize, first: T) -> Self {
        let state = QueueState { tasks: vec![first], threads, waiting: 0, is_over: false, error: None };
        let (waiting, is_stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { state: Mutex::new(state), ready: Condvar::new(), waiting, is_stopped }
    }

    /// Waits for the next task. `None` when all work is done or the walk was stopped.
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
            self.waiting.store(state.waiting, Ordering::Relaxed);
            if state.waiting == state.threads {
                state.is_over = true;
                self.ready.notify_all();
                return None;
            }
            state = self.ready.wait(state).unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            self.waiting.store(state.waiting, Ordering::Relaxed);
        }
    }

    /// Whether a thread waits for work.
    pub(super) fn has_waiting_thread(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }

    /// Gives tasks to the waiting threads.
    pub(super) fn give(&self, tasks: impl Iterator<Item = T>) {
        self.lock().tasks.extend(tasks);
        self.ready.notify_all();
    }

    /// Ends the walk; of several errors the first one is kept.
    pub(super) fn stop(&self, error: ToolError) {
        let mut state = self.lock();
        state.error.get_or_insert(error);
        state.is_over = true;
        self.is_stopped.store(true, Ordering::Relaxed);
        self.ready.notify_all();
    }

    /// Whether the walk was stopped early.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Records that a thread could not be started. Must be called before any thread has finished.
    pub(super) fn remove_thread(&self) {
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
