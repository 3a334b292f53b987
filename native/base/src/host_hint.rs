//! What a host can configure to make a call possible, in the terms of each kind of host.

/// How hosts are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostTerms {
    /// By Erlang or Elixir terms.
    #[default]
    Erlang,
    /// By options of the port program, on the command line or in the settings of an MCP client.
    CommandLine,
}

/// A sentence for the host; models cannot configure anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostHint {
    erlang: String,
    command_line: String,
}

impl HostHint {
    /// The sentence in both kinds of terms, without the final full stop.
    pub fn new(erlang: impl Into<String>, command_line: impl Into<String>) -> Self {
        Self { erlang: erlang.into(), command_line: command_line.into() }
    }

    /// The sentence in the terms of this host.
    pub fn in_terms(self, terms: HostTerms) -> String {
        match terms {
            HostTerms::Erlang => self.erlang,
            HostTerms::CommandLine => self.command_line,
        }
    }
}
