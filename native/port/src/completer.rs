//! What can follow on a command line. The scripts of `beamai-port completions` ask for it.

use crate::args;
use crate::call::{self, NamedTool};
use crate::cli;
use crate::tool_flags::BOOLEAN;
use beamai_engine::catalogue;
use beamai_isolation::SANDBOXES;
use beamai_policy::NETWORK;
use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command, ValueHint};
use std::ffi::OsString;
use std::process::ExitCode;

/// The internal command of the scripts. Its arguments are the words after the program's name up to the cursor; the last one
/// is to be completed, and may be empty. It prints the kind of paths that fit, then a line for each word: the word, a tab,
/// and what it means.
pub(crate) const COMMAND: &str = "complete";

/// A word that fits, and what it means.
#[derive(Debug, PartialEq, Eq)]
struct Candidate {
    word: String,
    help: String,
}

/// The paths that fit, which shells complete by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PathKind {
    None,
    Files,
    Directories,
}

#[derive(Debug)]
struct Completion {
    candidates: Vec<Candidate>,
    paths: PathKind,
}

/// Prints the completion of these words.
pub(crate) fn main(words: &[OsString]) -> ExitCode {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    args::print(complete(&words).text())
}

fn complete(words: &[String]) -> Completion {
    let Some((typed, before)) = words.split_last() else { return Completion::of(Vec::new()) };
    let Some((name, given)) = before.split_first() else {
        let mut program = cli::program();
        program.build();
        let all = commands().into_iter().chain(flags(&program, &[])).collect();
        return Completion::of(all).beginning_with(typed);
    };
    let Some(mut command) = command(name, given) else { return Completion::of(Vec::new()) };
    command.build();
    let line = GivenWords::read(&command, given);
    if line.is_ended {
        return Completion::of(Vec::new());
    }
    if let Some(arg) = line.pending {
        return values(arg).beginning_with(typed);
    }
    if let Some((flag, _)) = typed.split_once('=').filter(|(flag, _)| flag.starts_with("--")) {
        let values = find(&command, flag).filter(|arg| takes_value(arg)).map(values);
        let attached = values.map(|values| values.attached_to(flag));
        return attached.unwrap_or(Completion::of(Vec::new())).beginning_with(typed);
    }
    let expected = positional(&command, name, given, line.positionals).filter(|_| !typed.starts_with('-'));
    Completion::of(expected.unwrap_or_else(|| flags(&command, given))).beginning_with(typed)
}

/// The command of this name; `call` with the arguments of the tool that the words name.
fn command(name: &str, given: &[String]) -> Option<Command> {
    match call::named(given).tool().filter(|_| name == "call") {
        Some(Ok(tool)) => Some(call::with_tool(&**tool)),
        _ => cli::program().find_subcommand(name).cloned(),
    }
}

/// What the words before the cursor say of the next one.
struct GivenWords<'a> {
    /// The argument whose value comes next.
    pending: Option<&'a Arg>,
    /// How many words are neither flags nor values of flags.
    positionals: usize,
    /// Whether no flag can follow.
    is_ended: bool,
}

impl<'a> GivenWords<'a> {
    fn read(command: &'a Command, given: &[String]) -> Self {
        let mut read = Self { pending: None, positionals: 0, is_ended: false };
        for word in given {
            if read.pending.take().is_some() {
                continue;
            }
            match word.as_str() {
                "--" => read.is_ended = true,
                flag if flag.starts_with('-') && flag.len() > 1 => {
                    let separate = |arg: &&Arg| takes_value(arg) && !arg.is_require_equals_set();
                    read.pending = find(command, flag).filter(separate);
                }
                _ => read.positionals += 1,
            }
        }
        read
    }
}

/// The argument of a flag, as `--long` or `-s`.
fn find<'a>(command: &'a Command, flag: &str) -> Option<&'a Arg> {
    let is_named = |arg: &&Arg| match flag.strip_prefix("--") {
        Some(name) => {
            arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
        }
        None => arg.get_short().is_some_and(|short| flag[1..] == *short.encode_utf8(&mut [0; 4])),
    };
    command.get_arguments().find(is_named)
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_action().takes_values()
}

