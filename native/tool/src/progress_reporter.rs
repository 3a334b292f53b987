//! Progress reports of a call, at a limited rate.
//!
//! A progress message is an object: `progress`, a number that increases with every message, and `message`, a text for
//! people.

use crate::CallContext;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Minimum time between two messages of one call.
pub(crate) const INTERVAL: Duration = Duration::from_millis(500);

/// Counts the work of a call and reports it at a limited rate. Threads share it.
pub struct ProgressReporter<'a> {
    cx: &'a CallContext,
    say: fn(u64) -> String,
    started: Instant,
    done: AtomicU64,
    /// When the next message is due, in milliseconds since the start.
    due: AtomicU64,
}

impl<'a> ProgressReporter<'a> {
    /// A reporter for this call; `say` formats a count.
    pub fn new(cx: &'a CallContext, say: fn(u64) -> String) -> Self {
        let (started, done) = (Instant::now(), AtomicU64::new(0));
        Self { cx, say, started, done, due: AtomicU64::new(milliseconds(INTERVAL)) }
    }

    /// Adds to the count, and reports it if that is due.
    pub fn add(&self, count: u64) {
        if self.cx.progress.is_none() {
            return;
        }
        self.done.fetch_add(count, Ordering::Relaxed);
        let (now, due) = (milliseconds(self.started.elapsed()), self.due.load(Ordering::Relaxed));
        let next = now + milliseconds(INTERVAL);
        let is_mine = || self.due.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if now >= due && is_mine() {
            self.report();
        }
    }

    /// Reports the current count.
    fn report(&self) {
        let done = self.done.load(Ordering::Relaxed);
        self.cx.report(serde_json::json!({"progress": done, "message": (self.say)(done)}));
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_workspace::Workspace;
    use std::sync::{Arc, Mutex};

    #[test]
    fn what_is_counted_is_told_now_and_then() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let dir = tempfile::tempdir().unwrap();
        let mut cx = CallContext::new(Workspace::open(dir.path()).unwrap());
        let heard = Arc::clone(&told);
        cx.progress = Some(Arc::new(move |message| heard.lock().unwrap().push(message)));
        let pulse = ProgressReporter::new(&cx, |count| format!("{count} done"));
        let started = Instant::now();
        while started.elapsed() < INTERVAL * 3 {
            pulse.add(1);
        }
        let told = told.lock().unwrap();
        assert!((2..=4).contains(&told.len()), "{told:?}");
        let counts: Vec<u64> = told.iter().map(|message| message["progress"].as_u64().unwrap()).collect();
        assert!(counts.is_sorted() && counts[0] > 0);
        assert_eq!(told.last().unwrap()["message"], format!("{} done", counts.last().unwrap()));
    }
}
