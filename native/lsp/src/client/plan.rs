//! Chooses the server for a file.

use super::DocumentText;
use super::typescript;
use super::watch::SourceFilter;
use beamai_base::{HostHint, HostTerms, Result as ToolResult};
use beamai_port_tools::lsp::INSTEAD;
use beamai_sandbox::Confinement;
use beamai_servers::{ServerIdentity, ServerView};
use beamai_servers::{in_workspace, program};
use beamai_tool::{
    CallContext,
    lsp_language::{self as language, Language},
    lsp_settings::{LspServerSettings, LspSettings},
};
use beamai_workspace::Workspace;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Why no server is available and what to do instead, for the model; and what the host can configure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unavailable(pub String, pub Option<HostHint>);

impl Unavailable {
    /// The reason, with an alternative.
    pub(crate) fn new(why: impl std::fmt::Display) -> Self {
        Self(format!("{why}.{INSTEAD}"), None)
    }

    /// The reason for the person, who is told neither what the model can do instead nor to pass something on.
    fn for_person(&self) -> String {
        let Self(why, hint) = self;
        let why = why.strip_suffix(INSTEAD).unwrap_or(why);
        let why = why.replacen(language::USER_CAN_INSTALL, "Install", 1);
        match hint {
            Some(hint) => format!("{why} {}", hint.clone().in_terms(HostTerms::CommandLine)),
            None => why,
        }
    }
}

/// The command of a server.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ServerCommand {
    pub(super) language: String,
    pub(super) program: PathBuf,
    pub(super) arguments: Vec<String>,
    pub(super) options: Value,
    pub(super) settings: Value,
    /// The file of an approved call, if rules hide that file from language servers. This server learns the contents of
    /// the file from the call, so it is used for no other file.
    pub(super) approved: Option<PathBuf>,
}

/// How to start a server.
#[derive(Debug)]
pub(crate) struct ServerPlan {
    pub(super) identity: ServerIdentity<ServerCommand>,
    pub(super) workspace: Workspace,
    /// Its confinement, once that has been computed.
    pub(super) confinement: Arc<Confinement>,
    /// The language, if it is a built-in one.
    built_in: Option<&'static Language>,
    /// Time without a request after which it is stopped.
    pub(super) idle: Duration,
    /// The files whose changes it is notified of.
    pub(super) sources: SourceFilter,
}

impl ServerPlan {
    /// The plan for a file, and the LSP language identifier of the file.
    ///
    /// # Errors
    /// There is no server for the file.
    pub(crate) fn of(
        cx: &CallContext,
        path: &Path,
        text: &DocumentText,
    ) -> Result<(Self, String), Unavailable> {
        let extension = path.extension().map(|extension| extension.to_string_lossy().into_owned());
        let extension = extension.unwrap_or_default();
        let kind = LanguageSupport::of(&cx.lsp, &extension, text).ok_or_else(|| unknown(path, &cx.lsp))?;
        let (program, arguments) = kind.command(cx.workspace.path())?;
        let options = kind.options(&program, cx.workspace.path());
        let plan = Self {
            identity: ServerIdentity {
                spec: ServerCommand {
                    language: kind.name.to_owned(),
                    program,
                    arguments,
                    options,
                    settings: kind.settings.and_then(|own| own.settings.clone()).unwrap_or_default(),
                    approved: cx.denied_paths.hides(path, false).then(|| path.to_owned()),
                },
                view: ServerView::of(cx),
            },
            workspace: cx.workspace.unguarded(),
            confinement: Confinement::off(),
            built_in: kind.built_in,
            idle: Duration::from_millis(cx.lsp.idle_timeout),
            sources: kind.sources(),
        };
        Ok((plan, kind.id(&extension)))
    }

    /// Computes the server's confinement.
    ///
    /// # Errors
    /// Those of [`Confinement::within`].
    pub(super) fn confine(&mut self, cx: &CallContext) -> ToolResult<()> {
        let ServerView { sandbox, denied_paths, .. } = &self.identity.view;
        self.confinement =
            Confinement::within(&self.workspace.without_temp(), sandbox, denied_paths, &|| cx.check())?;
        self.identity.view.kept = self.confinement.kept().collect();
        self.identity.view.mounts = self.confinement.mounts().collect();
        Ok(())
    }

    /// The program's name, for messages.
    pub(crate) fn name(&self) -> String {
        self.identity.spec.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The message if the server does not start.
    pub(super) fn broken(&self, why: &str) -> Unavailable {
        // The launcher of a toolchain may name the command itself.
        let wanted = self.built_in.filter(|language| !why.contains(language.install));
        let advice = wanted.map_or(String::new(), |language| format!(". {}", language.advice()));
        Unavailable::new(format!("The language server {} does not start: {why}{advice}", self.name()))
    }
}

/// A language's settings: built in, the host's, or both.
struct LanguageSupport<'a> {
    name: &'a str,
    built_in: Option<&'static Language>,
    settings: Option<&'a LspServerSettings>,
}

