//! Refuses URLs and addresses that must not be reached (protection against SSRF).
//!
//! Checked twice for every request and redirect: the URL as written, before anything else ([`AddressGuard::admit`]),
//! and the socket address at the moment of connecting ([`AddressGuard::check`]). The second check catches DNS rebinding
//! and unusual spellings of addresses.

use super::address::not_public;
use super::advice::{self, Advice};
use beamai_base::{Domains, HostHint, Reason, Result, ToolError, domain::is_web, excerpt};
use beamai_tool::WebSettings;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use url::{Host, Url};

/// What may be reached.
#[derive(Debug, Clone)]
pub(crate) struct AddressGuard {
    allow_addresses: Vec<SocketAddr>,
    allowed_domains: Domains,
    blocked_domains: Domains,
    trusts_addresses: bool,
    pub(super) advice: &'static Advice,
}

/// Only public addresses.
impl Default for AddressGuard {
    fn default() -> Self {
        Self {
            allow_addresses: Vec::new(),
            allowed_domains: Domains::default(),
            blocked_domains: Domains::default(),
            trusts_addresses: false,
            advice: &advice::FETCH,
        }
    }
}

impl AddressGuard {
    /// For URLs that a caller chooses.
    pub(crate) fn of(settings: &WebSettings) -> Self {
        Self {
            allow_addresses: settings.allow_addresses.clone(),
            allowed_domains: settings.allowed_domains.clone(),
            blocked_domains: settings.blocked_domains.clone(),
            ..Self::default()
        }
    }

    /// For connections of commands: public addresses, and those in `allowed`.
    pub(crate) fn for_commands(allowed: &[SocketAddr]) -> Self {
        Self { allow_addresses: allowed.to_vec(), advice: &advice::COMMAND, ..Self::default() }
    }

    /// For one address from the host's own settings, private or not. Redirects must not be followed under it.
    pub(crate) fn for_own_server() -> Self {
        Self { trusts_addresses: true, ..Self::default() }
    }

    /// For the URL of an MCP server, as a person wrote it. A literal private address is allowed, because that
    /// person chose it. A host name must resolve to a public address, because others may control its DNS.
    pub(crate) fn for_mcp_server(url: &Url, allowed: &[SocketAddr]) -> Self {
        let allow_addresses = allowed.iter().copied().chain(written(url)).collect();
        Self { allow_addresses, advice: &advice::MCP, ..Self::default() }
    }

    /// Checks a URL before anything is resolved.
    ///
    /// # Errors
    /// `denied`, with the reason.
    pub(crate) fn admit(&self, url: &Url) -> Result<()> {
        if !is_web(url) {
            let message = format!("{} is refused: only http and https can be fetched", excerpt(url.as_str()));
            return Err(refusal(url, message));
        }
        if let Some(entry) = self.blocked_domains.covering(url) {
            let message = format!(
                "{} is refused: {entry} is blocked here; look for another source",
                excerpt(url.as_str())
            );
            return Err(refusal(url, message).with("matched_rule", format!("blocked_domains: {entry}")));
        }
        if !self.allowed_domains.is_empty() && self.allowed_domains.covering(url).is_none() {
            let allowed = self.allowed_domains.iter().collect::<Vec<_>>().join(", ");
            let message = format!(
                "{} is refused: only these domains are allowed here: {allowed}",
                excerpt(url.as_str())
            );
            return Err(refusal(url, message).with("matched_rule", format!("allowed_domains: {allowed}")));
        }
        match literal(url) {
            Some(address) => self.check(address).map_err(|why| self.refused(url, &[(address, why)])),
            None => Ok(()),
        }
    }

