//! The MCP transport over standard input and output, one message per line.
//!
//! The library's own transport ignores messages that it cannot parse. This one answers them if possible, so that no
//! client waits forever, and it tracks open requests ([`OpenRequests`]), so that none is answered twice.

use crate::open_messages::{OpenMessages, OpenShare, is_size_of_answer};
use crate::requests::OpenRequests;
use crate::session::McpSession;
use beamai_base::json::count_values;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, GetExtensions, GetMeta,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::io::Result;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Stdin, Stdout};
use tokio::sync::mpsc;

/// Maximum length of a line.
const MOST_BYTES: usize = 64 << 20;
/// Maximum number of queued messages.
const MOST_WAITING: usize = 64;
/// The error of a request that comes at a bad time (JSON-RPC 2.0 leaves -32000 to -32099 to servers).
const BUSY: ErrorCode = ErrorCode(-32000);
/// How long calls may continue after the end of input, so that piped requests are answered.
const GRACE: Duration = Duration::from_secs(1);

/// A client on standard input and output.
pub(crate) struct StdioServerTransport {
    incoming: mpsc::Receiver<ClientJsonRpcMessage>,
    output: Arc<StdoutWriter>,
}

struct StdoutWriter {
    stdout: tokio::sync::Mutex<Stdout>,
    open: OpenRequests,
}

impl StdioServerTransport {
    /// Reads and writes these streams. After the end of input, the session's calls are cancelled with a delay.
    pub(crate) fn new(stdin: Stdin, stdout: Stdout, session: &Arc<McpSession>) -> Self {
        let (sender, incoming) = mpsc::channel(MOST_WAITING);
        let output = Arc::new(StdoutWriter { stdout: stdout.into(), open: OpenRequests::default() });
        let messages = OpenMessages::new();
        let reader = StdinReader { sender, output: Arc::clone(&output), messages, is_begun: false };
        let session = Arc::clone(session);
        tokio::spawn(async move {
            reader.read_all(BufReader::with_capacity(64 << 10, stdin)).await;
            tokio::time::sleep(GRACE).await;
            session.cancel_all();
        });
        Self { incoming, output }
    }
}

impl Transport<RoleServer> for StdioServerTransport {
    type Error = std::io::Error;

    fn send(&mut self, message: ServerJsonRpcMessage) -> impl Future<Output = Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            match output.addressed(message) {
                Some(message) => output.write(&message).await,
                None => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.incoming.recv().await
    }

    async fn close(&mut self) -> Result<()> {
        self.output.stdout.lock().await.flush().await
    }
}

impl StdoutWriter {
    /// The message with the client's id; `None` if nobody waits for it.
    fn addressed(&self, mut message: ServerJsonRpcMessage) -> Option<ServerJsonRpcMessage> {
        let number = match &mut message {
            ServerJsonRpcMessage::Response(response) => Some(&mut response.id),
            ServerJsonRpcMessage::Error(error) => error.id.as_mut(),
            _ => None,
        };
        if let Some(number) = number {
            *number = self.open.answer(number)?;
        }
        Some(message)
    }

    async fn write(&self, message: &ServerJsonRpcMessage) -> Result<()> {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        let mut stdout = self.stdout.lock().await;
        stdout.write_all(&line).await?;
        stdout.flush().await
    }
}

/// The content of a line.
enum LineRead {
    Whole,
    TooLong,
    End,
}

struct StdinReader {
    sender: mpsc::Sender<ClientJsonRpcMessage>,
    output: Arc<StdoutWriter>,
    messages: OpenMessages,
    /// Whether the client has stated its protocol revision.
    is_begun: bool,
}

impl StdinReader {
    /// Reads until the end of input, or until nobody receives the messages.
    async fn read_all(mut self, mut input: BufReader<Stdin>) {
        let mut line = Vec::new();
        loop {
            match read_line(&mut input, &mut line).await {
                LineRead::End => return,
                LineRead::TooLong => {
                    let message = format!("the message is longer than {MOST_BYTES} bytes");
                    self.refuse(ErrorData::invalid_request(message, None), None).await;
                }
                LineRead::Whole => self.take(&line).await,
            }
            if self.sender.is_closed() {
                return;
            }
        }
    }

    async fn take(&mut self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let refusal = match count_values(line) {
            Ok(values) => match self.messages.take(values, line.len()) {
                Ok(share) => return self.take_all(line, &share).await,
                Err(busy) => ErrorData::new(BUSY, busy, None),
            },
            // It is JSON, but of too many values.
            Err(error) if error.is_data() => ErrorData::invalid_request(format!("the message {error}"), None),
            Err(error) => return self.refuse(ErrorData::parse_error(error.to_string(), None), None).await,
        };
        for id in ids_of_requests(line) {
            self.refuse(refusal.clone(), id).await;
        }
    }

