//! The first message of TLS, and the server's name in it.

use tokio_rustls::rustls::server::Acceptor;

/// What the first bytes of a connection are.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientHello {
    /// The beginning of one.
    Incomplete,
    /// One, for the server of this name; `None` where it names no server.
    For(Option<String>),
    /// None that could be read.
    Broken(String),
}

/// Reads it.
pub(super) fn read(mut bytes: &[u8]) -> ClientHello {
    let mut acceptor = Acceptor::default();
    while !bytes.is_empty() {
        if let Err(error) = acceptor.read_tls(&mut bytes) {
            return ClientHello::Broken(error.to_string());
        }
        match acceptor.accept() {
            Ok(None) => {}
            Ok(Some(accepted)) => {
                return ClientHello::For(accepted.client_hello().server_name().map(str::to_owned));
            }
            Err((error, _)) => return ClientHello::Broken(error.to_string()),
        }
    }
    ClientHello::Incomplete
}
