//! Credentials go where they were meant to go.

use super::{fetch, note, reaching, try_fetch};
use beamai_testserver::{TestServer, answer, redirect};
use serde_json::{Value, json};

/// Answers 401 unless a header has the value.
fn guarded(header: &'static str, value: &'static str) -> TestServer {
    TestServer::raw(move |seen, stream| {
        stream.write_all(&match seen.header(header) {
            Some(given) if given == value => answer("200 OK", &[("Content-Type", "text/plain")], b"inside"),
            _ => answer("401 Unauthorized", &[("WWW-Authenticate", "Basic")], b"who are you?"),
        })
    })
}

fn kinds() -> [(&'static str, &'static str, Value); 3] {
    [
        ("authorization", "Basic dTpw", json!({"type": "basic", "username": "u", "password": "p"})),
        ("authorization", "Bearer tok", json!({"type": "bearer", "token": "tok"})),
        ("cookie", "s=1; t=2", json!({"type": "cookie", "cookie": "s=1; t=2"})),
    ]
}

#[test]
fn a_401_is_answered_with_credentials_of_every_kind() {
    for (header, value, auth) in kinds() {
        let server = guarded(header, value);
        let fetched = fetch(&server, json!({"url": server.url("/"), "auth": auth}));
        assert_eq!((fetched.status_code, fetched.content.as_str()), (200, "inside"));
        let sent: Vec<_> = server.seen().iter().map(|seen| seen.header(header).map(str::to_owned)).collect();
        assert_eq!(sent, [None, Some(value.to_owned())]);
        assert!(note(&fetched).contains("sent again with the credentials"));
    }
}

#[test]
fn preemptive_credentials_are_sent_at_once() {
    for (header, value, mut auth) in kinds() {
        auth["preemptive"] = true.into();
        let server = guarded(header, value);
        assert_eq!(fetch(&server, json!({"url": server.url("/"), "auth": auth})).content, "inside");
        assert_eq!(server.only().header(header), Some(value));
    }
}

#[test]
fn credentials_in_the_address_are_used_and_never_shown() {
    let server = guarded("authorization", "Basic dTpw");
    let url = format!("http://u:p@{}/", server.address);
    let fetched = fetch(&server, json!({"url": url}));
    assert_eq!((fetched.content.as_str(), fetched.url), ("inside", server.url("/")));
}

#[test]
fn wrong_or_missing_credentials_are_a_result_that_says_so() {
    let server = guarded("authorization", "Basic dTpw");
    let wrong = fetch(&server, json!({"url": server.url("/"), "auth": {"type": "bearer", "token": "x"}}));
    assert_eq!((wrong.status_code, server.seen().len()), (401, 2));
    assert!(note(&wrong).contains("did not accept the credentials"));
    let none = fetch(&server, json!({"url": server.url("/")}));
    assert_eq!(none.status_code, 401);
    assert!(note(&none).contains("give them in auth"));
}

/// What the servers at both ends of a redirect were told, when the call sends everything that it can.
fn told_after_redirect(second: &TestServer, cx_servers: &[&TestServer], first: &TestServer) {
    let args = json!({
        "url": first.url("/"),
        "headers": {"X-Api-Key": "k", "Authorization": "own", "Cookie": "own=1", "Accept-Language": "de"},
        "auth": {"type": "bearer", "token": "tok", "preemptive": true},
    });
    let fetched = try_fetch(&reaching(cx_servers), args).unwrap();
    assert_eq!(fetched.redirects.len(), 1);
    assert_eq!(first.seen()[0].header("x-api-key"), Some("k"));
    assert_eq!(first.seen()[0].header("authorization"), Some("Bearer tok"));
    let there = second.seen().pop().unwrap();
    for secret in ["authorization", "cookie", "x-api-key"] {
        assert_eq!(there.header(secret), None, "{secret}");
    }
    assert_eq!(there.header("accept-language"), Some("de"));
}

#[test]
fn credentials_are_dropped_across_origins() {
    let second = TestServer::fixed("200 OK", &[], "there");
    let to = second.url("/");
    let first = TestServer::raw(move |_, stream| stream.write_all(&redirect("302 Found", &to)));
    told_after_redirect(&second, &[&first, &second], &first);
}

#[test]
fn credentials_stay_within_one_origin() {
    let server = TestServer::raw(|seen, stream| {
        stream.write_all(&match seen.path.as_str() {
            "/" => redirect("302 Found", "/in"),
            _ => answer("200 OK", &[], b"in"),
        })
    });
    let auth = json!({"type": "bearer", "token": "tok", "preemptive": true});
    fetch(&server, json!({"url": server.url("/"), "auth": auth}));
    assert_eq!(server.seen()[1].header("authorization"), Some("Bearer tok"));
}

#[test]
fn credentials_do_not_come_back_by_a_detour() {
    let home = std::sync::Arc::new(std::sync::Mutex::new(String::new()));
    let target = std::sync::Arc::clone(&home);
    let detour =
        TestServer::raw(move |_, stream| stream.write_all(&redirect("302 Found", &target.lock().unwrap())));
    let away = detour.url("/");
    let server = TestServer::raw(move |seen, stream| {
        stream.write_all(&match seen.path.as_str() {
            "/" => redirect("302 Found", &away),
            _ => answer("401 Unauthorized", &[], b"who?"),
        })
    });
    *home.lock().unwrap() = server.url("/evil-echo");
    let auth = json!({"type": "basic", "username": "u", "password": "p", "preemptive": true});
    let args = json!({"url": server.url("/"), "auth": auth});
    let fetched = try_fetch(&reaching(&[&server, &detour]), args).unwrap();
    let seen = server.seen();
    assert_eq!((fetched.status_code, seen.len()), (401, 2));
    assert_eq!(seen[0].header("authorization"), Some("Basic dTpw"));
    assert_eq!(seen[1].header("authorization"), None);
    assert!(note(&fetched).contains("were not sent to the server that the redirect led to"));
}

#[test]
fn a_401_from_another_server_gets_no_credentials() {
    let thief = TestServer::fixed("401 Unauthorized", &[("WWW-Authenticate", "Basic")], "give me");
    let to = thief.url("/");
    let server = TestServer::raw(move |_, stream| stream.write_all(&redirect("302 Found", &to)));
    let args = json!({"url": server.url("/"), "auth": {"type": "basic", "username": "u", "password": "p"}});
    let fetched = try_fetch(&reaching(&[&server, &thief]), args).unwrap();
    assert_eq!(fetched.status_code, 401);
    assert_eq!(thief.only().header("authorization"), None);
}
