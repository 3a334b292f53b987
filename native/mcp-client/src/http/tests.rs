//! Conversations over HTTP with servers that have a fixed response for each request.

use crate::{
    calls, listing,
    plan::{ConnectionPlan, Route},
    server::McpServer,
    settings::McpServerSettings,
};
use beamai_base::{HostTerms, Reason, Result, ToolError};
use beamai_net::{Addresses, Resolve, Transport};
use beamai_testserver::{self, ReceivedRequest, answer, authority, identified_by, redirect};
use beamai_tool::{CallContext, question::Answers};
use beamai_workspace::Workspace;
use rcgen::{CertificateParams, KeyPair};
use rmcp::model::{CallToolRequest, CallToolRequestParams, ClientRequest};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

fn context() -> CallContext {
    let workspace = Workspace::open(std::path::Path::new("/")).unwrap();
    CallContext { deadline: Some(Instant::now() + Duration::from_secs(30)), ..CallContext::new(workspace) }
}

fn plan(address: Value) -> Result<ConnectionPlan> {
    let settings = json!({"name": "far", "way": {"http": address}, "start_timeout": 20_000});
    ConnectionPlan::of(&context(), serde_json::from_value::<McpServerSettings>(settings).unwrap())
}

/// The plan with a modified transport.
fn over(mut plan: ConnectionPlan, change: impl FnOnce(Transport) -> Transport) -> ConnectionPlan {
    let Route::Http(remote) = &mut plan.route else { panic!("it has an address") };
    remote.transport = change(remote.transport.clone());
    plan
}

/// The server's name.
fn greeted(plan: ConnectionPlan) -> Result<String> {
    let cx = context();
    let server = McpServer::start(plan)?;
    let info = server.ready(&cx)?.info;
    let name = info.server_info.as_ref().map(|one| one.name.clone()).unwrap_or_default();
    server.stop();
    server.over(&cx)?;
    Ok(name)
}

/// The error as an Erlang host gets it.
fn refused(plan: ConnectionPlan) -> ToolError {
    greeted(plan).unwrap_err().in_terms(HostTerms::Erlang)
}

/// A server that accepts the handshake.
fn friendly(seen: &ReceivedRequest) -> Vec<u8> {
    let asked: Value = serde_json::from_str(&seen.body).unwrap_or_default();
    if asked["method"] != "initialize" {
        return answer("202 Accepted", &[], b"");
    }
    let result = json!({
        "protocolVersion": asked["params"]["protocolVersion"],
        "capabilities": {},
        "serverInfo": {"name": "friend", "version": "1"},
    });
    let said = json!({"jsonrpc": "2.0", "id": asked["id"], "result": result}).to_string();
    answer("200 OK", &[("Content-Type", "application/json")], said.as_bytes())
}

fn friend() -> beamai_testserver::TestServer {
    beamai_testserver::TestServer::raw(|seen, stream| stream.write_all(&friendly(seen)))
}

/// A resolver that maps every name to one address.
struct Leading(SocketAddr);

impl Resolve for Leading {
    fn resolve<'a>(&'a self, _: &'a str, _: u16) -> Addresses<'a> {
        Box::pin(async { Ok(vec![self.0]) })
    }
}

#[test]
fn an_address_of_this_machine_just_works() {
    let friend = friend();
    assert_eq!(greeted(plan(json!({"url": friend.url("/mcp")})).unwrap()).unwrap(), "friend");
    let by_name = format!("http://localhost:{}/mcp", friend.address.port());
    assert_eq!(greeted(plan(json!({"url": by_name})).unwrap()).unwrap(), "friend");
}

#[test]
fn a_name_that_leads_to_a_private_address_is_refused_unless_that_is_allowed() {
    let friend = friend();
    let url = format!("http://public.example:{}/mcp", friend.address.port());
    let leading = |transport: Transport| transport.resolving(Arc::new(Leading(friend.address)));
    let error = refused(over(plan(json!({"url": url})).unwrap(), leading));
    assert_eq!(error.reason, Reason::Denied);
    assert!(
        error.message.contains("a loopback address") && error.message.contains("allow_addresses"),
        "{error}"
    );
    assert_eq!(friend.connections(), 0);
    let allowed = json!({"url": url, "allow_addresses": [friend.address.to_string()]});
    assert_eq!(greeted(over(plan(allowed).unwrap(), leading)).unwrap(), "friend");
    // The name `localhost` must resolve to this machine only.
    let lying = format!("http://localhost:{}/mcp", friend.address.port());
    let elsewhere = SocketAddr::new([10, 0, 0, 1].into(), friend.address.port());
    let lie = over(plan(json!({"url": lying})).unwrap(), |one| one.resolving(Arc::new(Leading(elsewhere))));
    assert_eq!(refused(lie).reason, Reason::Denied);
}

