//! TLS connections.

use super::advice::Advice;
use super::{BoxFuture, Deadline, Transport, failure};
use beamai_base::{Result, ToolError};
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use url::{Host, Url};

/// The trusted certificate authorities.
#[derive(Clone)]
pub(super) enum TrustRoots {
    /// Those that the system trusts.
    System,
    /// Only this one.
    Only(CertificateDer<'static>),
}

impl Transport {
    /// Starts TLS with the host of a URL, for HTTP/1.1. Without `verify`, any certificate is accepted.
    ///
    /// # Errors
    /// `network` with the problem of the certificate or the handshake, `timeout`.
    pub fn encrypt<'a>(
        &'a self,
        url: &'a Url,
        stream: TcpStream,
        verify: bool,
        deadline: &'a Deadline,
    ) -> BoxFuture<'a, Result<TlsStream<TcpStream>>> {
        Box::pin(async move {
            let config = if verify { self.roots.config(self.guard.advice)? } else { careless() };
            let name = server_name(url)?;
            let handshake = TlsConnector::from(config).connect(name, stream);
            let done = deadline.within("agreeing on encryption", handshake).await?;
            done.map_err(|error| handshake_failed(url, &error, self.guard.advice))
        })
    }
}

fn server_name(url: &Url) -> Result<ServerName<'static>> {
    let name = match url.host() {
        Some(Host::Ipv4(ip)) => return Ok(ServerName::from(std::net::IpAddr::V4(ip))),
        Some(Host::Ipv6(ip)) => return Ok(ServerName::from(std::net::IpAddr::V6(ip))),
        Some(Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
        None => String::new(),
    };
    let shown = name.clone();
    ServerName::try_from(name).map_err(|_| {
        failure("tls", format!("{shown:?} is no name that a certificate could be for; check the address"))
    })
}

impl TrustRoots {
    fn config(&self, advice: &Advice) -> Result<Arc<ClientConfig>> {
        match self {
            Self::System => system_config(advice),
            Self::Only(authority) => {
                let mut store = RootCertStore::empty();
                store.add(authority.clone()).map_err(|error| {
                    failure("tls", format!("the authority's certificate is of no use: {error}"))
                })?;
                Ok(verified(store))
            }
        }
    }
}

/// The system's authorities, read once: reading them takes longer than a handshake.
fn system_config(advice: &Advice) -> Result<Arc<ClientConfig>> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    if let Some(config) = CONFIG.get() {
        return Ok(Arc::clone(config));
    }
    let found = rustls_native_certs::load_native_certs();
    let mut store = RootCertStore::empty();
    let (added, _) = store.add_parsable_certificates(found.certs);
    if added == 0 {
        return Err(no_authorities(&found.errors, advice));
    }
    Ok(Arc::clone(CONFIG.get_or_init(|| verified(store))))
}

fn no_authorities(errors: &[rustls_native_certs::Error], advice: &Advice) -> ToolError {
    let why = errors.first().map_or(String::new(), |error| format!(" ({error})"));
    failure(
        "tls",
        format!(
            "this machine knows no authority that could vouch for a server{why}; install its certificate store (on \
             Debian: ca-certificates){}",
            advice.authorities
        ),
    )
}

fn verified(store: RootCertStore) -> Arc<ClientConfig> {
    finished(builder().with_root_certificates(store).with_no_client_auth())
}

/// Accepts any certificate.
fn careless() -> Arc<ClientConfig> {
    static CONFIG: OnceLock<Arc<ClientConfig>> = OnceLock::new();
    let make = || {
        let verifier = Arc::new(AnyCertificate(provider()));
        finished(builder().dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth())
    };
    Arc::clone(CONFIG.get_or_init(make))
}

type Builder = tokio_rustls::rustls::ConfigBuilder<ClientConfig, tokio_rustls::rustls::WantsVerifier>;

fn builder() -> Builder {
    ClientConfig::builder_with_provider(provider())
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS")
}

fn finished(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Arc::new(config)
}

fn provider() -> Arc<CryptoProvider> {
    static PROVIDER: OnceLock<Arc<CryptoProvider>> = OnceLock::new();
    Arc::clone(PROVIDER.get_or_init(|| Arc::new(ring::default_provider())))
}

fn handshake_failed(url: &Url, error: &std::io::Error, advice: &Advice) -> ToolError {
    let host = url.host_str().unwrap_or_default();
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<Error>());
    let Some(Error::InvalidCertificate(wrong)) = inner else {
        let why = inner.map_or_else(|| error.to_string(), Error::to_string);
        let message = format!("no encrypted connection to {host}: {why}; does this port speak https?");
        return failure("tls", message);
    };
    let why = certificate_problem(wrong);
    failure("tls", format!("the certificate of {host} is not valid: {why}. {}", advice.certificate))
}

fn certificate_problem(error: &CertificateError) -> String {
    match error {
        CertificateError::UnknownIssuer => "no authority that this machine trusts has signed it".into(),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired".into(),
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet".into()
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name".into()
        }
        CertificateError::Revoked => "it was revoked".into(),
        // rustls has no variant for a certificate that is its own issuer, as `openssl req -x509` creates it.
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => {
            "it is signed by itself, as an authority's own".into()
        }
        CertificateError::Other(other) => other.to_string(),
        other => other.to_string(),
    }
}

/// Accepts every certificate. Signatures of the handshake are still checked: the server must hold the key of the
/// certificate that it presents.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
