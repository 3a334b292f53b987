//! The host's settings for the network, as plain data.

use beamai_base::{Domains, Secret, SettingsMap};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::net::SocketAddr;

/// What tools may reach on the network. By default every public address, and no search engine.
#[derive(Debug, Clone, Default)]
pub struct WebSettings {
    /// Addresses that may be reached although they are not public, as `IP:PORT`.
    pub allow_addresses: Vec<SocketAddr>,
    /// Hosts that may be reached; if empty, all.
    pub allowed_domains: Domains,
    /// Hosts that must not be reached, even if they are allowed.
    pub blocked_domains: Domains,
    /// The search engine, if there is one.
    pub search: Option<SearchSettings>,
    /// The User-Agent header; by default this program's name.
    pub user_agent: Option<String>,
}

impl<'de> Deserialize<'de> for WebSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

/// An empty list would restrict nothing, as a list that is left out.
const NO_DOMAIN: &str = "web.allowed_domains is empty; name the domains that web tools may reach, or leave it out for all of them (a deny rule \
     WebFetch allows none)";

impl WebSettings {
    fn of(value: Value) -> Result<Self, String> {
        let known = ["allow_addresses", "allowed_domains", "blocked_domains", "search", "user_agent"];
        let mut settings = SettingsMap::new("web", value, &known)?;
        let addresses = |texts: &[String]| texts.iter().map(|text| address(text)).collect();
        let allowed = "a list of IP:PORT, such as \"127.0.0.1:8080\"";
        let domains = "a list of domains, such as \"example.com\"";
        let allowed_domains = settings.take_texts("allowed_domains", domains, Domains::parse)?;
        if allowed_domains.as_ref().is_some_and(Domains::is_empty) {
            return Err(NO_DOMAIN.to_owned());
        }
        Ok(Self {
            allow_addresses: settings.take_texts("allow_addresses", allowed, addresses)?.unwrap_or_default(),
            allowed_domains: allowed_domains.unwrap_or_default(),
            blocked_domains: settings
                .take_texts("blocked_domains", domains, Domains::parse)?
                .unwrap_or_default(),
            search: settings.take_with("search", SearchSettings::of)?,
            user_agent: settings.take("user_agent", "a string")?,
        })
    }

    /// The settings with the search engine's key.
    #[must_use]
    pub fn with_key(&self, key: &Secret) -> Self {
        let mut settings = self.clone();
        if let Some(search) = &mut settings.search {
            search.api_key = Some(key.clone());
        }
        settings
    }
}

/// The search engine and how to reach it.
#[derive(Debug, Clone)]
pub struct SearchSettings {
    /// Its API.
    pub provider: SearchProvider,
    /// Base URL; by default the provider's own.
    pub base_url: Option<String>,
    /// The host's API key.
    pub api_key: Option<Secret>,
}

/// APIs of search engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchProvider {
    /// A self-hosted SearXNG instance with the JSON format enabled.
    Searxng,
    /// The Brave Search API.
    Brave,
    /// The Tavily search API.
    Tavily,
}

impl SearchProvider {
    /// The provider's name in settings and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Searxng => "searxng",
            Self::Brave => "brave",
            Self::Tavily => "tavily",
        }
    }
}

impl SearchSettings {
    fn of(value: Value) -> Result<Self, String> {
        // A host that does not store the key with its settings sends `has_key`; the key then comes with each call.
        let known = ["provider", "base_url", "api_key", "has_key"];
        let mut settings = SettingsMap::new("web.search", value, &known)?;
        let providers = "\"searxng\", \"brave\" or \"tavily\"";
        let Some(provider) = settings.take::<SearchProvider>("provider", providers)? else {
            return Err(format!("web.search.provider is missing; it must be {providers}"));
        };
        let base_url = settings.take::<String>("base_url", "an http or https address")?;
        let api_key: Option<Secret> = settings.take_secret("api_key", "a string")?;
        if api_key.as_ref().is_some_and(|key| !is_key(key.reveal())) {
            return Err("web.search.api_key must be printable ASCII without spaces or line breaks".to_owned());
        }
        let has_key = settings.take("has_key", "true or false")?.unwrap_or(false);
        if let Some(base) = &base_url {
            checked_base(base)?;
        }
        let name = provider.as_str();
        match provider {
            SearchProvider::Searxng if base_url.is_none() => Err(format!(
                "web.search: the provider {name} needs a base_url, such as http://127.0.0.1:8888"
            )),
            SearchProvider::Brave | SearchProvider::Tavily if api_key.is_none() && !has_key => {
                Err(format!("web.search: the provider {name} needs an api_key"))
            }
            _ => Ok(Self { provider, base_url, api_key }),
        }
    }
}

