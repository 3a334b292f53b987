//! Lists of domains: `example.com` covers itself and its subdomains.

use serde::Deserialize;
use url::{Host, Url};

/// A list of domains in canonical form: lower case, internationalized names in ASCII (punycode).
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Vec<String>")]
pub struct Domains(Vec<String>);

impl Domains {
    /// Parses a list.
    ///
    /// # Errors
    /// The first text that is not a host name or address, with what to write instead.
    pub fn parse(texts: &[String]) -> Result<Self, String> {
        texts.iter().map(|text| domain(text)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entry that covers a URL's host.
    pub fn covering(&self, url: &Url) -> Option<&str> {
        let host = canonical(url.host()?);
        let covers = |entry: &&String| host == **entry || host.ends_with(&format!(".{entry}"));
        self.0.iter().find(covers).map(String::as_str)
    }

    /// Every entry.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

/// Whether a URL is http or https and has a host.
pub fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") && url.has_host()
}

impl TryFrom<Vec<String>> for Domains {
    type Error = String;

    fn try_from(texts: Vec<String>) -> Result<Self, String> {
        Self::parse(&texts)
    }
}

/// Entries are names, not patterns; no scheme, port or path.
fn domain(text: &str) -> Result<String, String> {
    let wrong = || format!("{text:?} is not a domain; write example.com, which covers its subdomains too");
    let host = Host::parse(text.trim()).map_err(|_| wrong())?;
    let name = canonical(host.clone());
    let is_name = matches!(host, Host::Domain(_));
    // RFC 1035, section 2.3.4.
    let is_label = |label: &str| (1..=63).contains(&label.len());
    let is_host = name.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    match name.is_empty() || (is_name && !(is_host && name.split('.').all(is_label))) {
        true => Err(wrong()),
        false => Ok(name),
    }
}

/// A trailing dot does not change the host, so it is removed.
fn canonical<S: AsRef<str>>(host: Host<S>) -> String {
    match host {
        Host::Domain(name) => name.as_ref().trim_end_matches('.').to_ascii_lowercase(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_canonical().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(entry: &str, url: &str) -> bool {
        let domains = Domains::parse(&[entry.to_owned()]).unwrap();
        domains.covering(&Url::parse(url).unwrap()).is_some()
    }

    #[test]
    fn a_domain_covers_itself_and_what_is_below_it() {
        assert!(covers("example.com", "https://example.com/x"));
        assert!(covers("example.com", "https://a.b.example.com:8443"));
        assert!(!covers("example.com", "https://badexample.com"));
        assert!(!covers("www.example.com", "https://example.com"));
    }

    #[test]
    fn spelling_makes_no_difference() {
        assert!(covers("example.com", "https://EXAMPLE.com./"));
        assert!(covers("Bücher.example", "https://xn--bcher-kva.example/"));
        assert!(covers("127.0.0.1", "http://2130706433/"));
        assert!(covers("127.0.0.1", "http://[::ffff:127.0.0.1]/"));
    }

    #[test]
    fn what_is_no_domain_is_an_error_that_says_what_to_write() {
        for bad in ["https://example.com", "example.com/x", "*.example.com", "", ".", "a b"] {
            let error = Domains::parse(&[bad.to_owned()]).unwrap_err();
            assert!(error.contains("write example.com"), "{bad}: {error}");
        }
    }
}
