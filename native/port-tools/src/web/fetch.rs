//! `web_fetch`.

use super::auth::Auth;
use super::fetched::WebFetchOutput;
use super::request::{FetchRequest, HARMLESS};
use beamai_base::Result;
use beamai_policy::{FETCH, Operand, PermissionRequest};
use beamai_tool::{
    CallContext, Door, ExecutionClass, Interrupt, Operation, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Maximum bytes of text in a result.
pub const TEXT_BYTES: usize = 100 << 10;
/// Maximum size of an image in a result, in bytes before base64.
pub const IMAGE_BYTES: usize = 1 << 20;

/// Fetches a resource over HTTP.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct WebFetch {
    /// URL of the resource: http:// or https://.
    #[schemars(extend("self_evident" = true))]
    pub url: String,
    /// What to extract from the page.
    pub prompt: Option<String>,
    /// Number of characters of the text to skip. With it, the text itself is returned and a prompt is ignored.
    #[schemars(extend("self_evident" = true))]
    pub offset: Option<usize>,
    /// HTTP method.
    #[serde(default)]
    #[schemars(extend("self_evident" = true))]
    pub method: HttpMethod,
    /// Header names to string values.
    pub headers: Option<Map<String, Value>>,
    /// Body to send. JSON is sent as application/json, other text as text/plain, unless headers has a Content-Type.
    #[schemars(extend("self_evident" = true))]
    pub body: Option<String>,
    /// Timeout of the whole fetch in seconds, redirects included.
    #[serde(default = "half_a_minute")]
    #[schemars(range(min = 1, max = 600), extend("self_evident" = true))]
    pub timeout_sec: u64,
    /// Maximum KiB to return; text is cut at 100 at the latest.
    #[schemars(range(min = 1, max = 1024))]
    pub max_size_kb: Option<u64>,
    /// Credentials, for servers that ask for them.
    #[schemars(extend("self_evident" = true))]
    pub auth: Option<Auth>,
    /// Whether the certificate of an https server must be valid. Use false only for a server you know, such as one in
    /// an internal network with its own certificate.
    #[serde(default = "yes")]
    #[schemars(extend("self_evident" = true))]
    pub verify_tls: bool,
    /// The format of an HTML page: Markdown, or its source.
    #[serde(default, rename = "as")]
    #[schemars(extend("self_evident" = true))]
    pub format: PageFormat,
    /// Whether an HTML page is returned as source; the same as `"as": "html"`.
    #[serde(default)]
    #[schemars(extend("unlisted" = true))]
    pub raw: bool,
}

/// The format of an HTML page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PageFormat {
    /// Converted to Markdown.
    #[default]
    Markdown,
    /// Its source.
    Html,
}

impl WebFetch {
    /// A call that fetches a page with default settings and a prompt.
    pub fn page(url: String, prompt: String) -> Self {
        Self {
            url,
            prompt: Some(prompt),
            offset: None,
            method: HttpMethod::Get,
            headers: None,
            body: None,
            timeout_sec: half_a_minute(),
            max_size_kb: None,
            auth: None,
            verify_tls: yes(),
            format: PageFormat::Markdown,
            raw: false,
        }
    }

    /// Whether an HTML page is returned as source.
    pub fn wants_source(&self) -> bool {
        self.raw || self.format == PageFormat::Html
    }
}

/// HTTP methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HttpMethod {
    /// Fetches the resource.
    #[default]
    Get,
    /// Submits data to the resource.
    Post,
    /// Creates or replaces the resource.
    Put,
    /// Deletes the resource.
    Delete,
    /// Changes part of the resource.
    Patch,
    /// Fetches the headers only.
    Head,
    /// Asks which methods the resource supports.
    Options,
}

impl HttpMethod {
    /// The method's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Patch => "PATCH",
            Self::Head => "HEAD",
            Self::Options => "OPTIONS",
        }
    }
}

fn half_a_minute() -> u64 {
    30
}

fn yes() -> bool {
    true
}

impl Operation for WebFetch {
    type Output = WebFetchOutput;
    const TRAITS: Traits = Traits {
        read_only: false,
        destructive: true,
        idempotent: false,
        open_world: true,
        door: Door::Port,
        pace: ExecutionClass::Long,
        session: false,
        asks_user: false,
    };
    const RULE: &'static str = "WebFetch";

    fn permission(&self, _: &CallContext) -> Result<PermissionRequest> {
        let plan = FetchRequest::of(self)?;
        Ok(PermissionRequest {
            rule: Self::RULE.into(),
            touches: &[],
            allowed_by: &[],
            is_safe: false,
            operand: Operand::Url { action: action(&plan), sent: sent(&plan), url: plan.url.into() },
        })
    }

    fn run(self, cx: &CallContext) -> Result<WebFetchOutput, Interrupt> {
        cx.services.run(self, cx)
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        super::for_model::fetched(result, call, page)
    }
}

/// Headers that say who the caller is.
const IDENTIFYING: [&str; 2] = ["authorization", "cookie"];

/// Number of headers that a question names.
const MOST_NAMED: usize = 10;