impl<'a> LanguageSupport<'a> {
    /// Found by extension, the host's first; a file without extension by its first line.
    fn of(settings: &'a LspSettings, extension: &str, text: &DocumentText) -> Option<Self> {
        if let Some((name, own)) = settings.of_extension(extension) {
            return Some(Self { name, built_in: language::built_in(name), settings: Some(own) });
        }
        let language = match extension {
            "" => language::all().find(|language| is_script_of(language, text)),
            _ => language::of_extension(extension),
        }?;
        let own = settings.servers.get(language.name);
        Some(Self { name: language.name, built_in: Some(language), settings: own })
    }

    fn title(&self) -> &'a str {
        self.built_in.map_or(self.name, |language| language.title)
    }

    fn id(&self, extension: &str) -> String {
        let known = self.built_in.map(|language| language.id_of(extension).unwrap_or(language.main_id()));
        known.unwrap_or(self.name).to_owned()
    }

    fn options(&self, program: &Path, workspace: &Path) -> Value {
        match self.built_in.map(|language| language.name) {
            Some("typescript") if !self.is_trusted() => {
                typescript::pinned(self.given_options(), program, workspace)
            }
            _ => self.given_options(),
        }
    }

    /// The host's options, or the built-in ones.
    fn given_options(&self) -> Value {
        let own = self.settings.and_then(|own| own.options.clone());
        own.or_else(|| Some((self.built_in?.options)())).unwrap_or_default()
    }

    fn is_trusted(&self) -> bool {
        self.settings.is_some_and(|own| own.trusted)
    }

    fn sources(&self) -> SourceFilter {
        let own = self.settings.into_iter().flat_map(|own| own.extensions.iter().cloned());
        let known = self.built_in.into_iter().flat_map(|language| language.extensions);
        let names = self.built_in.map_or(&[][..], |language| language.also_watched);
        SourceFilter::new(own.chain(known.map(|(extension, _)| (*extension).to_owned())), names)
    }

    /// The candidates, the preferred one first.
    fn commands(&self) -> Vec<Vec<String>> {
        match self.settings {
            Some(own) if !own.command.is_empty() => vec![own.command.clone()],
            _ => {
                let known = self.built_in.into_iter().flat_map(|language| language.commands);
                known.map(|command| command.iter().map(|&word| word.to_owned()).collect()).collect()
            }
        }
    }

    /// Program and arguments of the first candidate that is installed and usable.
    fn command(&self, workspace: &Path) -> Result<(PathBuf, Vec<String>), Unavailable> {
        if self.settings.is_some_and(|own| own.disabled) {
            return Err(Unavailable::new(format!(
                "The language server for {} is switched off",
                self.title()
            )));
        }
        let commands = self.commands();
        let mut why = None;
        for command in &commands {
            let Some(program) = program(&command[0], workspace) else { continue };
            match self.fits(&program, workspace) {
                Ok(()) => return Ok((program, command[1..].to_vec())),
                Err(unfit) => why = why.or(Some(unfit)),
            }
        }
        Err(why.unwrap_or_else(|| self.missing(&commands, workspace)))
    }

    /// Whether an installed program is usable as a server.
    fn fits(&self, program: &Path, workspace: &Path) -> Result<(), Unavailable> {
        match self.built_in.map(|language| language.name) {
            Some("typescript") if !self.is_trusted() => {
                typescript::fits(program, &self.given_options(), workspace)
            }
            _ => Ok(()),
        }
    }

    fn missing(&self, commands: &[Vec<String>], workspace: &Path) -> Unavailable {
        let own = commands.iter().find_map(|command| Some((in_workspace(&command[0], workspace)?, command)));
        if let Some((path, command)) = own {
            return self.refused(&path, command, workspace);
        }
        let title = self.title();
        let is_own = self.settings.is_some_and(|own| !own.command.is_empty());
        let why = match self.built_in.filter(|_| !is_own) {
            Some(language) => format!("There is no language server for {title} here. {}", language.advice()),
            None => {
                let names: Vec<&str> = commands.iter().map(|command| &*command[0]).collect();
                format!("There is no language server for {title} here (looked for {})", names.join(", "))
            }
        };
        let Unavailable(why, _) = Unavailable::new(why);
        Unavailable(why, Some(self.in_settings("PROGRAM", &[])))
    }

    /// How the host names a program as the server.
    fn in_settings(&self, program: &str, arguments: &[String]) -> HostHint {
        let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
        let quoted: Vec<String> = words.map(|word| format!("\"{word}\"")).collect();
        let erlang: Vec<String> = quoted.iter().map(|word| format!("<<{word}>>")).collect();
        let (name, words, terms) = (self.name, quoted.join(", "), erlang.join(", "));
        HostHint::new(
            format!("Name it: lsp => #{{servers => #{{{name} => #{{command => [{terms}]}}}}}}"),
            format!(
                "Name it in a file for --settings: {{\"lsp\": {{\"servers\": {{\"{name}\": {{\"command\": [{words}]}}}}}}}}"
            ),
        )
    }
}

