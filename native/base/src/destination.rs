//! Destinations of connections, and the patterns that allow or deny them.

use std::fmt;
use std::net::IpAddr;
use url::{Host, Url};

/// Maximum length of a DNS name, in characters.
const LONGEST_NAME: usize = 253;

/// A host and a port, in canonical form: names in lower case, in ASCII (punycode) and without a trailing dot; addresses
/// parsed, including forms such as `0x7f000001` or `127.1`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Destination {
    host: Host<String>,
    port: u16,
}

impl Destination {
    /// Parses a host. `None` for anything but a name or an address, such as `user@example.com`.
    pub fn new(host: &str, port: u16) -> Option<Self> {
        let host = match Host::parse(host).ok()? {
            Host::Domain(name) => named(&name)?,
            Host::Ipv6(address) => return Some(Self::at(address.into(), port)),
            address @ Host::Ipv4(_) => address,
        };
        Some(Self { host, port })
    }

    /// The destination of an address. IPv4-mapped IPv6 addresses become IPv4.
    pub fn at(address: IpAddr, port: u16) -> Self {
        let host = match address.to_canonical() {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        };
        Self { host, port }
    }

    /// Parses `example.com:443`, `[::1]:443`; without a port, `default_port` is used.
    pub fn parse(text: &str, default_port: Option<u16>) -> Option<Self> {
        let (host, port) = split(text)?;
        Self::new(host, port.or(default_port)?)
    }

    /// Whether it is an address rather than a name.
    pub fn is_address(&self) -> bool {
        !matches!(self.host, Host::Domain(_))
    }