#[test]
fn a_certificate_has_to_be_one_that_is_trusted() {
    let authority = authority();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap().der().clone();
    let server = beamai_testserver::TestServer::tls(identified_by(certificate, &key), |seen, stream| {
        stream.write_all(&friendly(seen))
    });
    let address = json!({"url": server.url("/mcp"), "headers": {"authorization": "Bearer t0ken-t0ken"}});
    let trusted = over(plan(address.clone()).unwrap(), |one| one.trusting(authority.der().clone()));
    assert_eq!(greeted(trusted).unwrap(), "friend");
    assert_eq!(server.seen()[0].header("authorization"), Some("Bearer t0ken-t0ken"));
    let before = server.seen().len();
    let error = refused(plan(address).unwrap());
    assert_eq!((error.reason, &error.details["kind"]), (Reason::Network, &json!("tls")));
    assert!(
        error.message.contains("Have the machine trust") && !error.message.contains("verify_tls"),
        "{error}"
    );
    assert_eq!(server.seen().len(), before);
}

#[test]
fn what_goes_along_with_a_request_goes_to_one_server_alone() {
    let thief = friend();
    let to = thief.url("/mcp?next=1");
    let server = beamai_testserver::TestServer::raw(move |_, stream| {
        stream.write_all(&redirect("307 Temporary Redirect", &to))
    });
    let address = json!({"url": server.url("/mcp"), "headers": {"x-key": "t0ken-t0ken"}});
    let error = refused(plan(address).unwrap());
    assert!(error.message.contains(&format!("redirects to {}", thief.url("/mcp"))), "{error}");
    assert_eq!((server.only().header("x-key"), thief.connections()), (Some("t0ken-t0ken"), 0));
}

#[test]
fn the_same_server_may_say_that_it_is_elsewhere() {
    let server = beamai_testserver::TestServer::raw(|seen, stream| {
        let answer = match seen.path.as_str() {
            "/mcp" => redirect("307 Temporary Redirect", "/mcp/"),
            _ => friendly(seen),
        };
        stream.write_all(&answer)
    });
    assert_eq!(greeted(plan(json!({"url": server.url("/mcp")})).unwrap()).unwrap(), "friend");
    assert!(server.seen().iter().any(|seen| seen.path == "/mcp/" && seen.body.contains("initialize")));
    let turned =
        beamai_testserver::TestServer::raw(|_, stream| stream.write_all(&redirect("302 Found", "/mcp/")));
    let error = refused(plan(json!({"url": turned.url("/mcp")})).unwrap());
    assert!(error.message.contains("HTTP 302"), "{error}");
    let endless = beamai_testserver::TestServer::raw(|_, stream| {
        stream.write_all(&redirect("308 Permanent Redirect", "/mcp"))
    });
    let error = refused(plan(json!({"url": endless.url("/mcp")})).unwrap());
    assert!(error.message.contains("more than 5 times"), "{error}");
}

#[test]
fn a_key_that_the_server_repeats_is_not_in_the_error() {
    let server = beamai_testserver::TestServer::raw(|seen, stream| {
        let said = format!("who is {}, asking for {}?", seen.header("authorization").unwrap(), seen.path);
        stream.write_all(&answer("500 Oops", &[("Content-Type", "text/plain")], said.as_bytes()))
    });
    let url = server.url("/mcp?apiKey=s3cret-s3cret");
    let error =
        refused(plan(json!({"url": url, "headers": {"authorization": "Bearer t0ken-t0ken"}})).unwrap());
    assert_eq!(error.details["status_code"], 500);
    assert!(error.message.contains("who is ***, asking for /mcp?***?"), "{error}");
    let all = error.to_value().to_string();
    assert!(!all.contains("t0ken") && !all.contains("s3cret"), "{all}");
}

#[test]
fn nor_is_one_in_an_error_of_the_protocol() {
    let server = beamai_testserver::TestServer::raw(|seen, stream| {
        let asked: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        let message = format!("{} may not", seen.header("x-key").unwrap());
        let said = json!({"jsonrpc": "2.0", "id": asked["id"], "error": {
            "code": -32603, "message": message, "data": {&message: [{"x": message}]}
        }});
        stream.write_all(&answer(
            "200 OK",
            &[("Content-Type", "application/json")],
            said.to_string().as_bytes(),
        ))
    });
    let error =
        refused(plan(json!({"url": server.url("/mcp"), "headers": {"x-key": "t0ken-t0ken"}})).unwrap());
    assert!(
        error.message.contains("*** may not") && !error.to_value().to_string().contains("t0ken"),
        "{error}"
    );
}

