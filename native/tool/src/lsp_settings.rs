//! The host's settings for language servers.

use crate::lsp_language as language;
use beamai_base::{Reason, Result, SettingsMap, ToolError};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

/// Settings of language servers.
#[derive(Debug, Clone, PartialEq)]
pub struct LspSettings {
    /// By language: `sh`, `python`, `c`, `rust`, `go`, `typescript`, `erlang`, or one that the host adds.
    pub servers: BTreeMap<String, LspServerSettings>,
    /// Milliseconds without a request after which a server is stopped.
    pub idle_timeout: u64,
}

/// Settings of one language's server. What is left out keeps its built-in value.
#[derive(Debug, Clone, Default, PartialEq)]
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

impl<'de> Deserialize<'de> for LspSettings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        Self::of(Value::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl LspSettings {
    fn of(value: Value) -> std::result::Result<Self, String> {
        let mut settings = SettingsMap::new("lsp", value, &["servers", "idle_timeout"])?;
        let default = Self::default();
        let idle_timeout = settings.take("idle_timeout", "a whole number of milliseconds")?;
        Ok(Self {
            servers: settings.take_with("servers", servers)?.unwrap_or_default(),
            idle_timeout: idle_timeout.unwrap_or(default.idle_timeout),
        })
    }

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

fn servers(value: Value) -> std::result::Result<BTreeMap<String, LspServerSettings>, String> {
    let Value::Object(servers) = value else {
        return Err(format!("lsp.servers must be an object with a key for each language, not {value}"));
    };
    let one = |(language, server)| {
        let settings = LspServerSettings::of(&format!("lsp.servers.{language}"), server)?;
        Ok((language, settings))
    };
    servers.into_iter().map(one).collect()
}

impl LspServerSettings {
    fn of(path: &str, value: Value) -> std::result::Result<Self, String> {
        let known = ["command", "extensions", "options", "settings", "disabled", "trusted"];
        let mut settings = SettingsMap::new(path, value, &known)?;
        let command = "a list of the program and its arguments, such as [\"pylsp\", \"-v\"]";
        let extensions = "a list of file extensions without the dot, such as [\"py\"]";
        Ok(Self {
            command: settings.take("command", command)?.unwrap_or_default(),
            extensions: settings.take("extensions", extensions)?.unwrap_or_default(),
            options: settings.take("options", "JSON")?,
            settings: settings.take("settings", "JSON")?,
            disabled: settings.take("disabled", "true or false")?.unwrap_or_default(),
            trusted: settings.take("trusted", "true or false")?.unwrap_or_default(),
        })
    }

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
    fn mistakes_name_the_setting_the_value_and_what_is_accepted() {
        let error = |settings| serde_json::from_value::<LspSettings>(settings).unwrap_err().to_string();
        for (settings, message) in [
            (
                json!({"server": {}}),
                "lsp.server is not a setting; did you mean servers? Accepted: servers, idle_timeout",
            ),
            (json!({"servers": []}), "lsp.servers must be an object with a key for each language, not []"),
            (
                json!({"servers": {"go": {"command": "gopls"}}}),
                r#"lsp.servers.go.command must be a list of the program and its arguments, such as ["pylsp", "-v"], not "gopls""#,
            ),
            (
                json!({"servers": {"go": {"trusted": 1}}}),
                "lsp.servers.go.trusted must be true or false, not 1",
            ),
            (json!({"idle_timeout": -5}), "lsp.idle_timeout must be a whole number of milliseconds, not -5"),
        ] {
            assert_eq!(error(settings), message);
        }
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
