//! Environment variables for programs with network access: writable caches, the proxy, and the authorities to trust.

use crate::layers::{AUTHORITIES, PROXY};
use beamai_isolation::{SandboxMode, SandboxSettings};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

type Variable = (OsString, OsString);

/// Caches of package managers: the variable that sets the directory, its default below the home directory, and its name
/// in the session's cache.
///
/// Only set if there is network access: without it, only packages that were downloaded earlier are available, and they
/// are in the home directory.
const CACHES: [(&str, &str, &str); 6] = [
    ("npm_config_cache", ".npm", "npm"),
    ("PIP_CACHE_DIR", ".cache/pip", "pip"),
    ("CARGO_HOME", ".cargo", "cargo"),
    ("GOPATH", "go", "go"),
    ("GOMODCACHE", "go/pkg/mod", "go/pkg/mod"),
    ("GOCACHE", ".cache/go-build", "go-build"),
];

/// Variables that name a file with the authorities to trust: OpenSSL (and with it Python, Ruby and Go, which read the
/// same variable), curl, git, pip, requests, cargo, npm, and Node.js and Deno, which add it to their own.
const TRUST: [&str; 9] = [
    "SSL_CERT_FILE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
    "REQUESTS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "npm_config_cafile",
    "NODE_EXTRA_CA_CERTS",
    "DENO_CERT",
];

/// Loopback addresses are local to the command.
const NOT_PROXIED: &str = "localhost,127.0.0.1,::1";

/// The variables of a command with network access, unrestricted or by name. `temp` is the session's temporary
/// directory.
pub fn network_environment(temp: Option<&Path>, sandbox: &SandboxSettings, by_name: bool) -> Vec<Variable> {
    let mut all = Vec::new();
    if by_name || sandbox.network.is_all() {
        all.extend(caches(temp, sandbox));
    }
    if by_name {
        all.extend(proxies());
        if sandbox.credentials.has_encrypted() {
            all.extend(TRUST.map(|name| (name.into(), AUTHORITIES.into())));
        }
    }
    all
}

/// If layers may be missing, `/tmp` might be shared with other users.
fn caches(temp: Option<&Path>, sandbox: &SandboxSettings) -> Vec<Variable> {
    let private = match sandbox.mode {
        SandboxMode::Off => None,
        SandboxMode::BestEffort => temp,
        SandboxMode::Required => temp.or(Some(Path::new("/tmp"))),
    };
    let Some(cache) = private.map(|place| place.join(".cache")) else { return Vec::new() };
    let home = std::env::home_dir().unwrap_or_default();
    let is_redirected = |(name, usual, _): &&(&str, &str, &str)| {
        let is_given = sandbox.env.iter().any(|given| given == name);
        let is_writable = |path: &String| home.join(usual).starts_with(PathBuf::from(path));
        !is_given && !sandbox.writable.iter().any(is_writable)
    };
    let redirected = CACHES.iter().filter(is_redirected);
    let mut all: Vec<Variable> =
        redirected.map(|(name, _, own)| (OsString::from(*name), cache.join(own).into())).collect();
    if all.iter().any(|(name, _)| name == "GOMODCACHE") {
        // Otherwise go creates read-only files, which cannot be removed with the session.
        all.push(("GOFLAGS".into(), "-modcacherw".into()));
    }
    all
}

/// The variables by which programs find a proxy. curl reads `http_proxy` in lower case only, others read both.
fn proxies() -> Vec<Variable> {
    let http = format!("http://{PROXY}");
    // Names are resolved by the proxy.
    let socks = format!("socks5h://{PROXY}");
    let named =
        [("HTTP_PROXY", &*http), ("HTTPS_PROXY", &http), ("ALL_PROXY", &socks), ("NO_PROXY", NOT_PROXIED)];
    let lower = named.map(|(name, value)| (name.to_lowercase(), value));
    let own = [("CARGO_HTTP_PROXY", &*http), ("NODE_USE_ENV_PROXY", "1")];
    let upper = named.into_iter().chain(own).map(|(name, value)| (name.to_owned(), value));
    upper.chain(lower).map(|(name, value)| (name.into(), value.into())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_isolation::Network;

    fn value(sandbox: &SandboxSettings, by_name: bool, wanted: &str) -> Option<String> {
        let all = network_environment(Some(Path::new("/t")), sandbox, by_name);
        all.into_iter().find(|(name, _)| name == wanted).map(|(_, value)| value.into_string().unwrap())
    }

    #[test]
    fn caches_are_the_sessions_own_where_the_network_is_reached() {
        let off = SandboxSettings::default();
        let on = SandboxSettings { network: Network::All, ..SandboxSettings::default() };
        assert_eq!(value(&off, false, "npm_config_cache"), None);
        assert_eq!(value(&off, true, "npm_config_cache"), Some("/t/.cache/npm".to_owned()));
        assert_eq!(value(&on, false, "CARGO_HOME"), Some("/t/.cache/cargo".to_owned()));
        assert_eq!(value(&on, false, "HTTP_PROXY"), None);
        let bare = SandboxSettings { mode: SandboxMode::Off, ..on.clone() };
        assert_eq!(value(&bare, false, "CARGO_HOME"), None);
        let given = SandboxSettings { env: vec!["CARGO_HOME".to_owned()], ..on.clone() };
        assert_eq!(value(&given, false, "CARGO_HOME"), None);
        let home = std::env::home_dir().unwrap();
        let writable = SandboxSettings { writable: vec![home.join("go").display().to_string()], ..on };
        assert_eq!(value(&writable, false, "GOMODCACHE"), None);
        assert_eq!(value(&writable, false, "PIP_CACHE_DIR"), Some("/t/.cache/pip".to_owned()));
    }

    #[test]
    fn the_proxys_authority_is_trusted_where_it_decrypts() {
        let with = |credentials: serde_json::Value| SandboxSettings {
            credentials: serde_json::from_value(credentials).unwrap(),
            ..SandboxSettings::default()
        };
        let encrypted = with(serde_json::json!({"a.example": {"X": "y"}}));
        for name in TRUST {
            assert_eq!(value(&encrypted, true, name).unwrap(), AUTHORITIES);
        }
        let plain = with(serde_json::json!({"http://a.example": {"X": "y"}}));
        for (sandbox, by_name) in [(encrypted, false), (plain, true), (SandboxSettings::default(), true)] {
            assert_eq!(value(&sandbox, by_name, "SSL_CERT_FILE"), None);
        }
    }

    #[test]
    fn programs_find_the_proxy_under_the_names_that_they_know() {
        let off = SandboxSettings::default();
        for name in ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY"] {
            assert_eq!(value(&off, true, name).unwrap(), "http://127.0.0.1:3128", "{name}");
        }
        assert_eq!(value(&off, true, "all_proxy").unwrap(), "socks5h://127.0.0.1:3128");
        assert!(value(&off, true, "no_proxy").unwrap().contains("127.0.0.1"));
    }
}
