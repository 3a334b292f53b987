//! `beamai-port doctor`: reports what works on this machine, and what is missing.

#[cfg(target_os = "linux")]
mod layers;
mod text;
#[cfg(target_os = "linux")]
mod victim;

use crate::args::{self, UsageError};
use beamai_base::program_directories;
use beamai_isolation::Tier;
#[cfg(target_os = "linux")]
use beamai_lsp::ServerAvailability;
#[cfg(target_os = "linux")]
use beamai_sandbox::{FOREIGN_REMEDY, ForeignPath};
use beamai_tool::lsp_settings::LspSettings;
use beamai_workspace::Workspace;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const ABOUT: &str = "\
Report which isolation layers, programs and language servers are there, what is missing, and what to do about it. Each layer is
tried with an attempt that succeeds without it: to write a file, to make a connection, to find a process. Exits with 0 if the
sandbox `required` works, otherwise with 1.";

pub(crate) fn command() -> Command {
    Command::new("doctor")
        .about("Report which isolation layers, programs and language servers are there, and what is missing")
        .long_about(ABOUT)
        .arg(Arg::new("workspace").long("workspace").value_name("DIR").value_parser(clap::value_parser!(PathBuf)).value_hint(ValueHint::DirPath).help(
            "The workspace in which to look for a repository and language servers; by default the current directory",
        ))
        .arg(Arg::new("json").long("json").action(ArgAction::SetTrue).help(
            "Print the report as one JSON object: required_works, tier, layers, programs, git, language_servers and what is in \
             the way. The exit code is the same",
        ))
        .arg(Arg::new("brief").long("brief").action(ArgAction::SetTrue).help(
            "Try no layer, and print only a line for each thing that is missing or in the way of the sandbox. Looks for the \
             repository only with --workspace. Exits with 0",
        ))
        .args_override_self(true)
}

/// The report on the machine.
#[derive(Serialize)]
struct DoctorReport {
    /// Whether commands run with the sandbox `required`.
    required_works: bool,
    /// The best tier that works; `None` if not even `required:landlock` does.
    tier: Option<Tier>,
    /// Obstacles to layers.
    obstacles: Vec<InTheWay>,
    layers: Vec<LayerReport>,
    /// Why no layer could be tested.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    programs: Vec<ProgramReport>,
    git: GitReport,
    /// Files of the workspace that commands cannot change.
    #[serde(skip_serializing_if = "Option::is_none")]
    foreign_files: Option<ForeignFiles>,
    language_servers: Vec<LanguageServerReport>,
}

/// Files of another user.
#[derive(Serialize)]
struct ForeignFiles {
    /// The first one found.
    path: PathBuf,
    uid: u32,
    finding: String,
    remedy: &'static str,
}

/// An obstacle to some layers.
#[derive(Serialize)]
struct InTheWay {
    name: &'static str,
    layers: &'static [&'static str],
    finding: &'static str,
    remedy: &'static str,
}

/// A sandbox layer.
#[derive(Serialize)]
struct LayerReport {
    layer: String,
    state: LayerStatus,
    /// The attempt.
    attempt: &'static str,
    /// Why it is missing, or what the attempt showed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
}

/// The state of a layer.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum LayerStatus {
    /// The attempt succeeds without the sandbox, and fails in it.
    Proved,
    /// The attempt fails in the sandbox, but also without it.
    On,
    /// It is reported as active, but the attempt succeeds.
    Broken,
    /// It is missing.
    Off,
}

#[derive(Serialize)]
struct ProgramReport {
    name: &'static str,
    path: Option<PathBuf>,
    needed_for: &'static str,
}

#[derive(Serialize)]
struct GitReport {
    repository: bool,
    problem: Option<String>,
}

#[derive(Serialize)]
struct LanguageServerReport {
    language: String,
    program: Option<String>,
    missing: Option<String>,
    /// How to install it.
    #[serde(skip)]
    install: Option<&'static str>,
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let workspace = matches.get_one::<PathBuf>("workspace");
    let (as_json, is_brief) = (matches.get_flag("json"), matches.get_flag("brief"));
    let open = |path: &Path| Workspace::open(path).map_err(|error| UsageError(error.message));
    if is_brief {
        return Ok(args::print(text::missing(workspace.map(|path| open(path)).transpose()?.as_ref())));
    }
    let workspace = open(workspace.map_or(Path::new("."), PathBuf::as_path))?;
    let report = examine(&workspace);
    let json = || serde_json::to_string_pretty(&report).unwrap_or_default() + "\n";
    args::print(&if as_json { json() } else { text::of(&report) });
    Ok(if report.required_works { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn examine(workspace: &Workspace) -> DoctorReport {
    let (layers, tier, problem) = match layers() {
        Ok((layers, tier)) => (layers, tier, None),
        Err(problem) => (Vec::new(), None, Some(problem)),
    };
    let is_broken = |layer: &LayerReport| layer.state == LayerStatus::Broken;
    let git = beamai_git::availability(workspace);
    DoctorReport {
        required_works: tier == Some(Tier::Full) && !layers.iter().any(is_broken),
        tier,
        obstacles: obstacles(),
        layers,
        problem,
        programs: programs(),
        git: GitReport { repository: git.repository, problem: git.problem },
        foreign_files: foreign_files(workspace.path()),
        language_servers: servers(workspace.path()),
    }
}

#[cfg(target_os = "linux")]
fn obstacles() -> Vec<InTheWay> {
    let found = beamai_sandbox::obstacles().into_iter();
    found
        .map(|one| InTheWay { name: one.name, layers: one.layers, finding: one.finding, remedy: one.remedy })
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn obstacles() -> Vec<InTheWay> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn foreign_files(workspace: &Path) -> Option<ForeignFiles> {
    let ForeignPath { path, uid } = ForeignPath::within(workspace)?;
    let finding = format!(
        "{} belongs to user {uid}; beamai runs as root and its commands without root's privileges, so they cannot change it",
        path.display()
    );
    Some(ForeignFiles { path, uid, finding, remedy: FOREIGN_REMEDY })
}

#[cfg(not(target_os = "linux"))]
fn foreign_files(_: &Path) -> Option<ForeignFiles> {
    None
}

#[cfg(target_os = "linux")]
fn layers() -> Result<(Vec<LayerReport>, Option<Tier>), String> {
    layers::examine()
}

#[cfg(not(target_os = "linux"))]
fn layers() -> Result<(Vec<LayerReport>, Option<Tier>), String> {
    Err("commands, language servers and their isolation need Linux; on this system none is started"
        .to_owned())
}

#[cfg(target_os = "linux")]
fn servers(workspace: &Path) -> Vec<LanguageServerReport> {
    let found = beamai_lsp::availability(&LspSettings::default(), workspace).into_iter();
    let server = |one: ServerAvailability| LanguageServerReport {
        language: one.language,
        program: one.program,
        missing: one.missing,
        install: one.install,
    };
    found.map(server).collect()
}

#[cfg(not(target_os = "linux"))]
fn servers(_: &Path) -> Vec<LanguageServerReport> {
    Vec::new()
}

fn programs() -> Vec<ProgramReport> {
    let find =
        |name: &str| program_directories().iter().map(|dir| dir.join(name)).find(|file| file.is_file());
    let program = |(name, needed_for)| ProgramReport { name, path: find(name), needed_for };
    let needed =
        [("bash", "every shell command"), ("git", "git in shell commands; the git tools work without it")];
    needed.map(program).into()
}
