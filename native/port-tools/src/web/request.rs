//! Validates fetch calls.

use super::auth::Credentials;
use super::fetch::WebFetch;
use beamai_base::{Reason, Result, ToolError, domain::is_web, excerpt};
use percent_encoding::percent_decode_str;
use serde_json::Value;
use url::Url;

/// Headers that the client sets itself, or that would change the meaning of the request.
const RESERVED: [&str; 12] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "keep-alive",
    "upgrade",
    "te",
    "trailer",
    "expect",
    "accept-encoding",
    "proxy-authorization",
    "proxy-connection",
];

/// A validated request.
#[derive(Clone)]
pub struct FetchRequest {
    /// The URL, without credentials.
    pub url: Url,
    /// Its method.
    pub method: &'static str,
    /// Names in lower case: those of the caller, then the type of the body where the caller gave none.
    pub headers: Vec<(String, String)>,
    /// How many of them are the caller's.
    pub given: usize,
    /// Its body.
    pub body: Option<Vec<u8>>,
    /// Credentials, for the first server only.
    pub credentials: Option<Credentials>,
    /// Whether certificates must be valid.
    pub verify_tls: bool,
}

/// Headers that only describe the answer, or what the body is.
pub const HARMLESS: [&str; 4] = ["accept", "accept-language", "content-type", "user-agent"];

impl FetchRequest {
    /// The caller's headers.
    pub fn given_headers(&self) -> &[(String, String)] {
        &self.headers[..self.given]
    }

    /// Validates a call.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid URL, header or credentials.
    pub fn of(call: &WebFetch) -> Result<Self> {
        let (url, in_address) = address(&call.url)?;
        let given = call.auth.as_ref().map(super::auth::Auth::credentials).transpose()?;
        if given.is_some() && in_address.is_some() {
            return Err(wrong(
                "the address contains a user name and \"auth\" is given too; use only one of them",
            ));
        }
        Ok(Self {
            url,
            method: call.method.as_str(),
            given: call.headers.as_ref().map_or(0, |headers| headers.len()),
            headers: headers(call)?,
            body: call.body.clone().map(String::into_bytes),
            credentials: given.or(in_address),
            verify_tls: call.verify_tls,
        })
    }
}

/// Maximum bytes of a URL: what RFC 9110, section 4.1, recommends that everybody supports.
const LONGEST_URL: usize = 8_000;

/// Parses an absolute `http` or `https` URL. User name and password are returned separately.
///
/// # Errors
/// `invalid_argument`, with the URL and a hint.
pub fn address(text: &str) -> Result<(Url, Option<Credentials>)> {
    if text.len() > LONGEST_URL {
        let size = text.len();
        return Err(wrong(format!(
            "the address has {size} bytes, and at most {LONGEST_URL} are sent; servers accept no longer ones"
        )));
    }
    let url = Url::parse(text.trim()).map_err(|error| {
        let hint = match text.contains("://") {
            true => String::new(),
            false => format!("; write it in full, such as https://{}", excerpt(text.trim())),
        };
        wrong(format!("{:?} is not an address: {error}{hint}", excerpt(text)))
    })?;
    if !is_web(&url) {
        return Err(wrong(format!(
            "{:?} is not an address of the web: only http and https can be fetched, not {}",
            excerpt(text),
            excerpt(url.scheme())
        )));
    }
    without_credentials(url)
}

/// Splits a URL from the user name and password in it.
pub fn without_credentials(mut url: Url) -> Result<(Url, Option<Credentials>)> {
    if url.username().is_empty() && url.password().is_none() {
        return Ok((url, None));
    }
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let credentials =
        Credentials::of_address(&plain(url.username()), &plain(url.password().unwrap_or_default()))?;
    // Neither can fail, because the URL has a host.
    _ = url.set_username("");
    _ = url.set_password(None);
    Ok((url, Some(credentials)))
}

fn headers(call: &WebFetch) -> Result<Vec<(String, String)>> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (name, value) in call.headers.iter().flatten() {
        let text = value.as_str().ok_or_else(|| wrong(not_text(name, value)))?;
        headers.push(header(name, text)?);
    }
    if let Some(body) = &call.body
        && !headers.iter().any(|(name, _)| name == "content-type")
    {
        headers.push(("content-type".to_owned(), content_type(body).to_owned()));
    }
    Ok(headers)
}

