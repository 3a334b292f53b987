//! The text of `git status --short`.

use super::quote::QuoteStyle;
use super::status::{StatusReport, in_workspace};
use crate::page::LimitedText;
use beamai_git_repository::changes::{ChangeKind, FileChange};
use beamai_git_repository::tree::SUBMODULE;
use std::collections::BTreeMap;

/// One line: two status letters and the old name.
#[derive(Debug, Clone, Copy)]
struct ShortLine<'a> {
    letters: [char; 2],
    from: Option<&'a [u8]>,
}

/// Prints one line per path: staged status, unstaged status, path.
pub(crate) fn print(status: &StatusReport<'_>, page: &mut LimitedText) {
    let name = |path: &[u8]| in_workspace(status.repo, path);
    let mut lines: BTreeMap<&[u8], ShortLine<'_>> = BTreeMap::new();
    for (side, changes) in [(0, &status.staged), (1, &status.unstaged)] {
        for change in changes {
            let line = lines.entry(&change.path).or_insert(ShortLine { letters: [' ', ' '], from: None });
            put(line, side, change);
        }
    }
    let quote = QuoteStyle { beyond_ascii: status.repo.settings.quote_path, spaces: true };
    for (path, line) in &lines {
        let from = line.from.map_or(String::new(), |from| format!("{} -> ", quote.name("", &name(from))));
        let [staged, unstaged] = line.letters;
        page.line(&format!("{staged}{unstaged} {from}{}", quote.name("", &name(path))));
    }
    for path in &status.untracked {
        page.line(&format!("?? {}", quote.name("", &name(path))));
    }
}

fn put<'a>(line: &mut ShortLine<'a>, side: usize, change: &'a FileChange) {
    line.letters[side] = match &change.kind {
        ChangeKind::Added => 'A',
        ChangeKind::Deleted => 'D',
        ChangeKind::Modified => 'M',
        // Like git, which looks only at the commit of a submodule in the work tree.
        ChangeKind::TypeChanged if side == 1 && change.new.is_some_and(|new| new.mode == SUBMODULE) => 'M',
        ChangeKind::TypeChanged => 'T',
        ChangeKind::Renamed { from, .. } => {
            line.from = Some(from);
            'R'
        }
        ChangeKind::Unmerged(sides) => {
            line.letters = unmerged(*sides);
            return;
        }
    };
}

fn unmerged(sides: u8) -> [char; 2] {
    match sides {
        1 => ['D', 'D'],
        2 => ['A', 'U'],
        3 => ['U', 'D'],
        4 => ['U', 'A'],
        5 => ['D', 'U'],
        6 => ['A', 'A'],
        _ => ['U', 'U'],
    }
}
