//! Whole calls, as a door makes them.

use beamai_engine::{CallOptions, CallOutcome, CallRequest, Host, HostSettings};
use beamai_testserver::TestServer;
use beamai_workspace::Workspace;
use serde_json::{Value, json};
use std::path::Path;

fn host(permissions: Value, web: Value) -> Host {
    let workspace = Workspace::open(Path::new(env!("CARGO_MANIFEST_DIR"))).unwrap().id();
    let settings: HostSettings =
        serde_json::from_value(json!({"workspace": workspace, "permissions": permissions, "web": web}))
            .unwrap();
    Host::new(&settings, std::sync::Arc::new(crate::serve(beamai_tool::Services::default()))).unwrap()
}

fn outcome(host: &Host, tool: &str, args: Value) -> CallOutcome {
    let call: CallRequest = serde_json::from_value(json!({"tool": tool, "args": args})).unwrap();
    host.call(call, CallOptions::default())
}

fn refusal(outcome: CallOutcome) -> Value {
    match outcome {
        CallOutcome::Error(error) => error.to_value(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_fetch_asks_unless_a_rule_allows_it() {
    let server = TestServer::fixed("200 OK", &[("Content-Type", "text/plain")], "hello");
    let web = json!({"allow_addresses": [server.address.to_string()]});
    let args = json!({"url": server.url("/")});
    let CallOutcome::Ask(request) = outcome(&host(json!({}), web.clone()), "web_fetch", args.clone()) else {
        panic!()
    };
    assert_eq!(request["message"], format!("web_fetch wants to fetch {}", server.url("/")));
    assert_eq!(
        (request["rule"].as_str(), request["url"].as_str()),
        (Some("WebFetch"), Some(server.url("/").as_str()))
    );
    assert_eq!(server.connections(), 0);

    let denied =
        refusal(outcome(&host(json!({"deny": ["WebFetch"]}), web.clone()), "web_fetch", args.clone()));
    assert_eq!(denied["details"]["matched_rule"], "WebFetch");
    assert_eq!(server.connections(), 0);

    let CallOutcome::Ok(value, _) = outcome(&host(json!({"allow": ["WebFetch"]}), web), "web_fetch", args)
    else {
        panic!()
    };
    assert_eq!(value["content"], "hello");
}

#[test]
fn a_search_asks_and_shows_what_is_asked() {
    let CallOutcome::Ask(request) = outcome(&host(json!({}), json!({})), "web_search", json!({"query": "q"}))
    else {
        panic!()
    };
    assert_eq!(request["message"], "web_search wants to search the web for: q");
    assert_eq!((request["subject"].as_str(), request["query"].as_str()), (Some("WebSearch(q)"), Some("q")));
}

#[test]
fn an_approval_holds_for_the_whole_request_and_no_other() {
    let server = TestServer::fixed("200 OK", &[("Content-Type", "text/plain")], "done");
    let host = host(json!({}), json!({"allow_addresses": [server.address.to_string()]}));
    let post = |body: &str| json!({"url": server.url("/"), "method": "POST", "body": body});
    let CallOutcome::Ask(request) = outcome(&host, "web_fetch", post("good")) else { panic!() };
    let approved = |body: &str| {
        let call = json!({"tool": "web_fetch", "args": post(body), "approved": request["fingerprint"]});
        host.call(serde_json::from_value(call).unwrap(), CallOptions::default())
    };
    assert_eq!(refusal(approved("evil"))["details"]["reason"], "needs_approval");
    assert_eq!(server.connections(), 0);
    assert!(matches!(approved("good"), CallOutcome::Ok(..)));
}

#[test]
fn a_redirect_to_a_refused_address_is_permission_denied_with_its_address() {
    let error = refusal(outcome(
        &host(json!({"allow": ["WebFetch"]}), json!({})),
        "web_fetch",
        json!({"url": "http://169.254.169.254/latest/meta-data/"}),
    ));
    assert_eq!(
        (error["error_type"].as_str(), error["tool"].as_str()),
        (Some("permission_denied"), Some("web_fetch"))
    );
    assert_eq!(error["details"]["url"], "http://169.254.169.254/latest/meta-data/");
}

#[test]
fn bad_arguments_are_refused_with_one_message() {
    let host = host(json!({"allow": ["WebFetch"]}), json!({}));
    for (args, word) in [
        (json!({}), "\"url\" is missing"),
        (json!({"url": "http://a.example", "method": "BREW"}), "\"GET\", \"POST\""),
        (json!({"url": "http://a.example", "timeout_sec": 0}), "at least 1"),
        (json!({"url": "http://a.example", "max_size_kb": "many"}), "must be integer"),
        (json!({"url": "http://a.example", "headers": {"a": 1}}), "must be a string, not 1"),
        (json!({"url": "http://a.example", "auth": {"type": "digest"}}), "\"basic\", \"bearer\", \"cookie\""),
        (json!({"url": "http://a.example", "auth": {"type": "basic"}}), "auth.username"),
        (json!({"url": "file:///etc/passwd"}), "only http and https"),
        (json!({"url": "http://a.example", "follow": true}), "\"follow\" is not an argument"),
    ] {
        let error = refusal(outcome(&host, "web_fetch", args));
        assert_eq!(error["error_type"], "invalid_input");
        assert!(error["message"].as_str().unwrap().contains(word), "{error}");
    }
}
