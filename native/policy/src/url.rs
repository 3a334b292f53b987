//! Patterns of addresses: `domain:example.com`, or a glob over the address.

use beamai_base::Domains;
use globset::{GlobBuilder, GlobMatcher};
use url::Url;

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) enum UrlPattern {
    /// A domain and its subdomains.
    Domain(Domains),
    /// A glob; without wildcards, this address.
    Glob(GlobMatcher),
}

impl UrlPattern {
    /// # Errors
    /// The problem, as the end of a sentence.
    pub(super) fn new(text: &str) -> Result<Self, String> {
        if let Some(domain) = text.strip_prefix("domain:") {
            return Domains::parse(&[domain.to_owned()]).map(Self::Domain);
        }
        if !text.starts_with("http://") && !text.starts_with("https://") {
            return Err("write domain:example.com, or an address that begins with http:// or https://".into());
        }
        if let Some(host) = text.split('/').nth(2).filter(|host| host.contains(['*', '?', '[', '{'])) {
            return Err(format!("{host:?} has wildcards in the name of the host; write domain:example.com"));
        }
        let glob = GlobBuilder::new(&spelled(text)).literal_separator(false).build();
        Ok(Self::Glob(glob.map_err(|error| error.kind().to_string())?.compile_matcher()))
    }

    /// Whether the pattern matches an address.
    pub(super) fn matches(&self, address: &str) -> bool {
        match self {
            Self::Domain(domains) => Url::parse(address).is_ok_and(|url| domains.covering(&url).is_some()),
            Self::Glob(glob) => glob.is_match(plainly(address)),
        }
    }
}

/// An address without unnecessary percent escapes: servers treat escaped and plain characters alike.
fn plainly(address: &str) -> String {
    let mut parts = address.split('%');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code.filter(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(byte)) {
            Some(byte) => {
                plain.push(char::from(byte));
                plain.push_str(&part[2..]);
            }
            None => {
                plain.push('%');
                plain.push_str(part);
            }
        }
    }
    plain
}

/// The pattern with its host in the form that parsed addresses have.
fn spelled(text: &str) -> String {
    match text.splitn(4, '/').collect::<Vec<_>>()[..] {
        [scheme, "", host] => format!("{scheme}//{}/", host.to_lowercase()),
        [scheme, "", host, path] => format!("{scheme}//{}/{path}", host.to_lowercase()),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, address: &str) -> bool {
        UrlPattern::new(pattern).unwrap().matches(address)
    }

    #[test]
    fn a_domain_covers_what_is_below_it_and_nothing_that_looks_like_it() {
        assert!(matches("domain:github.com", "https://github.com/a"));
        assert!(matches("domain:github.com", "http://api.github.com:8080/"));
        assert!(!matches("domain:github.com", "https://github.com.evil.example/"));
        assert!(!matches("domain:github.com", "https://evilgithub.com/"));
    }

    #[test]
    fn an_address_may_have_wildcards_behind_its_host() {
        assert!(matches("https://Go.dev/doc/*", "https://go.dev/doc/effective_go"));
        assert!(
            matches("https://go.dev", "https://go.dev/") && !matches("https://go.dev", "https://go.dev/x")
        );
        assert!(!matches("https://go.dev/*", "http://go.dev/"));
        assert!(
            matches("https://go.dev/x", "https://go.dev/%78")
                && !matches("https://go.dev/x", "https://go.dev/%2x")
        );
    }

    #[test]
    fn a_pattern_that_means_nothing_says_what_is_accepted() {
        assert!(UrlPattern::new("github.com").unwrap_err().contains("domain:example.com"));
        assert!(UrlPattern::new("https://*.com/").unwrap_err().contains("wildcards"));
        assert!(UrlPattern::new("domain:a b").unwrap_err().contains("not a domain"));
    }
}
