//! Encrypted servers.

use super::{Script, call, reaching, try_fetch, with_settings, without_model};
use crate::present;
use beamai_base::{Reason, Result};
use beamai_net::Transport;
use beamai_port_tools::web::fetched::WebFetchOutput;
use beamai_testserver::{TestServer, answer, authority, identified_by, redirect};
use beamai_tool::CallContext;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpListener;
use tokio_rustls::rustls::pki_types::CertificateDer;

/// A server whose certificate the authority has signed.
fn server(authority: &CertifiedIssuer<'static, KeyPair>, params: CertificateParams) -> TestServer {
    let key = KeyPair::generate().unwrap();
    serving(params.signed_by(&key, authority).unwrap().der().clone(), &key)
}

fn serving(certificate: CertificateDer<'static>, key: &KeyPair) -> TestServer {
    TestServer::tls(identified_by(certificate, key), |_, stream| {
        stream.write_all(&answer("200 OK", &[("Content-Type", "text/plain")], b"encrypted"))
    })
}

fn params(names: &[&str]) -> CertificateParams {
    CertificateParams::new(names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()).unwrap()
}

fn trusting(cx: &CallContext, authority: &CertificateDer<'static>, args: Value) -> Result<WebFetchOutput> {
    without_model(present::fetch(&call(args), cx, Transport::of(&cx.web).trusting(authority.clone())))
}

#[test]
fn a_certificate_that_a_trusted_authority_has_signed_is_accepted() {
    let authority = authority();
    let server = server(&authority, params(&["127.0.0.1"]));
    let fetched = trusting(&reaching(&[&server]), authority.der(), json!({"url": server.url("/")})).unwrap();
    assert_eq!((fetched.content.as_str(), fetched.note), ("encrypted", None));
}

#[test]
fn a_name_is_what_the_certificate_must_be_for() {
    let authority = authority();
    let server = server(&authority, params(&["name.example"]));
    let cx = reaching(&[&server]);
    let url = format!("https://name.example:{}/", server.address.port());
    let transport = Transport::of(&cx.web)
        .resolving(Script::of([Ok(vec![server.address])]))
        .trusting(authority.der().clone());
    assert_eq!(present::fetch(&call(json!({"url": url})), &cx, transport).unwrap().content, "encrypted");
    let error = trusting(&cx, authority.der(), json!({"url": server.url("/")})).unwrap_err();
    assert!(error.message.contains("it is for another name"), "{error}");
}

#[test]
fn an_untrusted_certificate_is_an_error_that_says_what_to_do() {
    let server = server(&authority(), params(&["127.0.0.1"]));
    let error = try_fetch(&reaching(&[&server]), json!({"url": server.url("/")})).unwrap_err();
    assert_eq!((error.reason, &error.details["kind"]), (Reason::Network, &json!("tls")));
    assert!(error.message.contains("no authority that this machine trusts has signed it"), "{error}");
    assert!(error.message.contains("verify_tls"), "{error}");
    assert_eq!(server.seen().len(), 0);
}

#[test]
fn a_certificate_that_signs_itself_is_named_so() {
    let key = KeyPair::generate().unwrap();
    let mut own = params(&["127.0.0.1"]);
    own.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let server = serving(own.self_signed(&key).unwrap().der().clone(), &key);
    let error = try_fetch(&reaching(&[&server]), json!({"url": server.url("/")})).unwrap_err();
    assert!(error.message.contains("not valid: it is signed by itself"), "{error}");
}

#[test]
fn the_check_can_be_switched_off_for_a_call() {
    let server = server(&authority(), params(&["elsewhere.example"]));
    let fetched =
        try_fetch(&reaching(&[&server]), json!({"url": server.url("/"), "verify_tls": false})).unwrap();
    assert_eq!(fetched.content, "encrypted");
    assert!(try_fetch(&reaching(&[&server]), json!({"url": server.url("/")})).is_err());
}

#[test]
fn the_check_is_switched_off_for_one_host_only() {
    let secret = server(&authority(), params(&["127.0.0.1"]));
    let to = secret.url("/");
    let other = TestServer::at("127.0.0.2:0", move |_, stream| stream.write_all(&redirect("302 Found", &to)));
    let cx = reaching(&[&secret, &other]);
    let error = try_fetch(&cx, json!({"url": other.url("/"), "verify_tls": false})).unwrap_err();
    assert_eq!((error.reason, &error.details["kind"]), (Reason::Network, &json!("tls")));
    assert!(error.message.contains("after a redirect from"), "{error}");
    assert_eq!(secret.seen().len(), 0);
}

#[test]
fn an_expired_certificate_is_named_so() {
    let authority = authority();
    let mut expired = params(&["127.0.0.1"]);
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let server = server(&authority, expired);
    let error =
        trusting(&reaching(&[&server]), authority.der(), json!({"url": server.url("/")})).unwrap_err();
    assert!(error.message.contains("it has expired"), "{error}");
}

#[test]
fn https_to_a_server_without_encryption_is_an_error_that_asks() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        // Whatever the client says is read, so that it hears the answer and no reset.
        _ = stream.read_to_end(&mut Vec::new());
    });
    let cx = with_settings(json!({"allow_addresses": [address]}));
    let error = try_fetch(&cx, json!({"url": format!("https://{address}/"), "timeout_sec": 5})).unwrap_err();
    assert_eq!((error.reason, &error.details["kind"]), (Reason::Network, &json!("tls")));
    assert!(error.message.contains("does this port speak https?"), "{error}");
    server.join().unwrap();
}

#[test]
fn a_certificate_does_not_open_a_private_address() {
    let server = server(&authority(), params(&["127.0.0.1"]));
    let error = try_fetch(&reaching(&[]), json!({"url": server.url("/"), "verify_tls": false})).unwrap_err();
    super::assert_denied(&error);
    assert_eq!(server.connections(), 0);
}
