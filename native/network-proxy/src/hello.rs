//! Reads the server name from the first message of a TLS connection.

use tokio_rustls::rustls::server::Acceptor;

/// What the first bytes of a TLS connection contain.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ClientHello {
    /// An incomplete ClientHello.
    Incomplete,
    /// A ClientHello for the server of this name; `None` if it names no server.
    For(Option<String>),
    /// Not a ClientHello; the reason.
    Broken(String),
}

/// Parses the first bytes.
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
