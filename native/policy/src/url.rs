//! Patterns of addresses: `domain:example.com`, or a glob over the address.

use beamai_base::Domains;
use globset::{GlobBuilder, GlobMatcher};
use url::{Host, Url};

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
        if [" http", ",http", ";http", "|http", "\n", "\t"].iter().any(|next| text.contains(next)) {
            return Err(
                "a rule is about one address, or those that a glob matches; write one rule for each".into()
            );
        }
        if text.contains("/^") || text.ends_with('$') || text.ends_with(":*") || text.contains("/$") {
            return Err("regular expressions and variables are not understood; write a glob, as in https://example.com/doc/*, and %5E, \
                        %24 or %3A for a mark that is meant"
                .into());
        }
        if let Some(host) = text
            .split('/')
            .nth(2)
            .filter(|host| host.contains(['*', '?', '{', '\\']) || host.find('[') > Some(0))
        {
            return Err(format!(
                "{host:?} has wildcards or a backslash in the name of the host; write domain:example.com"
            ));
        }
        let glob = GlobBuilder::new(&spelled(text)?).literal_separator(false).build();
        Ok(Self::Glob(glob.map_err(|error| error.kind().to_string())?.compile_matcher()))
    }

    /// Whether the pattern matches an address.
    pub(super) fn matches(&self, address: &str) -> bool {
        match self {
            Self::Domain(domains) => Url::parse(address).is_ok_and(|url| domains.covering(&url).is_some()),
            Self::Glob(glob) => Url::parse(address).is_ok_and(|url| glob.is_match(requested(&url))),
        }
    }
}

/// The path and query of an address, or of a pattern for some, as in any other spelling of it. As in RFC 3986, section
/// 6.2.2, letters, digits and `-._~` have no escapes, what addresses cannot contain has them, and their digits are
/// upper case. What most servers take for the same is the same, too: other characters with and without their escapes,
/// and `//` and `/` in a path.
fn normal(text: &str, is_pattern: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut in_query = false;
    while let Some(first) = rest.chars().next() {
        let code = rest.strip_prefix('%').and_then(|code| u8::from_str_radix(code.get(..2)?, 16).ok());
        rest = &rest[if code.is_some() { 3 } else { first.len_utf8() }..];
        match code {
            Some(byte) if keeps_escape(byte, in_query) => out.push_str(&format!("%{byte:02X}")),
            Some(byte) => push(char::from(byte), is_pattern, &mut out),
            None if first == '/' && !in_query && out.ends_with('/') => {}
            None => push(first, false, &mut out),
        }
        in_query |= first == '?';
    }
    out
}

/// Whether the escape of a byte means something else than the byte.
fn keeps_escape(byte: u8, in_query: bool) -> bool {
    !byte.is_ascii_graphic() || if in_query { "&=+#%" } else { "/?#%" }.contains(char::from(byte))
}

/// Adds a character, with an escape if addresses cannot contain it. In a pattern it stands for itself.
fn push(char: char, in_pattern: bool, out: &mut String) {
    if char.is_ascii_graphic() && !"\"<>`'|^".contains(char) {
        out.extend((in_pattern && "*?[]{},\\".contains(char)).then_some('\\'));
        out.push(char);
    } else {
        char.encode_utf8(&mut [0; 4]).bytes().for_each(|byte| out.push_str(&format!("%{byte:02X}")));
    }
}

/// The pattern in the form that parsed addresses have.
///
/// # Errors
/// The problem, as the end of a sentence.
fn spelled(text: &str) -> Result<String, String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let server = Url::parse(&format!("{scheme}://{host}/")).map_err(|error| format!("{host:?}: {error}"))?;
    if !server.username().is_empty() || server.password().is_some() {
        return Err("user names and passwords are not compared; write the address without them".into());
    }
    if path.split(['/', '?', '#']).any(|name| matches!(&*normal(name, true), "." | "..")) {
        return Err("addresses are requested without the names . and ..; write what they lead to".into());
    }
    let path = path.split('#').next().unwrap_or_default();
    Ok(globset::escape(&origin(&server)) + &normal(&format!("/{path}"), true))
}

/// What a client sends of an address: everything but the fragment.
fn requested(url: &Url) -> String {
    let query =
        url.query().filter(|query| !query.is_empty()).map(|query| format!("?{query}")).unwrap_or_default();
    format!("{}{}", origin(url), normal(&format!("{}{query}", url.path()), false))
}

