//! What a fetch must not connect to, tried with the port program itself: the address works where the host allows it, and
//! where it does not, nobody hears of it.

use crate::common::PROGRAM;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

/// Somebody who listens, answers everything with the same head and text, and counts.
struct Server {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
}

impl Server {
    fn new(head: impl Into<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let (count, answer) = (Arc::clone(&connections), format!("{}\r\n\r\ninside", head.into()));
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                count.fetch_add(1, Ordering::SeqCst);
                _ = stream.read(&mut [0; 4096]);
                _ = stream.write_all(answer.as_bytes());
            }
        });
        Self { address, connections }
    }

    fn plain() -> Self {
        Self::new("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\nConnection: close")
    }

    fn sending_to(target: &str) -> Self {
        Self::new(format!(
            "HTTP/1.1 302 Found\r\nLocation: {target}\r\nContent-Length: 6\r\nConnection: close"
        ))
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

/// Fetches through the port program, which may reach these servers, with these variables in its environment.
fn fetch(url: &str, allowed: &[&Server], variables: &[(&str, String)]) -> Value {
    let dir = TempDir::new().unwrap();
    let mut port = Command::new(PROGRAM);
    port.args([
        "call",
        "web_fetch",
        &json!({"url": url, "timeout_sec": 10}).to_string(),
        "--default",
        "allow",
    ]);
    port.current_dir(dir.path()).envs(variables.iter().cloned());
    for server in allowed {
        port.args(["--allow-address", &server.address.to_string()]);
    }
    let output = port.output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
}

fn assert_denied(answer: &Value) {
    assert_eq!(answer["details"]["reason"], "denied", "{answer}");
}

#[test]
fn no_spelling_of_an_address_of_the_machine_is_connected_to() {
    let server = Server::plain();
    let port = server.address.port();
    for host in [
        "127.0.0.1",
        "2130706433",
        "127.1",
        "0x7f000001",
        "0x7F.0.0.0x1",
        "0177.0.0.1",
        "017700000001",
        "localhost",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "[0:0:0:0:0:ffff:7f00:1]",
    ] {
        let url = format!("http://{host}:{port}/");
        let allowed = fetch(&url, &[&server], &[]);
        assert_eq!(allowed["content"], "inside", "{host}: {allowed}");
        let before = server.connections();
        assert_denied(&fetch(&url, &[], &[]));
        assert_eq!(server.connections(), before, "{host}");
    }
}

#[test]
fn no_redirect_leads_to_an_address_or_a_file_of_the_machine() {
    let inner = Server::plain();
    let port = inner.address.port();
    for target in [
        format!("http://127.0.0.1:{port}/"),
        format!("//2130706433:{port}/"),
        format!("http://0x7f.1:{port}"),
    ] {
        let outer = Server::sending_to(&target);
        let url = format!("http://{}/", outer.address);
        assert_eq!(fetch(&url, &[&outer, &inner], &[])["content"], "inside", "{target}");
        let before = inner.connections();
        assert_denied(&fetch(&url, &[&outer], &[]));
        assert_eq!((inner.connections(), outer.connections()), (before, 2), "{target}");
    }
    for target in ["file:///etc/passwd", "FILE:/etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:70/"] {
        let outer = Server::sending_to(target);
        let answer = fetch(&format!("http://{}/", outer.address), &[&outer], &[]);
        assert_denied(&answer);
        assert!(!answer.to_string().contains("root:"), "{answer}");
    }
}

#[test]
fn no_proxy_of_the_environment_is_asked() {
    let (server, proxy) = (Server::plain(), Server::plain());
    let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let variables: Vec<_> = names.iter().map(|name| (*name, format!("http://{}", proxy.address))).collect();
    let url = format!("http://{}/", server.address);
    assert_eq!(fetch(&url, &[&server], &variables)["content"], "inside");
    assert_denied(&fetch(&url, &[&proxy], &variables));
    assert_eq!((server.connections(), proxy.connections()), (1, 0));
}

/// Leave to fetch an address is none for where its server sends on to.
#[test]
fn a_redirect_leads_nowhere_that_rules_keep_from_fetches() {
    let address = |server: &Server| format!("http://{}/", server.address);
    let rule = |server: &Server| format!("WebFetch(http://{}/*)", server.address);
    for status in ["denied", "not allowed"] {
        let target = Server::plain();
        let start = Server::sending_to(&address(&target));
        let call = |policy: &[&str]| {
            let (dir, mut port) = (TempDir::new().unwrap(), Command::new(PROGRAM));
            port.args(["call", "web_fetch", &json!({"url": address(&start), "timeout_sec": 10}).to_string()]);
            port.args(policy).current_dir(dir.path());
            for server in [&start, &target] {
                port.args(["--allow-address", &server.address.to_string()]);
            }
            let output = port.output().unwrap();
            serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|_| panic!("{output:?}"))
        };
        assert_eq!(call(&["--allow", "WebFetch"])["content"], "inside");
        assert_eq!(target.connections(), 1);
        let answer = match status {
            "denied" => call(&["--allow", "WebFetch", "--deny", &rule(&target)]),
            _ => call(&["--allow", &rule(&start)]),
        };
        assert_eq!(target.connections(), 1, "{answer}");
        match status {
            "denied" => assert_denied(&answer),
            _ => assert!(answer["note"].as_str().unwrap().contains("no permission to fetch"), "{answer}"),
        }
        assert_eq!(call(&["--allow", &rule(&start), "--allow", &rule(&target)])["content"], "inside");
        assert_eq!(target.connections(), 2);
    }
}

#[test]
fn a_redirect_on_the_same_server_needs_the_permission_that_the_call_had() {
    let server = Server::sending_to("/secret");
    let at = |path: &str| format!("http://{}{path}", server.address);
    let fetched = |options: &[String]| {
        let before = server.connections();
        let dir = TempDir::new().unwrap();
        let mut port = Command::new(PROGRAM);
        port.args(["call", "web_fetch", &json!({"url": at("/r"), "timeout_sec": 10}).to_string()]);
        port.args(["--allow-address", &server.address.to_string()]).args(options).current_dir(dir.path());
        let output = port.output().unwrap();
        (server.connections() - before, String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let option = |name: &str, pattern: &str| [name.to_owned(), format!("WebFetch({})", at(pattern))];
    // It redirects to itself until the limit is reached.
    assert_eq!(fetched(&option("--allow", "/*")).0, 11);
    for options in [
        option("--allow", "/r*").to_vec(),
        [option("--allow", "/*"), option("--ask", "/secret*")].concat(),
        [option("--allow", "/*"), option("--deny", "/secret*")].concat(),
    ] {
        let (connections, answer) = fetched(&options);
        assert_eq!(connections, 1, "{options:?} {answer}");
        assert!(answer.contains("/secret"), "{answer}");
    }
}
