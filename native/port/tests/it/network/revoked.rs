//! Connections that last, after a rule that allowed them is gone.

use super::{Fixture, Named, host};
use crate::common::{marker, wait_until};
use beamai_engine::{CallOptions, Host};
use beamai_shell::end_session;
use beamai_testserver::head;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A server whose answers have no end, and how many of them are being sent.
fn endless() -> (Named, Arc<AtomicUsize>) {
    let open = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&open);
    let server = Named::new(move |_, stream| {
        count.fetch_add(1, Ordering::SeqCst);
        let mut sent = stream.write_all(&head("200 OK", &[], None));
        while sent.is_ok() {
            std::thread::sleep(Duration::from_millis(20));
            sent = stream.write_all(b"on and on\n");
        }
        count.fetch_sub(1, Ordering::SeqCst);
        sent
    });
    (server, open)
}

fn in_session(host: &Host, fixture: &Fixture, session: &str, tool: &str, args: Value) -> Value {
    let session = json!({"id": session, "temp_dir": fixture.temp.path()});
    let call = json!({"tool": tool, "args": args, "session": session});
    super::done(host.call(serde_json::from_value(call).unwrap(), CallOptions::default()))
}

#[test]
fn a_connection_ends_when_its_rule_is_revoked_and_when_its_session_ends() {
    let (server, open) = endless();
    let fixture = Fixture::listing(&[&server.authority], &[&server]);
    let session = format!("network-{}", marker());
    let command = format!("curl -sN http://{0}/ > got; curl -sS http://{0}/", server.authority);
    let args = json!({"command": command, "run_in_background": true});
    let started = in_session(&fixture.host, &fixture, &session, "shell_exec", args.clone());
    wait_until(|| open.load(Ordering::SeqCst) == 1);
    let denying = host(
        fixture.dir.path(),
        json!({"network": [server.authority]}),
        json!({"default": "allow", "deny": [server.rule()]}),
        &[&server],
    );
    // Another session's rules are its own.
    in_session(&denying, &fixture, "network-another", "shell_exec", json!({"command": "true"}));
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(open.load(Ordering::SeqCst), 1);
    let poll = || in_session(&denying, &fixture, &session, "shell_output", json!({"id": started["id"]}));
    let mut polled = poll();
    wait_until(|| open.load(Ordering::SeqCst) == 0);
    while polled["status"] == "running" {
        std::thread::sleep(Duration::from_millis(50));
        polled = poll();
    }
    let used = super::used(&polled, &server.authority);
    assert_eq!((&used["reached"], &used["refused"]), (&json!(1), &json!(2)), "{polled}");
    assert_eq!(server.server.connections(), 1, "{polled}");

    in_session(&fixture.host, &fixture, &session, "shell_exec", args);
    wait_until(|| open.load(Ordering::SeqCst) == 1);
    // What has ended by now is not waited for.
    if let Some(ending) = end_session(&session) {
        ending.wait();
    }
    wait_until(|| open.load(Ordering::SeqCst) == 0);
}

#[test]
fn what_a_command_leaves_running_has_no_connection_left() {
    let (server, open) = endless();
    let fixture = Fixture::listing(&[&server.authority], &[&server]);
    fixture.run(&format!(
        "curl -sN http://{}/ > got & while [ ! -s got ]; do sleep 0.05; done",
        server.authority
    ));
    wait_until(|| open.load(Ordering::SeqCst) == 0);
    assert_eq!(server.server.connections(), 1);
}
