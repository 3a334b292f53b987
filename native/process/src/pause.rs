//! Time that does not count towards a program's deadline, because a person is being asked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The total time that does not count.
#[derive(Debug, Default)]
pub struct Pause(Mutex<PauseState>);

#[derive(Debug, Default)]
struct PauseState {
    /// Number of open questions.
    open: usize,
    since: Option<Instant>,
    total: Duration,
}

impl Pause {
    /// A question was asked.
    pub fn begin(&self) {
        let mut paused = self.lock();
        paused.open += 1;
        paused.since.get_or_insert_with(Instant::now);
    }

    /// A question was answered.
    pub fn end(&self) {
        let mut paused = self.lock();
        paused.open = paused.open.saturating_sub(1);
        if paused.open == 0 {
            let more = paused.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            paused.total += more;
        }
    }

    /// The extended deadline; `None` while a question is open.
    pub(super) fn extend(&self, deadline: Instant) -> Option<Instant> {
        let paused = self.lock();
        paused.since.is_none().then(|| deadline + paused.total)
    }

    fn lock(&self) -> MutexGuard<'_, PauseState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_with_an_open_question_is_added() {
        let (pause, deadline) = (Pause::default(), Instant::now());
        assert_eq!(pause.extend(deadline), Some(deadline));
        pause.begin();
        pause.begin();
        assert_eq!(pause.extend(deadline), None);
        std::thread::sleep(Duration::from_millis(20));
        pause.end();
        assert_eq!(pause.extend(deadline), None);
        pause.end();
        assert!(pause.extend(deadline).unwrap() >= deadline + Duration::from_millis(20));
    }
}
