//! What to do about what goes wrong, for those who asked.

/// The ends of messages, which differ by who asked and what they can change.
#[derive(Debug, PartialEq, Eq)]
pub struct Advice {
    /// Where time ran out.
    pub time: &'static str,
    /// Where an address may not be reached.
    pub(super) address: &'static str,
    /// Where the server's certificate is not valid.
    pub(super) certificate: &'static str,
    /// Where no certificate can be checked.
    pub(super) authorities: &'static str,
}

/// For calls that may reach public addresses only.
const PUBLIC_ONLY: &str = "Only public addresses are reached, unless the host allows IP:PORT (allow_addresses in its web settings, \
                           --allow-address on the command line)";

/// For calls of the tools of the web.
pub static FETCH: Advice = Advice {
    time: "try again with a longer timeout_sec, or fetch something smaller",
    address: PUBLIC_ONLY,
    certificate: "Give verify_tls: false only if you know this server and expect this",
    authorities: ", or fetch with verify_tls: false from a server you know",
};

/// For commands that connect by name.
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
