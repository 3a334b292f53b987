//! Advice at the end of error messages, which depends on the kind of caller.

/// What the caller can do about an error. Each kind of caller can change different things.
#[derive(Debug, PartialEq, Eq)]
pub struct Advice {
    /// After a timeout.
    pub time: &'static str,
    /// After a refused address.
    pub(super) address: &'static str,
    /// How the host can allow the address: in Erlang terms, and on the command line. ADDRESS stands for the address.
    pub(super) admitted_by: [&'static str; 2],
    /// After an invalid certificate.
    pub(super) certificate: &'static str,
    /// If there are no trusted authorities to check a certificate with.
    pub(super) authorities: &'static str,
}

/// For callers that may reach public addresses only.
const PUBLIC_ONLY: &str = "Only public addresses are reached here";
const ADMITTED_BY: [&str; 2] =
    ["Allow it with web => #{allow_addresses => [<<\"ADDRESS\">>]}", "Allow it with --allow-address ADDRESS"];

/// For calls of the web tools.
pub static FETCH: Advice = Advice {
    time: "try again, with a longer timeout_sec if the tool takes one, or fetch something smaller",
    address: PUBLIC_ONLY,
    admitted_by: ADMITTED_BY,
    certificate: "If the tool takes verify_tls, give false only if you know this server and expect this",
    authorities: ", or, if the tool takes it, fetch with verify_tls: false from a server you know",
};

/// For commands that connect by host name.
pub static COMMAND: Advice = Advice {
    time: "see whether the server is up",
    address: PUBLIC_ONLY,
    admitted_by: ADMITTED_BY,
    certificate: "",
    authorities: "",
};

/// For hosts that connect to an MCP server.
pub static MCP: Advice = Advice {
    time: "see whether the server is up, or give a longer start_timeout",
    address: "A server's name has to lead to a public address",
    admitted_by: ["Write the private address itself into the url, or give allow_addresses => [<<\"ADDRESS\">>]";
        2],
    certificate: "Have the machine trust the authority that signed it",
    authorities: "",
};
