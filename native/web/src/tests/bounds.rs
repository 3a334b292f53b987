//! Time, size, cancellation, and servers that fail.

use super::{Script, call, fetch, get, note, reaching, try_fetch, without_model};
use crate::present;
use beamai_base::{Reason, ToolError};
use beamai_net::Transport;
use beamai_testserver::{Connection, TestServer, answer, head};
use beamai_tool::CallContext;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use std::io::Write;
use std::net::TcpListener;
use std::time::{Duration, Instant};

const TEXT: &[(&str, &str)] = &[("Content-Type", "text/plain")];

fn failing(server: &TestServer, seconds: u64) -> ToolError {
    let args = json!({"url": server.url("/"), "timeout_sec": seconds});
    try_fetch(&reaching(&[server]), args).unwrap_err()
}

/// Waits without an end, though not beyond the test's.
fn hang(_: &mut dyn Connection) -> std::io::Result<()> {
    std::thread::sleep(Duration::from_secs(15));
    Ok(())
}

#[test]
fn a_slow_body_is_a_timeout_that_carries_what_came() {
    let server = TestServer::raw(|_, stream| {
        stream.write_all(&head("200 OK", TEXT, None))?;
        loop {
            stream.write_all(b"drip ")?;
            stream.flush()?;
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    let begun = Instant::now();
    let error = failing(&server, 1);
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!(error.reason, Reason::Timeout);
    assert!(error.message.contains("receiving the body"), "{error}");
    assert_eq!(error.details["status_code"], 200);
    assert_eq!(error.details["url"], server.url("/"));
    assert!(error.details["content"].as_str().unwrap().starts_with("drip drip"));
}

#[test]
fn a_server_that_says_nothing_is_a_timeout() {
    let server = TestServer::raw(|_, stream| hang(stream));
    let error = failing(&server, 1);
    assert_eq!(error.reason, Reason::Timeout);
    assert!(error.message.contains("waiting for the answer"), "{error}");
}

#[test]
fn the_deadline_of_the_call_holds_too() {
    let server = TestServer::raw(|_, stream| hang(stream));
    let deadline = Some(Instant::now() + Duration::from_millis(300));
    let cx = CallContext { deadline, ..reaching(&[&server]) };
    let begun = Instant::now();
    let error = try_fetch(&cx, json!({"url": server.url("/"), "timeout_sec": 600})).unwrap_err();
    assert_eq!(error.reason, Reason::Timeout);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn an_endless_body_ends_at_the_cap() {
    let server = TestServer::raw(|_, stream| {
        stream.write_all(&head("200 OK", TEXT, None))?;
        loop {
            stream.write_all(&[b'y'; 64 << 10])?;
        }
    });
    let fetched = get(&server, "/");
    assert_eq!((fetched.size_bytes, fetched.content.len(), fetched.truncated), (4 << 20, 102_400, true));
    assert!(note(&fetched).contains("only the first 4 MiB"), "{}", note(&fetched));
}

#[test]
fn a_bomb_ends_at_the_cap_on_decoded_bytes() {
    let server = TestServer::raw(|_, stream| {
        stream.write_all(&head(
            "200 OK",
            &[("Content-Type", "text/plain"), ("Content-Encoding", "gzip")],
            None,
        ))?;
        let mut bomb = GzEncoder::new(stream, Compression::best());
        loop {
            bomb.write_all(&[b'0'; 1 << 20])?;
        }
    });
    let fetched = get(&server, "/");
    assert_eq!((fetched.size_bytes, fetched.truncated), (4 << 20, true));
}

#[test]
fn input_without_end_that_decodes_to_nothing_ends_too() {
    let empty = GzEncoder::new(Vec::new(), Compression::default()).finish().unwrap();
    let server = TestServer::raw(move |_, stream| {
        stream.write_all(&head("200 OK", &[("Content-Encoding", "gzip")], None))?;
        loop {
            stream.write_all(&empty.repeat(1000))?;
        }
    });
    // That it was cut, and not stopped by the clock, says that the bound on what is sent ended it.
    let fetched = fetch(&server, json!({"url": server.url("/"), "timeout_sec": 120}));
    assert_eq!((fetched.size_bytes, fetched.truncated), (0, true));
}

#[test]
fn a_head_without_end_is_an_error() {
    let server = TestServer::raw(|_, stream| {
        stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
        loop {
            stream.write_all(&b"X-Filler: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(1000))?;
        }
    });
    assert_eq!(failing(&server, 20).reason, Reason::Network);
}

#[test]
fn a_cancel_ends_a_fetch_at_once() {
    let server = TestServer::raw(|_, stream| {
        stream.write_all(&head("200 OK", TEXT, None))?;
        hang(stream)
    });
    let cx = reaching(&[&server]);
    let token = cx.cancel.clone();
    let canceller = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(300));
        token.cancel();
        Instant::now()
    });
    let error = try_fetch(&cx, json!({"url": server.url("/")})).unwrap_err();
    let late = canceller.join().unwrap().elapsed();
    assert_eq!(error.reason, Reason::Cancelled);
    assert!(late < Duration::from_secs(10), "{late:?} after the cancel");
}

#[test]
fn a_fetch_that_is_cancelled_before_it_begins_makes_no_connection() {
    let server = TestServer::fixed("200 OK", TEXT, "x");
    let cx = reaching(&[&server]);
    cx.cancel.cancel();
    let error = try_fetch(&cx, json!({"url": server.url("/")})).unwrap_err();
    assert_eq!((error.reason, server.connections()), (Reason::Cancelled, 0));
}

#[test]
fn a_port_without_a_server_is_an_error_that_says_so() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let cx = super::with_settings(json!({"allow_addresses": [address.to_string()]}));
    let error = try_fetch(&cx, json!({"url": format!("http://{address}/")})).unwrap_err();
    assert_eq!((error.reason, error.kind().as_str()), (Reason::Network, "execution_failed"));
    assert_eq!(error.details["kind"], "connect");
    assert!(error.message.contains("connection refused; nothing listens there"), "{error}");
}

#[test]
fn a_host_that_does_not_exist_is_an_error_that_says_so() {
    let cx = reaching(&[]);
    let transport = Transport::of(&cx.web)
        .resolving(Script::of([Err("failed to lookup address information: Name or service not known")]));
    let error =
        without_model(present::fetch(&call(json!({"url": "http://no.such.host.example/"})), &cx, transport))
            .unwrap_err();
    assert_eq!((error.reason, &error.details["kind"]), (Reason::Network, &json!("dns")));
    assert!(
        error.message.contains("no.such.host.example cannot be found (Name or service not known)"),
        "{error}"
    );
}

#[test]
fn a_server_that_closes_or_talks_nonsense_is_an_error() {
    let silent = TestServer::raw(|_, _| Ok(()));
    let error = failing(&silent, 5);
    assert!(error.message.contains("closed the connection without an answer"), "{error}");
    let other = TestServer::raw(|_, stream| stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"));
    let error = failing(&other, 5);
    assert!(error.reason == Reason::Network && error.message.contains("not an answer of HTTP"), "{error}");
}

#[test]
fn a_body_that_breaks_off_is_an_error_that_carries_what_came() {
    let server = TestServer::raw(|_, stream| {
        let whole = answer("200 OK", TEXT, &[b'z'; 1000]);
        stream.write_all(&whole[..whole.len() - 400])
    });
    let error = failing(&server, 5);
    assert_eq!((error.reason, &error.details["kind"]), (Reason::Network, &json!("body")));
    assert_eq!(
        (error.details["content"].as_str().unwrap().len(), &error.details["size_bytes"]),
        (600, &json!(600))
    );
}
