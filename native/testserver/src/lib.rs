//! An HTTP server for tests, which answers as told and records the requests.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ServerConfig, ServerConnection, StreamOwned};

/// A received request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    /// Its method.
    pub method: String,
    /// Path and query.
    pub path: String,
    headers: Vec<(String, String)>,
    /// Its body.
    pub body: String,
}

impl ReceivedRequest {
    /// A header's value by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A connection to a client.
pub trait Connection: Read + Write {}
impl<T: Read + Write> Connection for T {}

type Handler = dyn Fn(&ReceivedRequest, &mut dyn Connection) -> std::io::Result<()> + Send + Sync;

#[derive(Default)]
struct TestServerState {
    seen: Mutex<Vec<ReceivedRequest>>,
    connections: AtomicUsize,
    stopped: AtomicBool,
}

/// A server that runs until it is dropped.
pub struct TestServer {
    /// Its address.
    pub address: SocketAddr,
    scheme: &'static str,
    shared: Arc<TestServerState>,
}

impl TestServer {
    /// A server whose handler writes complete responses.
    pub fn raw(
        answer: impl Fn(&ReceivedRequest, &mut dyn Connection) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::at("127.0.0.1:0", answer)
    }

    /// The same at a given address.
    pub fn at(
        address: &str,
        answer: impl Fn(&ReceivedRequest, &mut dyn Connection) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::start(address, None, Arc::new(answer))
    }

    /// A server with TLS.
    pub fn tls(
        config: Arc<ServerConfig>,
        answer: impl Fn(&ReceivedRequest, &mut dyn Connection) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::start("127.0.0.1:0", Some(config), Arc::new(answer))
    }

    /// The same at a given address.
    pub fn tls_at(
        address: &str,
        config: Arc<ServerConfig>,
        answer: impl Fn(&ReceivedRequest, &mut dyn Connection) -> std::io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        Self::start(address, Some(config), Arc::new(answer))
    }

    /// A server with a fixed response.
    pub fn fixed(status: &str, headers: &[(&str, &str)], body: impl Into<Vec<u8>>) -> Self {
        let answer = answer(status, headers, &body.into());
        Self::raw(move |_, stream| stream.write_all(&answer))
    }

    fn start(address: &str, config: Option<Arc<ServerConfig>>, answer: Arc<Handler>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let shared = Arc::new(TestServerState::default());
        let address = listener.local_addr().unwrap();
        let scheme = if config.is_some() { "https" } else { "http" };
        let server = Self { address, scheme, shared: Arc::clone(&shared) };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.stopped.load(Ordering::SeqCst) {
                    return;
                }
                shared.connections.fetch_add(1, Ordering::SeqCst);
                let (shared, config, answer) = (Arc::clone(&shared), config.clone(), Arc::clone(&answer));
                std::thread::spawn(move || _ = serve(stream, config, &shared, &*answer));
            }
        });
        server
    }

    /// The URL of a path.
    pub fn url(&self, path: &str) -> String {
        format!("{}://{}{path}", self.scheme, self.address)
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<ReceivedRequest> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// The only request so far.
    pub fn only(&self) -> ReceivedRequest {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }

    /// Number of connections, with or without a request.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, so that it checks the flag.
        _ = TcpStream::connect(self.address);
    }
}

fn serve(
    stream: TcpStream,
    config: Option<Arc<ServerConfig>>,
    shared: &TestServerState,
    answer: &Handler,
) -> std::io::Result<()> {
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    match config {
        None => exchange(&mut { stream }, shared, answer),
        Some(config) => {
            let connection = ServerConnection::new(config).map_err(std::io::Error::other)?;
            let mut stream = StreamOwned::new(connection, stream);
            exchange(&mut stream, shared, answer)?;
            stream.conn.send_close_notify();
            stream.flush()
        }
    }
}

fn exchange(stream: &mut dyn Connection, shared: &TestServerState, answer: &Handler) -> std::io::Result<()> {
    let Some(seen) = request(stream)? else { return Ok(()) };
    shared.seen.lock().unwrap().push(seen.clone());
    answer(&seen, stream)?;
    stream.flush()
}

fn request(stream: &mut dyn Connection) -> std::io::Result<Option<ReceivedRequest>> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    let head = loop {
        if let Some(at) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            break at;
        }
        match stream.read(&mut piece)? {
            0 => return Ok(None),
            read => bytes.extend_from_slice(&piece[..read]),
        }
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ').map(str::to_owned);
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length =
        headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = bytes.split_off(head + 4);
    while body.len() < length.unwrap_or(0) {
        let read = stream.read(&mut piece)?;
        body.extend_from_slice(&piece[..read]);
    }
    let (method, path) = (first.next().unwrap_or_default(), first.next().unwrap_or_default());
    Ok(Some(ReceivedRequest { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() }))
}

/// A response with a Content-Length.
pub fn answer(status: &str, headers: &[(&str, &str)], body: &[u8]) -> Vec<u8> {
    let mut head = head(status, headers, Some(body.len()));
    head.extend_from_slice(body);
    head
}

/// The head of a response.
pub fn head(status: &str, headers: &[(&str, &str)], length: Option<usize>) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    if let Some(length) = length {
        head.push_str(&format!("Content-Length: {length}\r\n"));
    }
    (head + "\r\n").into_bytes()
}

/// A redirect.
pub fn redirect(status: &str, to: &str) -> Vec<u8> {
    answer(status, &[("Location", to)], b"elsewhere")
}

/// A certificate authority.
pub fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// TLS settings of a server with this certificate.
pub fn identified_by(certificate: CertificateDer<'static>, key: &KeyPair) -> Arc<ServerConfig> {
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate], PrivateKeyDer::try_from(key.serialize_der()).unwrap())
        .unwrap();
    Arc::new(config)
}