/// Scheme, host and port. A name is without the dot of the root, and an IPv4 address mapped to IPv6 is itself.
fn origin(url: &Url) -> String {
    let host = match url.host() {
        Some(Host::Ipv6(address)) => match address.to_ipv4_mapped() {
            Some(address) => address.to_string(),
            None => format!("[{address}]"),
        },
        Some(host) => host.to_string().trim_end_matches('.').to_owned(),
        None => String::new(),
    };
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{}://{host}{port}", url.scheme())
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
    fn each_spelling_of_an_address_is_the_same() {
        for (pattern, address) in [
            ("é", "é"),
            ("é*", "%c3%a9x"),
            ("%C3%a9", "é"),
            ("a b", "a%20b"),
            ("a%20b", "a b"),
            ("a%2fb", "a%2Fb"),
            ("%70riv/*", "priv/x"),
            ("~u/*", "%7Eu/x"),
            ("a\"b", "a\"b"),
            ("x\\?q=é'", "x?q=é'"),
            ("a|b^", "a|b^"),
        ] {
            let parsed = Url::parse(&format!("https://go.dev/{address}")).unwrap();
            assert!(matches(&format!("https://go.dev/{pattern}"), parsed.as_str()), "{pattern} {parsed}");
        }
        for char in "!$&'()+,:;=@".chars() {
            let escaped = format!("%{:02x}", u32::from(char));
            for (pattern, address) in [(char.to_string(), &escaped), (escaped.clone(), &char.to_string())] {
                let address = format!("https://go.dev/a{address}b/x");
                assert!(matches(&format!("https://go.dev/a{pattern}b/*"), &address), "{pattern} {address}");
            }
        }
        for (pattern, address) in [
            ("a%2A", "a*"),
            ("a%5b%5D", "a[]"),
            ("a\\*", "a%2a"),
            ("x\\?q=%3a/", "x?q=:%2F"),
            ("a/*", "/a//b"),
            ("a/{b,c//d}", "a/c/d"),
            ("x\\?u=a//b", "x?u=a//b"),
        ] {
            assert!(
                matches(&format!("https://go.dev/{pattern}"), &format!("https://go.dev/{address}")),
                "{pattern}"
            );
        }
        for (pattern, address) in [
            ("a/b", "a%2Fb"),
            ("a%2A", "ab"),
            ("a%3Fb", "a?b"),
            ("x\\?a&b=c", "x?a%26b=c"),
            ("x\\?a=%2b", "x?a=+"),
            ("x\\?u=a/b", "x?u=a//b"),
            ("a/b", "a%2F/b"),
        ] {
            assert!(
                !matches(&format!("https://go.dev/{pattern}"), &format!("https://go.dev/{address}")),
                "{pattern}"
            );
        }
        for (pattern, address) in [
            ("http://127.0.0.1:80/x", "http://[::ffff:127.0.0.1]/x"),
            ("http://[::ffff:7f00:1]:8/x", "http://127.1:8/x"),
            ("http://[::1]:8/x", "http://[0::1]:8/x"),
        ] {
            assert!(matches(pattern, Url::parse(address).unwrap().as_str()), "{pattern}");
        }
        assert!(!matches("http://[::1]/x", "http://127.0.0.1/x"));
        assert!(matches("https://BÜCHER.example:443/x", "https://xn--bcher-kva.example/x"));
        for (pattern, address) in
            [("x", "x#f"), ("*.pem", "a.pem#f"), ("x\\?k=1", "x?k=1#z"), ("x#f", "x"), ("x", "x?")]
        {
            assert!(
                matches(&format!("https://go.dev/{pattern}"), &format!("https://go.dev/{address}")),
                "{pattern}"
            );
        }
        assert!(
            matches("https://go.dev/x", "https://go.dev./x")
                && matches("https://go.dev.:8/x", "https://go.dev:8/x")
        );
        for path in ["x/../y", "./y", "%2e%2E/y"] {
            assert!(
                UrlPattern::new(&format!("https://go.dev/{path}")).unwrap_err().contains("lead to"),
                "{path}"
            );
        }
        assert!(UrlPattern::new("https://me@go.dev/x").unwrap_err().contains("without them"));
    }

    #[test]
    fn a_pattern_that_means_nothing_says_what_is_accepted() {
        assert!(UrlPattern::new("github.com").unwrap_err().contains("domain:example.com"));
        assert!(UrlPattern::new("https://*.com/").unwrap_err().contains("wildcards"));
        assert!(UrlPattern::new("domain:a b").unwrap_err().contains("not a domain"));
    }
}
