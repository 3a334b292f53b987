//! Diagnostics of a conversation with a server. They are bounded, whatever the server sends.

use crate::secrets::Secrets;
use beamai_servers::lock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::Notify;

/// Maximum size of a message in bytes.
pub(super) const LONGEST: usize = 32 << 20;
/// Maximum number of lines that are not messages; beyond it, the server is stopped.
const MOST_NOISE: usize = 10_000;
/// Maximum number of messages queued for a server that does not read them; beyond it, the server is stopped.
const MOST_UNREAD: usize = 1_000;
/// Maximum bytes of stderr that are kept.
const STDERR_TAIL: usize = 2 << 10;

/// Diagnostics that explain the end of a conversation, without its secrets.
#[derive(Default)]
pub(super) struct ConversationDiagnostics {
    pub(super) secrets: Secrets,
    fault: Mutex<Option<String>>,
    noise: Mutex<StrayOutput>,
    stderr_tail: Mutex<Vec<u8>>,
    unread: AtomicUsize,
    /// The last transient error, which may explain a missing response.
    trouble: Mutex<Option<String>>,
    /// How often a session was lost and replaced.
    renewals: AtomicUsize,
    given_up: Notify,
}

#[derive(Default)]
struct StrayOutput {
    lines: usize,
    first: String,
}

impl ConversationDiagnostics {
    /// Diagnostics that do not show these secrets.
    pub(super) fn without(secrets: Secrets) -> Self {
        Self { secrets, ..Self::default() }
    }

    /// Why the conversation ended, if that was the server's fault.
    pub(super) fn fault(&self) -> Option<String> {
        lock(&self.fault).clone()
    }

    /// The end of the server's stderr.
    pub(super) fn stderr_tail(&self) -> String {
        String::from_utf8_lossy(&lock(&self.stderr_tail)).trim().to_owned()
    }

    /// What the server wrote to stdout besides messages.
    pub(super) fn noise(&self) -> Option<String> {
        let noise = lock(&self.noise);
        (noise.lines > 0).then(|| format!("it wrote {:?} where a message should be", noise.first))
    }

    /// Ends the conversation with this reason, if it has none yet.
    pub(super) fn give_up(&self, why: &str) {
        lock(&self.fault).get_or_insert(self.secrets.hide(why));
        self.given_up.notify_one();
    }

    /// The same for a message that is too long.
    pub(super) fn give_up_too_long<T>(&self) -> Option<T> {
        self.give_up(&format!("it sent a message of more than {LONGEST} bytes"));
        None
    }

    /// Waits until the conversation must end. For a single waiter.
    pub(super) async fn given_up(&self) {
        while self.fault().is_none() {
            self.given_up.notified().await;
        }
    }

    /// Records a transient error.
    pub(super) fn note_trouble(&self, what: &str) {
        *lock(&self.trouble) = Some(self.secrets.hide(what));
    }

    /// The last transient error.
    pub(super) fn trouble(&self) -> Option<String> {
        lock(&self.trouble).clone()
    }

    /// Records that the session was lost and replaced.
    pub(super) fn renew(&self) {
        self.renewals.fetch_add(1, Ordering::Relaxed);
    }

    /// How often the session was replaced.
    pub(super) fn renewals(&self) -> usize {
        self.renewals.load(Ordering::Relaxed)
    }

    /// Counts a message as unread until it is sent.
    pub(super) fn count_unread<T>(
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

    /// Gives up if too many messages are unread.
    pub(super) fn check_unread(&self) -> Option<()> {
        if self.unread.load(Ordering::Relaxed) > MOST_UNREAD {
            self.give_up(&format!("it has not read {MOST_UNREAD} messages"));
            return None;
        }
        Some(())
    }

    /// Handles a line that is not a message. Log output is tolerated; an invalid message is not, since a call may be
    /// waiting for it.
    pub(super) fn take_noise(&self, line: &[u8], error: &serde_json::Error) -> Option<()> {
        if line.trim_ascii().is_empty() {
            return Some(());
        }
        if memchr::memmem::find(line, b"\"jsonrpc\"").is_some() {
            self.give_up(&format!("it sent an invalid message: {error}"));
            return None;
        }
        let mut noise = lock(&self.noise);
        if noise.lines == 0 {
            let first = self.secrets.hide(&String::from_utf8_lossy(line));
            noise.first = first.trim_end().chars().take(80).collect();
        }
        noise.lines += 1;
        if noise.lines > MOST_NOISE {
            let first = &noise.first;
            self.give_up(&format!(
                "it wrote {MOST_NOISE} lines that are not messages, the first of them {first:?}"
            ));
            return None;
        }
        Some(())
    }

    /// Reads a server's stderr to its end, and keeps the last part.
    pub(super) async fn listen(self: Arc<Self>, mut stderr: pipe::Receiver) {
        let mut chunk = [0; 4 << 10];
        while let Ok(count @ 1..) = stderr.read(&mut chunk).await {
            let mut words = lock(&self.stderr_tail);
            words.extend_from_slice(&chunk[..count]);
            let surplus = words.len().saturating_sub(STDERR_TAIL);
            words.drain(..surplus);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_writes_shows_no_secrets() {
        let secrets = Secrets::of(std::iter::once("T0KEN-of-many-parts"));
        let error = serde_json::from_str::<u8>("x").unwrap_err();
        for before in [0, 60, 70, 79] {
            let diagnostics = ConversationDiagnostics::without(secrets.clone());
            let line = format!("{}T0KEN-of-many-parts", "x".repeat(before));
            while diagnostics.take_noise(line.as_bytes(), &error).is_some() {}
            diagnostics.note_trouble(&line);
            let said = [diagnostics.noise(), diagnostics.fault(), diagnostics.trouble()];
            assert!(
                said.iter().all(|said| said.as_ref().is_some_and(|said| !said.contains("T0"))),
                "{said:?}"
            );
        }
    }
}