impl LanguageSupport<'_> {
    /// What the workspace holds may be a model's work, so only the host can admit it.
    fn refused(&self, path: &Path, command: &[String], workspace: &Path) -> Unavailable {
        let hint = self.in_settings(&workspace.join(path).display().to_string(), &command[1..]);
        let Unavailable(why, _) = Unavailable::new(format!(
            "The language server for {} is at {} and is not started, because programs in the workspace are run only where \
             the host names them",
            self.title(),
            path.display(),
        ));
        Unavailable(why, Some(hint))
    }
}

fn is_script_of(language: &Language, text: &DocumentText) -> bool {
    let Some(line) = text.line(0).and_then(|line| line.strip_prefix("#!")) else { return false };
    let mut words = line.split_whitespace().filter_map(|word| word.rsplit('/').next());
    let interpreter = match words.next() {
        Some("env") => words.find(|word| !word.starts_with('-')),
        other => other,
    };
    interpreter.is_some_and(|name| language.interpreters.contains(&name))
}

fn unknown(path: &Path, settings: &LspSettings) -> Unavailable {
    let names = names(settings).collect::<Vec<_>>().join(", ");
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    Unavailable::new(format!(
        "There is no language server for files such as {name}; there are servers for {names}"
    ))
}

/// The built-in languages, then the host's.
fn names(settings: &LspSettings) -> impl Iterator<Item = &str> {
    let own = settings.servers.keys().map(String::as_str).filter(|name| language::built_in(name).is_none());
    language::all().map(|language| language.name).chain(own)
}

/// Whether a server is available for a file, judging by its extension.
pub fn is_served(cx: &CallContext, path: &Path) -> bool {
    serves(&cx.lsp, cx.workspace.path(), &path.extension().unwrap_or_default().to_string_lossy())
}

/// Whether a server is available for files with this extension.
pub(super) fn serves(settings: &LspSettings, workspace: &Path, extension: &str) -> bool {
    let kind = LanguageSupport::of(settings, extension, &DocumentText::new(String::new()));
    kind.is_some_and(|kind| kind.command(workspace).is_ok())
}

/// Whether files with this extension are of a known language.
pub(super) fn is_known(settings: &LspSettings, extension: &str) -> bool {
    LanguageSupport::of(settings, extension, &DocumentText::new(String::new())).is_some()
}

/// Availability of a language's server.
#[derive(Debug, Clone, Serialize)]
pub struct ServerAvailability {
    /// The language's name in settings.
    pub language: String,
    /// Path of the program; null if none was found.
    pub program: Option<String>,
    /// Why none was found and how to install one, for the person; null if one was found.
    pub missing: Option<String>,
    /// How to install one.
    pub install: Option<&'static str>,
}

