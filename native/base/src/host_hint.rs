//! What a host can change so that a call becomes possible, in the terms of each kind of host.

/// How hosts are configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostTerms {
    /// By terms: the host is an Erlang or Elixir program.
    #[default]
    Erlang,
    /// By options of the port program, on a command line or in the settings of an MCP client.
    CommandLine,
}

/// A sentence for the host, not for a model, which cannot configure anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostHint {
    erlang: String,
    command_line: String,
}

impl HostHint {
    /// The sentence in both kinds of terms, each without the full stop at its end.
    pub fn new(erlang: impl Into<String>, command_line: impl Into<String>) -> Self {
        Self { erlang: erlang.into(), command_line: command_line.into() }
    }

    /// The sentence in a host's own terms.
    pub fn in_terms(self, terms: HostTerms) -> String {
        match terms {
            HostTerms::Erlang => self.erlang,
            HostTerms::CommandLine => self.command_line,
        }
    }
}
