//! The names of the variables that the environment of a command may have before its first line runs.

/// Variables of the host that are passed on, besides those that start with `LC_`.
pub const PASSED: [&str; 7] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "LANG"];

/// Variables that name a file with the authorities to trust: OpenSSL (and with it Python, Ruby and Go, which read the
/// same variable), curl, git, pip, requests, cargo, npm, and Node.js and Deno, which add it to their own.
pub const TRUST: [&str; 9] = [
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

/// Others that the sandbox sets: places that can be written, and the flags for one of them.
const OWN: [&str; 10] = [
    "TERM",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "npm_config_cache",
    "PIP_CACHE_DIR",
    "CARGO_HOME",
    "GOPATH",
    "GOMODCACHE",
    "GOCACHE",
    "GOFLAGS",
];

/// Whether a command may get a variable with this name, if neither the settings of its sandbox nor the call name it.
pub fn is_in_environment(name: &str) -> bool {
    name.starts_with("LC_")
        || name.to_ascii_uppercase().contains("PROXY")
        || PASSED.contains(&name)
        || TRUST.contains(&name)
        || OWN.contains(&name)
}