/// Availability of all servers. Starts none.
pub fn availability(settings: &LspSettings, workspace: &Path) -> Vec<ServerAvailability> {
    let present = |name: &str| {
        let kind = LanguageSupport {
            name,
            built_in: language::built_in(name),
            settings: settings.servers.get(name),
        };
        let found = kind.command(workspace);
        ServerAvailability {
            language: name.to_owned(),
            program: found.as_ref().ok().map(|(program, _)| program.display().to_string()),
            missing: found.err().map(|unavailable| unavailable.for_person()),
            install: kind.built_in.map(|language| language.install),
        }
    };
    names(settings).map(present).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn context(settings: Value) -> (tempfile::TempDir, CallContext) {
        let dir = tempfile::tempdir().unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let lsp = std::sync::Arc::new(serde_json::from_value(settings).unwrap());
        (dir, CallContext { lsp, ..CallContext::new(workspace) })
    }

    fn plan(settings: Value, path: &str, text: &str) -> Result<(ServerPlan, String), Unavailable> {
        let (_dir, cx) = context(settings);
        ServerPlan::of(&cx, Path::new(path), &DocumentText::new(text.to_owned()))
    }

    fn served(command: &str) -> Value {
        json!({"servers": {"python": {"command": [command, "-x"]}, "sh": {"command": ["/bin/sh"]}}})
    }

    #[test]
    fn a_server_in_the_workspace_is_named_and_refused_with_the_option_that_admits_it() {
        let (dir, cx) = context(json!({}));
        let bin = dir.path().join("node_modules/.bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::fs::write(bin.join("bash-language-server"), "").unwrap();
        let Err(Unavailable(why, hint)) =
            ServerPlan::of(&cx, Path::new("a.sh"), &DocumentText::new(String::new()))
        else {
            return; // It is installed on this machine, and comes first.
        };
        let option = format!("command => [<<\"{}/bash-language-server\">>", bin.display());
        assert!(why.contains("is at node_modules/.bin/bash-language-server and is not started"), "{why}");
        assert!(!why.contains("command"), "{why}");
        assert!(hint.unwrap().in_terms(HostTerms::Erlang).contains(&option));
    }

    #[test]
    fn a_files_language_is_known_by_extension_or_by_first_line() {
        for (path, text) in
            [("a/b.py", ""), ("tool", "#!/usr/bin/env -S python3 -u\n"), ("x", "#!/bin/python\n")]
        {
            let (plan, id) = plan(served("/bin/sh"), path, text).unwrap();
            assert_eq!((&*plan.identity.spec.language, &*id), ("python", "python"), "{path}");
            assert_eq!(plan.identity.spec.arguments, ["-x"]);
        }
        assert_eq!(plan(served("/bin/sh"), "run", "#!/bin/bash -e\n").unwrap().1, "shellscript");
    }

    #[test]
    fn the_hosts_extensions_come_first() {
        let settings = json!({"servers": {"zig": {"command": ["/bin/sh"], "extensions": ["zig", "py"]}}});
        let (plan, id) = plan(settings, "a.py", "").unwrap();
        assert_eq!((&*plan.identity.spec.language, &*id), ("zig", "zig"));
    }

    #[test]
    fn a_missing_server_is_told_with_the_way_to_install_it() {
        let Unavailable(why, hint) = plan(served("/no/such/program"), "a.py", "").unwrap_err();
        let end = "Use grep to search for names and read to look at files instead.";
        assert_eq!(
            why,
            format!("There is no language server for Python here (looked for /no/such/program). {end}")
        );
        assert!(
            hint.unwrap().in_terms(HostTerms::Erlang).contains("python => #{command => [<<\"PROGRAM\">>]}")
        );
        let workspace = Path::new("/no/workspace");
        for language in language::all() {
            let kind = LanguageSupport { name: language.name, built_in: Some(language), settings: None };
            let Unavailable(why, _) = kind.missing(&kind.commands(), workspace);
            for part in [language.title, language.program, language.install, end] {
                assert!(why.contains(part), "{why}");
            }
            assert_eq!(why.matches(language.install).count(), 1, "{why}");
        }
    }

    #[test]
    fn the_person_is_told_nothing_that_is_meant_for_models() {
        let workspace = Path::new("/no/workspace");
        for language in language::all() {
            let kind = LanguageSupport { name: language.name, built_in: Some(language), settings: None };
            let told = kind.missing(&kind.commands(), workspace).for_person();
            for part in
                [language.title, &format!("Install {}: {}", language.program, language.install), "--settings"]
            {
                assert!(told.contains(part), "{told}");
            }
            assert!(!told.contains("Use grep") && !told.contains("The user"), "{told}");
        }
    }

    #[test]
    fn the_way_to_install_a_server_is_told_once_if_it_does_not_start() {
        let settings = json!({"servers": {"rust": {"command": ["/bin/sh"]}}});
        let (plan, _) = plan(settings, "a.rs", "").unwrap();
        let command = "rustup component add rust-analyzer";
        for why in ["it has ended", &format!("it has ended: to install, run `{command}`")] {
            let Unavailable(told, _) = plan.broken(why);
            assert_eq!(told.matches(command).count(), 1, "{told}");
        }
    }

    #[test]
    fn other_files_and_languages_that_are_switched_off_are_told() {
        let Unavailable(why, _) = plan(json!({}), "a.xyz", "").unwrap_err();
        assert!(why.contains("files such as a.xyz; there are servers for sh, python"), "{why}");
        let off = json!({"servers": {"go": {"disabled": true}}});
        assert!(plan(off, "a.go", "").unwrap_err().0.contains("switched off"));
    }

    #[test]
    fn a_program_of_the_workspace_is_not_taken_by_name() {
        let real = Path::new("/bin").canonicalize().unwrap();
        assert!(program("sh", Path::new("/no/workspace")).is_some());
        let found = program("sh", Path::new("/"));
        assert_eq!(found, None, "everything on the PATH is in the workspace {real:?}");
    }

    #[test]
    fn presence_names_every_language() {
        let settings = serde_json::from_value(served("/bin/sh")).unwrap();
        let all = availability(&settings, Path::new("/no/workspace"));
        assert_eq!(all.len(), language::names().count());
        let python = all.iter().find(|one| one.language == "python").unwrap();
        assert_eq!((python.program.as_deref(), &python.missing), (Some("/bin/sh"), &None));
    }
}
