//! What a host settles about language servers.

use super::language;
use crate::error::{Reason, Result, ToolError};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// How language servers are run.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LspSettings {
    /// By language: `sh`, `python`, `c`, `rust`, `go`, `typescript`, `erlang`, or one that the host adds.
    pub servers: BTreeMap<String, ServerSettings>,
    /// Milliseconds without a request after which a server is ended.
    pub idle_timeout: u64,
}

/// How the server of one language is run. What is left out is as built in.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerSettings {
    /// The program, an absolute path or a name on the `PATH`, and its arguments.
    pub command: Vec<String>,
    /// Extensions of the language's files, without the dot.
    pub extensions: Vec<String>,
    /// What the server is given as `initializationOptions`.
    pub options: Option<Value>,
    /// What the server is told when it asks for its configuration: an object by section.
    pub settings: Option<Value>,
    /// Whether the server is never started.
    pub disabled: bool,
}

impl Default for LspSettings {
    fn default() -> Self {
        Self { servers: BTreeMap::new(), idle_timeout: 600_000 }
    }
}

impl LspSettings {
    /// Looks for what can never work.
    ///
    /// # Errors
    /// `invalid_argument` for a language that is not built in and has no command or no extensions, and for an empty
    /// program.
    pub fn check(&self) -> Result<()> {
        self.servers.iter().try_for_each(|(language, server)| server.check(language))
    }
}

impl ServerSettings {
    fn check(&self, language: &str) -> Result<()> {
        let refuse = |why: &str| {
            let message =
                format!("the settings of the language server for {language:?} are not valid: {why}");
            Err(ToolError::new(Reason::InvalidArgument, message))
        };
        if self.command.first().is_some_and(String::is_empty) {
            return refuse("the program is empty; name one");
        }
        let is_whole = !self.command.is_empty() && !self.extensions.is_empty();
        match language::built_in(language) {
            None if !is_whole && !self.disabled => refuse(&format!(
                "the language is not built in, so it needs a command and extensions; built in are {}",
                language::names().collect::<Vec<_>>().join(", ")
            )),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(servers: Value) -> Result<()> {
        serde_json::from_value::<LspSettings>(json!({"servers": servers})).unwrap().check()
    }

    #[test]
    fn a_language_of_the_hosts_own_needs_command_and_extensions() {
        check(json!({"zig": {"command": ["zls"], "extensions": ["zig"]}})).unwrap();
        check(json!({"python": {"command": ["pyright-langserver", "--stdio"]}})).unwrap();
        let error = check(json!({"zig": {"command": ["zls"]}})).unwrap_err();
        assert!(error.message.contains("needs a command and extensions; built in are sh, python"), "{error}");
    }

    #[test]
    fn an_empty_program_is_refused() {
        assert_eq!(check(json!({"go": {"command": [""]}})).unwrap_err().reason, Reason::InvalidArgument);
    }
}
