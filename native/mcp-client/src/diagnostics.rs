//! What is known of a conversation with a server. Whatever a server sends, what is kept of it is bounded.

use beamai_servers::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Notify;

/// Longest message in bytes.
pub(super) const LONGEST: usize = 32 << 20;
/// Lines that are no messages before a server is given up.
const MOST_NOISE: usize = 10_000;
/// Messages on their way to a server that does not read them before it is given up.
const MOST_UNREAD: usize = 1_000;
/// Bytes of a server's last words that are kept.
const LAST_WORDS: usize = 2 << 10;

/// What is known of a conversation when it has ended.
#[derive(Default)]
pub(super) struct ConversationDiagnostics {
    fault: Mutex<Option<String>>,
    noise: Mutex<StrayOutput>,
    last_words: Mutex<Vec<u8>>,
    unread: AtomicUsize,
    /// The last that went wrong on the way, which may be why there is no answer.
    trouble: Mutex<Option<String>>,
    /// How often a session was lost and begun anew.
    renewals: AtomicUsize,
    given_up: Notify,
}

#[derive(Default)]
struct StrayOutput {
    lines: usize,
    first: String,
}

impl ConversationDiagnostics {
    /// Why the conversation ended, if that was the server's fault.
    pub(super) fn fault(&self) -> Option<String> {
        lock(&self.fault).clone()
    }

    /// The last that the server wrote to its error stream.
    pub(super) fn last_words(&self) -> String {
        String::from_utf8_lossy(&lock(&self.last_words)).trim().to_owned()
    }

    /// What the server wrote besides messages.
    pub(super) fn noise(&self) -> Option<String> {
        let noise = lock(&self.noise);
        (noise.lines > 0).then(|| format!("it wrote {:?} where a message should be", noise.first))
    }

    /// Has the conversation end, if nothing has before.
    pub(super) fn give_up(&self, why: String) {
        lock(&self.fault).get_or_insert(why);
        self.given_up.notify_one();
    }

    /// The same for a message without an end.
    pub(super) fn give_up_too_long<T>(&self) -> Option<T> {
        self.give_up(format!("it sent a message of more than {LONGEST} bytes"));
        None
    }

    /// Waits until the conversation is to end. For one who waits.
    pub(super) async fn given_up(&self) {
        while self.fault().is_none() {
            self.given_up.notified().await;
        }
    }

    /// Notes what went wrong on the way, and may be put right.
    pub(super) fn note_trouble(&self, what: String) {
        *lock(&self.trouble) = Some(what);
    }

    /// The last that went wrong on the way.
    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    /// Notes that the session was lost and is begun anew.
    pub(super) fn renew(&self) {
        self.renewals.fetch_add(1, Ordering::Relaxed);
    }

    /// How often that has happened.
    pub(super) fn renewals(&self) -> usize {
        self.renewals.load(Ordering::Relaxed)
    }

    /// Counts a message as unread until it is sent.
    pub(super) fn on_its_way<T>(
        self: &Arc<Self>,
        sending: impl Future<Output = T> + Send + 'static,
    ) -> impl Future<Output = T> + Send + 'static {
        let diagnostics = Arc::clone(self);
        diagnostics.unread.fetch_add(1, Ordering::Relaxed);
        async move {
            let sent = sending.await;
            diagnostics.unread.fetch_sub(1, Ordering::Relaxed);
            sent
        }
    }

    /// Gives a server up that leaves too much unread.
    pub(super) fn check_unread(&self) -> Option<()> {
        if self.unread.load(Ordering::Relaxed) > MOST_UNREAD {
            self.give_up(format!("it has left {MOST_UNREAD} messages unread"));
            return None;
        }
        Some(())
    }

    /// Takes a line that is no message. Servers log where they should not, and that is borne with; a message that
    /// cannot be read is not, since a call may be waiting for it.
    pub(super) fn take_noise(&self, line: &[u8], error: &serde_json::Error) -> Option<()> {
        if line.trim_ascii().is_empty() {
            return Some(());
        }
        if memchr::memmem::find(line, b"\"jsonrpc\"").is_some() {
            self.give_up(format!("it sent a message that cannot be read: {error}"));
            return None;
        }
        let mut noise = lock(&self.noise);
        if noise.lines == 0 {
            noise.first = String::from_utf8_lossy(line).trim_end().chars().take(80).collect();
        }
        noise.lines += 1;
        if noise.lines > MOST_NOISE {
            let first = &noise.first;
            self.give_up(format!(
                "it wrote {MOST_NOISE} lines that are no messages, the first of them {first:?}"
            ));
            return None;
        }
        Some(())
    }

    /// Reads a server's error stream to its end and keeps the last of it.
    pub(super) async fn listen(self: Arc<Self>, mut stderr: pipe::Receiver) {
        let mut chunk = [0; 4 << 10];
        while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
            let mut words = lock(&self.last_words);
            words.extend_from_slice(&chunk[..count]);
            let surplus = words.len().saturating_sub(LAST_WORDS);
            words.drain(..surplus);
        }
    }
}