    /// Checks a socket address.
    ///
    /// # Errors
    /// The kind of the address, if it is refused.
    pub(crate) fn check(&self, address: SocketAddr) -> Result<(), &'static str> {
        match not_public(address.ip()) {
            Some(why) if !self.trusts_addresses && !self.is_allowed(address) => Err(why),
            _ => Ok(()),
        }
    }

    /// An allowed IPv4 address is also allowed in its IPv4-mapped IPv6 form.
    fn is_allowed(&self, address: SocketAddr) -> bool {
        let same = |allowed: &SocketAddr| {
            allowed.ip().to_canonical() == address.ip().to_canonical() && allowed.port() == address.port()
        };
        self.allow_addresses.iter().any(same)
    }

    /// The error for a host all of whose addresses are refused.
    pub(crate) fn refused(&self, url: &Url, addresses: &[(SocketAddr, &'static str)]) -> ToolError {
        let shown = |(address, why): &(SocketAddr, &str)| format!("{address}, {why}");
        let places = addresses.iter().map(shown).collect::<Vec<_>>().join("; ");
        let message =
            format!("{} is refused: it leads to {places}. {}", excerpt(url.as_str()), self.advice.address);
        let addresses: Vec<String> = addresses.iter().map(|(address, _)| address.to_string()).collect();
        let first = addresses.first().map_or("IP:PORT", String::as_str);
        let [erlang, command_line] = self.advice.admitted_by.map(|hint| hint.replace("ADDRESS", first));
        refusal(url, message).with("addresses", addresses.clone()).hint(HostHint::new(erlang, command_line))
    }
}

/// The socket address of a URL whose host is an IP literal.
pub(crate) fn literal(url: &Url) -> Option<SocketAddr> {
    let ip = match url.host()? {
        Host::Domain(_) => return None,
        Host::Ipv4(ip) => IpAddr::V4(ip),
        Host::Ipv6(ip) => IpAddr::V6(ip),
    };
    Some(SocketAddr::new(ip, url.port_or_known_default()?))
}

/// The socket addresses that a URL means without a name lookup.
fn written(url: &Url) -> Vec<SocketAddr> {
    match (is_localhost(url), url.port_or_known_default()) {
        (true, Some(port)) => {
            let both = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
            both.map(|ip| SocketAddr::new(ip, port)).into()
        }
        _ => literal(url).into_iter().collect(),
    }
}

/// Whether the URL's host is a name for this machine.
pub fn is_localhost(url: &Url) -> bool {
    url.host_str().is_some_and(|host| host.trim_end_matches('.').eq_ignore_ascii_case("localhost"))
}

fn refusal(url: &Url, message: String) -> ToolError {
    ToolError::new(Reason::Denied, message).with("url", url.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn guard(settings: serde_json::Value) -> AddressGuard {
        AddressGuard::of(&serde_json::from_value(settings).unwrap())
    }

    fn admits(guard: &AddressGuard, url: &str) -> bool {
        guard.admit(&Url::parse(url).unwrap()).is_ok()
    }

    #[test]
    fn an_allowed_address_is_one_port_and_no_other() {
        let guard = guard(json!({"allow_addresses": ["127.0.0.1:8080"]}));
        assert!(admits(&guard, "http://127.0.0.1:8080/"));
        assert!(admits(&guard, "http://2130706433:8080/"));
        assert!(admits(&guard, "http://[::ffff:127.0.0.1]:8080/"));
        assert!(!admits(&guard, "http://127.0.0.1:8081/"));
        assert!(!admits(&guard, "http://127.0.0.2:8080/"));
        assert!(!admits(&guard, "http://[::1]:8080/"));
    }

    #[test]
    fn lists_of_domains_hold_and_a_block_beats_an_allowance() {
        let guard =
            guard(json!({"allowed_domains": ["example.com"], "blocked_domains": ["evil.example.com"]}));
        assert!(admits(&guard, "https://www.example.com/"));
        assert!(!admits(&guard, "https://example.org/"));
        assert!(!admits(&guard, "https://a.evil.example.com./"));
        assert!(!admits(&guard, "https://93.184.216.34/"));
    }

    #[test]
    fn a_refusal_says_what_the_address_is_and_how_it_is_allowed() {
        let url = Url::parse("http://169.254.169.254/latest").unwrap();
        let error = AddressGuard::default().admit(&url).unwrap_err();
        assert_eq!(error.reason, Reason::Denied);
        assert!(error.message.contains("link-local"), "{error}");
        let told = error.clone().in_terms(beamai_base::HostTerms::CommandLine).message;
        assert!(
            !error.message.contains("llow") && told.ends_with("--allow-address 169.254.169.254:80"),
            "{told}"
        );
        assert!(
            error
                .clone()
                .in_terms(beamai_base::HostTerms::Erlang)
                .message
                .contains("web => #{allow_addresses")
        );
        assert_eq!(error.details["addresses"], json!(["169.254.169.254:80"]));
    }
}
