//! The host's settings for language servers.

use crate::lsp_language as language;
use beamai_base::{Reason, Result, ToolError};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// Settings of language servers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LspSettings {
    /// By language: `sh`, `python`, `c`, `rust`, `go`, `typescript`, `erlang`, or one that the host adds.
    pub servers: BTreeMap<String, LspServerSettings>,
    /// Milliseconds without a request after which a server is stopped.
    pub idle_timeout: u64,
}

/// Settings of one language's server. What is left out keeps its built-in value.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LspServerSettings {
    /// The program, an absolute path or a name on the `PATH`, and its arguments.
    pub command: Vec<String>,
    /// Extensions of the language's files, without the dot.
    pub extensions: Vec<String>,
    /// The `initializationOptions` sent to the server.
    pub options: Option<Value>,
    /// The server's configuration: an object with a key for each section.
    pub settings: Option<Value>,
    /// Whether the server is never started.
    pub disabled: bool,
    /// Whether the server may run code of the workspace without approval. Those of Rust and Erlang do, and that of
    /// TypeScript uses the compiler that it finds there.
    pub trusted: bool,
}

impl Default for LspSettings {
    fn default() -> Self {
        Self { servers: BTreeMap::new(), idle_timeout: 600_000 }
    }
}

impl LspSettings {
    /// Rejects settings that can never work.
    ///
    /// # Errors
    /// `invalid_argument` for a language that is not built in and has no command or no extensions, and for an empty
    /// program.
    pub fn check(&self) -> Result<()> {
        self.servers.iter().try_for_each(|(language, server)| server.check(language))
    }

    /// Whether the server for a file may run code of the workspace and is not `trusted`.
    pub fn runs_code(&self, path: &Path) -> bool {
        let extension = path.extension().map(OsStr::to_string_lossy).unwrap_or_default();
        let own = self.of_extension(&extension).map(|(name, _)| language::built_in(name));
        let language = own.unwrap_or_else(|| language::of_extension(&extension));
        language.is_some_and(|language| {
            let trusted = self.servers.get(language.name).is_some_and(|server| server.trusted);
            language.runs_code && !trusted
        })
    }

    /// The language that the host has given an extension to.
    pub fn of_extension(&self, extension: &str) -> Option<(&str, &LspServerSettings)> {
        let mut all = self.servers.iter().map(|(name, own)| (name.as_str(), own));
        all.find(|(_, own)| own.extensions.iter().any(|known| known == extension))
    }
}

impl LspServerSettings {
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
    fn servers_that_run_code_of_the_workspace_are_known() {
        let runs = |settings: Value, path: &str| {
            serde_json::from_value::<LspSettings>(settings).unwrap().runs_code(Path::new(path))
        };
        assert!(runs(json!({}), "src/main.rs") && runs(json!({}), "a.erl"));
        assert!(!runs(json!({}), "a.py") && !runs(json!({}), "Makefile") && !runs(json!({}), "a.ts"));
        assert!(!runs(json!({"servers": {"rust": {"trusted": true}}}), "a.rs"));
        assert!(runs(json!({"servers": {"rust": {"extensions": ["ruST"]}}}), "a.ruST"));
    }

    #[test]
    fn an_empty_program_is_refused() {
        assert_eq!(check(json!({"go": {"command": [""]}})).unwrap_err().reason, Reason::InvalidArgument);
    }
}
