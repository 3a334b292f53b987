//! A line on the terminal with the progress of a long call, erased when the call ends.

use crate::args;
use beamai_text::printable;
use serde_json::Value;
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Shorter calls show nothing.
const PATIENCE: Duration = Duration::from_secs(1);
/// Refresh interval.
const TICK: Duration = Duration::from_millis(200);
/// Maximum characters of a message: a line longer than the terminal could not be erased completely.
const MOST_OF_MESSAGE: usize = 50;
const BAR: usize = 20;
/// Carriage return, and ECMA-48's "erase to the end of the line".
const ERASE: &str = "\r\u{1b}[K";

/// The line; erased on drop.
pub(crate) struct ProgressLine {
    handle: ProgressHandle,
    /// Dropped to end the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// The content of the line, shared with its sources.
#[derive(Clone, Default)]
pub(crate) struct ProgressHandle(Arc<Mutex<LineState>>);

#[derive(Default)]
struct LineState {
    message: Value,
    /// Whether a prompt is shown on the same terminal.
    is_paused: bool,
    is_visible: bool,
}

impl ProgressLine {
    /// A line on standard error, if that is a terminal that supports escape sequences.
    pub(crate) fn new() -> Option<Self> {
        args::has_colour(&std::io::stderr()).then(|| {
            let handle = ProgressHandle::default();
            let (end, ended) = channel();
            let of_thread = handle.clone();
            let thread = std::thread::spawn(move || draw(&of_thread, &ended));
            Self { handle, end: Some(end), thread: Some(thread) }
        })
    }

    /// A handle for updating the line.
    pub(crate) fn handle(&self) -> ProgressHandle {
        self.handle.clone()
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl ProgressHandle {
    /// Shows a progress message of the call.
    pub(crate) fn tell(&self, message: Value) {
        self.shown().message = message;
    }

    /// Hides the line while a prompt is shown.
    pub(crate) fn while_paused<T>(&self, work: impl FnOnce() -> T) -> T {
        self.pause(true);
        let result = work();
        self.pause(false);
        result
    }

    fn pause(&self, is_paused: bool) {
        let mut shown = self.shown();
        shown.is_paused = is_paused;
        erase(&mut shown);
    }

    fn shown(&self) -> MutexGuard<'_, LineState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn draw(handle: &ProgressHandle, ended: &Receiver<()>) {
    let started = Instant::now();
    let mut wait = PATIENCE;
    while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
        wait = TICK;
        let mut shown = handle.shown();
        if !shown.is_paused {
            shown.is_visible = true;
            write(&format!("{ERASE}{}", picture(&shown.message, started.elapsed())));
        }
    }
    erase(&mut handle.shown());
}

fn erase(shown: &mut LineState) {
    if std::mem::take(&mut shown.is_visible) {
        write(ERASE);
    }
}

fn write(text: &str) {
    let mut terminal = std::io::stderr();
    _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

/// A bar if the total is known, otherwise one with a moving part; the time, and the call's message.
fn picture(message: &Value, elapsed: Duration) -> String {
    let (done, total) = (message["progress"].as_f64(), message["total"].as_f64());
    let bar: String = match (done, total) {
        (Some(done), Some(total)) if total > 0.0 => {
            let full = ((done / total).clamp(0.0, 1.0) * BAR as f64) as usize;
            (0..BAR).map(|at| if at < full { '#' } else { '.' }).collect()
        }
        _ => {
            let head = (elapsed.as_millis() / TICK.as_millis()) as usize % BAR;
            (0..BAR).map(|at| if (at + BAR - head) % BAR < 3 { '#' } else { '.' }).collect()
        }
    };
    let said: String =
        message["message"].as_str().unwrap_or_default().chars().take(MOST_OF_MESSAGE).collect();
    format!("[{bar}] {} s  {}", elapsed.as_secs(), printable(said.lines().next().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_bar_is_as_full_as_the_work_is_done() {
        let shown = picture(
            &json!({"progress": 5, "total": 10, "message": "5 of 10\u{1b}[2J"}),
            Duration::from_secs(3),
        );
        assert_eq!(shown, "[##########..........] 3 s  5 of 10␛[2J");
    }

    #[test]
    fn without_a_total_a_part_of_the_bar_moves() {
        let at = |ms| picture(&json!({"progress": 12, "message": "12 files"}), Duration::from_millis(ms));
        assert_eq!(at(0), "[###.................] 0 s  12 files");
        assert_eq!(at(400), "[..###...............] 0 s  12 files");
    }
}
