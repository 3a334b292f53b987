//! `beamai-port help`: the help of a command, or of a tool.

use crate::args::UsageError;
use crate::cli;
use clap::{Arg, ArgMatches, Command};
use std::ffi::OsString;
use std::process::ExitCode;

pub(crate) fn command() -> Command {
    Command::new("help")
        .about("Explain a command, or with `help call TOOL` a tool")
        .arg(Arg::new("WORDS").value_name("COMMAND").num_args(0..=2).help("A command; after `call`, a tool"))
}

/// Equivalent to the command with `--help`.
pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let words = matches.get_many::<String>("WORDS").unwrap_or_default().map(OsString::from);
    let program = std::env::args_os().next();
    Ok(cli::run(program.into_iter().chain(words).chain(["--help".into()]).collect()))
}
