//! The server over HTTP: who may speak to it, and how its sessions end.

use super::client::{World, initialize};
use super::sleeper;
use crate::common::{marked, marker, wait_until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

struct Server {
    child: Child,
    address: String,
}

struct Answer {
    status: u16,
    head: String,
    body: String,
}

impl Answer {
    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    /// The message that answers a request, out of an event stream.
    fn message(&self) -> Value {
        let data = self.body.lines().filter_map(|line| line.strip_prefix("data: "));
        let mut messages = data.filter_map(|data| serde_json::from_str::<Value>(data).ok());
        let answer = messages.find(|message| message.get("id").is_some());
        answer.unwrap_or_else(|| panic!("{}", self.body))
    }
}

impl Server {
    fn new(world: &World) -> Self {
        let mut command = world.command(&["--allow", "Bash", "--structured", "--http", "127.0.0.1:0"]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("http://").unwrap().strip_suffix("/mcp").unwrap();
        Self { child, address: address.to_owned() }
    }

    fn exchange(&self, start: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut text = format!("{start} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            text += &format!("Host: {}\r\n", self.address);
        }
        headers.iter().for_each(|(name, value)| text += &format!("{name}: {value}\r\n"));
        stream.write_all(format!("{text}\r\n{body}").as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8(answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn post(&self, headers: &[(&str, &str)], message: &Value) -> Answer {
        self.post_to("/mcp", headers, message)
    }

    fn post_to(&self, target: &str, headers: &[(&str, &str)], message: &Value) -> Answer {
        let usual = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
        self.exchange(&format!("POST {target}"), &[&usual, headers].concat(), &message.to_string())
    }

    /// Begins a session.
    fn session(&self) -> String {
        let answer = self.post(&[], &request("initialize", initialize("2025-11-25")));
        assert_eq!(answer.status, 200, "{}", answer.body);
        answer.header("mcp-session-id").unwrap().to_owned()
    }

    fn call(&self, session: &str, tool: &str, arguments: &Value) -> Value {
        let message = request("tools/call", json!({"name": tool, "arguments": arguments}));
        self.post(&[("Mcp-Session-Id", session)], &message).message()["result"].clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

fn request(method: &str, params: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

#[test]
fn pages_and_names_of_others_are_kept_out() {
    let world = World::new();
    let server = Server::new(&world);
    let port = server.address.rsplit(':').next().unwrap();
    let hello = request("initialize", initialize("2025-11-25"));
    let own = [format!("http://localhost:{port}"), format!("http://127.0.0.1:{port}")];
    for origin in &own {
        assert_eq!(server.post(&[("Origin", origin)], &hello).status, 200, "{origin}");
    }
    for origin in ["http://evil.example", "http://localhost:1", "null", "https://127.0.0.1", "file://"] {
        assert_eq!(server.post(&[("Origin", origin)], &hello).status, 403, "{origin}");
    }
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1.evil.example", "10.0.0.1"] {
        assert_eq!(server.post(&[("Host", host)], &hello).status, 403, "{host}");
    }
    for host in ["evil.example@localhost", "[::1]evil.example", "localhost:evil.example", "localhost:99999"] {
        assert_eq!(server.post(&[("Host", host)], &hello).status, 400, "{host}");
    }
    assert_eq!(server.post(&[("Host", "localhost"), ("Host", "evil.example")], &hello).status, 400);
    assert_eq!(server.post(&[("Origin", &own[0]), ("Origin", "http://evil.example")], &hello).status, 400);
    for host in [&format!("localhost:{port}"), "localhost", &format!("[::1]:{port}")] {
        assert_eq!(server.post(&[("Host", host)], &hello).status, 200, "{host}");
    }
    for (target, host, status) in [
        ("http://localhost/mcp", "localhost", 200),
        ("http://localhost/mcp", "evil.example", 400),
        ("http://evil.example/mcp", "localhost", 400),
        ("http://evil.example/mcp", "evil.example", 403),
        ("http://me@localhost/mcp", "localhost", 400),
        ("http://me@localhost/mcp", "me@localhost", 400),
    ] {
        assert_eq!(server.post_to(target, &[("Host", host)], &hello).status, status, "{target} {host}");
    }
}

#[test]
fn what_is_no_request_of_the_protocol_is_refused() {
    let world = World::new();
    let server = Server::new(&world);
    assert_eq!(server.exchange("GET /", &[], "").status, 404);
    assert_eq!(server.exchange("POST /mcp", &[], "{}").status, 406);
    let json = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")];
    for body in ["nonsense", &"[".repeat(100_000)] {
        let status = server.exchange("POST /mcp", &json, body).status;
        assert!((400..500).contains(&status), "{status}");
    }
    let objects = vec![r#"{"":0}"#; 300_000].join(",");
    assert_eq!(server.exchange("POST /mcp", &json, &format!("[{objects}]")).status, 413);
    let call = request("tools/call", json!({"name": "file_read", "arguments": {"path": "a.txt"}}));
    assert!((400..500).contains(&server.post(&[], &call).status), "without a session");
    assert_eq!(server.post(&[("Mcp-Session-Id", "none")], &call).status, 404);
    let session = server.session();
    assert_eq!(server.call(&session, "file_read", &json!({"path": "a.txt"}))["isError"], false);
}

#[test]
fn a_session_that_is_ended_takes_its_commands_along() {
    let world = World::new();
    let server = Server::new(&world);
    let (mine, other) = (server.session(), server.session());
    let marks = [marker(), marker()];
    for (session, mark) in [&mine, &other].into_iter().zip(&marks) {
        let mut command = sleeper(mark);
        command["run_in_background"] = json!(true);
        assert_eq!(server.call(session, "shell_exec", &command)["isError"], false);
        wait_until(|| marked(mark).len() > 1);
    }
    let ended = server.exchange("DELETE /mcp", &[("Mcp-Session-Id", &mine)], "");
    assert_eq!(ended.status, 204, "{}", ended.body);
    wait_until(|| marked(&marks[0]).is_empty());
    assert!(marked(&marks[1]).len() > 1, "the other session goes on");
    assert_eq!(server.post(&[("Mcp-Session-Id", &mine)], &request("ping", json!({}))).status, 404);
    super::signal("-TERM", server.child.id());
    wait_until(|| marked(&marks[1]).is_empty() && !world.has_temp_dirs());
}

#[test]
fn a_call_ends_with_its_session_and_does_nothing_more() {
    let (world, mark) = (World::new(), marker());
    let server = Server::new(&world);
    let session = server.session();
    let command = json!({"command": format!("sleep 3; touch after; sleep {mark}"), "timeout": 60_000});
    let call = request("tools/call", json!({"name": "shell_exec", "arguments": command}));
    let headers = [("Mcp-Session-Id", &*session)];
    std::thread::scope(|scope| {
        scope.spawn(|| server.post(&headers, &call));
        wait_until(|| !marked(&mark).is_empty());
        assert_eq!(server.exchange("DELETE /mcp", &headers, "").status, 204);
        wait_until(|| marked(&mark).is_empty());
    });
    assert_eq!(world.file("after"), None);
}

#[test]
fn a_session_cannot_see_the_commands_of_another() {
    let world = World::new();
    let server = Server::new(&world);
    let (mine, other, mark) = (server.session(), server.session(), marker());
    let mut command = sleeper(&mark);
    command["run_in_background"] = json!(true);
    let started = server.call(&mine, "shell_exec", &command);
    let id = &started["structuredContent"]["id"];
    assert_eq!(
        server.call(&mine, "shell_output", &json!({"id": id}))["structuredContent"]["status"],
        "running"
    );
    let refused = server.call(&other, "shell_kill", &json!({"id": id}));
    assert_eq!(refused["_meta"]["beamai/error"]["details"]["reason"], "no_such_command", "{refused}");
}

#[test]
fn the_session_that_has_been_idle_longest_ends_for_a_new_one() {
    let (world, mark) = (World::new(), marker());
    let server = Server::new(&world);
    let (busy, idle, used) = (server.session(), server.session(), server.session());
    let ping =
        |session: &str| server.post(&[("Mcp-Session-Id", session)], &request("ping", json!({}))).status;
    let sleep = request("tools/call", json!({"name": "shell_exec", "arguments": sleeper(&mark)}));
    std::thread::scope(|scope| {
        let call = scope.spawn(|| server.post(&[("Mcp-Session-Id", &busy)], &sleep));
        wait_until(|| marked(&mark).len() > 1);
        // As many as may be; one more ends one.
        let others: Vec<String> = (3..256).map(|_| server.session()).collect();
        assert_eq!(ping(&used), 200);
        let new = server.session();
        assert_eq!(ping(&idle), 404);
        for session in [&used, &new, &others[0]] {
            assert_eq!(ping(session), 200);
        }
        assert!(marked(&mark).len() > 1 && !call.is_finished(), "a session with a running call is not idle");
        server.exchange("DELETE /mcp", &[("Mcp-Session-Id", &busy)], "");
    });
}

#[test]
fn bodies_that_do_not_end_take_no_memory_without_bound() {
    let world = World::new();
    let server = Server::new(&world);
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n",
        server.address,
        (30 << 20) + 1
    );
    let part = " ".repeat(30 << 20);
    let half = || {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
        // What nobody reads stays here.
        _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(part.as_bytes()));
        stream
    };
    let crowd: Vec<TcpStream> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..24).map(|_| scope.spawn(half)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let session = server.session();
    let read = server.call(&session, "file_read", &json!({"path": "a.txt"}));
    assert_eq!(read["structuredContent"]["content"], "one\n");
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().strip_suffix(" kB").unwrap().parse().unwrap();
    assert!(peak < 450 << 10, "{peak} KiB");
    drop(crowd);
}

#[test]
fn a_session_keeps_no_long_name_of_its_client() {
    let world = World::new();
    let server = Server::new(&world);
    let mut begin = initialize("2025-11-25");
    begin["clientInfo"]["name"] = "x".repeat(100_000).into();
    let refused = server.post(&[], &request("initialize", begin));
    assert_eq!(refused.status, 413, "{}", refused.body);
    assert!(refused.body.contains("65536 bytes"), "{}", refused.body);
}

#[test]
fn open_messages_of_all_sessions_are_bounded_together() {
    let (world, mark) = (World::new(), marker());
    let server = Server::new(&world);
    let sessions = [server.session(), server.session(), server.session()];
    let read = super::large(7, "file_read", &json!({"path": "a.txt"}));
    std::thread::scope(|scope| {
        for session in &sessions[..2] {
            let call = super::large(1, "shell_exec", &sleeper(&mark));
            let server = &server;
            scope.spawn(move || server.post(&[("Mcp-Session-Id", session)], &call));
        }
        wait_until(|| marked(&mark).len() > 3);
        let refused = server.post(&[("Mcp-Session-Id", &sessions[2])], &read);
        assert_eq!(refused.status, 503, "{}", refused.body);
        assert!(refused.body.contains("send it again"), "{}", refused.body);
        let text = json!({"name": "file_read", "arguments": {"path": "x".repeat(40 << 20)}});
        assert_eq!(
            server.post(&[("Mcp-Session-Id", &sessions[2])], &request("tools/call", text)).status,
            503
        );
        for session in &sessions[..2] {
            server.exchange("DELETE /mcp", &[("Mcp-Session-Id", session)], "");
        }
    });
    wait_until(|| server.post(&[("Mcp-Session-Id", &sessions[2])], &read).status == 200);
}

#[test]
fn half_open_connections_do_not_keep_a_proper_client_waiting() {
    let world = World::new();
    let server = Server::new(&world);
    let half_open = |number: usize| {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        // Some have sent nothing, some a part of the head, some a part of the body.
        let part = [
            "",
            "POST /mcp HTTP/1.1\r\nHost: ",
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{",
        ][number % 3];
        stream.write_all(part.as_bytes()).unwrap();
        stream
    };
    let crowd: Vec<TcpStream> = (0..600).map(half_open).collect();
    let begun = Instant::now();
    let session = server.session();
    let read = server.call(&session, "file_read", &json!({"path": "a.txt"}));
    assert_eq!(read["structuredContent"]["content"], "one\n");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    drop(crowd);
}
