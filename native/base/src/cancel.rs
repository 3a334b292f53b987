//! A cancel token that also wakes blocked waits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

type Waker = Box<dyn Fn() + Send>;

#[derive(Default)]
struct CancelState {
    cancelled: AtomicBool,
    wakers: Mutex<Vec<Waker>>,
}

/// A shared flag that is set once and never cleared. Clones share it.
#[derive(Clone, Default)]
pub struct CancelToken(Arc<CancelState>);

impl CancelToken {
    /// A token that is not cancelled.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the flag and runs every waker. Later calls do nothing.
    pub fn cancel(&self) {
        if !self.0.cancelled.swap(true, Ordering::SeqCst) {
            for wake in self.wakers().drain(..) {
                wake();
            }
        }
    }

    /// Whether the flag is set.
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Relaxed)
    }

    /// Runs `wake` when the flag is set; immediately if it is already. For waits that cannot check the flag, such as a
    /// poll on file descriptors.
    pub fn on_cancel(&self, wake: impl Fn() + Send + 'static) {
        self.wakers().push(Box::new(wake));
        if self.0.cancelled.load(Ordering::SeqCst) {
            for wake in self.wakers().drain(..) {
                wake();
            }
        }
    }

    fn wakers(&self) -> std::sync::MutexGuard<'_, Vec<Waker>> {
        self.0.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CancelToken({})", self.is_cancelled())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn a_waker_runs_once_whether_it_came_before_or_after_the_cancel() {
        let count = Arc::new(AtomicUsize::new(0));
        let token = CancelToken::new();
        let early = Arc::clone(&count);
        token.on_cancel(move || _ = early.fetch_add(1, Ordering::SeqCst));
        token.cancel();
        token.cancel();
        let late = Arc::clone(&count);
        token.on_cancel(move || _ = late.fetch_add(1, Ordering::SeqCst));
        assert_eq!(count.load(Ordering::SeqCst), 2);
    }
}
