//! The certificate authority with which the proxy identifies itself to programs as the servers that they name.
//!
//! Its key is made anew for each process, and never leaves it: only this proxy can use the trust that commands have in
//! it. What a command sends is encrypted again, to a server whose certificate is checked.

use beamai_base::Destination;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use std::sync::{Arc, LazyLock};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The authority and a server key, or why there are none.
static AUTHORITY: LazyLock<Result<ProxyAuthority, String>> = LazyLock::new(|| {
    ProxyAuthority::new().map_err(|error| format!("no certificate authority could be made: {error}"))
});

struct ProxyAuthority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    /// The key of all certificates that it signs.
    key: KeyPair,
}

impl ProxyAuthority {
    fn new() -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "beamai network proxy");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        Ok(Self { issuer, key: KeyPair::generate()? })
    }

    fn certificate(&self, host: &str) -> Result<CertificateDer<'static>, rcgen::Error> {
        let mut params = CertificateParams::new(vec![host.to_owned()])?;
        params.distinguished_name.push(DnType::CommonName, host);
        params.use_authority_key_identifier_extension = true;
        Ok(params.signed_by(&self.key, &self.issuer)?.der().clone())
    }
}

/// The certificate of the authority, as PEM, for programs to trust.
///
/// # Errors
/// If the system has no random numbers.
pub fn authority() -> Result<String, String> {
    AUTHORITY.as_ref().map(|authority| authority.issuer.pem()).map_err(Clone::clone)
}

/// TLS settings that identify a stream as the server of this name. Programs must speak HTTP/1.1 in it.
pub(super) fn identity(of: &Destination) -> Result<Arc<ServerConfig>, String> {
    let authority = AUTHORITY.as_ref().map_err(Clone::clone)?;
    let host = of.host();
    let failed = |error: &dyn std::fmt::Display| format!("no certificate could be made for {of}: {error}");
    let certificate = authority.certificate(host.trim_matches(['[', ']'])).map_err(|error| failed(&error))?;
    let key = PrivateKeyDer::try_from(authority.key.serialize_der()).map_err(|error| failed(&error))?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key))
        .map_err(|error| failed(&error))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_have_certificates_of_one_authority() {
        assert!(authority().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
        for name in ["packages.example.com:443", "127.0.0.1:443", "[::1]:8443"] {
            assert!(identity(&Destination::parse(name, None).unwrap()).is_ok(), "{name}");
        }
    }
}
