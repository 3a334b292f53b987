//! Search engines, played by servers on loopback addresses.

use super::with_settings;
use crate::engines;
use beamai_base::{HostTerms, Reason, Result};
use beamai_port_tools::web::search::{WebSearch, WebSearchOutput};
use beamai_schema as schema;
use beamai_testserver::{TestServer, answer};
use serde_json::{Value, json};

fn engine(status: &'static str, reply: Value) -> TestServer {
    TestServer::raw(move |_, stream| {
        stream.write_all(&answer(
            status,
            &[("Content-Type", "application/json")],
            reply.to_string().as_bytes(),
        ))
    })
}

fn search(settings: Value, args: Value) -> Result<WebSearchOutput> {
    let Value::Object(args) = args else { panic!("arguments are a map") };
    let checked = schema::check(&schema::parameters_of::<WebSearch>(), args)?;
    let call: WebSearch = serde_json::from_value(Value::Object(checked)).unwrap();
    engines::search(&call, &with_settings(settings))
}

fn with(provider: &str, server: &TestServer) -> Value {
    json!({"search": {"provider": provider, "base_url": server.url("/base/"), "api_key": "key-1"}})
}

fn results(keys: [&str; 3], count: usize) -> Value {
    let one = |n: usize| json!({keys[0]: format!("Title {n}"), keys[1]: format!("https://host{}.example/{n}", n % 3), keys[2]: "Words."});
    (0..count).map(one).collect()
}

#[test]
fn searxng_is_asked_for_json() {
    let server = engine("200 OK", json!({"results": results(["title", "url", "content"], 3)}));
    let found = search(with("searxng", &server), json!({"query": " rust & erlang "})).unwrap();
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!({
            "results": [
                {"title": "Title 0", "url": "https://host0.example/0", "snippet": "Words."},
                {"title": "Title 1", "url": "https://host1.example/1", "snippet": "Words."},
                {"title": "Title 2", "url": "https://host2.example/2", "snippet": "Words."},
            ],
            "count": 3, "provider": "searxng", "note": null,
        })
    );
    assert_eq!(server.only().path, "/base/search?q=rust+%26+erlang&format=json");
}

#[test]
fn brave_is_asked_with_its_key_and_its_marks_are_taken_out() {
    let reply = json!({"query": {}, "web": {"results": [
        {"title": "A &amp; B", "url": "https://a.example", "description": "some <strong>bold</strong> words"},
    ]}});
    let server = engine("200 OK", reply);
    let found = search(with("brave", &server), json!({"query": "q", "limit": 5})).unwrap();
    assert_eq!(
        (found.results[0].title.as_str(), found.results[0].snippet.as_str()),
        ("A & B", "some bold words")
    );
    assert_eq!(found.provider, "brave");
    let seen = server.only();
    assert_eq!(seen.path, "/base/res/v1/web/search?q=q&count=5");
    assert_eq!(seen.header("x-subscription-token"), Some("key-1"));
    let nothing = engine("200 OK", json!({"query": {"original": "q"}}));
    assert_eq!(search(with("brave", &nothing), json!({"query": "q"})).unwrap().count, 0);
}

#[test]
fn tavily_is_asked_by_post_with_the_lists() {
    let server = engine("200 OK", json!({"results": results(["title", "url", "content"], 1)}));
    let args = json!({"query": "q", "allowed_domains": ["host0.example"], "blocked_domains": ["b.example"]});
    assert_eq!(search(with("tavily", &server), args).unwrap().count, 1);
    let seen = server.only();
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("POST", "/base/search"));
    assert_eq!(seen.header("authorization"), Some("Bearer key-1"));
    let body: Value = serde_json::from_str(&seen.body).unwrap();
    assert_eq!(
        body,
        json!({"query": "q", "max_results": 20, "include_domains": ["host0.example"], "exclude_domains": ["b.example"]})
    );
}

