//! Commands that fail for want of the network.

use super::Fixture;
use serde_json::json;

#[test]
fn a_command_that_fails_for_want_of_the_network_says_so() {
    let off = Fixture::new(json!("required"), json!({"default": "allow"}), &[]);
    for command in [
        "curl -sS http://example.com/",
        "curl -s http://1.1.1.1/",
        "curl -s http://[2606:4700::1111]/ | cat; exit 3",
        "git clone -q http://example.com/x.git 2>/dev/null",
        "python3 -c 'import socket; socket.create_connection((\"example.com\", 80))'",
        "bash -c 'echo x > /dev/tcp/192.0.2.1/80' 2>/dev/null",
    ] {
        let result = off.run(command);
        let hint = result["network_off"].as_str().unwrap_or_else(|| panic!("{command}: {result}"));
        assert!(hint.contains("sandbox => #{network") && !hint.contains("--network"), "{hint}");
    }
    // Not where it succeeds, nor where it fails for something else.
    for command in [
        "curl -sS http://example.com/ || true",
        "echo Could not resolve host >&2; exit 6",
        "curl -s http://127.0.0.1:9/",
        "python3 -c 'import socket; socket.getaddrinfo(\"localhost\", 80)'; (exit 7)",
        "false",
    ] {
        assert_eq!(off.run(command).get("network_off"), None, "{command}");
    }
    let on = Fixture::listing(&[], &[]);
    assert_eq!(on.run("echo Could not resolve host; false").get("network_off"), None);
}

#[test]
fn a_command_that_does_not_use_the_proxy_is_told_so() {
    let named = Fixture::listing(&["a.example"], &[]);
    for command in [
        "python3 -c 'import socket; socket.create_connection((\"a.example\", 80))'",
        "bash -c 'echo x > /dev/tcp/192.0.2.1/80' 2>/dev/null",
        "curl -sS --noproxy '*' http://a.example/",
    ] {
        let result = named.run(command);
        assert!(result["network_off"].to_string().contains("HTTPS_PROXY"), "{command}: {result}");
    }
    // Not where the proxy refused.
    let refused = named.run("curl -fsS http://b.example/");
    assert_eq!(refused["network"][0]["refused"], 1, "{refused}");
    assert_eq!(refused.get("network_off"), None, "{refused}");
}
