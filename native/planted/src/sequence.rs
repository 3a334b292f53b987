//! Commands that git runs when a rebase or a cherry-pick sequence is continued.

use super::directory::OpenDirectory;
use super::references::is_beneath_refs;
use super::state::STATES;
use beamai_git_config::{ConfigEntry, read};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};

/// Directories with the state of a sequence, and the file that lists its pending steps.
const LISTS: [(&str, &str); 2] = [("rebase-merge", "git-rebase-todo"), ("sequencer", "todo")];
/// Files that name a merge strategy, which is the suffix of a program's name, or the strategy's options.
const STRATEGIES: [(&str, &str); 3] =
    [("rebase-merge", "strategy"), ("rebase-merge", "strategy_opts"), ("sequencer", "opts")];
/// Strategies that git runs without a script. Scripts may evaluate their options.
const BUILT_IN: [&[u8]; 4] = [b"ort", b"recursive", b"subtree", b"ours"];
/// The pending commands of a sequence, and what its files say of strategies.
#[derive(Debug, Default)]
pub(super) struct SequenceCommands {
    commands: BTreeSet<Vec<u8>>,
    strategies: BTreeMap<(&'static str, &'static str), Vec<u8>>,
}

impl SequenceCommands {
    /// Those of a repository; `None` if no sequence is in progress.
    pub(super) fn of(repository: &OpenDirectory) -> Option<Self> {
        let mut steps = None;
        for (directory, name) in LISTS {
            if let Ok(text) = repository.beneath(directory.as_ref()).and_then(|list| list.read(name)) {
                let commands = lines(&text).filter(|line| is_command(line)).map(<[u8]>::to_vec);
                steps.get_or_insert_with(Self::default).commands.extend(commands);
            }
        }
        for file in STRATEGIES {
            if let Ok(text) = repository.beneath(file.0.as_ref()).and_then(|state| state.read(file.1)) {
                steps.get_or_insert_with(Self::default).strategies.insert(file, text);
            }
        }
        steps
    }
}

/// Removes new commands, and new strategies that are not built in. `tell` is called with the file, what was in it, and
/// the result.
pub(super) fn clean(
    repository: &OpenDirectory,
    before: Option<&SequenceCommands>,
    mut tell: impl FnMut(&str, &str, Result<(), Errno>),
) {
    for directory in STATES {
        // Git would follow the link.
        if repository.kind(directory).is_some_and(|kind| kind != FileType::Directory) {
            tell(directory, "not a directory", repository.set_aside(directory).map(drop));
        }
    }
    for (directory, name) in LISTS {
        let Ok(list) = repository.beneath(directory.as_ref()) else { continue };
        let path = format!("{directory}/{name}");
        match list.kind(name) {
            None => {}
            Some(FileType::RegularFile) => clean_list(&list, &path, name, before, &mut tell),
            Some(_) => tell(&path, "not a file", list.set_aside(name).map(drop)),
        }
    }
    clean_strategies(repository, before, &mut tell);
}

/// Sets aside what was changed and makes a merge run a strategy that is not built in, or with other options.
fn clean_strategies(
    repository: &OpenDirectory,
    before: Option<&SequenceCommands>,
    tell: &mut impl FnMut(&str, &str, Result<(), Errno>),
) {
    let mut is_built_in = true;
    for file @ (directory, name) in STRATEGIES {
        let Ok(list) = repository.beneath(directory.as_ref()) else { continue };
        let known = before.and_then(|before| before.strategies.get(&file));
        let is_new = match list.read(name) {
            Ok(text) => {
                is_built_in = match name {
                    // Its strategy comes before it.
                    "strategy_opts" => is_built_in,
                    "opts" => is_built_in_of_options(&text),
                    _ => is_built_in_strategy(&text),
                };
                !is_built_in && known != Some(&text)
            }
            Err(Errno::NOENT) => false,
            // A link, or a file too large to be one of git's.
            Err(_) => true,
        };
        if is_new {
            let what = "a merge strategy that is not built into git, or its options";
            tell(&format!("{directory}/{name}"), what, list.set_aside(name).map(drop));
        }
    }
}

fn clean_list(
    list: &OpenDirectory,
    path: &str,
    name: &str,
    before: Option<&SequenceCommands>,
    tell: &mut impl FnMut(&str, &str, Result<(), Errno>),
) {
    let Ok(text) = list.read(name) else {
        return tell(path, "too large to be checked", list.set_aside(name).map(drop));
    };
    let is_new =
        |line: &&[u8]| is_command(line) && !before.is_some_and(|before| before.commands.contains(*line));
    let new: Vec<&[u8]> = lines(&text).filter(is_new).collect();
    if new.is_empty() {
        return;
    }
    let mut kept = Vec::new();
    for line in lines(&text).filter(|line| !is_new(line)) {
        kept.extend(line);
        kept.push(b'\n');
    }
    let replaced = list.replace(name, &kept);
    for line in new {
        tell(path, &String::from_utf8_lossy(line), replaced);
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

/// Whether a line, after any blanks, runs a command or writes a file that is not a reference in `refs`.
fn is_command(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let rest = |words: [&str; 2]| {
        let rest = words.iter().find_map(|word| line.strip_prefix(word.as_bytes()));
        rest.filter(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
    };
    rest(["exec", "x"]).is_some()
        || rest(["update-ref", "u"]).is_some_and(|name| !is_beneath_refs(name.trim_ascii()))
}

fn is_built_in_strategy(name: &[u8]) -> bool {
    let name = name.strip_suffix(b"\n").unwrap_or(name);
    name.is_empty() || BUILT_IN.contains(&name)
}

/// The same for a file with settings.
fn is_built_in_of_options(text: &[u8]) -> bool {
    let is_built_in =
        |entry: &ConfigEntry| entry.key != "strategy" || is_built_in_strategy(entry.text().as_bytes());
    read(text).is_ok_and(|entries| entries.iter().all(is_built_in))
}