#[test]
fn the_lists_of_domains_hold_whatever_the_engine_sends() {
    let server = engine("200 OK", json!({"results": results(["title", "url", "content"], 9)}));
    let urls = |settings: Value, args: Value| {
        let found = search(settings, args).unwrap();
        (found.results.into_iter().map(|result| result.url).collect::<Vec<_>>().join(" "), found.note)
    };
    let (allowed, note) = urls(
        with("searxng", &server),
        json!({"query": "q", "allowed_domains": ["host1.example"], "limit": 2}),
    );
    assert_eq!(allowed, "https://host1.example/1 https://host1.example/4");
    assert_eq!(note.as_deref(), Some("6 results were left out because of the domain lists"));
    assert!(server.only().path.starts_with("/base/search?q=q+site%3Ahost1.example&"));
    let (blocked, _) = urls(
        with("searxng", &server),
        json!({"query": "q", "blocked_domains": ["host0.example", "host1.example"]}),
    );
    assert_eq!(blocked, "https://host2.example/2 https://host2.example/5 https://host2.example/8");
    let mut host = with("searxng", &server);
    host["blocked_domains"] = json!(["host2.example"]);
    assert!(!urls(host, json!({"query": "q"})).0.contains("host2"));
}

#[test]
fn a_host_without_an_engine_hears_how_to_name_one() {
    let error = search(json!({}), json!({"query": "q"})).unwrap_err().in_terms(HostTerms::Erlang);
    assert_eq!((error.reason, error.kind().as_str()), (Reason::NotConfigured, "execution_failed"));
    for word in ["searxng", "brave", "tavily", "web => #{search"] {
        assert!(error.message.contains(word), "{error}");
    }
}

#[test]
fn a_refusal_of_the_engine_is_an_error_that_says_what_to_check() {
    for (provider, status, advice) in [
        ("searxng", "403 Forbidden", "search.formats"),
        ("brave", "401 Unauthorized", "Check api_key"),
        ("tavily", "429 Too Many Requests", "quota"),
        ("searxng", "302 Found", "Check base_url"),
        ("brave", "500 Oops", "answered 500"),
    ] {
        let server = engine(status, json!({"error": "because"}));
        let error = search(with(provider, &server), json!({"query": "q"})).unwrap_err();
        let error = error.in_terms(HostTerms::Erlang);
        assert_eq!((error.reason, &error.details["provider"]), (Reason::Network, &json!(provider)));
        assert!(error.message.contains(advice), "{error}");
        assert!(error.details["content"].as_str().unwrap().contains("because"));
    }
}

#[test]
fn a_refusal_that_quotes_the_key_does_not_show_it() {
    for quoted in ["key-1", "key%2D1", "key&#45;1"] {
        let server = engine("500 Oops", json!({"error": format!("x-subscription-token: {quoted}")}));
        let error = search(with("brave", &server), json!({"query": "q"})).unwrap_err();
        assert_eq!(error.details["content"], json!({"error": "x-subscription-token: ***"}).to_string());
    }
}

#[test]
fn an_answer_that_is_no_list_of_results_is_an_error() {
    let html = TestServer::fixed("200 OK", &[("Content-Type", "text/html")], "<p>hello");
    let error = search(with("searxng", &html), json!({"query": "q"})).unwrap_err();
    assert!(error.message.contains("not JSON"), "{error}");
    let other = engine("200 OK", json!({"hits": []}));
    for provider in ["searxng", "brave", "tavily"] {
        let error = search(with(provider, &other), json!({"query": "q"})).unwrap_err();
        assert!(error.message.contains("no list of results"), "{error}");
    }
}

#[test]
fn bad_arguments_are_refused_before_anybody_is_asked() {
    let server = engine("200 OK", json!({"results": []}));
    for (args, word) in [
        (json!({"query": "  "}), "empty"),
        (json!({}), "\"query\" is missing"),
        (json!({"query": "q", "allowed_domains": ["https://x.example/"]}), "\"allowed_domains\""),
        (json!({"query": "q", "blocked_domains": "x"}), "must be array"),
        (json!({"query": "q", "limit": 21}), "at most 20"),
    ] {
        let error = search(with("searxng", &server), args).unwrap_err();
        assert_eq!(error.reason, Reason::InvalidArgument);
        assert!(error.message.contains(word), "{error}");
    }
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_results_text_is_bounded_and_its_address_must_be_one() {
    let reply = json!({"results": [
        {"title": "t", "url": "javascript:alert(1)", "content": "x"},
        {"title": "no address", "content": "x"},
        {"title": " a \n b ", "url": "https://a.example", "content": "ä".repeat(2000)},
    ]});
    let found = search(with("searxng", &engine("200 OK", reply)), json!({"query": "q"})).unwrap();
    assert_eq!(found.count, 1);
    assert_eq!(found.results[0].title, "a b");
    assert!(found.results[0].snippet.len() <= 1003 && found.results[0].snippet.ends_with('…'));
}
