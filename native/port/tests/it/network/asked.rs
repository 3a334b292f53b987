//! Names about which somebody is asked while the command waits.

use super::{Fixture, Named, used};
use beamai_engine::{CallOptions, CallRequest};
use beamai_tool::Progress;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs a command; each question is answered by this.
pub(super) fn asked(fixture: &Fixture, command: &str, answer: fn(&Value) -> Value) -> (Value, Vec<Value>) {
    let questions = Arc::new(Mutex::new(Vec::new()));
    let (heard, host) = (Arc::clone(&questions), Arc::clone(&fixture.host));
    let progress: Progress = Arc::new(move |message: Value| {
        let Some(id) = message["start"].as_str().map(str::to_owned) else { return };
        heard.lock().unwrap().push(message["request"].clone());
        let (host, request) = (Arc::clone(&host), message["request"].clone());
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            let mut args = answer(&request);
            args["start"] = id.into();
            let call =
                CallRequest::new("start_answer", Some("mcp".to_owned()), args.as_object().unwrap().clone());
            super::done(host.call(call, CallOptions::default()));
        });
    });
    let call = CallRequest { asks_starts: true, ..fixture.call(json!({"command": command})) };
    let result = super::done(
        fixture.host.call(call, CallOptions { progress: Some(progress), ..CallOptions::default() }),
    );
    let questions = questions.lock().unwrap().clone();
    (result, questions)
}

#[test]
fn the_first_connection_waits_for_an_answer_and_the_others_have_it() {
    let server = Named::hello();
    let fixture = Fixture::listing(&[], &[&server]);
    let get = format!("curl -sS http://{}/", server.authority);
    let command = format!("{get} & {get} & wait; {get}");
    let (result, questions) = asked(&fixture, &command, |_| json!({"decision": "allow"}));
    assert_eq!((&result["stdout"], server.server.seen().len()), (&json!("hellohellohello"), 3), "{result}");
    assert_eq!(questions.len(), 1, "{questions:?}");
    assert_eq!(questions[0]["rule"], "Network");
    assert_eq!(questions[0]["subject"], server.rule());
    assert_eq!(questions[0]["wanted"], json!([server.rule()]));
    assert_eq!(questions[0]["command"], command);
    assert!(questions[0]["message"].as_str().unwrap().contains(&server.authority));
    // The next command is another one.
    let (_, again) = asked(&fixture, &get, |_| json!({"decision": "allow"}));
    assert_eq!(again.len(), 1);
}

#[test]
fn another_port_of_a_name_is_asked_about_by_itself() {
    let fixture = Fixture::listing(&[], &[]);
    let command =
        "curl -sS -m 5 https://a.example/; curl -sS -m 5 http://a.example/; curl -sS -m 5 http://a.example/";
    let (result, questions) = asked(&fixture, command, |_| json!({"decision": "deny"}));
    let messages: Vec<_> = questions.iter().map(|question| question["message"].as_str().unwrap()).collect();
    assert_eq!(messages.len(), 2, "{result}");
    assert!(messages[0].ends_with("a.example:443") && messages[1].ends_with("a.example:80"), "{messages:?}");
}

#[test]
fn what_is_declined_is_refused_with_what_was_said() {
    let server = Named::hello();
    let fixture = Fixture::listing(&[], &[&server]);
    let get = format!("curl -sS http://{}/", server.authority);
    let no = |_: &Value| json!({"decision": "deny", "reason": "not today"});
    let (result, questions) = asked(&fixture, &format!("{get}; {get}"), no);
    assert_eq!((questions.len(), server.server.connections()), (1, 0), "{result}");
    let used = used(&result, &server.authority);
    assert_eq!((&used["refused"], &used["why"]), (&json!(2), &json!("not today")), "{result}");
}

#[test]
fn a_rule_that_is_added_holds_from_there_on() {
    let (one, other) = (Named::hello(), Named::hello());
    let fixture = Fixture::listing(&[], &[&one, &other]);
    let command = format!("curl -sS http://{}/ http://{}/", one.authority, other.authority);
    let by_rule = |request: &Value| {
        // The rule of the machine's name, whatever the port.
        let rule = request["subject"].as_str().unwrap();
        let name = rule.rsplit_once(':').unwrap().0;
        json!({"decision": "allow", "rules": [format!("{name})"), "Bash(git:*)"]})
    };
    let (result, questions) = asked(&fixture, &command, by_rule);
    assert_eq!((questions.len(), &result["stdout"]), (1, &json!("hellohello")), "{result}");
    assert_eq!((one.server.seen().len(), other.server.seen().len()), (1, 1));
}

#[test]
fn time_in_which_somebody_is_asked_does_not_count() {
    let server = Named::hello();
    let fixture = Fixture::listing(&[], &[&server]);
    let slow = |_: &Value| {
        std::thread::sleep(Duration::from_millis(1_500));
        json!({"decision": "allow"})
    };
    let heard = Arc::new(Mutex::new(0));
    let (host, count) = (Arc::clone(&fixture.host), Arc::clone(&heard));
    let progress: Progress = Arc::new(move |message: Value| {
        let Some(id) = message["start"].as_str().map(str::to_owned) else { return };
        *count.lock().unwrap() += 1;
        let host = Arc::clone(&host);
        std::thread::spawn(move || {
            let mut args = slow(&message);
            args["start"] = id.into();
            let call =
                CallRequest::new("start_answer", Some("mcp".to_owned()), args.as_object().unwrap().clone());
            super::done(host.call(call, CallOptions::default()));
        });
    });
    let args = json!({"command": format!("curl -sS http://{}/", server.authority), "timeout": 1_000});
    let call = CallRequest { asks_starts: true, ..fixture.call(args) };
    let result = super::done(
        fixture.host.call(call, CallOptions { progress: Some(progress), ..CallOptions::default() }),
    );
    assert_eq!((*heard.lock().unwrap(), &result["stdout"]), (1, &json!("hello")), "{result}");
}

#[test]
fn a_rule_that_asks_beats_what_is_listed_and_one_that_denies_is_not_asked_about() {
    let server = Named::hello();
    let get = format!("curl -sS http://{}/", server.authority);
    let yes = |_: &Value| json!({"decision": "allow"});
    let ask = json!({"default": "allow", "ask": [server.rule()]});
    let fixture = Fixture::new(json!({"network": [server.authority]}), ask, &[&server]);
    let (_, questions) = asked(&fixture, &get, yes);
    assert_eq!((questions.len(), &questions[0]["matched_rule"]), (1, &json!(server.rule())));
    let deny = json!({"default": "allow", "allow": [server.rule()], "deny": ["Network"]});
    let fixture = Fixture::new(json!({"network": [server.authority]}), deny, &[&server]);
    let (result, questions) = asked(&fixture, &get, yes);
    assert!(questions.is_empty() && used(&result, &server.authority)["reached"] == 0, "{result}");
    assert_eq!(server.server.seen().len(), 1);
}
