//! What must make no connection. Each case first works where it is allowed, as far as loopback addresses can show it.

use super::{Script, assert_denied, call, reaching, try_fetch, with_settings, without_model};
use crate::present;
use beamai_net::Transport;
use beamai_testserver::{TestServer, answer, redirect};
use serde_json::json;
use std::net::SocketAddr;
use std::process::Command;

const OK: &[(&str, &str)] = &[("Content-Type", "text/plain")];

#[test]
fn every_spelling_of_a_loopback_address_is_refused_unless_it_is_allowed() {
    let server = TestServer::fixed("200 OK", OK, "inside");
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "2130706433",
        "127.1",
        "127.0.1",
        "0x7f000001",
        "0x7f.0.0.1",
        "0177.0.0.1",
        "017700000001",
        "127.0.0.1.",
        "%31%32%37.0.0.1",
        "１２７.０.０.１",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "user@127.0.0.1",
    ] {
        let url = format!("http://{host}:{port}/");
        let allowed = try_fetch(&reaching(&[&server]), json!({"url": url})).unwrap();
        assert_eq!(allowed.content, "inside", "{host}");
        let before = server.connections();
        assert_denied(&try_fetch(&reaching(&[]), json!({"url": url})).unwrap_err());
        assert_eq!(server.connections(), before, "{host}");
    }
}

#[test]
fn the_address_of_nowhere_is_refused_though_it_leads_home() {
    let server = TestServer::fixed("200 OK", OK, "inside");
    let port = server.address.port();
    for host in ["0.0.0.0", "0", "0.1"] {
        assert_denied(
            &try_fetch(&reaching(&[&server]), json!({"url": format!("http://{host}:{port}/")})).unwrap_err(),
        );
    }
    assert_eq!(server.connections(), 0);
    let cx = with_settings(json!({"allow_addresses": [format!("0.0.0.0:{port}")]}));
    assert_eq!(try_fetch(&cx, json!({"url": format!("http://0:{port}/")})).unwrap().content, "inside");
}

#[test]
fn the_same_holds_for_ipv6() {
    for url in ["http://[::]/", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]:8080/"] {
        assert_denied(&try_fetch(&reaching(&[]), json!({"url": url})).unwrap_err());
    }
    if std::net::TcpListener::bind("[::1]:0").is_ok() {
        let server =
            TestServer::at("[::1]:0", |_, stream| stream.write_all(&answer("200 OK", OK, b"inside")));
        let port = server.address.port();
        assert_eq!(super::get(&server, "/").content, "inside");
        let before = server.connections();
        for host in ["[::1]", "[::]"] {
            let url = format!("http://{host}:{port}/");
            assert_denied(&try_fetch(&reaching(&[]), json!({"url": url})).unwrap_err());
        }
        assert_eq!(server.connections(), before);
    }
}

#[test]
fn metadata_private_and_tunnelled_addresses_are_refused_by_name_of_their_kind() {
    for (host, kind) in [
        ("169.254.169.254", "metadata"),
        ("2852039166", "metadata"),
        ("100.64.0.1", "carrier"),
        ("100.100.100.200", "carrier"),
        ("10.0.0.1", "private"),
        ("172.16.0.1", "private"),
        ("192.168.1.1", "private"),
        ("[fd00::1]", "private"),
        ("[fd00:ec2::254]", "private"),
        ("[fe80::1]", "link-local"),
        ("[::ffff:a9fe:a9fe]", "mapped"),
        ("[64:ff9b::a9fe:a9fe]", "NAT64"),
        ("[2002:7f00:1::]", "6to4"),
        ("[2001:0:7f00:1::]", "Teredo"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "broadcast"),
    ] {
        let error = try_fetch(&reaching(&[]), json!({"url": format!("http://{host}/"), "timeout_sec": 5}))
            .unwrap_err();
        assert_denied(&error);
        assert!(error.message.contains(kind), "{host}: {error}");
    }
}

/// A fetch of a name, over a resolver with a script.
fn by_name(
    allowed: &[&TestServer],
    port: u16,
    script: std::sync::Arc<Script>,
) -> beamai_base::Result<beamai_port_tools::web::fetched::WebFetchOutput> {
    let cx = reaching(allowed);
    let args = call(json!({"url": format!("http://name.example:{port}/"), "timeout_sec": 5}));
    without_model(present::fetch(&args, &cx, Transport::of(&cx.web).resolving(script)))
}