/// What answers of a server with this text in them are, where an error quotes them.
fn quoted(mode: usize, id: &Value, text: &str) -> Vec<u8> {
    let json = ("Content-Type", "application/json");
    let other = json!({"jsonrpc": "2.0", "id": "other", "result": {"x": text}}).to_string();
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": text}}).to_string();
    match mode {
        0 => answer("200 OK", &[json], format!("{{{text}").as_bytes()),
        1 => answer("200 OK", &[json], other.as_bytes()),
        2 => answer("200 OK", &[json], error.as_bytes()),
        3 => answer("200 OK", &[("Content-Type", text)], b"x"),
        4 => answer("200 OK", &[("Content-Type", "text/event-stream"), ("Content-Encoding", text)], b"x"),
        5 => answer("200 OK", &[json, ("Content-Encoding", text)], b"x"),
        6 => answer("401 Unauthorized", &[("WWW-Authenticate", text)], b""),
        7 => answer("403 Forbidden", &[("WWW-Authenticate", text)], b""),
        8 => answer("400 Bad Request", &[json], error.as_bytes()),
        9 => answer("400 Bad Request", &[json], json!({"said": text}).to_string().as_bytes()),
        10 => answer("500 Oops", &[], text.as_bytes()),
        11 => answer("429 Slow Down", &[("Retry-After", text)], b""),
        12 => redirect("307 Temporary Redirect", &format!("http://127.0.0.2:9/{text}")),
        13 => redirect("307 Temporary Redirect", &format!("http://127.0.0.2:9/?{text}")),
        14 => redirect("307 Temporary Redirect", &format!("http://{text}/")),
        // Longer than what is read of it.
        _ => answer("500 Oops", &[], format!("{}{text}", " ".repeat((64 << 10) - 30)).as_bytes()),
    }
}

/// The error of a request whose answer [`quoted`] gives.
fn quoting(mode: usize, repeated: impl Fn(&ReceivedRequest) -> String + Send + Sync + 'static) -> String {
    let server = beamai_testserver::TestServer::raw(move |seen, stream| {
        let asked: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        match &asked["method"] {
            method if method == "tools/list" => {
                stream.write_all(&quoted(mode, &asked["id"], &repeated(seen)))
            }
            _ => stream.write_all(&friendly(seen)),
        }
    });
    let headers = json!({"authorization": "Bearer T0KEN/of+many\\\"parts-1234567890"});
    let address = json!({"url": server.url("/mcp?tok=QUERY%2Fs3cret-abcdef&x=1"), "headers": headers});
    let (cx, own) = (context(), McpServer::start(plan(address).unwrap()).unwrap());
    own.ready(&cx).unwrap();
    let error = listing::tools(&own, &cx).unwrap_err();
    own.stop();
    own.over(&cx).unwrap();
    error.to_value().to_string()
}

/// Whether a text shows a part of a secret, in whatever case.
fn shows(text: &str) -> bool {
    let (text, secrets) =
        (text.to_lowercase(), ["t0ken/of+many", "parts-1234567890", "query%2fs3cret-abcdef"]);
    secrets.iter().any(|secret| {
        secret.as_bytes().windows(5).any(|part| memchr::memmem::find(text.as_bytes(), part).is_some())
    })
}

#[test]
fn a_secret_is_hidden_wherever_an_answer_has_it() {
    for mode in 0..=15 {
        let said = quoting(mode, |seen| seen.header("authorization").unwrap().to_owned());
        assert!(!shows(&said), "{mode}: {said}");
        let said = quoting(mode, |seen| format!("{}.", seen.path.split_once('?').unwrap().1));
        assert!(!shows(&said), "{mode}: {said}");
        let said = quoting(mode, |seen| seen.path.split(['=', '&']).nth(1).unwrap().to_owned());
        assert!(!shows(&said), "{mode}: {said}");
    }
}

#[test]
fn a_secret_is_hidden_where_it_is_escaped_for_a_url() {
    for mode in [12, 13] {
        let said = quoting(mode, |_| "T0KEN%2fof%2Bmany%5C%22parts-1234567890".to_owned());
        assert!(said.contains("***") && !shows(&said.replace("%2f", "/")), "{mode}: {said}");
    }
}

