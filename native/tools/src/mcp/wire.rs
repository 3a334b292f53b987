//! Messages on a server's streams, one to a line. Whatever a server sends, what is kept of it is bounded.

use super::calls::Calls;
use crate::mcp::process::Streams;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

/// Longest message in bytes.
const LONGEST: usize = 32 << 20;
/// Lines that are no messages before a server is given up.
const MOST_NOISE: usize = 10_000;
/// Messages on their way to a server that does not read them before it is given up.
const MOST_UNREAD: usize = 1_000;
/// Bytes of a server's last words that are kept.
const LAST_WORDS: usize = 2 << 10;

/// What is known of a server's streams when they have ended.
#[derive(Default)]
pub(super) struct Traces {
    fault: Mutex<Option<String>>,
    noise: Mutex<Noise>,
    last_words: Mutex<Vec<u8>>,
    unread: AtomicUsize,
}

#[derive(Default)]
struct Noise {
    lines: usize,
    first: String,
}

impl Traces {
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

    fn give_up(&self, why: String) {
        lock(&self.fault).get_or_insert(why);
    }

    /// Takes a line that is no message. Servers log where they should not, and that is borne with; a message that
    /// cannot be read is not, since a call may be waiting for it.
    fn take_noise(&self, line: &[u8], error: &serde_json::Error) -> Option<()> {
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

/// The two streams as a conversation.
pub(super) struct Lines {
    stdout: BufReader<pipe::Receiver>,
    stdin: Arc<tokio::sync::Mutex<Option<pipe::Sender>>>,
    line: Vec<u8>,
    traces: Arc<Traces>,
    calls: Arc<Calls>,
}

impl Lines {
    /// A conversation over the streams, whose third is given back.
    ///
    /// # Errors
    /// The operating system's.
    pub(super) fn over(
        streams: Streams,
        traces: &Arc<Traces>,
        calls: &Arc<Calls>,
    ) -> io::Result<(Self, pipe::Receiver)> {
        let stdin = pipe::Sender::from_owned_fd(streams.stdin)?;
        let lines = Self {
            stdout: BufReader::with_capacity(64 << 10, pipe::Receiver::from_owned_fd(streams.stdout)?),
            stdin: Arc::new(tokio::sync::Mutex::new(Some(stdin))),
            line: Vec::new(),
            traces: Arc::clone(traces),
            calls: Arc::clone(calls),
        };
        Ok((lines, pipe::Receiver::from_owned_fd(streams.stderr)?))
    }

    /// The next message; `None` at the end, or where there is no way to go on.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            // A server that never stops must not keep the others' work from this thread.
            tokio::task::consume_budget().await;
            if self.traces.unread.load(Ordering::Relaxed) > MOST_UNREAD {
                self.traces.give_up(format!("it has left {MOST_UNREAD} messages unread"));
                return None;
            }
            self.fill().await?;
            // A long message leaves no long buffer behind.
            let line = std::mem::take(&mut self.line);
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(error) => self.traces.take_noise(&line, &error)?,
            }
        }
    }

    /// Reads a line. This may be dropped at any await: what was read stays.
    async fn fill(&mut self) -> Option<()> {
        while self.line.last() != Some(&b'\n') {
            let chunk = self.stdout.fill_buf().await.ok().filter(|chunk| !chunk.is_empty())?;
            let count = chunk.iter().position(|&byte| byte == b'\n').map_or(chunk.len(), |at| at + 1);
            if self.line.len() + count > LONGEST {
                let fault = format!("it sent a message of more than {LONGEST} bytes");
                self.traces.give_up(fault);
                return None;
            }
            self.line.extend_from_slice(&chunk[..count]);
            self.stdout.consume(count);
        }
        Some(())
    }
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (stdin, traces) = (Arc::clone(&self.stdin), Arc::clone(&self.traces));
        traces.unread.fetch_add(1, Ordering::Relaxed);
        async move {
            let sent = write(&stdin, &message).await;
            traces.unread.fetch_sub(1, Ordering::Relaxed);
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.next().await;
        if message.is_none() {
            // Nobody waits for an answer that cannot be given any more.
            self.calls.hang_up();
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        // Where a write is stuck, the stream closes with the process.
        if let Ok(mut stdin) = self.stdin.try_lock() {
            *stdin = None;
        }
        Ok(())
    }
}

async fn write(
    stdin: &tokio::sync::Mutex<Option<pipe::Sender>>,
    message: &TxJsonRpcMessage<RoleClient>,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    match &mut *stdin.lock().await {
        Some(stdin) => stdin.write_all(&line).await,
        None => Err(io::ErrorKind::BrokenPipe.into()),
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
