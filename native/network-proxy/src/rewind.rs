//! A stream with bytes pushed back to its front.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Yields the pushed-back bytes, then the rest of the stream.
pub(super) struct Rewind<S> {
    beginning: Vec<u8>,
    stream: S,
}

impl<S> Rewind<S> {
    pub(super) fn new(beginning: Vec<u8>, stream: S) -> Self {
        Self { beginning, stream }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Rewind<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.beginning.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buffer);
        }
        let count = self.beginning.len().min(buffer.remaining());
        buffer.put_slice(&self.beginning[..count]);
        self.beginning.drain(..count);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Rewind<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