#[test]
fn a_name_that_leads_to_a_private_address_is_refused() {
    let server = TestServer::fixed("200 OK", OK, "inside");
    let script = || Script::of([Ok(vec![server.address])]);
    let port = server.address.port();
    assert_eq!(by_name(&[&server], port, script()).unwrap().content, "inside");
    let before = server.connections();
    let error = by_name(&[], port, script()).unwrap_err();
    assert_denied(&error);
    assert!(error.message.contains(&server.address.to_string()), "{error}");
    assert_eq!(server.connections(), before);
}

#[test]
fn of_several_addresses_only_those_are_tried_that_may_be() {
    let private = TestServer::fixed("200 OK", OK, "private");
    let open = TestServer::fixed("200 OK", OK, "open");
    let script = Script::of([Ok(vec![private.address, open.address])]);
    assert_eq!(by_name(&[&open], 80, script).unwrap().content, "open");
    assert_eq!(private.connections(), 0);
}

#[test]
fn a_name_is_asked_for_once_and_what_is_checked_is_what_is_connected_to() {
    let server = TestServer::fixed("200 OK", OK, "inside");
    let elsewhere =
        TestServer::at("127.0.0.2:0", |_, stream| stream.write_all(&answer("200 OK", OK, b"rebound")));
    let script = Script::of([Ok(vec![server.address]), Ok(vec![elsewhere.address])]);
    let fetched = by_name(&[&server], server.address.port(), std::sync::Arc::clone(&script)).unwrap();
    assert_eq!((fetched.content.as_str(), script.asked(), elsewhere.connections()), ("inside", 1, 0));
}

#[test]
fn a_name_that_leads_elsewhere_on_the_next_hop_is_refused_there() {
    let server = TestServer::raw(|seen, stream| {
        stream.write_all(&match seen.path.as_str() {
            "/" => redirect("302 Found", "/again"),
            _ => answer("200 OK", OK, b"again"),
        })
    });
    let inner = TestServer::at("127.0.0.2:0", |_, stream| stream.write_all(&answer("200 OK", OK, b"inner")));
    let port = server.address.port();
    let same = Script::of([Ok(vec![server.address])]);
    assert_eq!(by_name(&[&server], port, same).unwrap().content, "again");
    let changing = Script::of([Ok(vec![server.address]), Ok(vec![inner.address])]);
    assert_denied(&by_name(&[&server], port, changing).unwrap_err());
    assert_eq!(inner.connections(), 0);
}

#[test]
fn a_redirect_to_a_private_address_is_refused() {
    let inner = TestServer::fixed("200 OK", OK, "inner");
    let port = inner.address.port();
    for to in [inner.url("/"), format!("http://2130706433:{port}/"), format!("//127.1:{port}/x")] {
        let outer = TestServer::raw(move |_, stream| stream.write_all(&redirect("302 Found", &to)));
        let both = try_fetch(&reaching(&[&outer, &inner]), json!({"url": outer.url("/")})).unwrap();
        assert_eq!(both.content, "inner");
        let before = inner.connections();
        let error = try_fetch(&reaching(&[&outer]), json!({"url": outer.url("/")})).unwrap_err();
        assert_denied(&error);
        assert_eq!(inner.connections(), before);
        assert_eq!(error.details["redirects"].as_array().unwrap().len(), 1);
    }
}

#[test]
fn blocked_domains_hold_on_every_hop() {
    let server =
        TestServer::raw(|_, stream| stream.write_all(&redirect("302 Found", "http://evil.example/")));
    let allowed: SocketAddr = server.address;
    let cx =
        with_settings(json!({"allow_addresses": [allowed.to_string()], "blocked_domains": ["evil.example"]}));
    let error = try_fetch(&cx, json!({"url": server.url("/")})).unwrap_err();
    assert_denied(&error);
    assert_eq!(error.details["matched_rule"], "blocked_domains: evil.example");
}

/// Runs itself again with a proxy in the environment, which a client that heeds it would ask.
#[test]
fn proxies_of_the_environment_are_ignored() {
    const TARGET: &str = "BEAMAI_TEST_PROXY_TARGET";
    if let Ok(url) = std::env::var(TARGET) {
        let address = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let cx = with_settings(json!({"allow_addresses": [address]}));
        assert_eq!(try_fetch(&cx, json!({"url": url})).unwrap().content, "direct");
        return;
    }
    let server = TestServer::fixed("200 OK", OK, "direct");
    let proxy = TestServer::fixed("200 OK", OK, "by proxy");
    let mut again = Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "tests::attacks::proxies_of_the_environment_are_ignored"]);
    for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
        again.env(name, proxy.url("/"));
    }
    let output =
        again.env(TARGET, server.url("/")).env_remove("no_proxy").env_remove("NO_PROXY").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((server.connections(), proxy.connections()), (1, 0));
}