fn values(arg: &Arg) -> Completion {
    let words = |words: &[&str]| words.iter().map(|word| Candidate::new(word, "")).collect();
    let candidates = match arg.get_id().as_str() {
        "allow" | "ask" | "deny" => rules(),
        "sandbox" => words(&SANDBOXES),
        "settings" => vec![Candidate::new(crate::settings_file::NONE, "no settings file")],
        _ if arg.get_value_names().is_some_and(|names| names == [BOOLEAN]) => words(&["true", "false"]),
        _ => possible(arg),
    };
    let paths = match arg.get_value_hint() {
        ValueHint::DirPath => PathKind::Directories,
        ValueHint::FilePath | ValueHint::AnyPath => PathKind::Files,
        _ => PathKind::None,
    };
    Completion { candidates, paths }
}

fn possible(arg: &Arg) -> Vec<Candidate> {
    let shown = arg.get_possible_values().into_iter().filter(|value| !value.is_hide_set());
    shown.map(|value| Candidate::new(value.get_name(), &summary(value.get_help()))).collect()
}

/// Names of permission rules, each with the tools that it is about.
fn rules() -> Vec<Candidate> {
    let tools = || catalogue::dialect("beamai").into_iter().flat_map(|registry| registry.iter());
    let about = |rule: &str| {
        let names = tools().filter(|tool| tool.rule() == rule).map(|tool| tool.name());
        match rule {
            NETWORK => "connections of commands".to_owned(),
            _ => names.collect::<Vec<_>>().join(", "),
        }
    };
    let rules = catalogue::offered_rules().into_iter();
    rules.map(|rule| Candidate::new(rule, &about(rule))).collect()
}

/// What fits where a word without a flag is expected, if one with known values is.
fn positional(command: &Command, name: &str, given: &[String], at: usize) -> Option<Vec<Candidate>> {
    match (name, at) {
        ("call", 0) => Some(tools(&call::named(given))),
        ("help" | "man", 0) => Some(commands()),
        ("help", 1) if given[0] == "call" => Some(tools(&NamedTool::default())),
        _ => command.get_positionals().nth(at).map(possible).filter(|known| !known.is_empty()),
    }
}

fn commands() -> Vec<Candidate> {
    let summary = |command: &Command| Candidate::new(command.get_name(), &summary(command.get_about()));
    cli::program().get_subcommands().map(summary).collect()
}

fn tools(named: &NamedTool) -> Vec<Candidate> {
    let tools = catalogue::dialect(&named.dialect).into_iter().flat_map(|registry| registry.iter());
    tools.map(|tool| Candidate::new(tool.name(), &call::first_sentence(tool.description()))).collect()
}

/// The flags that can still be given.
fn flags(command: &Command, given: &[String]) -> Vec<Candidate> {
    let is_given = |flag: &str| {
        let name = |word: &String| word.split('=').next() == Some(flag);
        given.iter().any(name)
    };
    let flag = |arg: &Arg| {
        let flag = match (arg.get_long(), arg.get_short()) {
            (Some(long), _) => format!("--{long}"),
            (None, Some(short)) => format!("-{short}"),
            (None, None) => return None,
        };
        let is_free = matches!(arg.get_action(), ArgAction::Append) || !is_given(&flag);
        (is_free && !arg.is_hide_set()).then(|| Candidate::new(&flag, &summary(arg.get_help())))
    };
    command.get_arguments().filter_map(flag).collect()
}

fn summary(help: Option<&StyledStr>) -> String {
    help.map(|help| call::first_sentence(&help.to_string())).unwrap_or_default()
}

impl Candidate {
    fn new(word: &str, help: &str) -> Self {
        Self { word: word.to_owned(), help: help.replace(['\t', '\n'], " ") }
    }
}

impl Completion {
    fn of(candidates: Vec<Candidate>) -> Self {
        Self { candidates, paths: PathKind::None }
    }

    fn beginning_with(mut self, typed: &str) -> Self {
        self.candidates.retain(|candidate| candidate.word.starts_with(typed));
        self
    }

    fn attached_to(mut self, flag: &str) -> Self {
        for candidate in &mut self.candidates {
            candidate.word = format!("{flag}={}", candidate.word);
        }
        self
    }

