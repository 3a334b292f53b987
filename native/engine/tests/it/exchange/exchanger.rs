//! Exchanges two names as fast as it can.

use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

pub(crate) struct Exchanger {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<u64>>,
}

impl Exchanger {
    pub(crate) fn start(one: PathBuf, other: PathBuf) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&stop);
        let work = move || {
            let mut count = 0;
            while !flag.load(Ordering::Relaxed) {
                // One of them is away while a tool replaces it.
                count += u64::from(renameat_with(CWD, &one, CWD, &other, RenameFlags::EXCHANGE).is_ok());
            }
            count
        };
        Self { stop, thread: Some(std::thread::spawn(work)) }
    }

    /// Ends it; answers how often it has exchanged them.
    pub(crate) fn stop(mut self) -> u64 {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Exchanger {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}
