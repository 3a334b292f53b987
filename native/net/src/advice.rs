//! Advice at the end of error messages, which depends on the kind of caller.

/// What the caller can do about an error. Each kind of caller can change different things.
#[derive(Debug, PartialEq, Eq)]
pub struct Advice {
    /// After a timeout.
    pub time: &'static str,
    /// After a refused address.
    pub(super) address: &'static str,
    /// After an invalid certificate.
    pub(super) certificate: &'static str,
    /// If there are no trusted authorities to check a certificate with.
    pub(super) authorities: &'static str,
}

/// For callers that may reach public addresses only.
const PUBLIC_ONLY: &str = "Only public addresses are reached, unless the host allows IP:PORT (allow_addresses in its web settings, \
                           --allow-address on the command line)";

/// For calls of the web tools.
pub static FETCH: Advice = Advice {
    time: "try again with a longer timeout_sec, or fetch something smaller",
    address: PUBLIC_ONLY,
    certificate: "Give verify_tls: false only if you know this server and expect this",
    authorities: ", or fetch with verify_tls: false from a server you know",
};

/// For commands that connect by host name.
pub static COMMAND: Advice =
    Advice { time: "see whether the server is up", address: PUBLIC_ONLY, certificate: "", authorities: "" };

/// For hosts that connect to an MCP server.
pub static MCP: Advice = Advice {
    time: "see whether the server is up, or give a longer start_timeout",
    address: "A name has to lead to a public address; write the private address itself into the url, or give IP:PORT in \
              allow_addresses",
    certificate: "Have the machine trust the authority that signed it",
    authorities: "",
};
