//! Commands that git runs when a rebase or a cherry-pick sequence is continued.

use super::config::{self, ConfigEntry};
use super::directory::OpenDirectory;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::BTreeSet;

/// Directories with the state of a sequence, and the file that lists its pending steps.
const LISTS: [(&str, &str); 2] = [("rebase-merge", "git-rebase-todo"), ("sequencer", "todo")];
/// Files that name a merge strategy, which is the suffix of a program's name.
const STRATEGIES: [(&str, &str); 2] = [("rebase-merge", "strategy"), ("sequencer", "opts")];

/// The pending commands of a sequence.
#[derive(Debug, Default)]
pub(super) struct SequenceCommands(BTreeSet<Vec<u8>>);

impl SequenceCommands {
    /// Those of a repository; `None` if no sequence is in progress.
    pub(super) fn of(repository: &OpenDirectory) -> Option<Self> {
        let mut steps = None;
        for (directory, name) in LISTS {
            if let Ok(text) = repository.beneath(directory.as_ref()).and_then(|list| list.read(name)) {
                let commands = lines(&text).filter(|line| is_command(line)).map(<[u8]>::to_vec);
                steps.get_or_insert_with(Self::default).0.extend(commands);
            }
        }
        steps
    }
}

/// Removes new commands, and strategies that are paths. `tell` is called with the file, what was in it, and the result.
pub(super) fn clean(
    repository: &OpenDirectory,
    before: Option<&SequenceCommands>,
    mut tell: impl FnMut(&str, &str, Result<(), Errno>),
) {
    for (directory, name) in LISTS {
        match repository.kind(directory) {
            None => continue,
            Some(FileType::Directory) => {}
            // Git would follow the link.
            Some(_) => {
                tell(directory, "not a directory", repository.set_aside(directory).map(drop));
                continue;
            }
        }
        let Ok(list) = repository.beneath(directory.as_ref()) else { continue };
        let path = format!("{directory}/{name}");
        match list.kind(name) {
            None => {}
            Some(FileType::RegularFile) => clean_list(&list, &path, name, before, &mut tell),
            Some(_) => tell(&path, "not a file", list.set_aside(name).map(drop)),
        }
    }
    for (directory, name) in STRATEGIES {
        let Ok(list) = repository.beneath(directory.as_ref()) else { continue };
        let path = format!("{directory}/{name}");
        let names_a_path = match list.read(name) {
            Ok(text) => is_path(name, &text),
            Err(Errno::NOENT) => false,
            // A link, or a file too large to be one of git's.
            Err(_) => true,
        };
        if names_a_path {
            tell(&path, "a merge strategy that is a path", list.set_aside(name).map(drop));
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
    let is_new = |line: &&[u8]| is_command(line) && !before.is_some_and(|before| before.0.contains(*line));
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

/// Whether a line is an `exec` or `x` command, after any blanks.
fn is_command(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    [&b"exec"[..], b"x"].iter().any(|word| {
        line.strip_prefix(*word).is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
    })
}

/// Whether git would start a program by a path: `git-merge-` and the file's content.
fn is_path(file: &str, text: &[u8]) -> bool {
    if file != "opts" {
        return text.contains(&b'/');
    }
    let is_strategy = |entry: &ConfigEntry| entry.key == "strategy" && entry.text().contains('/');
    config::read(text).map_or(true, |entries| entries.iter().any(is_strategy))
}