fn not_text(name: &str, value: &Value) -> String {
    let hint =
        if value.is_number() || value.is_boolean() { format!("; write \"{value}\"") } else { String::new() };
    format!(
        "headers must be an object of strings, but {:?} must be a string, not {}{hint}",
        excerpt(name),
        excerpt(&value.to_string())
    )
}

/// Validates a header from the caller. Returns its name in lower case, and its value.
///
/// # Errors
/// `invalid_argument` for invalid headers, and for headers that the client sets itself.
pub fn header(name: &str, value: &str) -> Result<(String, String)> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    let lower = name.to_ascii_lowercase();
    if name.is_empty() || !name.chars().all(is_token) {
        return Err(wrong(format!("{:?} cannot be the name of a header", excerpt(name))));
    }
    if RESERVED.contains(&lower.as_str()) {
        return Err(wrong(format!("the header {name} is set by the tool itself; leave it out")));
    }
    if value.chars().any(|c| c.is_control() && c != '\t') {
        return Err(wrong(format!(
            "the value of header {name} contains a line break or another control character"
        )));
    }
    Ok((lower, value.trim().to_owned()))
}

/// Models often send JSON without setting a Content-Type.
fn content_type(body: &str) -> &'static str {
    let starts_like_json = body.trim_start().starts_with(['{', '[']);
    match starts_like_json && serde_json::from_str::<serde::de::IgnoredAny>(body).is_ok() {
        true => "application/json",
        false => "text/plain; charset=utf-8",
    }
}

fn wrong(message: impl Into<String>) -> ToolError {
    ToolError::new(Reason::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn plan(args: Value) -> Result<FetchRequest> {
        FetchRequest::of(&serde_json::from_value(args).unwrap())
    }

    fn refusal(args: Value) -> String {
        let error = plan(args).err().unwrap();
        assert_eq!(error.reason, Reason::InvalidArgument);
        error.message
    }

    #[test]
    fn only_full_addresses_of_the_web_are_taken() {
        for (url, why) in [
            ("example.com/a", "write it in full, such as https://example.com/a"),
            ("file:///etc/passwd", "only http and https can be fetched, not file"),
            ("ftp://example.com", "not ftp"),
            ("data:text/plain,x", "not data"),
            ("http://", "empty host"),
            ("http://1.2.3.4.5/", "invalid IPv4"),
            ("", "not an address"),
        ] {
            assert!(refusal(json!({"url": url})).contains(why), "{url}");
        }
    }

    #[test]
    fn credentials_leave_the_address() {
        let plan = plan(json!({"url": "https://me:p%40ss@example.com/a?b#c"})).unwrap();
        assert_eq!(plan.url.as_str(), "https://example.com/a?b#c");
        let expected = format!("Basic {}", BASE64_STANDARD.encode("me:p@ss"));
        assert_eq!(plan.credentials.unwrap().value, expected);
        let twice = json!({"url": "https://me@example.com", "auth": {"type": "bearer", "token": "t"}});
        assert!(refusal(twice).contains("use only one of them"));
    }

    #[test]
    fn headers_that_could_change_the_request_are_refused() {
        let url = "https://example.com";
        for name in ["Host", "content-length", "Transfer-Encoding", "Connection", "Proxy-Authorization"] {
            assert!(refusal(json!({"url": url, "headers": {name: "x"}})).contains(name));
        }
        assert!(refusal(json!({"url": url, "headers": {"a b": "x"}})).contains("a b"));
        assert!(refusal(json!({"url": url, "headers": {"x": "a\r\nHost: b"}})).contains("line break"));
    }

    #[test]
    fn a_header_that_is_no_text_is_named() {
        let said = refusal(json!({"url": "https://example.com", "headers": {"X-Limit": 5}}));
        assert_eq!(
            said,
            r#"headers must be an object of strings, but "X-Limit" must be a string, not 5; write "5""#
        );
    }

    #[test]
    fn a_body_gets_a_content_type_unless_it_has_one() {
        let typed = |args| plan(args).unwrap().headers;
        let url = "https://example.com";
        assert_eq!(
            typed(json!({"url": url, "body": " {\"a\": 1}"})),
            [("content-type".to_owned(), "application/json".to_owned())]
        );
        assert_eq!(typed(json!({"url": url, "body": "{a}"}))[0].1, "text/plain; charset=utf-8");
        let own = json!({"url": url, "body": "a=1", "headers": {"Content-Type": "x/y"}});
        assert_eq!(typed(own), [("content-type".to_owned(), "x/y".to_owned())]);
    }

    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;
}
