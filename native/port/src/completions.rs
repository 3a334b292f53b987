//! `beamai-port completions`: completion scripts for shells, which ask the program what can follow.

use crate::args::{self, UsageError};
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use std::process::ExitCode;

/// The shells and their scripts, in which `PROGRAM` is the program's name and `FUNCTION` that of a function.
const SHELLS: [(&str, &str); 3] = [
    ("bash", include_str!("completions/bash")),
    ("zsh", include_str!("completions/zsh")),
    ("fish", include_str!("completions/fish")),
];

pub(crate) fn command() -> Command {
    let shells = PossibleValuesParser::new(SHELLS.map(|(name, _)| name));
    Command::new("completions")
        .about("Print a script that completes command lines, tools and their arguments included")
        .arg(Arg::new("SHELL").required(true).value_parser(shells).help("The shell that runs the script"))
        .after_help(
            "bash: source the output in ~/.bashrc, or save it as ~/.local/share/bash-completion/completions/PROGRAM\n\
             zsh:  save it as _PROGRAM in a directory of $fpath\n\
             fish: save it as ~/.config/fish/completions/PROGRAM.fish",
        )
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let wanted = matches.get_one::<String>("SHELL").map_or("", String::as_str);
    match SHELLS.iter().find(|(name, _)| *name == wanted) {
        Some((_, script)) => {
            let program = args::program();
            let function = program.replace('-', "_");
            Ok(args::print(script.replace("PROGRAM", program).replace("FUNCTION", &function)))
        }
        None => Err(UsageError(format!("there are no completions for {wanted:?}"))),
    }
}
