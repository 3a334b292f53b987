//! Redirects: followed, reported, bounded.

use super::{fetch, get, note, reaching, try_fetch};
use beamai_base::Reason;
use beamai_testserver::{TestServer, answer, redirect};
use serde_json::{Value, json};

/// Sends on along a list of statuses: /0 to /1 and so on, and answers at the end of it.
fn chain(statuses: &'static [&'static str]) -> TestServer {
    TestServer::raw(move |seen, stream| {
        let at: usize = seen.path[1..].parse().unwrap();
        let text = format!("{} {}", seen.method, seen.body);
        stream.write_all(&match statuses.get(at) {
            Some(status) => redirect(status, &format!("/{}", at + 1)),
            None => answer("200 OK", &[("Content-Type", "text/plain")], text.trim().as_bytes()),
        })
    })
}

#[test]
fn redirects_are_followed_and_reported() {
    let server = chain(&["301 Moved", "302 Found", "308 Permanent"]);
    let fetched = get(&server, "/0");
    assert_eq!((fetched.url.as_str(), fetched.content.as_str()), (server.url("/3").as_str(), "GET"));
    let hops: Vec<_> =
        fetched.redirects.iter().map(|hop| (hop.status_code, hop.from.clone(), hop.to.clone())).collect();
    assert_eq!(
        hops,
        [
            (301, server.url("/0"), server.url("/1")),
            (302, server.url("/1"), server.url("/2")),
            (308, server.url("/2"), server.url("/3")),
        ]
    );
}

#[test]
fn ten_redirects_are_followed_and_an_eleventh_is_an_error() {
    let ten = chain(&["302 Found"; 10]);
    assert_eq!(get(&ten, "/0").redirects.len(), 10);
    let eleven = chain(&["302 Found"; 11]);
    let error = try_fetch(&reaching(&[&eleven]), json!({"url": eleven.url("/0")})).unwrap_err();
    assert_eq!((error.reason, &error.details["kind"]), (Reason::Network, &json!("redirects")));
    assert_eq!(error.details["redirects"].as_array().unwrap().len(), 10);
    assert_eq!(eleven.seen().len(), 11);
}

#[test]
fn a_method_survives_where_the_status_says_so() {
    let post = |statuses: &'static [&'static str]| {
        let server = chain(statuses);
        let args = json!({"url": server.url("/0"), "method": "POST", "body": "b"});
        fetch(&server, args).content
    };
    assert_eq!(post(&["301 Moved"]), "GET");
    assert_eq!(post(&["302 Found"]), "GET");
    assert_eq!(post(&["303 See Other"]), "GET");
    assert_eq!(post(&["307 Temporary"]), "POST b");
    assert_eq!(post(&["308 Permanent"]), "POST b");
    let server = chain(&["302 Found"]);
    assert_eq!(fetch(&server, json!({"url": server.url("/0"), "method": "DELETE"})).content, "DELETE");
}

#[test]
fn a_body_is_not_sent_on_to_another_server() {
    let other = TestServer::fixed("200 OK", &[], "got it");
    let to = other.url("/");
    let server = TestServer::raw(move |_, stream| stream.write_all(&redirect("307 Temporary", &to)));
    let args = json!({"url": server.url("/"), "method": "POST", "body": "secret"});
    let fetched = try_fetch(&reaching(&[&server, &other]), args).unwrap();
    assert_eq!((fetched.status_code, other.connections()), (307, 0));
    assert!(note(&fetched).contains(&format!("redirects to {}, another server", other.url("/"))));
    let get = try_fetch(&reaching(&[&server, &other]), json!({"url": server.url("/")})).unwrap();
    assert_eq!((get.content.as_str(), get.url), ("got it", other.url("/")));
}

#[test]
fn a_redirect_to_nowhere_is_the_result() {
    let server = TestServer::fixed("302 Found", &[], "x");
    let fetched = get(&server, "/");
    assert_eq!(fetched.status_code, 302);
    assert!(note(&fetched).contains("does not say where to"));
}

#[test]
fn a_redirect_to_another_scheme_is_refused() {
    for to in ["file:///etc/passwd", "ftp://127.0.0.1/", "data:text/plain,x", "javascript:1"] {
        let server = TestServer::raw(move |_, stream| stream.write_all(&redirect("302 Found", to)));
        let error = try_fetch(&reaching(&[&server]), json!({"url": server.url("/")})).unwrap_err();
        super::assert_denied(&error);
        assert!(error.message.contains(to) && error.message.contains("only http and https"), "{error}");
        assert_eq!(error.details["redirects"][0]["from"], Value::from(server.url("/")));
    }
}
