//! Environment variables for package managers and for programs with network access: writable caches, the proxy, and the
//! authorities to trust.

use crate::layers::{AUTHORITIES, PROXY};
use beamai_isolation::{SandboxMode, SandboxSettings, TRUST};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

type Variable = (OsString, OsString);

/// A cache of a package manager, which the sandbox makes read-only with the home directory.
struct Cache {
    /// The variable that sets the directory.
    variable: &'static str,
    /// Its default below the home directory.
    usual: &'static str,
    /// Its name in the session's cache.
    own: &'static str,
    /// What programs need of it without network access and can use from a read-only directory, below the home directory:
    /// earlier downloads, and settings that say where else packages are. The cache stays where it is if one of these
    /// exists. npm writes into its cache whatever it installs, and fails where it cannot.
    needed_offline: &'static [&'static str],
}

const CACHES: [Cache; 6] = [
    Cache { variable: "npm_config_cache", usual: ".npm", own: "npm", needed_offline: &[] },
    Cache { variable: "PIP_CACHE_DIR", usual: ".cache/pip", own: "pip", needed_offline: &[] },
    Cache {
        variable: "CARGO_HOME",
        usual: ".cargo",
        own: "cargo",
        needed_offline: &[".cargo/registry", ".cargo/config.toml"],
    },
    Cache { variable: "GOPATH", usual: "go", own: "go", needed_offline: &["go/pkg/mod"] },
    Cache { variable: "GOMODCACHE", usual: "go/pkg/mod", own: "go/pkg/mod", needed_offline: &["go/pkg/mod"] },
    Cache { variable: "GOCACHE", usual: ".cache/go-build", own: "go-build", needed_offline: &[] },
];

/// Loopback addresses are local to the command.
const NOT_PROXIED: &str = "localhost,127.0.0.1,::1";

/// The variables of a command for caches, and those for its network if that is restricted to names. `temp` is the
/// session's temporary directory.
pub fn network_environment(temp: Option<&Path>, sandbox: &SandboxSettings, by_name: bool) -> Vec<Variable> {
    let has_network = by_name || sandbox.network.is_all();
    let home = std::env::home_dir().unwrap_or_default();
    let mut all = caches(temp, sandbox, has_network, &home);
    if by_name {
        all.extend(proxies());
        if sandbox.credentials.has_encrypted() {
            all.extend(TRUST.map(|name| (name.into(), AUTHORITIES.into())));
        }
    }
    all
}

/// If layers may be missing, `/tmp` might be shared with other users.
fn caches(temp: Option<&Path>, sandbox: &SandboxSettings, has_network: bool, home: &Path) -> Vec<Variable> {
    let private = match sandbox.mode {
        SandboxMode::Off => None,
        SandboxMode::BestEffort => temp,
        SandboxMode::Required => temp.or(Some(Path::new("/tmp"))),
    };
    let Some(cache) = private.map(|place| place.join(".cache")) else { return Vec::new() };
    let is_redirected = |of: &&Cache| {
        let is_given = sandbox.env.iter().any(|given| given == of.variable);
        let is_writable = |path: &String| home.join(of.usual).starts_with(PathBuf::from(path));
        let is_needed = !has_network && of.needed_offline.iter().any(|path| home.join(path).exists());
        !is_given && !is_needed && !sandbox.writable.iter().any(is_writable)
    };
    let redirected = CACHES.iter().filter(is_redirected);
    let mut all: Vec<Variable> =
        redirected.map(|of| (OsString::from(of.variable), cache.join(of.own).into())).collect();
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
    use beamai_isolation::{Network, is_in_environment};

    fn value(sandbox: &SandboxSettings, by_name: bool, wanted: &str) -> Option<String> {
        let all = network_environment(Some(Path::new("/t")), sandbox, by_name);
        all.into_iter().find(|(name, _)| name == wanted).map(|(_, value)| value.into_string().unwrap())
    }

    #[test]
    fn caches_are_the_sessions_own_unless_they_hold_all_that_can_be_installed() {
        let off = SandboxSettings::default();
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".cargo/bin")).unwrap();
        let names = |has_network| -> Vec<String> {
            let all = caches(Some(Path::new("/t")), &off, has_network, home.path());
            all.into_iter().map(|(name, _)| name.into_string().unwrap()).collect()
        };
        let every =
            ["npm_config_cache", "PIP_CACHE_DIR", "CARGO_HOME", "GOPATH", "GOMODCACHE", "GOCACHE", "GOFLAGS"];
        assert_eq!((names(false), names(true)), (every.map(str::to_owned).to_vec(), names(false)));
        for path in [".npm/_cacache", ".cargo/registry", "go/pkg/mod"] {
            std::fs::create_dir_all(home.path().join(path)).unwrap();
        }
        assert_eq!(names(false), ["npm_config_cache", "PIP_CACHE_DIR", "GOCACHE"]);
        assert_eq!(names(true), every);
        let on = SandboxSettings { network: Network::All, ..SandboxSettings::default() };
        assert_eq!(value(&off, false, "npm_config_cache"), Some("/t/.cache/npm".to_owned()));
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
    fn the_judge_of_commands_knows_every_name() {
        let credentials = serde_json::from_value(serde_json::json!({"a.example": {"X": "y"}})).unwrap();
        let sandbox = SandboxSettings { credentials, ..SandboxSettings::default() };
        let mut all = network_environment(Some(Path::new("/t")), &sandbox, true);
        all.extend(caches(Some(Path::new("/t")), &sandbox, true, Path::new("/nowhere")));
        all.extend(crate::environment(Some(Path::new("/t")), &sandbox, std::iter::empty()));
        assert!(all.len() > 30);
        for (name, _) in all {
            assert!(name.to_str().is_some_and(is_in_environment), "{name:?}");
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