    /// The host without the port, an IPv6 address in brackets.
    pub fn host(&self) -> String {
        self.host.to_string()
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// An https URL of the destination, for code that takes URLs. `None` if the host is not valid in a URL.
    pub fn url(&self) -> Option<Url> {
        Url::parse(&format!("https://{self}/")).ok()
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

fn named(name: &str) -> Option<Host<String>> {
    let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
    let is_label = |label: &str| {
        !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    (name.len() <= LONGEST_NAME && name.split('.').all(is_label)).then_some(Host::Domain(name))
}

/// Splits host and port. A colon within brackets is part of an address.
fn split(text: &str) -> Option<(&str, Option<u16>)> {
    let end = text.rfind(']').map_or(0, |at| at + 1);
    match text[end..].split_once(':') {
        None => Some((text, None)),
        Some((rest, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some((&text[..end + rest.len()], Some(port.parse().ok().filter(|port| *port > 0)?)))
        }
        Some(_) => None,
    }
}

/// A set of hosts, optionally limited to one port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPattern {
    hosts: HostSet,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum HostSet {
    /// Every name, but no address.
    EveryName,
    One(Host<String>),
    Below(String),
    Domain(String),
}

impl HostPattern {
    /// Parses `example.com`, `*.example.com` for its subdomains, `*` for every name, or an address; each optionally with
    /// a port, as in `example.com:443`.
    ///
    /// # Errors
    /// What is wrong with the text and what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        Self::read(text, HostSet::One).ok_or_else(|| {
            format!(
                "{text:?} is not the name of a host; write example.com, *.example.com, * or an address, each with a port \
                 where only that is meant (example.com:443)"
            )
        })
    }

    /// Parses a domain, which covers its subdomains too, or an address; optionally with a port.
    ///
    /// # Errors
    /// What is wrong with the text and what to write.
    pub fn domain(text: &str) -> Result<Self, String> {
        let domain = |host| match host {
            Host::Domain(name) => HostSet::Domain(name),
            address => HostSet::One(address),
        };
        Self::read(text, domain).filter(|_| !text.contains('*')).ok_or_else(|| {
            format!("{text:?} is not a domain; write example.com, which covers its subdomains too, or example.com:443")
        })
    }

    fn read(text: &str, plain: impl Fn(Host<String>) -> HostSet) -> Option<Self> {
        let (host, port) = split(text)?;
        let host = match (host, host.strip_prefix("*.")) {
            ("*", _) => HostSet::EveryName,
            (_, Some(above)) => match Destination::new(above, 1)?.host {
                Host::Domain(name) => HostSet::Below(name),
                _ => return None,
            },
            _ => plain(Destination::new(host, 1)?.host),
        };
        Some(Self { hosts: host, port })
    }

    /// Whether it includes this destination.
    pub fn covers(&self, to: &Destination) -> bool {
        let is_below =
            |above: &str, name: &str| name.strip_suffix(above).is_some_and(|rest| rest.ends_with('.'));
        let is_host = match (&self.hosts, &to.host) {
            (HostSet::EveryName, host) => matches!(host, Host::Domain(_)),
            (HostSet::One(one), host) => one == host,
            (HostSet::Below(above), Host::Domain(name)) => is_below(above, name),
            (HostSet::Domain(domain), Host::Domain(name)) => name == domain || is_below(domain, name),
            (HostSet::Below(_) | HostSet::Domain(_), _) => false,
        };
        is_host && self.port.is_none_or(|port| port == to.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn to(text: &str) -> Destination {
        Destination::parse(text, None).unwrap_or_else(|| panic!("{text} is no destination"))
    }

    #[test]
    fn however_a_host_is_spelled_it_is_one() {
        for text in ["EXAMPLE.com:443", "example.com.:443", "exa%6Dple.com:443", "ｅxample.com:443"] {
            assert_eq!(to(text).to_string(), "example.com:443", "{text}");
        }
        for text in
            ["127.0.0.1:80", "2130706433:80", "0x7f000001:80", "0177.0.0.1:80", "127.1:80", "127.0.0.1.:80"]
        {
            assert_eq!(to(text).to_string(), "127.0.0.1:80", "{text}");
            assert!(to(text).is_address());
        }
        assert_eq!(to("[::ffff:127.0.0.1]:80").to_string(), "127.0.0.1:80");
        assert_eq!(to("[::1]:80").to_string(), "[::1]:80");
    }

    #[test]
    fn what_is_no_host_is_none() {
        for text in [
            "user@example.com:443",
            "example.com:443@evil.example:80",
            "example.com",
            "example.com:",
            "example.com:0",
            "example.com:65536",
            "example.com:+80",
            "a..b:80",
            ".:80",
            "..:80",
            ":80",
            "a b:80",
            "a/b:80",
            "a#b:80",
            "a\\b:80",
            "::1:80",
            "*.example.com:80",
        ] {
            assert_eq!(Destination::parse(text, None), None, "{text}");
        }
        assert_eq!(Destination::new(&"a.".repeat(200), 80), None);
    }

    #[test]
    fn a_listed_name_is_that_host_and_a_star_what_lies_below() {
        let covers = |pattern: &str, text: &str| HostPattern::parse(pattern).unwrap().covers(&to(text));
        assert!(covers("example.com", "example.com:80") && covers("Example.COM.", "example.com:443"));
        assert!(
            !covers("example.com", "www.example.com:443") && !covers("example.com", "badexample.com:443")
        );
        assert!(covers("*.example.org:443", "a.b.example.org:443"));
        assert!(!covers("*.example.org:443", "a.example.org:80"));
        assert!(
            !covers("*.example.org", "example.org:443") && !covers("*.example.org", "badexample.org:443")
        );
        assert!(covers("*", "example.org:443") && !covers("*:443", "example.org:80"));
        assert!(!covers("*", "1.1.1.1:443") && !covers("*.example", "127.0.0.1:80"));
        assert!(covers("1.1.1.1", "1.1.1.1:443") && covers("[::1]:80", "[::1]:80"));
        for bad in ["", "https://example.com", "a.*.com", "*com", "example.com/x", "a b", "*.1.1.1.1", "*.1"]
        {
            assert!(HostPattern::parse(bad).unwrap_err().contains("write example.com"), "{bad}");
        }
    }

    #[test]
    fn a_domain_covers_what_is_below_it() {
        let covers = |pattern: &str, text: &str| HostPattern::domain(pattern).unwrap().covers(&to(text));
        assert!(covers("example.com", "example.com:1") && covers("example.com", "a.example.com:443"));
        assert!(!covers("example.com", "badexample.com:443") && !covers("example.com:443", "example.com:80"));
        for bad in ["*.example.com", "*", ""] {
            assert!(HostPattern::domain(bad).unwrap_err().contains("write example.com"), "{bad}");
        }
    }
}
