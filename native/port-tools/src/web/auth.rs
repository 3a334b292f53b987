//! Authentication for web requests.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use beamai_base::{Reason, Result, ToolError};
use schemars::JsonSchema;
use serde::Deserialize;

/// Credentials for the server in the URL. They are not sent to any other server, whatever it redirects to.
#[derive(Clone, Deserialize, JsonSchema)]
pub struct Auth {
    /// basic needs username and password, bearer needs token, cookie needs cookie.
    #[serde(rename = "type")]
    #[schemars(extend("self_evident" = true))]
    pub kind: AuthKind,
    /// User name, for basic.
    #[schemars(extend("self_evident" = true))]
    pub username: Option<String>,
    /// Password, for basic; empty by default.
    #[schemars(extend("self_evident" = true))]
    pub password: Option<String>,
    /// Token without the word Bearer, for bearer.
    #[schemars(extend("self_evident" = true))]
    pub token: Option<String>,
    /// Value of the Cookie header, such as "session=abc; theme=dark", for cookie.
    #[schemars(extend("self_evident" = true))]
    pub cookie: Option<String>,
    /// Send with the first request, not only after a 401.
    #[serde(default)]
    pub preemptive: bool,
}

/// Authentication schemes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AuthKind {
    /// User name and password.
    Basic,
    /// A token.
    Bearer,
    /// A Cookie header.
    Cookie,
}

/// Credentials as a header.
#[derive(Clone, PartialEq, Eq)]
pub struct Credentials {
    /// Name of the header.
    pub header: &'static str,
    /// Its value.
    pub value: String,
    /// Whether they are sent before the server asks for them.
    pub preemptive: bool,
}

impl Auth {
    /// Converts to a header.
    ///
    /// # Errors
    /// `invalid_argument` if a required field is missing or has characters that headers must not contain.
    pub fn credentials(&self) -> Result<Credentials> {
        let (header, value) = match self.kind {
            AuthKind::Basic => {
                let name = needed(&self.username, "basic", "username")?;
                ("authorization", basic(name, self.password.as_deref().unwrap_or_default())?)
            }
            AuthKind::Bearer => {
                ("authorization", format!("Bearer {}", needed(&self.token, "bearer", "token")?))
            }
            AuthKind::Cookie => ("cookie", needed(&self.cookie, "cookie", "cookie")?.to_owned()),
        };
        match value.chars().any(|c| c.is_control()) {
            true => Err(wrong(
                "auth contains a line break or another control character, which headers must not contain",
            )),
            false => Ok(Credentials { header, value, preemptive: self.preemptive }),
        }
    }
}

impl Credentials {
    /// Credentials from the user name and password of a URL.
    pub fn of_address(username: &str, password: &str) -> Result<Self> {
        Ok(Self { header: "authorization", value: basic(username, password)?, preemptive: false })
    }
}

fn needed<'a>(value: &'a Option<String>, kind: &str, field: &str) -> Result<&'a str> {
    match value.as_deref() {
        None | Some("") => Err(wrong(format!("auth of type {kind} needs \"auth.{field}\""))),
        Some(value) => Ok(value),
    }
}

fn basic(username: &str, password: &str) -> Result<String> {
    if username.contains(':') {
        return Err(wrong("a user name for basic authentication must not contain a colon"));
    }
    Ok(format!("Basic {}", BASE64_STANDARD.encode(format!("{username}:{password}"))))
}

fn wrong(message: impl Into<String>) -> ToolError {
    ToolError::new(Reason::InvalidArgument, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn credentials(auth: Value) -> Result<Credentials> {
        serde_json::from_value::<Auth>(auth).unwrap().credentials()
    }

    fn header(auth: Value) -> (&'static str, String) {
        let credentials = credentials(auth).unwrap();
        (credentials.header, credentials.value)
    }

    #[test]
    fn each_kind_becomes_its_header() {
        assert_eq!(
            header(json!({"type": "basic", "username": "Aladdin", "password": "open sesame"})),
            ("authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==".to_owned())
        );
        assert_eq!(header(json!({"type": "bearer", "token": "t"})), ("authorization", "Bearer t".to_owned()));
        assert_eq!(header(json!({"type": "cookie", "cookie": "a=b"})), ("cookie", "a=b".to_owned()));
    }

    #[test]
    fn what_a_kind_needs_is_named_when_it_is_missing() {
        for (auth, field) in [
            (json!({"type": "basic"}), "auth.username"),
            (json!({"type": "bearer", "token": ""}), "auth.token"),
            (json!({"type": "cookie", "token": "x"}), "auth.cookie"),
            (json!({"type": "bearer", "token": "a\r\nHost: b"}), "line break"),
            (json!({"type": "basic", "username": "a:b"}), "colon"),
        ] {
            let error = credentials(auth).err().unwrap();
            assert!(error.message.contains(field), "{}", error.message);
        }
    }
}
