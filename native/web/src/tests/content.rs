//! What comes back of what a server sends.

use super::{call, fetch, get, note, reaching, try_fetch};
use crate::present;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use beamai_base::Reason;
use beamai_net::Transport;
use beamai_port_tools::web::fetch::{HttpMethod, WebFetch};
use beamai_schema as schema;
use beamai_testserver::{TestServer, answer, head};
use beamai_tool::{CallContext, Consulted, Interrupt, consultation::Reply};
use encoding_rs::{GBK, SHIFT_JIS};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use serde_json::json;
use std::io::Write;

const HTML: &[(&str, &str)] = &[("Content-Type", "text/html; charset=utf-8")];

#[test]
fn a_fetch_has_every_documented_field() {
    let server = TestServer::fixed("200 OK", &[("Content-Type", "application/json")], r#"{"a": "ü"}"#);
    let fetched = get(&server, "/x?y=1");
    assert_eq!(
        serde_json::to_value(&fetched).unwrap(),
        json!({
            "url": server.url("/x?y=1"), "status_code": 200, "content_type": "application/json",
            "content": r#"{"a": "ü"}"#, "is_image": false, "size_bytes": 11, "media_type": "application/json",
            "charset": "utf-8", "title": null, "image_base64": null, "truncated": false, "redirects": [],
            "headers": null, "note": null,
        })
    );
    let seen = server.only();
    assert_eq!((seen.method.as_str(), seen.path.as_str()), ("GET", "/x?y=1"));
    assert_eq!(seen.header("host"), Some(server.address.to_string().as_str()));
    assert!(seen.header("user-agent").unwrap().starts_with("beamai/"));
}

#[test]
fn the_documented_defaults_hold() {
    let call = call(json!({"url": "http://example.com"}));
    assert_eq!(
        (call.method, call.timeout_sec, call.verify_tls, call.raw),
        (HttpMethod::Get, 30, true, false)
    );
    assert!(call.max_size_kb.is_none() && call.auth.is_none() && call.prompt.is_none());
    let described = schema::parameters_of::<WebFetch>();
    let default = |name: &str| described[name].default.clone().unwrap();
    assert_eq!((default("method"), default("timeout_sec")), (json!("GET"), json!(30)));
    assert_eq!((default("verify_tls"), default("as")), (json!(true), json!("markdown")));
}

#[test]
fn a_page_becomes_markdown_and_raw_gives_its_source() {
    let html =
        "<html><head><title>T</title></head><body><h1>Hello</h1><p>See <a href='b'>b</a>.</p></body></html>";
    let server = TestServer::fixed("200 OK", HTML, html);
    let page = get(&server, "/dir/a");
    assert_eq!(page.content, format!("# Hello\n\nSee [b]({}).", server.url("/dir/b")));
    assert_eq!((page.title.as_deref(), page.media_type.as_str()), (Some("T"), "text/html"));
    let raw = fetch(&server, json!({"url": server.url("/"), "raw": true}));
    assert_eq!((raw.content.as_str(), raw.title), (html, None));
}

#[test]
fn an_error_of_the_server_is_a_result() {
    let server = TestServer::fixed("404 Not Found", HTML, "<h1>Gone</h1>");
    let fetched = get(&server, "/");
    assert_eq!((fetched.status_code, fetched.content.as_str()), (404, "# Gone"));
}

#[test]
fn methods_headers_and_bodies_are_sent() {
    let server = TestServer::raw(|seen, stream| {
        stream.write_all(&answer("200 OK", &[("Content-Type", "text/plain")], seen.body.as_bytes()))
    });
    for method in ["POST", "PUT", "DELETE", "PATCH"] {
        let args = json!({"url": server.url("/"), "method": method, "body": "{\"n\": 1}", "headers": {"X-Own": "v"}});
        assert_eq!(fetch(&server, args).content, "{\"n\": 1}");
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.method, method);
        assert_eq!(seen.header("content-type"), Some("application/json"));
        assert_eq!(seen.header("x-own"), Some("v"));
    }
}

#[test]
fn head_and_options_answer_with_headers() {
    let server = TestServer::raw(|_, stream| {
        stream.write_all(&head("200 OK", &[("Content-Type", "image/png"), ("ETag", "\"x\"")], Some(5000)))
    });
    let fetched = fetch(&server, json!({"url": server.url("/"), "method": "HEAD"}));
    assert_eq!((fetched.size_bytes, fetched.is_image, fetched.truncated), (5000, true, false));
    assert_eq!(fetched.headers.unwrap()["etag"], "\"x\"");
    let options = TestServer::fixed("204 No Content", &[("Allow", "GET, PUT")], "");
    let fetched = fetch(&options, json!({"url": options.url("/"), "method": "OPTIONS"}));
    assert_eq!(fetched.headers.unwrap()["allow"], "GET, PUT");
}

