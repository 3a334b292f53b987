//! The host's settings for the network, as plain data.

use beamai_base::{Domains, Secret};
use serde::{Deserialize, Deserializer};
use std::net::SocketAddr;

/// What tools may reach on the network. By default every public address, and no search engine.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSettings {
    /// Addresses that may be reached although they are not public, as `IP:PORT`.
    #[serde(deserialize_with = "addresses")]
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

impl WebSettings {
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
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "SearchText")]
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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SearchText {
    provider: SearchProvider,
    #[serde(default)]
    base_url: Option<String>,
    #[serde(default)]
    api_key: Option<Secret>,
    /// Whether the key comes with each call instead, so that a host does not store it with its settings.
    #[serde(default)]
    has_key: bool,
}

impl TryFrom<SearchText> for SearchSettings {
    type Error = String;

    fn try_from(text: SearchText) -> Result<Self, String> {
        let SearchText { provider, base_url, api_key, has_key } = text;
        let name = provider.as_str();
        if let Some(base) = &base_url {
            checked_base(base)?;
        }
        match provider {
            SearchProvider::Searxng if base_url.is_none() => {
                Err(format!("search provider {name} needs a base_url, such as http://127.0.0.1:8888"))
            }
            SearchProvider::Brave | SearchProvider::Tavily if api_key.is_none() && !has_key => {
                Err(format!("search provider {name} needs an api_key"))
            }
            _ => Ok(Self { provider, base_url, api_key }),
        }
    }
}

fn checked_base(base: &str) -> Result<(), String> {
    match url::Url::parse(base) {
        Ok(url) if ["http", "https"].contains(&url.scheme()) => Ok(()),
        _ => Err(format!("base_url {base:?} is not an http or https address")),
    }
}

/// Deserializes a list of [addresses](address).
pub fn addresses<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<SocketAddr>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    texts.iter().map(|text| address(text)).collect::<Result<_, _>>().map_err(serde::de::Error::custom)
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
    fn mistakes_are_errors_at_load_that_name_the_value() {
        assert!(
            error(json!({"allow_addresses": ["localhost:80"]}))
                .contains("\"localhost:80\" is not an address")
        );
        assert!(error(json!({"blocked_domains": ["https://x.org"]})).contains("https://x.org"));
        assert!(error(json!({"allow_address": []})).contains("unknown field"));
        assert!(error(json!({"search": {"provider": "searxng"}})).contains("needs a base_url"));
        assert!(error(json!({"search": {"provider": "tavily"}})).contains("needs an api_key"));
        assert!(error(json!({"search": {"provider": "searxng", "base_url": "ftp://x"}})).contains("ftp://x"));
        assert!(error(json!({"search": {"provider": "google"}})).contains("google"));
    }

    #[test]
    fn a_key_is_never_printed() {
        let settings = json!({"search": {"provider": "brave", "api_key": "hush-hush"}});
        let settings: WebSettings = serde_json::from_value(settings).unwrap();
        assert!(!format!("{settings:?}").contains("hush"));
    }
}
