//! The definition of the command line, used by the parser, help, completions and man pages.

use crate::args::{self, UsageError};
use crate::{call, completions, doctor, help, man, mcp, serve, tools};
use beamai_base::{excerpt, nearest};
use beamai_text::printable;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use std::ffi::OsString;
use std::process::ExitCode;

/// A subcommand: name, description, and function.
pub(crate) struct Subcommand {
    pub(crate) describe: fn() -> Command,
    run: fn(&ArgMatches) -> Result<ExitCode, UsageError>,
}

/// All public subcommands, in the order of the help.
pub(crate) const SUBCOMMANDS: [Subcommand; 8] = [
    Subcommand { describe: tools::command, run: tools::main },
    Subcommand { describe: call::command, run: call::main },
    Subcommand { describe: mcp::command, run: mcp::main },
    Subcommand { describe: doctor::command, run: doctor::main },
    Subcommand { describe: serve::command, run: serve::main },
    Subcommand { describe: completions::command, run: completions::main },
    Subcommand { describe: man::command, run: man::main },
    Subcommand { describe: help::command, run: help::main },
];

/// The program without the arguments of a particular tool.
pub(crate) fn program() -> Command {
    let name = args::program();
    Command::new(name)
        .version(env!("CARGO_PKG_VERSION"))
        .about("Run the tools of beamai on the command line, or serve them to MCP clients")
        .subcommands(SUBCOMMANDS.iter().map(|subcommand| (subcommand.describe)()))
        .subcommand_required(true)
        .disable_help_subcommand(true)
        .subcommand_help_heading("Commands")
        .after_help(format!("{name} COMMAND --help explains a command, {name} call TOOL --help a tool."))
}

/// Runs the command line of this process.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    match parse(arguments).and_then(|matches| dispatch(&matches).map_err(CommandLineError::Usage)) {
        Ok(code) => code,
        Err(CommandLineError::Usage(usage)) => {
            eprintln!("{}: {}", args::program(), printable(&usage.to_string()));
            ExitCode::from(2)
        }
        // Includes help and version.
        Err(CommandLineError::Clap(error)) => match (error.print(), error.use_stderr()) {
            (printed, false) => args::written(printed),
            (_, true) => ExitCode::from(2),
        },
    }
}

enum CommandLineError {
    Usage(UsageError),
    Clap(clap::Error),
}

fn parse(arguments: Vec<OsString>) -> Result<ArgMatches, CommandLineError> {
    let mut program = program();
    let is_call = arguments.get(1).is_some_and(|word| word == "call");
    if let Some(tool) = call::named(arguments.get(2..).unwrap_or_default()).tool().filter(|_| is_call) {
        let tool = tool.map_err(CommandLineError::Usage)?;
        program = program.mut_subcommand("call", |_| call::with_tool(&**tool));
    }
    program.try_get_matches_from(arguments).map_err(|error| match error.kind() {
        ErrorKind::MissingSubcommand => {
            let names = names().join(", ");
            CommandLineError::Usage(UsageError(format!("a command is missing, one of {names}; see --help")))
        }
        ErrorKind::InvalidSubcommand => match error.get(ContextKind::InvalidSubcommand) {
            Some(ContextValue::String(name)) => CommandLineError::Usage(unknown(name)),
            _ => CommandLineError::Clap(error),
        },
        _ => CommandLineError::Clap(error),
    })
}

fn names() -> Vec<String> {
    SUBCOMMANDS.iter().map(|subcommand| (subcommand.describe)().get_name().to_owned()).collect()
}

/// The error for a command that does not exist.
fn unknown(name: &str) -> UsageError {
    let names = names();
    let advice = match nearest(name, names.iter().map(String::as_str)).as_slice() {
        [] => format!("there are: {}", names.join(", ")),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    UsageError(format!("there is no command {:?}; {advice}", excerpt(name)))
}

fn dispatch(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let Some((name, matches)) = matches.subcommand() else { return Ok(ExitCode::from(2)) };
    let found = SUBCOMMANDS.iter().find(|subcommand| (subcommand.describe)().get_name() == name);
    found.map_or_else(|| Err(unknown(name)), |it| (it.run)(matches))
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_engine::catalogue;

    /// All commands in the tree, with the words that select them.
    fn all(command: &Command, words: &[String], found: &mut Vec<(Vec<String>, Command)>) {
        found.push((words.to_vec(), command.clone()));
        for subcommand in command.get_subcommands() {
            let words: Vec<String> =
                words.iter().cloned().chain([subcommand.get_name().to_owned()]).collect();
            all(subcommand, &words, found);
        }
    }

    /// Each command with all of its arguments, and a subcommand of `call` for each tool.
    fn with_tools() -> Command {
        let tools = catalogue::dialect("beamai").unwrap().iter();
        let tools = tools.map(|tool| call::with_tool(&**tool).name(tool.name().to_owned()));
        program().mut_subcommand("call", |call| call.subcommands(tools))
    }

    fn tree() -> Vec<(Vec<String>, Command)> {
        let mut program = with_tools();
        program.build();
        let mut found = Vec::new();
        all(&program, &[], &mut found);
        found
    }

    fn flags(command: &Command) -> Vec<String> {
        let long = command.get_arguments().filter_map(|arg| arg.get_long().map(|name| format!("--{name}")));
        long.chain(command.get_arguments().filter_map(|arg| arg.get_short().map(|name| format!("-{name}"))))
            .collect()
    }

    #[test]
    fn the_description_is_sound_and_everything_in_it_is_explained() {
        with_tools().debug_assert();
        for (words, command) in tree() {
            assert!(command.get_about().is_some(), "{words:?} has no description");
            for arg in command.get_arguments() {
                assert!(arg.get_help().is_some(), "{words:?} {} is not explained", arg.get_id());
            }
        }
    }

    #[test]
    fn there_is_a_command_for_every_tool() {
        let commands = tree();
        for tool in catalogue::dialect("beamai").unwrap().iter() {
            let (_, command) = commands.iter().find(|(words, _)| *words == ["call", tool.name()]).unwrap();
            let known = flags(command);
            for name in tool.parameters().keys() {
                let flag = format!("--{}", crate::tool_flags::flag_name(name));
                assert!(known.contains(&flag), "{} lacks {flag}", tool.name());
            }
        }
    }

    /// The dialect for tests is in this build, but in no text.
    #[test]
    fn nothing_names_the_dialect_for_tests() {
        assert!(catalogue::dialects().any(|name| name == "probe"));
        for (words, mut command) in tree() {
            let help = command.render_long_help().to_string();
            assert!(!help.contains("probe"), "{words:?}: {help}");
        }
        for (name, page) in crate::man::pages() {
            assert!(!String::from_utf8(page).unwrap().contains("probe"), "{name}");
        }
    }

    #[test]
    fn man_pages_have_every_command_and_every_flag() {
        let pages: Vec<(String, String)> = crate::man::pages()
            .into_iter()
            .map(|(name, page)| (name, String::from_utf8(page).unwrap().replace("\\-", "-")))
            .collect();
        let mut program = program();
        program.build();
        assert_eq!(pages.len(), SUBCOMMANDS.len() + 1);
        for command in program.get_subcommands() {
            assert!(pages[0].1.contains(command.get_name()), "the first page lacks {}", command.get_name());
            let name = format!("{}-{}", program.get_name(), command.get_name());
            let (_, page) = pages.iter().find(|(page, _)| *page == name).unwrap();
            for flag in flags(command) {
                assert!(page.contains(&flag), "the page of {name} lacks {flag}");
            }
        }
    }
}
