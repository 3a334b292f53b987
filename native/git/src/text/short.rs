//! The text of `git status --short`.

use super::quote::Quote;
use super::status::{Status, in_workspace};
use crate::changes::{Change, Kind};
use crate::page::Page;
use std::collections::BTreeMap;

/// One line: the letters of both sides and the old name.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    letters: [char; 2],
    from: Option<&'a [u8]>,
}

/// Writes one line a path: what is staged, what is not, the path.
pub(crate) fn print(status: &Status<'_>, page: &mut Page) {
    let name = |path: &[u8]| in_workspace(status.repo, path);
    let mut lines: BTreeMap<&[u8], Line<'_>> = BTreeMap::new();
    for (side, changes) in [(0, &status.staged), (1, &status.unstaged)] {
        for change in changes {
            let line = lines.entry(&change.path).or_insert(Line { letters: [' ', ' '], from: None });
            put(line, side, change);
        }
    }
    let quote = Quote { beyond_ascii: status.repo.settings.quote_path, spaces: true };
    for (path, line) in &lines {
        let from = line.from.map_or(String::new(), |from| format!("{} -> ", quote.name("", &name(from))));
        let [staged, unstaged] = line.letters;
        page.line(&format!("{staged}{unstaged} {from}{}", quote.name("", &name(path))));
    }
    for path in &status.untracked {
        page.line(&format!("?? {}", quote.name("", &name(path))));
    }
}

fn put<'a>(line: &mut Line<'a>, side: usize, change: &'a Change) {
    line.letters[side] = match &change.kind {
        Kind::Added => 'A',
        Kind::Deleted => 'D',
        Kind::Modified => 'M',
        Kind::TypeChanged => 'T',
        Kind::Renamed { from, .. } => {
            line.from = Some(from);
            'R'
        }
        Kind::Unmerged(sides) => {
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
