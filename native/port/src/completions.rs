//! `beamai-port completions`: completion scripts for shells.

use crate::args::{self, INSTALLED, UsageError};
use crate::cli;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use clap_complete::{Shell, generate};
use std::process::ExitCode;

const SHELLS: [(&str, Shell); 3] = [("bash", Shell::Bash), ("zsh", Shell::Zsh), ("fish", Shell::Fish)];

pub(crate) fn command() -> Command {
    let shells = PossibleValuesParser::new(SHELLS.map(|(name, _)| name));
    Command::new("completions")
        .about("Print the completions for a shell, tools and their arguments included")
        .arg(Arg::new("SHELL").required(true).value_parser(shells).help("The shell that is to complete command lines"))
        .after_help(
            "bash: source the output in ~/.bashrc, or save it as ~/.local/share/bash-completion/completions/PROGRAM\n\
             zsh:  save it as _PROGRAM in a directory of $fpath\n\
             fish: save it as ~/.config/fish/completions/PROGRAM.fish",
        )
}

pub(crate) fn main(matches: &ArgMatches) -> Result<ExitCode, UsageError> {
    let wanted = matches.get_one::<String>("SHELL").map_or("", String::as_str);
    let Some((_, shell)) = SHELLS.iter().find(|(name, _)| *name == wanted) else {
        return Err(UsageError(format!("there are no completions for {wanted:?}")));
    };
    Ok(args::print(script(*shell, args::program())))
}

/// The completions for a program of this name.
pub(crate) fn script(shell: Shell, program: &str) -> String {
    // In scripts for bash, a name with a hyphen would be written in two ways, of which neither is found. What bash calls takes
    // the name from the command line, so that only its registration has to name the program.
    let own = if shell == Shell::Bash { INSTALLED } else { program };
    let mut script = Vec::new();
    generate(
        shell,
        &mut cli::for_completions().name(own.to_owned()).bin_name(own.to_owned()),
        own,
        &mut script,
    );
    let script = String::from_utf8_lossy(&script);
    let registered = |line: &str| match line.trim_start().starts_with("complete -F") {
        true => line.strip_suffix(own).unwrap_or(line).to_owned() + program + "\n",
        false => format!("{line}\n"),
    };
    if shell == Shell::Bash { script.lines().map(registered).collect() } else { script.into_owned() }
}