fn is_key(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}

fn checked_base(base: &str) -> Result<(), String> {
    match url::Url::parse(base) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) => Ok(()),
        _ => Err(format!("web.search.base_url {base:?} is not an http or https address")),
    }
}

/// Deserializes a list of [addresses](address).
pub fn addresses<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SocketAddr>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| address(text)).collect::<Result<_, _>>().map_err(D::Error::custom)
}

/// Parses an address that may be reached: `IP:PORT`, such as `127.0.0.1:8080` or `[::1]:8080`.
///
/// # Errors
/// What is wrong with the text and what to write.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("{text:?} is not an address; write IP:PORT, such as 127.0.0.1:8080 or [::1]:8080")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn error(settings: Value) -> String {
        serde_json::from_value::<WebSettings>(settings).unwrap_err().to_string()
    }

    #[test]
    fn settings_are_read_from_plain_data() {
        let settings: WebSettings = serde_json::from_value(json!({
            "allow_addresses": ["127.0.0.1:8080", "[::1]:80"],
            "blocked_domains": ["Example.com"],
            "search": {"provider": "brave", "api_key": "k"},
        }))
        .unwrap();
        assert_eq!(settings.allow_addresses.len(), 2);
        assert_eq!(settings.blocked_domains.iter().next(), Some("example.com"));
        assert_eq!(settings.search.unwrap().provider, SearchProvider::Brave);
    }

    #[test]
    fn a_key_may_come_with_the_call() {
        let settings = json!({"search": {"provider": "brave", "has_key": true}});
        let settings: WebSettings = serde_json::from_value(settings).unwrap();
        assert!(settings.search.as_ref().unwrap().api_key.is_none());
        let key: Secret = serde_json::from_value(json!("k")).unwrap();
        assert_eq!(settings.with_key(&key).search.unwrap().api_key.unwrap().reveal(), "k");
    }

    #[test]
    fn a_key_that_cannot_be_sent_is_refused_and_not_shown() {
        for key in ["", "hidden\n", "hid den", "hidd\u{e9}n"] {
            let error = error(json!({"search": {"provider": "brave", "api_key": key}}));
            assert!(error.contains("printable ASCII") && !error.contains("hidd"), "{error}");
        }
    }

    #[test]
    fn mistakes_are_errors_at_load_that_name_the_value() {
        assert!(
            error(json!({"allow_addresses": ["localhost:80"]}))
                .contains("\"localhost:80\" is not an address")
        );
        assert!(error(json!({"blocked_domains": ["https://x.org"]})).contains("https://x.org"));
        assert!(
            error(json!({"allow_address": []})).contains("web.allow_address is not a setting; did you mean")
        );
        assert_eq!(
            error(json!({"search": "brave"})),
            "web.search must be an object of provider, base_url, api_key, has_key, not a string"
        );
        assert_eq!(
            error(json!({"allowed_domains": "example.com"})),
            r#"web.allowed_domains must be a list of domains, such as "example.com", not "example.com""#
        );
        assert!(error(json!({"allowed_domains": []})).contains("is empty"));
        let wrong_key = error(json!({"search": {"provider": "brave", "api_key": ["hush"]}}));
        assert_eq!(wrong_key, "web.search.api_key must be a string, not a list");
        assert!(error(json!({"search": {"provider": "searxng"}})).contains("needs a base_url"));
        assert!(error(json!({"search": {"provider": "tavily"}})).contains("needs an api_key"));
        assert!(error(json!({"search": {"provider": "searxng", "base_url": "ftp://x"}})).contains("ftp://x"));
        assert_eq!(
            error(json!({"search": {"provider": "google"}})),
            r#"web.search.provider must be "searxng", "brave" or "tavily", not "google""#
        );
        assert!(error(json!({"search": {}})).contains("web.search.provider is missing"));
    }

    #[test]
    fn a_key_is_never_printed() {
        let settings = json!({"search": {"provider": "brave", "api_key": "hush-hush"}});
        let settings: WebSettings = serde_json::from_value(settings).unwrap();
        assert!(!format!("{settings:?}").contains("hush"));
    }
}