#[test]
fn a_chunked_body_is_put_together() {
    let server = TestServer::raw(|_, stream| {
        stream.write_all(&head(
            "200 OK",
            &[("Content-Type", "text/plain"), ("Transfer-Encoding", "chunked")],
            None,
        ))?;
        for piece in ["first ", "second ", "third"] {
            write!(stream, "{:x}\r\n{piece}\r\n", piece.len())?;
            stream.flush()?;
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        stream.write_all(b"0\r\n\r\n")
    });
    assert_eq!(get(&server, "/").content, "first second third");
}

#[test]
fn a_body_that_ends_with_its_connection_is_whole() {
    let server = TestServer::raw(|_, stream| {
        stream.write_all(&head("200 OK", &[("Content-Type", "text/plain")], None))?;
        stream.write_all(b"until the end")
    });
    assert_eq!(get(&server, "/").content, "until the end");
}

fn encoded(encoding: &str, text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    match encoding {
        "gzip" => GzEncoder::new(&mut out, Compression::default()).write_all(text).unwrap(),
        "deflate" => ZlibEncoder::new(&mut out, Compression::default()).write_all(text).unwrap(),
        _ => brotli::CompressorWriter::new(&mut out, 4096, 5, 22).write_all(text).unwrap(),
    }
    out
}

#[test]
fn content_encodings_are_decoded() {
    for encoding in ["gzip", "deflate", "br"] {
        let text = "many words ".repeat(500);
        let headers = [("Content-Type", "text/plain"), ("Content-Encoding", encoding)];
        let server = TestServer::fixed("200 OK", &headers, encoded(encoding, text.as_bytes()));
        let fetched = get(&server, "/");
        assert_eq!((fetched.content.as_str(), fetched.size_bytes), (text.as_str(), 5500), "{encoding}");
        assert_eq!(server.only().header("accept-encoding"), Some("gzip, deflate, br"));
    }
}

#[test]
fn an_encoding_that_nobody_asked_for_is_an_error() {
    let server = TestServer::fixed("200 OK", &[("Content-Encoding", "zstd")], "x");
    let error = try_fetch(&reaching(&[&server]), json!({"url": server.url("/")})).unwrap_err();
    assert_eq!(error.reason, Reason::Network);
    assert!(error.message.contains("zstd"));
}

#[test]
fn charsets_are_honoured() {
    let by_header = |charset: &str, bytes: Vec<u8>| {
        let content_type = format!("text/plain; charset={charset}");
        get(&TestServer::fixed("200 OK", &[("Content-Type", &content_type)], bytes), "/")
    };
    let chinese = by_header("gbk", GBK.encode("中文网页").0.into_owned());
    assert_eq!((chinese.content.as_str(), chinese.charset.as_deref()), ("中文网页", Some("gbk")));
    let latin = by_header("ISO-8859-1", b"caf\xe9".to_vec());
    assert_eq!((latin.content.as_str(), latin.charset.as_deref()), ("café", Some("windows-1252")));

    let page = "<meta charset=Shift_JIS><title>題名</title><p>日本語";
    let japanese =
        get(&TestServer::fixed("200 OK", &[("Content-Type", "text/html")], SHIFT_JIS.encode(page).0), "/");
    assert_eq!((japanese.content.as_str(), japanese.title.as_deref()), ("日本語", Some("題名")));
    assert_eq!(japanese.charset.as_deref(), Some("shift_jis"));

    let marked = get(&TestServer::fixed("200 OK", &[("Content-Type", "text/plain")], b"\xff\xfeh\0i\0"), "/");
    assert_eq!((marked.content.as_str(), marked.charset.as_deref()), ("hi", Some("utf-16le")));
}

#[test]
fn text_is_cut_at_100_kib_or_where_the_call_says() {
    let server = TestServer::fixed("200 OK", &[("Content-Type", "text/plain")], "ä".repeat(100_000));
    let fetched = get(&server, "/");
    assert_eq!((fetched.content.len(), fetched.size_bytes, fetched.truncated), (102_400, 200_000, true));
    assert!(note(&fetched).contains("cut at 100 KiB of 196"), "{}", note(&fetched));
    let less = fetch(&server, json!({"url": server.url("/"), "max_size_kb": 1}));
    assert_eq!(less.content.len(), 1024);
    let more = fetch(&server, json!({"url": server.url("/"), "max_size_kb": 1024}));
    assert_eq!(more.content.len(), 102_400);
    let said = "max_size_kb is 100, the maximum for text, not 1024";
    assert!(note(&more).ends_with(said) && !note(&less).contains("maximum"), "{}", note(&more));
}

fn image(size: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
    bytes.resize(size, 7);
    bytes
}

#[test]
fn an_image_comes_in_base64() {
    for content_type in ["image/png", "application/octet-stream"] {
        let server = TestServer::fixed("200 OK", &[("Content-Type", content_type)], image(1 << 20));
        let fetched = get(&server, "/i.png");
        assert!(fetched.is_image && fetched.content.is_empty() && !fetched.truncated);
        assert_eq!(fetched.media_type, "image/png");
        assert_eq!(BASE64_STANDARD.decode(fetched.image_base64.unwrap()).unwrap(), image(1 << 20));
    }
}

#[test]
fn an_image_over_the_limit_is_left_out_and_the_result_says_so() {
    let sized = TestServer::fixed("200 OK", &[("Content-Type", "image/png")], image((1 << 20) + 1));
    let fetched = get(&sized, "/");
    assert_eq!((fetched.is_image, fetched.image_base64, fetched.truncated), (true, None, true));
    assert_eq!(fetched.size_bytes, (1 << 20) + 1);
    assert!(fetched.note.unwrap().contains("limit of 1024 KiB"));

    let unsized_image = TestServer::raw(|_, stream| {
        stream.write_all(&head("200 OK", &[("Content-Type", "image/png")], None))?;
        stream.write_all(&image(20_000))
    });
    let fetched = fetch(&unsized_image, json!({"url": unsized_image.url("/"), "max_size_kb": 10}));
    assert_eq!((fetched.is_image, fetched.image_base64, fetched.truncated), (true, None, true));
    assert!(fetched.note.unwrap().contains("limit of 10 KiB"));
}

#[test]
fn what_is_neither_text_nor_image_is_left_out_and_the_result_says_so() {
    let server = TestServer::fixed("200 OK", &[("Content-Type", "application/pdf")], vec![0; 3000]);
    let fetched = get(&server, "/");
    assert_eq!((fetched.content.as_str(), fetched.truncated, fetched.size_bytes), ("", true, 3000));
    assert!(note(&fetched).contains("application/pdf is neither text nor an image"));
}

#[test]
fn an_empty_answer_is_empty() {
    let fetched = get(&TestServer::fixed("204 No Content", &[], ""), "/");
    assert_eq!((fetched.status_code, fetched.content.as_str(), fetched.size_bytes), (204, "", 0));
    assert_eq!(fetched.note, None);
}

#[test]
fn a_prompt_gets_the_passages_that_fit_it_and_hears_that_no_model_was_asked() {
    let filler = "<p>Gardens and rivers and weather, at length.</p>".repeat(400);
    let html = format!("{filler}<h2>Error handling</h2><p>Return the error.</p><h2>More</h2>{filler}");
    let server = TestServer::fixed("200 OK", HTML, html);
    let fetched = fetch(&server, json!({"url": server.url("/"), "prompt": "How are errors handled?"}));
    assert_eq!(fetched.content, "[…]\n\n## Error handling\n\nReturn the error.\n\n[…]");
    assert!(fetched.truncated && note(&fetched).contains("no model was asked"), "{}", note(&fetched));
    let short = TestServer::fixed("200 OK", HTML, "<p>Hi.</p>");
    let fetched = fetch(&short, json!({"url": short.url("/"), "prompt": "anything"}));
    assert_eq!((fetched.content.as_str(), fetched.truncated), ("Hi.", false));
}

#[test]
fn a_prompt_is_answered_by_the_hosts_model_from_the_pages_text() {
    let server = TestServer::fixed("200 OK", HTML, "<title>Fruit</title><p>There are 7 apples.</p>");
    let cx = CallContext { has_model: true, ..reaching(&[&server]) };
    let args = call(json!({"url": server.url("/"), "prompt": "How many apples?"}));
    let Err(Interrupt::Consult(asked)) = present::fetch(&args, &cx, Transport::of(&cx.web)) else {
        panic!("the model is not asked")
    };
    assert!(asked.prompt.contains("How many apples?") && asked.prompt.contains("There are 7 apples."));
    let after = |reply| {
        let consulted = Consulted { reply, so_far: asked.so_far.clone() };
        present::answered(&args, &consulted).unwrap()
    };
    let fetched = after(Reply::Answer("7\n".into()));
    assert_eq!((fetched.content.as_str(), fetched.title.as_deref()), ("7", Some("Fruit")));
    assert!(note(&fetched).contains("a chat model wrote this"), "{}", note(&fetched));
    let fetched = after(Reply::Failed("the server is overloaded".into()));
    assert_eq!(fetched.content, "There are 7 apples.");
    assert!(note(&fetched).contains("not answered: the server is overloaded"), "{}", note(&fetched));
    assert_eq!(server.seen().len(), 1, "the page is fetched once");
}

#[test]
fn no_model_is_asked_about_a_page_that_is_not_the_one_wanted() {
    let server = TestServer::fixed("404 Not Found", HTML, "<p>No such page.</p>");
    let cx = CallContext { has_model: true, ..reaching(&[&server]) };
    let fetched = try_fetch(&cx, json!({"url": server.url("/"), "prompt": "How many apples?"})).unwrap();
    assert_eq!((fetched.status_code, fetched.content.as_str()), (404, "No such page."));
}

#[test]
fn a_page_that_only_a_script_fills_says_so() {
    let server = TestServer::fixed("200 OK", HTML, "<div id=app></div><script>render()</script>");
    assert!(note(&get(&server, "/")).contains("\"as\": \"html\" gives its source"));
}

#[test]
fn odd_characters_in_an_address_arrive() {
    let server = TestServer::fixed("200 OK", &[], "ok");
    get(&server, "/a b/{c}|\"d\"?e={\"f\":1}|^`g&h=ü#i");
    assert_eq!(server.only().path, "/a%20b/%7Bc%7D|%22d%22?e={%22f%22:1}|^`g&h=%C3%BC");
}