/// A server that reports progress and asks during each call, in the words of the request, and waits for the answer.
fn curious() -> beamai_testserver::TestServer {
    let (told, answered) = std::sync::mpsc::channel();
    let answered = std::sync::Mutex::new(answered);
    beamai_testserver::TestServer::raw(move |seen, stream| {
        let asked: Value = serde_json::from_str(&seen.body).unwrap_or_default();
        if asked["result"]["action"].is_string() {
            told.send(()).unwrap();
        }
        if asked["method"] != "tools/call" {
            return stream.write_all(&friendly(seen));
        }
        let (key, query) = (seen.header("x-key").unwrap(), seen.path.split_once('?').unwrap().1);
        let field = json!({"type": "string", "title": key, "enum": [query, "other"]});
        let events = [
            json!({"method": "notifications/progress", "params": {
                "progressToken": asked["params"]["_meta"]["progressToken"], "progress": 1, "message": format!("{key} {query}")
            }}),
            json!({"id": "q", "method": "elicitation/create", "params": {
                "message": format!("{key} {query}"), "requestedSchema": {"type": "object", "properties": {"x": field}}
            }}),
            json!({"id": asked["id"], "result": {"content": []}}),
        ];
        let type_of_stream = ("Content-Type", "text/event-stream");
        stream.write_all(&beamai_testserver::head("200 OK", &[type_of_stream], None))?;
        for mut event in events {
            event["jsonrpc"] = "2.0".into();
            if event["result"].is_object() {
                answered.lock().unwrap().recv().unwrap();
            }
            stream.write_all(format!("data: {event}\n\n").as_bytes())?;
        }
        Ok(())
    })
}

#[test]
fn a_secret_is_hidden_in_questions_and_progress() {
    let server = curious();
    let address = json!({"url": server.url("/mcp?tok=s3cret-s3cret"), "headers": {"x-key": "t0ken-t0ken"}});
    let (cx, own) = (context(), McpServer::start(plan(address).unwrap()).unwrap());
    let told = Arc::new(std::sync::Mutex::new(vec![]));
    let heard = Arc::clone(&told);
    let progress: beamai_tool::Progress = Arc::new(move |message: Value| {
        if let Some(id) = message["elicitation"].as_str() {
            calls::answer(id, Answers::Cancelled);
        }
        heard.lock().unwrap().push(message);
    });
    let call = CallToolRequest::new(CallToolRequestParams::new("t0ken-t0ken"));
    own.request(&cx, ClientRequest::CallToolRequest(call), Some(progress)).unwrap().unwrap();
    own.stop();
    own.over(&cx).unwrap();
    let told = told.lock().unwrap();
    assert_eq!(told.len(), 2, "{told:?}");
    let all = json!(*told).to_string();
    assert!(all.contains("*** ***") && !all.contains("t0ken") && !all.contains("s3cret"), "{all}");
}

#[test]
fn a_secret_is_hidden_before_its_text_is_cut() {
    for (mode, before) in (0..=14).flat_map(|mode| [270, 280, 290, 298].map(|before| (mode, before))) {
        let said = quoting(mode, move |seen| {
            format!("{}{}", "x".repeat(before), &seen.header("authorization").unwrap()["Bearer ".len()..])
        });
        assert!(!shows(&said), "{mode}, {before}: {said}");
    }
}

#[test]
fn a_server_that_wants_to_know_who_asks_is_told_of_with_what_it_says() {
    let server = beamai_testserver::TestServer::raw(|_, stream| {
        let challenge = "Bearer realm=\"files\", resource_metadata=\"https://a.example/.well-known/x\"";
        stream.write_all(&answer("401 Unauthorized", &[("WWW-Authenticate", challenge)], b""))
    });
    let error = refused(plan(json!({"url": server.url("/mcp")})).unwrap());
    for part in ["HTTP 401", "realm=\"files\"", "https://a.example/.well-known/x", "Give headers"] {
        assert!(error.message.contains(part), "{error}");
    }
    let known = json!({"url": server.url("/mcp"), "headers": {"Authorization": "Bearer t0ken-t0ken"}});
    assert!(refused(plan(known).unwrap()).message.contains("rejects the authorization"));
}

#[test]
fn the_transport_of_2024_is_named() {
    let server = beamai_testserver::TestServer::raw(|seen, stream| match seen.method.as_str() {
        "GET" => stream.write_all(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\nevent: endpoint\ndata: /messages\n\n",
        ),
        _ => stream.write_all(&answer("405 Method Not Allowed", &[], b"")),
    });
    let error = refused(plan(json!({"url": server.url("/sse")})).unwrap());
    assert!(error.message.contains("HTTP+SSE of revision 2024-11-05"), "{error}");
}
