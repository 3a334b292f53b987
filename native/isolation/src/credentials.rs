//! Credentials of the host: headers that the proxy adds to requests of commands, which never see them.

use beamai_base::{Destination, Secret};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;

/// The port of an origin that names none.
const HTTPS: u16 = 443;
/// The same for one that begins with `http://`.
const HTTP: u16 = 80;

/// Hop-by-hop headers, in lower case: they are about one connection, and a proxy does not pass them on
/// ([RFC 9110, 7.6.1](https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1)).
pub const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];
/// Further headers that the proxy sets itself: where a request goes and how it is framed.
const SET_BY_PROXY: [&str; 4] = ["content-length", "expect", "host", "via"];

/// The headers that the host has added to requests, by origin.
///
/// As JSON: `{"packages.example.com": {"Authorization": "Bearer …"}}`. An origin is `HOST` or `HOST:PORT` for HTTPS, or
/// `http://HOST:PORT` for requests in clear text. In place of a value, `true` says that it comes with each call.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct HostCredentials(Vec<OriginHeaders>);

/// The headers for one origin.
#[derive(Clone, PartialEq, Eq)]
struct OriginHeaders {
    is_encrypted: bool,
    to: Destination,
    headers: Vec<CredentialHeader>,
}

/// A header that is added to requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialHeader {
    /// Its name, in lower case.
    pub name: String,
    /// Its value: printable ASCII. `None` if it should have come with the call.
    pub value: Option<Secret>,
}

impl HostCredentials {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether some are for HTTPS, which the proxy has to decrypt in order to add them.
    pub fn has_encrypted(&self) -> bool {
        self.0.iter().any(|origin| origin.is_encrypted)
    }

    /// The headers for requests to a destination, by HTTPS or in clear text; empty if there are none.
    pub fn headers(&self, to: &Destination, is_encrypted: bool) -> &[CredentialHeader] {
        let origin = self.0.iter().find(|origin| origin.is_encrypted == is_encrypted && origin.to == *to);
        origin.map_or(&[], |origin| &origin.headers)
    }

    /// Whether there are headers for some port of a name, or of a name beneath it.
    pub fn has_any_at(&self, host: &str) -> bool {
        let is_at =
            |name: String| name == host || name.strip_suffix(host).is_some_and(|above| above.ends_with('.'));
        self.0.iter().any(|origin| is_at(origin.to.host()))
    }

    /// Whether there are headers for a destination, by HTTPS or in clear text.
    pub fn has_any_for(&self, to: &Destination) -> bool {
        self.0.iter().any(|origin| origin.to == *to)
    }
}

impl fmt::Debug for HostCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|origin| origin.to.to_string())).finish()
    }
}

/// Error messages contain names of origins and headers, never values.
impl<'de> Deserialize<'de> for HostCredentials {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wrong = |what: String| D::Error::custom(format!("credentials: {what}"));
        let Value::Object(origins) = Value::deserialize(deserializer)? else {
            return Err(wrong("they must be an object: headers by the name of a host".to_owned()));
        };
        let mut all: Vec<OriginHeaders> = Vec::new();
        for (text, headers) in origins {
            let read = origin(&text, headers).map_err(wrong)?;
            if all.iter().any(|known| known.is_encrypted == read.is_encrypted && known.to == read.to) {
                return Err(wrong(format!("{text:?} is there twice")));
            }
            all.push(read);
        }
        Ok(Self(all))
    }
}

fn origin(text: &str, headers: Value) -> Result<OriginHeaders, String> {
    let (is_encrypted, authority, port) = match text.split_once("://") {
        None => (true, text, HTTPS),
        Some(("https", authority)) => (true, authority, HTTPS),
        Some(("http", authority)) => (false, authority, HTTP),
        Some(_) => return Err(not_an_origin(text)),
    };
    let to = Destination::parse(authority, Some(port)).ok_or_else(|| not_an_origin(text))?;
    let Value::Object(headers) = headers else {
        return Err(format!("what {text:?} has must be an object: values by the name of a header"));
    };
    Ok(OriginHeaders { is_encrypted, to, headers: credential_headers(text, headers)? })
}

fn not_an_origin(text: &str) -> String {
    format!(
        "{text:?} is not where requests go to; write example.com or example.com:8443 for https, or \
         http://example.com:8080 where the value may be sent in clear text"
    )
}

