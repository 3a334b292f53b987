//! The body of an answer, within its bounds.

use super::decode::Decoder;
use super::exchange::{HttpExchange, chain};
use super::{Deadline, failure};
use beamai_base::Result;
use http_body_util::BodyExt;
use hyper::body::Bytes;

/// Encoded bytes that may come beyond the cap on decoded ones: encoding makes little things larger.
const SLACK: usize = 64 << 10;

/// What was received.
#[derive(Debug)]
pub struct ReceivedBody {
    /// The bytes, decoded.
    pub bytes: Vec<u8>,
    /// Why there are no more.
    pub end: BodyEnd,
}

/// How a body ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it is there.
    Complete,
    /// It is larger than the cap.
    Capped,
    /// Time ran out.
    TimedOut,
    /// The connection, or the encoding, broke.
    Broken(String),
}

impl HttpExchange {
    /// Receives the body: decoded, and at most `cap` bytes of it.
    ///
    /// # Errors
    /// `network` when it is encoded as nobody asked for.
    pub async fn receive(mut self, cap: usize, deadline: &Deadline) -> Result<ReceivedBody> {
        let encoding = self.header("content-encoding").unwrap_or_default();
        let Some(mut decoder) = Decoder::of(&encoding, cap) else {
            let message =
                format!("the server encoded its answer as {encoding:?}, which it was not asked for");
            return Err(failure("protocol", message));
        };
        let end = self.feed(&mut decoder, cap, deadline).await;
        let (bytes, damage) = decoder.finish();
        let end = match (end, damage) {
            (BodyEnd::Complete, Some(error)) => {
                BodyEnd::Broken(format!("its {encoding} encoding is damaged: {error}"))
            }
            (end, _) => end,
        };
        Ok(ReceivedBody { bytes, end })
    }

    /// The next piece of the body as it was sent, for a body that has no end; `None` at the end.
    ///
    /// # Errors
    /// Why the connection broke.
    pub async fn piece(&mut self) -> Option<Result<Bytes, String>> {
        loop {
            match self.body.frame().await? {
                Err(error) => return Some(Err(chain(&error))),
                // Everything else is trailers.
                Ok(frame) => {
                    if let Ok(piece) = frame.into_data() {
                        return Some(Ok(piece));
                    }
                }
            }
        }
    }

    async fn feed(&mut self, decoder: &mut Decoder, cap: usize, deadline: &Deadline) -> BodyEnd {
        let mut received = 0_usize;
        loop {
            let piece = match deadline.allow(self.body.frame()).await {
                None => return BodyEnd::TimedOut,
                Some(None) => return BodyEnd::Complete,
                Some(Some(Err(error))) => return BodyEnd::Broken(chain(&error)),
                Some(Some(Ok(frame))) => frame.into_data().unwrap_or_default(),
            };
            received += piece.len();
            match decoder.push(&piece) {
                Err(_) if decoder.is_full() => return BodyEnd::Capped,
                Err(error) => return BodyEnd::Broken(format!("its encoding is damaged: {error}")),
                Ok(()) if received > cap.saturating_add(SLACK) => return BodyEnd::Capped,
                Ok(()) => {}
            }
        }
    }
}