/// What a person must know to approve the call besides the URL: what it sends, and whether the server's identity is
/// checked.
fn action(plan: &FetchRequest) -> String {
    let body = plan.body.as_ref().map(|body| format!("{} bytes", body.len()));
    let has = |names: &[&str]| plan.given_headers().iter().any(|(name, _)| names.contains(&&**name));
    let sent: Vec<String> = body.into_iter().chain(named_headers(plan.given_headers())).collect();
    let is_plain = plan.given_headers().iter().all(|(name, _)| HARMLESS.contains(&&**name));
    let mut action = match (plan.method, &*sent.join(" and ")) {
        ("GET", "") => FETCH.to_owned(),
        ("GET", sent) if plan.body.is_none() && is_plain => format!("{FETCH}, with {sent},"),
        (method, "") => format!("send {method} to"),
        (method, sent) => format!("send {method} with {sent} to"),
    };
    if plan.credentials.is_some() || has(&IDENTIFYING) {
        action = format!("use credentials and {action}");
    }
    // Also for a URL in clear text: the server may redirect to https.
    if !plan.verify_tls {
        action = format!("skip the check of the certificate and {action}");
    }
    action
}

/// Names and size of headers, if there are any.
fn named_headers(headers: &[(String, String)]) -> Option<String> {
    let size: usize = headers.iter().map(|(_, value)| value.len()).sum();
    let names: Vec<&str> = headers.iter().take(MOST_NAMED).map(|(name, _)| &**name).collect();
    let more = match headers.len().saturating_sub(MOST_NAMED) {
        0 => String::new(),
        more => format!(", {more} more"),
    };
    (!headers.is_empty()).then(|| format!("the headers {}{more} ({size} bytes)", names.join(", ")))
}

/// A digest of what the request sends besides its address.
fn sent(plan: &FetchRequest) -> Option<String> {
    let credentials = plan.credentials.iter().map(|given| (given.header, &*given.value));
    let headers = plan.headers.iter().map(|(name, value)| (&**name, &**value));
    let fields: Vec<(&str, &str)> = credentials.chain(headers).collect();
    if fields.is_empty() && plan.body.is_none() {
        return None;
    }
    let mut hash = blake3::Hasher::new();
    let mut add = |part: &[u8]| _ = hash.update(&part.len().to_le_bytes()).update(part);
    for (name, value) in fields {
        add(name.as_bytes());
        add(value.as_bytes());
    }
    add(plan.body.as_deref().unwrap_or_default());
    Some(hash.finalize().to_hex()[..16].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn permission(args: Value) -> PermissionRequest {
        let workspace = beamai_workspace::Workspace::open(std::path::Path::new("/")).unwrap();
        serde_json::from_value::<WebFetch>(args).unwrap().permission(&CallContext::new(workspace)).unwrap()
    }

    #[test]
    fn the_question_says_what_would_be_done() {
        let question = |args| permission(args).question("web_fetch");
        let url = "https://user:secret@Example.com/a";
        assert_eq!(
            question(json!({"url": "https://example.com/a"})),
            "web_fetch wants to fetch https://example.com/a"
        );
        assert_eq!(
            question(json!({"url": url, "method": "POST", "body": "abc", "verify_tls": false})),
            "web_fetch wants to skip the check of the certificate and use credentials and send POST with 3 bytes to \
             https://example.com/a"
        );
        let headers = json!({"X-A": "secret"});
        assert_eq!(
            question(json!({"url": "http://a.example", "headers": headers})),
            "web_fetch wants to send GET with the headers x-a (6 bytes) to http://a.example/"
        );
        assert_eq!(
            question(
                json!({"url": "http://a.example", "headers": {"Cookie": "a=b"}, "method": "PUT", "body": "ab"})
            ),
            "web_fetch wants to use credentials and send PUT with 2 bytes and the headers cookie (3 bytes) to \
             http://a.example/"
        );
    }

    #[test]
    fn an_approval_of_a_fetch_covers_nothing_that_sends() {
        let subject = |args| permission(args).subject();
        assert_eq!(subject(json!({"url": "http://a.example"})), "WebFetch(http://a.example/)");
        assert_eq!(
            subject(json!({"url": "http://a.example", "method": "DELETE"})),
            "WebFetch(send DELETE to http://a.example/)"
        );
        assert!(!permission(json!({"url": "http://a.example"})).is_safe);
        let url = "http://a.example";
        let mut all: Vec<String> = [
            json!({"url": url}),
            json!({"url": url, "method": "POST", "body": "aaa"}),
            json!({"url": url, "method": "POST", "body": "bbb"}),
            json!({"url": url, "method": "POST", "body": "bbb", "headers": {"X-A": "aaa"}}),
            json!({"url": url, "headers": {"X-A": "aaa"}}),
            json!({"url": url, "headers": {"X-A": "bbb"}}),
            json!({"url": url, "headers": {"Authorization": "bbb"}}),
            json!({"url": url, "headers": {"Accept": "text/plain"}}),
            json!({"url": url, "headers": {"Accept": "text/html"}}),
            json!({"url": url, "method": "POST", "body": "bbb", "headers": {"Content-Type": "text/xml"}}),
            json!({"url": "http://a:b@a.example"}),
            json!({"url": "http://a:c@a.example"}),
        ]
        .map(subject)
        .into();
        let count = all.len();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
