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

    /// How the host allows what these permission rules are about.
    pub fn allow<'r>(rules: impl IntoIterator<Item = &'r str>) -> Self {
        let rules: Vec<&str> = rules.into_iter().collect();
        let terms: Vec<String> = rules.iter().map(|rule| format!("<<\"{}\"/utf8>>", escaped(rule))).collect();
        Self::new(
            format!("Allow it with permissions => #{{allow => [{}]}}", terms.join(", ")),
            format!("Allow it with {}", Self::options(rules.iter().copied())),
        )
    }

    /// The options that allow what these permission rules are about, as words of a shell.
    pub fn options<'r>(rules: impl IntoIterator<Item = &'r str>) -> String {
        let options: Vec<String> =
            rules.into_iter().map(|rule| format!("--allow {}", quoted(rule))).collect();
        options.join(" ")
    }

    /// The sentence in the terms of this host.
    pub fn in_terms(self, terms: HostTerms) -> String {
        match terms {
            HostTerms::Erlang => self.erlang,
            HostTerms::CommandLine => self.command_line,
        }
    }
}

/// The inside of an Erlang string.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// A word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_their_host_takes_them() {
        let hint = HostHint::allow(["Bash(echo 'a' \"b\")", "Read(x)"]);
        assert_eq!(
            hint.clone().in_terms(HostTerms::Erlang),
            r#"Allow it with permissions => #{allow => [<<"Bash(echo 'a' \"b\")"/utf8>>, <<"Read(x)"/utf8>>]}"#
        );
        let line = hint.in_terms(HostTerms::CommandLine);
        assert_eq!(line, r#"Allow it with --allow 'Bash(echo '\''a'\'' "b")' --allow 'Read(x)'"#);
    }
}
