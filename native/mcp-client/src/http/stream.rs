//! A checked stream of events.

use super::events::{EventTooLong, SseParser};
use super::failure::HttpFailure;
use crate::diagnostics::ConversationDiagnostics;
use beamai_base::json::parse_bounded;
use beamai_net::HttpExchange;
use futures_util::StreamExt;
use futures_util::stream::{BoxStream, unfold};
use rmcp::RoleClient;
use rmcp::service::RxJsonRpcMessage;
use rmcp::transport::streamable_http_client::SseError;
use sse_stream::Sse;
use std::sync::Arc;

/// Events of a stream.
pub(super) type EventStream = BoxStream<'static, Result<Sse, SseError>>;

struct EventSource {
    exchange: HttpExchange,
    events: SseParser,
    diagnostics: Arc<ConversationDiagnostics>,
}

/// The events of a response. A broken stream ends, and may be resumed; an invalid event ends the conversation, since
/// rmcp would silently skip it.
pub(super) fn events(
    exchange: HttpExchange,
    diagnostics: &Arc<ConversationDiagnostics>,
) -> Result<EventStream, HttpFailure> {
    if let Some(encoding) = exchange.header("content-encoding").filter(|encoding| encoding != "identity") {
        let encoding = diagnostics.secrets.excerpt(encoding.as_bytes());
        return Err(HttpFailure::answer(format!(
            "it encodes its answer as {encoding:?}, which it was not asked for"
        )));
    }
    let source = EventSource { exchange, events: SseParser::default(), diagnostics: Arc::clone(diagnostics) };
    let next = |mut source: EventSource| async move { source.next().await.map(|event| (Ok(event), source)) };
    Ok(unfold(source, next).boxed())
}

/// The first event of a stream.
pub(super) async fn first_event(
    exchange: HttpExchange,
    diagnostics: &Arc<ConversationDiagnostics>,
) -> Option<Sse> {
    let mut source =
        EventSource { exchange, events: SseParser::default(), diagnostics: Arc::clone(diagnostics) };
    source.any().await
}

impl EventSource {
    async fn next(&mut self) -> Option<Sse> {
        let mut event = self.any().await?;
        let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
        event.data = event.data.take().filter(|data| is_message && !data.trim().is_empty());
        match &event.data {
            Some(data) => self.check(data).map(|()| event),
            None => Some(event),
        }
    }

    async fn any(&mut self) -> Option<Sse> {
        loop {
            // A server that never stops sending must not starve other tasks on this thread.
            tokio::task::consume_budget().await;
            if let Some(event) = self.events.next() {
                return Some(event);
            }
            match self.exchange.piece().await? {
                Ok(piece) => match self.events.push(&piece) {
                    Ok(()) => {}
                    Err(EventTooLong) => return self.diagnostics.give_up_too_long(),
                },
                Err(why) => {
                    self.diagnostics.note_trouble(&format!("the connection broke: {why}"));
                    return None;
                }
            }
        }
    }

    fn check(&self, data: &str) -> Option<()> {
        match parse_bounded::<RxJsonRpcMessage<RoleClient>>(data.as_bytes()) {
            Ok(_) => Some(()),
            Err(error) => self.diagnostics.take_noise(data.as_bytes(), &error),
        }
    }
}