    async fn take_all(&mut self, line: &[u8], share: &OpenShare) {
        match serde_json::from_slice(line) {
            // Revision 2025-03-26 has batches.
            Ok(Value::Array(messages)) if !messages.is_empty() => {
                for message in messages {
                    self.take_one(message, share).await;
                }
            }
            Ok(message) => self.take_one(message, share).await,
            Err(error) => self.refuse(ErrorData::parse_error(error.to_string(), None), None).await,
        }
    }

    async fn take_one(&mut self, message: Value, share: &OpenShare) {
        let id = message.get("id").cloned().and_then(|id| serde_json::from_value(id).ok());
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        match (serde_json::from_value::<ClientJsonRpcMessage>(message), method) {
            (Ok(message), _) => self.pass(message, share).await,
            (Err(_), Some(method)) if id.is_some() => {
                let what = format!("the request {method:?} or its parameters are not valid");
                self.refuse(ErrorData::invalid_params(what, None), id).await;
            }
            (Err(_), _) => {
                let what = "this is no request, notification or response of JSON-RPC 2.0";
                self.refuse(ErrorData::invalid_request(what, None), id).await;
            }
        }
    }

    async fn pass(&mut self, mut message: ClientJsonRpcMessage, share: &OpenShare) {
        match &mut message {
            ClientJsonRpcMessage::Request(request) => {
                let Some(number) = self.output.open.open(&request.id) else {
                    let what = format!("the id {} is that of a request that has no answer yet", request.id);
                    return self.refuse(ErrorData::invalid_request(what, None), None).await;
                };
                request.id = number;
                request.request.extensions_mut().insert(OpenShare::clone(share));
                self.is_begun |= begins(&request.request);
            }
            // The library would treat anything but a request as the end.
            _ if !self.is_begun => return,
            ClientJsonRpcMessage::Notification(notification) => {
                notification.notification.extensions_mut().insert(OpenShare::clone(share));
                if let ClientNotification::CancelledNotification(cancelled) = &mut notification.notification {
                    let id = cancelled.params.request_id.as_ref();
                    let Some(number) = id.and_then(|id| self.output.open.cancel(id)) else { return };
                    cancelled.params.request_id = Some(number);
                }
            }
            // No answer to a question of this server is as long.
            _ if !is_size_of_answer(share) => return,
            _ => {}
        }
        _ = self.sender.send(message).await;
    }

    async fn refuse(&self, error: ErrorData, id: Option<RequestId>) {
        // Write errors are ignored: the client no longer reads.
        _ = self.output.write(&ServerJsonRpcMessage::error(error, id)).await;
    }
}

/// The ids in a message that has not been taken: of its requests, or none. Takes no memory for other values.
fn ids_of_requests(line: &[u8]) -> Vec<Option<RequestId>> {
    #[derive(Deserialize)]
    struct Addressed {
        id: Option<RequestId>,
        method: Option<IgnoredAny>,
    }
    let one = || serde_json::from_slice(line).map(|one: Addressed| vec![one]);
    let all = serde_json::from_slice(line).or_else(|_| one()).unwrap_or_default();
    let requests = all.into_iter().filter(|addressed: &Addressed| addressed.method.is_some());
    let ids: Vec<_> = requests.filter_map(|request| request.id).map(Some).collect();
    if ids.is_empty() { vec![None] } else { ids }
}

/// Whether this request states the client's protocol revision.
fn begins(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::DiscoverRequest(_) => false,
        request => {
            let meta = request.get_meta();
            let is_known = |version| ProtocolVersion::KNOWN_VERSIONS.contains(&version);
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty()
                && meta.protocol_version().is_some_and(is_known)
        }
    }
}

/// Reads a line without its line ending. Lines that are too long, and an unterminated last line, are read and dropped.
async fn read_line(input: &mut BufReader<Stdin>, line: &mut Vec<u8>) -> LineRead {
    line.clear();
    let mut is_too_long = false;
    loop {
        let Ok(bytes) = input.fill_buf().await else { return LineRead::End };
        if bytes.is_empty() {
            return LineRead::End;
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let count = end.map_or(bytes.len(), |end| end + 1);
        is_too_long |= line.len() + count > MOST_BYTES;
        if is_too_long {
            line.clear();
        } else {
            line.extend_from_slice(&bytes[..count]);
        }
        input.consume(count);
        if end.is_some() {
            return if is_too_long { LineRead::TooLong } else { LineRead::Whole };
        }
    }
}
