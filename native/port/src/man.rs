//! `beamai-port man`: man pages, one for the program and one for each command.

use crate::args::{self, UsageError};
use crate::cli;
use beamai_base::describe;
use clap::{Arg, ArgAction, ArgMatches, Command, ValueHint};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(crate) fn command() -> Command {
    Command::new("man")
        .about("Print a man page")
        .arg(
            Arg::new("COMMAND").help("The command whose page to print; without one, the page of the program"),
        )
        .arg(
            Arg::new("dir")
                .long("dir")
                .value_name("DIR")
                .action(ArgAction::Set)
                .conflicts_with("COMMAND")
                .value_parser(clap::value_parser!(PathBuf))
                .value_hint(ValueHint::DirPath)
                .help("Write all pages into this directory instead, as PROGRAM.1 and PROGRAM-COMMAND.1"),
        )
        .after_help(format!("To read one: {} man call | man -l -", args::program()))
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let pages = pages();
    if let Some(directory) = matches.get_one::<PathBuf>("dir") {
        return write(directory, &pages).map(|()| ExitCode::SUCCESS);
    }
    let program = args::program();
    let command = matches.get_one::<String>("COMMAND");
    let wanted = command.map_or(program.to_owned(), |command| format!("{program}-{command}"));
    match pages.iter().find(|(name, _)| *name == wanted) {
        Some((_, page)) => Ok(args::print(page)),
        None => {
            let names: Vec<&str> =
                pages.iter().filter_map(|(name, _)| name.strip_prefix(program)?.strip_prefix('-')).collect();
            let command = command.map_or(program, String::as_str);
            let names = names.join(", ");
            Err(UsageError(format!("there is no man page for {command:?}; there are pages for: {names}")))
        }
    }
}

/// All pages by name; the program's own comes first.
pub(crate) fn pages() -> Vec<(String, Vec<u8>)> {
    let mut program = cli::program();
    program.build();
    let of_program = (program.get_name().to_owned(), render(program.clone()));
    let of_commands = program.get_subcommands().map(|command| {
        let name = format!("{}-{}", program.get_name(), command.get_name());
        (name.clone(), render(command.clone().name(name)))
    });
    [of_program].into_iter().chain(of_commands).collect()
}

fn render(command: Command) -> Vec<u8> {
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    _ = clap_mangen::Man::new(command.version(env!("CARGO_PKG_VERSION"))).manual("beamai").render(&mut page);
    page
}

fn write(directory: &Path, pages: &[(String, Vec<u8>)]) -> Result<(), UsageError> {
    let wrong = |path: &Path, error: std::io::Error| {
        UsageError(format!("{} cannot be written: {}", path.display(), describe(&error)))
    };
    std::fs::create_dir_all(directory).map_err(|error| wrong(directory, error))?;
    for (name, page) in pages {
        let path = directory.join(format!("{name}.1"));
        std::fs::write(&path, page).map_err(|error| wrong(&path, error))?;
    }
    Ok(())
}
