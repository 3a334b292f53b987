//! Whether a start is a part of its starter: what a program of the table needs to start to do its own work.

use super::bounded;
use super::called;
use super::table::{self, ProgramParts};
use beamai_bash_reader::{Invocation, is_shell, started};
use beamai_isolation::{ProgramStart, Starter};
use std::path::Path;

/// Whether a start is a part of its starter.
pub(super) fn is_part(at: u16, start: &ProgramStart) -> bool {
    if start.is_writable || !called::is_called_by_its_name(start) || called::applet(start).is_some() {
        return false;
    }
    let parts = table::parts(at);
    let name = called::base(&start.called);
    let given = called::arguments(start);
    if start.is_loader() {
        return parts.loads && start.has_all_arguments && lists(&given);
    }
    let is_excepted =
        table::has(parts.except, &name) || given.first().is_some_and(|first| table::has(parts.except, first));
    let is_its_choice = !is_told(&name, start);
    let is_named = bounded::is_named(parts, &name, &given, start.has_all_arguments)
        || is_in(&start.file, parts.directories) && (is_its_choice || table::has(parts.spoken, &name));
    let is_used =
        table::has(parts.used, &name) && is_script_of(parts, &start.starter.program) && is_its_choice;
    let is_own = !is_shell(&name) && (is_again(&name, start) || called::interprets_the_starter(&name, start));
    !is_excepted && (is_named || is_used || is_own || is_shell(&name) && runs_parts(parts, &given))
}

/// Whether a program starts itself. The name must match too, because one file may serve as several programs.
fn is_again(name: &str, start: &ProgramStart) -> bool {
    let Starter { program, arguments, .. } = &start.starter;
    let called = arguments.first().map(|first| called::base(Path::new(first)));
    start.file == *program && (called::base(program) == name || called.as_deref() == Some(name))
}

/// Whether the loader is called as by `ldd`, to list the libraries of a file without running it.
fn lists(given: &[String]) -> bool {
    match given {
        [one] => one == "--version" || !one.starts_with('-'),
        [option, file] => option == "--verify" && !file.starts_with('-'),
        _ => false,
    }
}

/// Whether a program is one of the scripts in [`ProgramParts::scripts`].
fn is_script_of(parts: &ProgramParts, program: &Path) -> bool {
    table::has(parts.scripts, &called::base(program)) && is_in(program, parts.directories)
}

/// Whether the starter's arguments name the program, or are not all known. Then starting it is not the starter's own
/// choice.
fn is_told(name: &str, start: &ProgramStart) -> bool {
    // The name may follow an option in the same word.
    let is_it = |word: &str| word == name || name.contains('-') && word.ends_with(name);
    let ends = |char: char| !(char.is_ascii_alphanumeric() || "-_.+[".contains(char));
    let Starter { arguments, has_all_arguments, .. } = &start.starter;
    !has_all_arguments || arguments.iter().skip(1).any(|told| told.to_string_lossy().split(ends).any(is_it))
}

fn is_in(file: &Path, directories: &str) -> bool {
    let mut above = file.components().rev().skip(1);
    above.any(|part| directories.split_whitespace().any(|directory| part.as_os_str() == directory))
}

/// Whether a shell's text runs only parts. For git, few of its commands count: git's own texts name only the remote side and
/// credential helpers, while a text that git is told to run (`rebase --exec`, `bisect run`, aliases) could name any.
fn runs_parts(parts: &ProgramParts, given: &[String]) -> bool {
    let found = started(&[vec!["sh".to_owned()], given.to_vec()].concat());
    let is_git = table::has(parts.directories, "git-core");
    let is_part = |program: &Invocation| {
        let Some(name) = program.name() else { return false };
        let given = program.known_arguments();
        let is_all = given.len() + 1 == program.words.len();
        let is_own = match is_git {
            true => {
                table::has(parts.spoken, &name)
                    || name.starts_with("git-credential")
                    || name == "git" && given.first().is_some_and(|sub| sub.starts_with("credential"))
            }
            false => bounded::is_named(parts, &name, &given, is_all),
        };
        is_own && !table::has(parts.except, &name)
    };
    found.is_certain()
        && found.opens_nothing()
        && found.programs.len() > 1
        && found.programs[1..].iter().all(is_part)
}
