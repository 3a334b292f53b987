//! Messages on a server's streams, one to a line. Whatever a server sends, what is kept of it is bounded.

use super::process::AsyncStreams;
use crate::{
    calls::ActiveCalls,
    diagnostics::{ConversationDiagnostics, LONGEST},
};
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::io;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;

/// The two streams as a conversation.
pub(crate) struct StdioTransport {
    stdout: BufReader<pipe::Receiver>,
    stdin: Arc<tokio::sync::Mutex<Option<pipe::Sender>>>,
    line: Vec<u8>,
    diagnostics: Arc<ConversationDiagnostics>,
    calls: Arc<ActiveCalls>,
}

impl StdioTransport {
    /// A conversation over the streams, whose third is given back.
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

    /// The next message; `None` at the end, or where there is no way to go on.
    async fn next(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            // A server that never stops must not keep the others' work from this thread.
            tokio::task::consume_budget().await;
            self.diagnostics.check_unread()?;
            self.fill().await?;
            // A long message leaves no long buffer behind.
            let line = std::mem::take(&mut self.line);
            match serde_json::from_slice(&line) {
                Ok(message) => return Some(message),
                Err(error) => self.diagnostics.take_noise(&line, &error)?,
            }
        }
    }

    /// Reads a line. This may be dropped at any await: what was read stays.
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
        self.diagnostics.on_its_way(async move { write(&stdin, &message).await })
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
