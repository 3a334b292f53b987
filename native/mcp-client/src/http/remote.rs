//! URL and headers of a remote server.

use super::failure::HttpFailure;
use crate::{plan, secrets::Secrets, settings::HttpSettings};
use beamai_base::{Reason, Result, ToolError, domain::is_web};
use beamai_net::{Transport, is_localhost};
use beamai_port_tools::web::request::header;
use std::fmt;
use url::{Host, Url};

/// Headers that the protocol itself sets.
const OF_PROTOCOL: [&str; 6] =
    ["accept", "content-type", "mcp-session-id", "mcp-protocol-version", "last-event-id", "mcp-method"];

/// URL and headers of a remote server.
#[derive(Clone)]
pub(crate) struct RemoteServer {
    title: String,
    pub(super) url: Url,
    pub(super) headers: Vec<(String, String)>,
    pub(super) transport: Transport,
    /// Texts that messages must not show.
    pub(crate) secrets: Secrets,
}

impl fmt::Debug for RemoteServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)
    }
}

impl RemoteServer {
    /// A server of that name at a URL.
    ///
    /// # Errors
    /// `invalid_argument` for an invalid URL or header, and for headers that would be sent to another machine in clear
    /// text.
    pub(crate) fn of(name: &str, address: &HttpSettings) -> Result<Self> {
        let url = parsed(&address.url)?;
        let headers = address.headers.iter().map(|(name, value)| own_header(name, value));
        let headers = headers.collect::<Result<Vec<_>>>()?;
        if !headers.is_empty() && url.scheme() == "http" && !is_this_machine(&url) && !address.insecure {
            return Err(in_clear_text(&url));
        }
        let secrets = secrets(&url, &headers);
        let transport = Transport::to_mcp_server(&url, &address.allow_addresses);
        Ok(Self { title: plan::title(name, &shown(&url)), url, headers, transport, secrets })
    }

    /// Its name in messages.
    pub(crate) fn title(&self) -> &str {
        &self.title
    }

    /// The error of a call for a failure.
    pub(crate) fn told(&self, HttpFailure(error): HttpFailure) -> ToolError {
        ToolError { message: format!("{}: {}", self.title, error.message), ..error }
    }

    /// The error of a call whose response is incomplete.
    pub(crate) fn broken(&self, trouble: Option<String>) -> ToolError {
        let why = trouble.map(|trouble| format!(" ({trouble})")).unwrap_or_default();
        let message = format!(
            "the response of {} was incomplete{why}; the effects of the call are unknown",
            self.title
        );
        ToolError::new(Reason::McpServer, message)
    }

    /// Whether it has credentials.
    pub(super) fn has_credentials(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == "authorization")
    }
}

fn parsed(text: &str) -> Result<Url> {
    let mut url = Url::parse(text).map_err(|error| {
        wrong(format!("url is not valid: {error}; write it in full, such as https://example.com/mcp"))
    })?;
    if !is_web(&url) {
        return Err(wrong(format!("url must begin with http:// or https://, not {}:", url.scheme())));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "url holds a user name or a password; give them in headers, as \"authorization\": \"Basic …\"",
        ));
    }
    url.set_fragment(None);
    Ok(url)
}

fn own_header(name: &str, value: &str) -> Result<(String, String)> {
    let (name, value) = header(name, value)?;
    match OF_PROTOCOL.contains(&name.as_str()) {
        true => Err(wrong(format!("the header {name} is set by the protocol itself; leave it out"))),
        false => Ok((name, value)),
    }
}

/// Whether a request to this URL stays on this machine.
fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(ip)) => ip.is_loopback(),
        Some(Host::Ipv6(ip)) => ip.to_canonical().is_loopback(),
        _ => is_localhost(url),
    }
}

fn in_clear_text(url: &Url) -> ToolError {
    wrong(format!(
        "headers would go to {} in clear text, where others can read them; use https, or give insecure => true if the way \
         there is safe",
        shown(url)
    ))
}

/// A URL without its query, which may contain a key.
fn shown(url: &Url) -> String {
    url[..url::Position::AfterPath].to_owned()
}

fn secrets(url: &Url, headers: &[(String, String)]) -> Secrets {
    // Of a scheme and a token, only the token is secret.
    let words =
        headers.iter().flat_map(|(_, value)| std::iter::once(&**value).chain(value.split_whitespace()));
    // Values of the query, as they are written there, and as they are meant.
    let written =
        url.query().into_iter().flat_map(|query| query.split('&')).filter_map(|pair| pair.split_once('='));
    let meant: Vec<_> = url.query_pairs().map(|(_, value)| value.into_owned()).collect();
    let values = written.map(|(_, value)| value).chain(meant.iter().map(String::as_str));
    Secrets::of(words.chain(url.query()).chain(values).filter(|text| *text != "Bearer"))
}

fn wrong(message: impl Into<String>) -> ToolError {
    ToolError::new(Reason::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn remote(address: Value) -> Result<RemoteServer> {
        RemoteServer::of("x", &serde_json::from_value(address).unwrap())
    }

    fn refusal(address: Value) -> String {
        let error = remote(address).unwrap_err();
        assert_eq!(error.reason, Reason::InvalidArgument);
        error.message
    }

    #[test]
    fn an_address_is_written_in_full_and_holds_no_password() {
        for (url, why) in [
            ("example.com/mcp", "write it in full"),
            ("file:///mcp", "not file:"),
            ("https://me:secret@example.com/mcp", "give them in headers"),
        ] {
            let said = refusal(json!({"url": url}));
            assert!(said.contains(why) && !said.contains("secret"), "{said}");
        }
    }

    #[test]
    fn headers_go_to_other_machines_in_clear_text_only_where_the_host_says_so() {
        let headers = json!({"Authorization": "Bearer abcdefgh"});
        for url in ["http://example.com/mcp", "http://10.0.0.1/mcp", "http://[fd00::1]/mcp"] {
            assert!(refusal(json!({"url": url, "headers": headers})).contains("clear text"), "{url}");
            assert!(remote(json!({"url": url})).is_ok());
            assert!(remote(json!({"url": url, "headers": headers, "insecure": true})).is_ok());
        }
        for url in ["http://127.0.0.1:1/", "http://localhost/", "http://[::1]/", "https://example.com/"] {
            assert!(remote(json!({"url": url, "headers": headers})).is_ok(), "{url}");
        }
    }

    #[test]
    fn headers_of_the_protocol_are_not_the_hosts() {
        for name in ["Host", "Accept", "MCP-Session-Id", "content-length", "Mcp-Protocol-Version"] {
            let said = refusal(json!({"url": "https://a.example", "headers": {name: "x"}}));
            assert!(said.contains("leave it out"), "{said}");
        }
        let split = refusal(json!({"url": "https://a.example", "headers": {"x": "hush\r\nhost: b"}}));
        assert!(!split.contains("hush"), "{split}");
    }

    #[test]
    fn neither_headers_nor_queries_are_shown() {
        let url = "https://a.example/mcp?key=abc%2Fdefgh";
        let remote = remote(json!({"url": url, "headers": {"authorization": "Bearer t0ken-t0ken"}})).unwrap();
        assert_eq!(remote.title(), "the MCP server x (https://a.example/mcp)");
        assert_eq!(format!("{remote:?}"), remote.title());
        let echoed = "Bearer t0ken-t0ken; t0ken-t0ken; key=abc%2Fdefgh; abc/defgh; abc%2Fdefgh; Bearer";
        assert_eq!(remote.secrets.hide(echoed), "***; ***; ***; ***; ***; Bearer");
    }
}
