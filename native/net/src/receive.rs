//! Receives response bodies, limited in size and time.

use super::decode::Decoder;
use super::exchange::{HttpExchange, chain};
use super::{BoxFuture, Deadline, failure};
use beamai_base::Result;
use http_body_util::BodyExt;
use hyper::body::Bytes;

/// Encoded bytes that may come beyond the limit on decoded ones: encoding enlarges small bodies.
const SLACK: usize = 64 << 10;

/// A received body.
#[derive(Debug)]
pub struct ReceivedBody {
    /// The decoded bytes.
    pub bytes: Vec<u8>,
    /// How the body ended.
    pub end: BodyEnd,
}

/// How a body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyEnd {
    /// Received completely.
    Complete,
    /// Cut at the size limit.
    Capped,
    /// Cut by the deadline.
    TimedOut,
    /// The connection broke, or the encoding is damaged.
    Broken(String),
}

impl HttpExchange {
    /// Receives and decodes the body, at most `cap` bytes.
    ///
    /// # Errors
    /// `network` if the encoding was not requested.
    pub fn receive(self, cap: usize, deadline: &Deadline) -> BoxFuture<'_, Result<ReceivedBody>> {
        self.receive_heard(cap, deadline, &|_| ())
    }

    /// As [`HttpExchange::receive`]; `hear` is called with the number of bytes received so far.
    ///
    /// # Errors
    /// `network` if the encoding was not requested.
    pub fn receive_heard<'a>(
        self,
        cap: usize,
        deadline: &'a Deadline,
        hear: &'a (dyn Fn(u64) + Sync),
    ) -> BoxFuture<'a, Result<ReceivedBody>> {
        Box::pin(self.decode(cap, deadline, hear))
    }

    async fn decode(
        mut self,
        cap: usize,
        deadline: &Deadline,
        hear: &(dyn Fn(u64) + Sync),
    ) -> Result<ReceivedBody> {
        let encoding = self.header("content-encoding").unwrap_or_default();
        let Some(mut decoder) = Decoder::of(&encoding, cap) else {
            let message =
                format!("the server encoded its answer as {encoding:?}, which it was not asked for");
            return Err(failure("protocol", message));
        };
        let end = self.feed(&mut decoder, cap, deadline, hear).await;
        let (bytes, damage) = decoder.finish();
        let end = match (end, damage) {
            (BodyEnd::Complete, Some(error)) => {
                BodyEnd::Broken(format!("its {encoding} encoding is damaged: {error}"))
            }
            (end, _) => end,
        };
        Ok(ReceivedBody { bytes, end })
    }

    /// The next chunk of the body, undecoded, for endless bodies; `None` at the end.
    ///
    /// # Errors
    /// Why the connection broke.
    pub async fn piece(&mut self) -> Option<Result<Bytes, String>> {
        loop {
            match self.body.frame().await? {
                Err(error) => return Some(Err(chain(&error))),
                // Frames without data are trailers.
                Ok(frame) => {
                    if let Ok(piece) = frame.into_data() {
                        return Some(Ok(piece));
                    }
                }
            }
        }
    }

    async fn feed(
        &mut self,
        decoder: &mut Decoder,
        cap: usize,
        deadline: &Deadline,
        hear: &(dyn Fn(u64) + Sync),
    ) -> BodyEnd {
        let mut received = 0_usize;
        loop {
            let piece = match deadline.allow(self.body.frame()).await {
                None => return BodyEnd::TimedOut,
                Some(None) => return BodyEnd::Complete,
                Some(Some(Err(error))) => return BodyEnd::Broken(chain(&error)),
                Some(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            received += piece.len();
            hear(piece.len() as u64);
            match decoder.push(&piece) {
                Err(_) if decoder.is_full() => return BodyEnd::Capped,
                Err(error) => return BodyEnd::Broken(format!("its encoding is damaged: {error}")),
                Ok(()) if received > cap.saturating_add(SLACK) => return BodyEnd::Capped,
                Ok(()) => {}
            }
        }
    }
}
