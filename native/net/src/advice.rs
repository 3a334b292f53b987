//! What to do about what goes wrong, for those who asked.

/// The ends of messages, which differ by who asked and what they can change.
#[derive(Debug, PartialEq, Eq)]
pub struct Advice {
    /// Where time ran out.
    pub time: &'static str,
    /// Where an address may not be reached.
    pub(super) address: &'static str,
    /// What the host can change about it: by terms, and on the command line, each before an address.
    pub(super) admitted_by: [&'static str; 2],
    /// Where the server's certificate is not valid.
    pub(super) certificate: &'static str,
    /// Where no certificate can be checked.
    pub(super) authorities: &'static str,
}

/// For calls that may reach public addresses only.
const PUBLIC_ONLY: &str = "Only public addresses are reached here";
const ADMITTED_BY: [&str; 2] =
    ["Allow it with web => #{allow_addresses => [<<\"ADDRESS\">>]}", "Allow it with --allow-address ADDRESS"];

/// For calls of the tools of the web.
pub static FETCH: Advice = Advice {
    time: "try again with a longer timeout_sec, or fetch something smaller",
    address: PUBLIC_ONLY,
    admitted_by: ADMITTED_BY,
    certificate: "Give verify_tls: false only if you know this server and expect this",
    authorities: ", or fetch with verify_tls: false from a server you know",
};

/// For commands that connect by name.
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
