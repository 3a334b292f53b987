//! Languages with built-in server settings.

use serde_json::{Value, json};

/// How [`Language::advice`] begins.
pub const USER_CAN_INSTALL: &str = "The user can install";

/// A language and its server.
#[derive(Debug)]
pub struct Language {
    /// Its name in settings.
    pub name: &'static str,
    /// Its name in messages.
    pub title: &'static str,
    /// Extensions of its files, each with the language identifier of LSP.
    pub extensions: &'static [(&'static str, &'static str)],
    /// Interpreters in the `#!` line of its scripts.
    pub interpreters: &'static [&'static str],
    /// Other file names and extensions whose changes the server is notified of.
    pub also_watched: &'static [&'static str],
    /// Server commands, the preferred one first.
    pub commands: &'static [&'static [&'static str]],
    /// The one to install, and how: a command of a shell, or a place to take it from.
    pub program: &'static str,
    /// See `program`.
    pub install: &'static str,
    /// Whether its servers may run code of the project: build scripts, compiler wrappers, parse transforms. That needs
    /// permission.
    pub runs_code: bool,
    /// The `initializationOptions` sent to the server.
    pub options: fn() -> Value,
}

fn none() -> Value {
    Value::Null
}

/// Disables automatic type acquisition, which installs packages that a project names.
fn typescript_options() -> Value {
    json!({"disableAutomaticTypingAcquisition": true})
}

/// Makes clangd report the state of each file.
fn c_options() -> Value {
    json!({"clangdFileStatus": true})
}

/// Permission to run the server does not cover the project's build scripts and procedural macros.
fn rust_options() -> Value {
    json!({
        "cargo": {"buildScripts": {"enable": false}},
        "procMacro": {"enable": false},
        "checkOnSave": false,
    })
}

static LANGUAGES: [Language; 7] = [
    Language {
        name: "sh",
        title: "shell scripts",
        extensions: &[("sh", "shellscript"), ("bash", "shellscript")],
        interpreters: &["sh", "bash", "dash", "ksh"],
        also_watched: &[".shellcheckrc"],
        commands: &[&["bash-language-server", "start"]],
        program: "bash-language-server",
        install: "npm install -g bash-language-server shellcheck",
        runs_code: false,
        options: none,
    },
    Language {
        name: "python",
        title: "Python",
        extensions: &[("py", "python"), ("pyi", "python")],
        interpreters: &["python", "python3"],
        also_watched: &["setup.cfg", "pyproject.toml", "tox.ini"],
        commands: &[&["pylsp"], &["basedpyright-langserver", "--stdio"], &["pyright-langserver", "--stdio"]],
        program: "pylsp",
        install: "pip install 'python-lsp-server[pyflakes]'",
        runs_code: false,
        options: none,
    },
    Language {
        name: "c",
        title: "C and C++",
        extensions: &[
            ("c", "c"),
            ("h", "c"),
            ("cc", "cpp"),
            ("cpp", "cpp"),
            ("cxx", "cpp"),
            ("c++", "cpp"),
            ("hh", "cpp"),
            ("hpp", "cpp"),
            ("hxx", "cpp"),
            ("ipp", "cpp"),
        ],
        interpreters: &[],
        also_watched: &["compile_commands.json", "compile_flags.txt", ".clangd"],
        commands: &[&["clangd"]],
        program: "clangd",
        install: "apt-get install clangd",
        runs_code: false,
        options: c_options,
    },
    Language {
        name: "rust",
        title: "Rust",
        extensions: &[("rs", "rust")],
        interpreters: &[],
        also_watched: &["Cargo.toml", "Cargo.lock"],
        commands: &[&["rust-analyzer"]],
        program: "rust-analyzer",
        install: "rustup component add rust-analyzer",
        runs_code: true,
        options: rust_options,
    },
    Language {
        name: "go",
        title: "Go",
        extensions: &[("go", "go")],
        interpreters: &[],
        also_watched: &["go.mod", "go.sum", "go.work"],
        commands: &[&["gopls"]],
        program: "gopls",
        install: "go install golang.org/x/tools/gopls@latest",
        runs_code: false,
        options: none,
    },
    Language {
        name: "typescript",
        title: "TypeScript and JavaScript",
        extensions: &[
            ("ts", "typescript"),
            ("mts", "typescript"),
            ("cts", "typescript"),
            ("tsx", "typescriptreact"),
            ("js", "javascript"),
            ("mjs", "javascript"),
            ("cjs", "javascript"),
            ("jsx", "javascriptreact"),
        ],
        interpreters: &["node", "deno", "bun"],
        also_watched: &["tsconfig.json", "jsconfig.json", "package.json"],
        commands: &[&["typescript-language-server", "--stdio"], &["tsc", "--lsp", "--stdio"]],
        program: "tsc",
        install: "npm install -g typescript",
        runs_code: false,
        options: typescript_options,
    },
    Language {
        name: "erlang",
        title: "Erlang",
        extensions: &[("erl", "erlang"), ("hrl", "erlang"), ("escript", "erlang")],
        interpreters: &[],
        also_watched: &["rebar.config", "erlang_ls.config"],
        commands: &[&["erlang_ls"], &["elp", "server"]],
        program: "elp",
        install: "https://github.com/WhatsApp/erlang-language-platform/releases",
        runs_code: true,
        options: none,
    },
];

/// All built-in languages.
pub fn all() -> impl Iterator<Item = &'static Language> {
    LANGUAGES.iter()
}

/// The names of all built-in languages.
pub fn names() -> impl Iterator<Item = &'static str> {
    all().map(|language| language.name)
}

/// The built-in language of that name.
pub fn built_in(name: &str) -> Option<&'static Language> {
    all().find(|language| language.name == name)
}

/// The built-in language with that file extension.
pub fn of_extension(extension: &str) -> Option<&'static Language> {
    all().find(|language| language.id_of(extension).is_some())
}

impl Language {
    /// How to get a server, as a sentence without its full stop. A model can only pass it on.
    pub fn advice(&self) -> String {
        format!("{USER_CAN_INSTALL} {}: {}", self.program, self.install)
    }

    /// The LSP language identifier of files with that extension.
    pub fn id_of(&self, extension: &str) -> Option<&'static str> {
        self.extensions.iter().find(|(known, _)| *known == extension).map(|(_, id)| *id)
    }

    /// The LSP language identifier of most of its files.
    pub fn main_id(&self) -> &'static str {
        self.extensions[0].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_extension_belongs_to_two_languages() {
        let extensions: Vec<_> =
            all().flat_map(|language| language.extensions).map(|(name, _)| name).collect();
        assert_eq!(extensions.iter().collect::<BTreeSet<_>>().len(), extensions.len());
    }

    #[test]
    fn every_language_can_be_served_and_installed() {
        for language in all() {
            assert!(language.commands.iter().all(|command| !command.is_empty()), "{}", language.name);
            let mut programs = language.commands.iter().map(|command| command[0]);
            assert!(programs.any(|program| program == language.program), "{}", language.name);
            assert!(!language.install.is_empty() && !language.extensions.is_empty(), "{}", language.name);
        }
    }
}
