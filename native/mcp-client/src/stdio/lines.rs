//! Messages on a server's standard streams, one per line. Buffers are bounded, whatever a server sends.

use super::process::AsyncStreams;
use crate::{
    calls::ActiveCalls,
    diagnostics::{ConversationDiagnostics, LONGEST},
};
use beamai_base::json::parse_bounded;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

/// Transport over a server's stdin and stdout.
pub(crate) struct StdioTransport {
    stdout: BufReader<pipe::Receiver>,
    stdin: Arc<tokio::sync::Mutex<Option<pipe::Sender>>>,
    line: Vec<u8>,
    diagnostics: Arc<ConversationDiagnostics>,
    calls: Arc<ActiveCalls>,
}

impl StdioTransport {
    /// A transport over the streams; also returns stderr.
    ///
    /// # Errors
    /// The operating system's.
    pub(crate) fn over(
        streams: AsyncStreams,
        diagnostics: &Arc<ConversationDiagnostics>,
        calls: &Arc<ActiveCalls>,
    ) -> io::Result<(Self, pipe::Receiver)> {
        let stdin = pipe::Sender::from_owned_fd(streams.stdin)?;
        let lines = Self {
            stdout: BufReader::with_capacity(64 << 10, pipe::Receiver::from_owned_fd(streams.stdout)?),
            stdin: Arc::new(tokio::sync::Mutex::new(Some(stdin))),
            line: Vec::new(),
            diagnostics: Arc::clone(diagnostics),
            calls: Arc::clone(calls),
        };
        Ok((lines, pipe::Receiver::from_owned_fd(streams.stderr)?))
    }

    /// The next message; `None` at the end, or after an unrecoverable error.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            // A server that never stops sending must not starve other tasks on this thread.
            tokio::task::consume_budget().await;
            self.diagnostics.check_unread()?;
            self.fill().await?;
            // Frees the buffer of a long message.
            let line = std::mem::take(&mut self.line);
            match parse_bounded(&line) {
                Ok(message) => return Some(message),
                Err(error) => self.diagnostics.take_noise(&line, &error)?,
            }
        }
    }

    /// Reads a line. Cancel-safe: what was read is kept.
    async fn fill(&mut self) -> Option<()> {
        while self.line.last() != Some(&b'\n') {
            let chunk = self.stdout.fill_buf().await.ok().filter(|chunk| !chunk.is_empty())?;
            let count = chunk.iter().position(|&byte| byte == b'\n').map_or(chunk.len(), |at| at + 1);
            if self.line.len() + count > LONGEST {
                return self.diagnostics.give_up_too_long();
            }
            self.line.extend_from_slice(&chunk[..count]);
            self.stdout.consume(count);
        }
        Some(())
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let stdin = Arc::clone(&self.stdin);
        self.diagnostics.count_unread(async move { write(&stdin, &message).await })
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        let message = self.next().await;
        if message.is_none() {
            // No pending question can be answered any more.
            self.calls.cancel_questions();
        }
        message
    }

    async fn close(&mut self) -> io::Result<()> {
        // If a write is blocked, the stream is closed with the process.
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