    fn text(&self) -> String {
        let paths = match self.paths {
            PathKind::None => "none",
            PathKind::Files => "files",
            PathKind::Directories => "directories",
        };
        let lines = self.candidates.iter().map(|Candidate { word, help }| format!("{word}\t{help}\n"));
        [format!("{paths}\n")].into_iter().chain(lines).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completion(line: &str) -> Completion {
        complete(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    fn completed(line: &str) -> Vec<String> {
        completion(line).candidates.into_iter().map(|candidate| candidate.word).collect()
    }

    #[test]
    fn tools_are_those_of_the_dialect() {
        assert_eq!(completed("call file_gr"), ["file_grep"]);
        let coder = completed("call --dialect coder ");
        assert!(coder.contains(&"read".to_owned()) && !coder.contains(&"file_read".to_owned()), "{coder:?}");
        assert_eq!(completed("call --dialect=ide Gre"), completed("call --dialect ide Gre"));
        assert!(completed("call --dialect coder read --off").contains(&"--offset".to_owned()));
        assert!(completed("call --dialect none ").is_empty());
    }

    #[test]
    fn values_are_those_of_the_flag() {
        for flag in ["--allow", "--ask", "--deny"] {
            for rule in ["Bash", "Edit", "Glob", "Grep", "Network", "Read", "WebFetch", "Write"] {
                assert!(completed(&format!("mcp {flag} ")).contains(&rule.to_owned()), "{flag} {rule}");
            }
        }
        assert_eq!(completed("call --sandbox required:"), ["required:full", "required:landlock"]);
        assert_eq!(completed("mcp --default "), ["auto", "allow", "ask", "deny"]);
        assert_eq!(completed("tools --format=open"), ["--format=openai", "--format=openai_responses"]);
        assert_eq!(completed("tools --dialect "), ["beamai", "microai", "coder", "ide"]);
        assert_eq!(completed("call file_grep --output-mode co"), ["content", "count"]);
        assert_eq!(completed("call file_grep --literal="), ["--literal=true", "--literal=false"]);
        assert_eq!(completed("completions "), ["bash", "zsh", "fish"]);
    }

    #[test]
    fn help_and_man_take_commands_and_help_tools() {
        assert_eq!(completed("help do"), ["doctor"]);
        assert_eq!(completed("man do"), ["doctor"]);
        assert_eq!(completed("help call file_gr"), ["file_grep"]);
        assert!(completed("help doctor file").is_empty() && completed("man call file").is_empty());
    }

    #[test]
    fn paths_are_offered_only_where_they_are_meant() {
        for line in ["call --workspace ", "call file_read --workspace=", "doctor --workspace ", "man --dir "]
        {
            assert_eq!(completion(line).paths, PathKind::Directories, "{line}");
        }
        for line in ["mcp --settings ", "call file_read --path ", "call --settings=a"] {
            assert_eq!(completion(line).paths, PathKind::Files, "{line}");
        }
        for line in
            ["", "call ", "call file_read ", "call file_grep --pattern ", "mcp --allow ", "help ", "call -- "]
        {
            assert_eq!(completion(line).paths, PathKind::None, "{line}");
        }
    }

    #[test]
    fn a_flag_is_offered_until_it_is_given() {
        assert_eq!(completed("call file_grep --pat"), ["--pattern", "--path"]);
        assert_eq!(completed("call file_grep --pattern x --pat"), ["--path"]);
        assert_eq!(completed("mcp --allow Bash --allow"), ["--allow", "--allow-address"]);
    }

    /// Every command, and every flag of every command and tool.
    #[test]
    fn everything_on_the_command_line_is_offered() {
        let mut program = cli::program();
        program.build();
        let dialects = catalogue::offered_dialects().flat_map(|dialect| {
            let tools = catalogue::dialect(dialect).unwrap().iter();
            tools.map(move |tool| {
                (format!("call --dialect {dialect} {}", tool.name()), call::with_tool(&**tool))
            })
        });
        let commands =
            program.get_subcommands().map(|command| (command.get_name().to_owned(), command.clone()));
        for (line, mut command) in commands.chain(dialects) {
            command.build();
            let offered = completed(&format!("{line} -"));
            for long in command.get_arguments().filter_map(Arg::get_long).filter(|long| *long != "dialect") {
                assert!(offered.contains(&format!("--{long}")), "{line} lacks --{long}");
            }
        }
    }
}