fn credential_headers(origin: &str, headers: Map<String, Value>) -> Result<Vec<CredentialHeader>, String> {
    let mut all: Vec<CredentialHeader> = Vec::new();
    for (name, value) in headers {
        let lower = name.to_ascii_lowercase();
        if !is_token(&name) || HOP_BY_HOP.iter().chain(&SET_BY_PROXY).any(|known| *known == lower) {
            return Err(format!("{name:?}, for {origin:?}, is not the name of a header that can be added"));
        }
        if all.iter().any(|known| known.name == lower) {
            return Err(format!("{name:?} is there twice for {origin:?}"));
        }
        let value = match value {
            Value::Bool(true) => None,
            Value::String(text) if is_value(&text) => Some(Secret::new(text)),
            _ => return Err(format!("the value of {name:?} for {origin:?} must be printable ASCII")),
        };
        all.push(CredentialHeader { name: lower, value });
    }
    match all.is_empty() {
        true => Err(format!("{origin:?} has no header")),
        false => Ok(all),
    }
}

/// A token of HTTP (RFC 9110).
fn is_token(text: &str) -> bool {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_part)
}

fn is_value(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| (b' '..0x7f).contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Value) -> Result<HostCredentials, String> {
        serde_json::from_value(value).map_err(|error: serde_json::Error| error.to_string())
    }

    fn values(credentials: &HostCredentials, to: &str, is_encrypted: bool) -> Vec<String> {
        let headers = credentials.headers(&Destination::parse(to, None).unwrap(), is_encrypted);
        let shown = |header: &CredentialHeader| {
            format!("{}: {}", header.name, header.value.as_ref().map_or("", Secret::reveal))
        };
        headers.iter().map(shown).collect()
    }

    #[test]
    fn headers_are_for_one_name_one_port_and_one_scheme() {
        let all = read(json!({
            "Packages.Example.com": {"Authorization": "Bearer one"},
            "packages.example.com:8443": {"X-Key": "two"},
            "http://packages.example.com:8080": {"X-Key": "three"},
            "later.example.com": {"x-key": true},
        }))
        .unwrap();
        assert_eq!(values(&all, "packages.example.com:443", true), ["authorization: Bearer one"]);
        assert_eq!(values(&all, "packages.example.com:8443", true), ["x-key: two"]);
        assert_eq!(values(&all, "packages.example.com:8080", false), ["x-key: three"]);
        assert_eq!(values(&all, "later.example.com:443", true), ["x-key: "]);
        for (to, is_encrypted) in [
            ("packages.example.com:443", false),
            ("packages.example.com:80", false),
            ("packages.example.com:8080", true),
            ("x.packages.example.com:443", true),
            ("example.com:443", true),
        ] {
            assert!(values(&all, to, is_encrypted).is_empty(), "{to} {is_encrypted}");
        }
        assert!(all.has_encrypted() && !all.is_empty());
        assert!(!read(json!({"http://a.example": {"X": "y"}})).unwrap().has_encrypted());
    }

    #[test]
    fn values_are_not_printed_by_errors_either() {
        let shown = format!("{:?}", read(json!({"a.example": {"X": "hush-hush"}})).unwrap());
        assert_eq!(shown, r#"["a.example:443"]"#);
        for (value, part) in [
            (json!("hush-hush"), "must be an object"),
            (json!({"*.example.com": {"X": "hush-hush"}}), "*.example.com"),
            (json!({"ftp://a.example": {"X": "hush-hush"}}), "ftp://a.example"),
            (json!({"https://a.example/path": {"X": "hush-hush"}}), "/path"),
            (json!({"a.example": "hush-hush"}), "values by the name of a header"),
            (json!({"a.example": {}}), "has no header"),
            (json!({"a.example": {"Host": "hush-hush"}}), "Host"),
            (json!({"a.example": {"X Y": "hush-hush"}}), "X Y"),
            (json!({"a.example": {"X": "hush-hush\n"}}), "printable ASCII"),
            (json!({"a.example": {"X": ["hush-hush"]}}), "printable ASCII"),
            (json!({"a.example": {"X": "hush-hush", "x": "hush-hush"}}), "twice"),
            (json!({"a.example": {"X": "hush-hush"}, "https://A.example:443": {"X": "hush-hush"}}), "twice"),
        ] {
            let error = read(value).unwrap_err();
            assert!(error.starts_with("credentials: ") && error.contains(part), "{error}");
            assert!(!error.contains("hush"), "{error}");
        }
    }
}
