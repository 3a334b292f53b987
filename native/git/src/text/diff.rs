//! The text of `git diff`.

use super::combined;
use super::patch::{Printer, Side};
use super::quote::Quote;
use crate::page::Page;
use crate::{
    changes::{
        Change, Kind, NO_ID, Version, is_below,
        renames::pair,
        staged::{staged, unmerged},
    },
    fail::Outcome,
    repo::{Repo, Staging},
    tree::content::{Contents, SUBMODULE},
};
use beamai_base::Reason;
use beamai_port_tools::git::{Answer, path::shown};
use beamai_tool::CallContext;

/// Which two versions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Between {
    /// The staging area and the work tree.
    StagingAndTree,
    /// The last commit and the staging area.
    CommitAndStaging,
}

/// The differences below a path of the repository.
pub(crate) fn diff(repo: &Repo, between: Between, below: &[u8], cx: &CallContext) -> Outcome<Answer> {
    let staging = repo.staging()?;
    let mut contents = Contents::new(repo, &staging, cx)?;
    let changes = changes(repo, &staging, between, below, &mut contents)?;
    let names = repo.names()?;
    let quote = Quote { beyond_ascii: repo.settings.quote_path, spaces: false };
    let mut page = Page::new(cx.limits.content_bytes);
    for (at, change) in changes.iter().enumerate() {
        cx.check()?;
        if page.is_full() {
            page.note(format!("{} of {} changed files were not begun", changes.len() - at, changes.len()));
            break;
        }
        let mut printer = Printer { names: &names, quote, page: &mut page };
        one(&mut printer, &mut contents, change, between)?;
    }
    contents.notes.drain(..).for_each(|note| page.note(note));
    if changes.is_empty() {
        unknown(&staging, &mut contents, below).into_iter().for_each(|note| page.note(note));
    }
    Ok(page.answer())
}

/// Why there can be no difference below a path: git prints nothing there, as it does for what has not changed.
fn unknown(staging: &Staging, contents: &mut Contents<'_>, below: &[u8]) -> Option<String> {
    if below.is_empty() || staging.entries.iter().any(|entry| is_below(&entry.path, below)) {
        return None;
    }
    let shown = shown(below);
    Some(match contents.dirs.lstat(below) {
        Ok(_) => {
            format!("git does not track {shown}, so there is nothing to compare it with; git_add stages it")
        }
        Err(_) => {
            format!("there is no {shown}, neither here nor staged; check the path, which is no pattern")
        }
    })
}

fn changes(
    repo: &Repo,
    staging: &Staging,
    between: Between,
    below: &[u8],
    contents: &mut Contents<'_>,
) -> Outcome<Vec<Change>> {
    let changes = match between {
        Between::CommitAndStaging => staged(repo, staging, below)?,
        Between::StagingAndTree => {
            let mut changes = contents.changes(staging.stat.as_ref(), below)?;
            changes.extend(unmerged(staging, below));
            // As git does: what is compared with both sides of a merge comes first.
            let has_both = |change: &Change| matches!(change.kind, Kind::Unmerged(sides) if sides & 6 == 6);
            changes.sort_by(|a, b| (!has_both(a), &a.path).cmp(&(!has_both(b), &b.path)));
            changes
        }
    };
    renamed(repo, readable(repo, changes, contents), between, contents)
}

/// The changes without those of files that permission rules keep from being read.
fn readable(repo: &Repo, mut changes: Vec<Change>, contents: &mut Contents<'_>) -> Vec<Change> {
    let before = changes.len();
    let guard = &contents.cx.guard;
    changes.retain(|change| !guard.hides_bytes(&repo.located.outside(&change.path)));
    if changes.len() < before {
        let count = before - changes.len();
        contents
            .note(format!("{count} changed files are left out: permission rules keep them from being read"));
    }
    changes
}

/// The changes with renames found, if the settings ask for them.
pub(crate) fn renamed(
    repo: &Repo,
    mut changes: Vec<Change>,
    between: Between,
    contents: &mut Contents<'_>,
) -> Outcome<Vec<Change>> {
    if !repo.settings.renames {
        return Ok(changes);
    }
    if between == Between::StagingAndTree {
        hashed(&mut changes, contents)?;
    }
    pair(changes, repo.settings.rename_limit, contents.cx, |change| {
        let (version, is_new) = match change.kind {
            Kind::Added => (change.new, true),
            _ => (change.old, false),
        };
        let Some(version) = version else { return Ok(None) };
        let is_file = is_new && between == Between::StagingAndTree;
        content(contents, &change.path, version, is_file)
    })
}

/// New files of the work tree take part in renames, so their hashes are needed.
fn hashed(changes: &mut [Change], contents: &mut Contents<'_>) -> Outcome<()> {
    let is_new = |change: &Change| change.kind == Kind::Added;
    if changes.iter().all(|change| change.kind != Kind::Deleted) {
        return Ok(());
    }
    for change in changes.iter_mut().filter(|change| is_new(change)) {
        if let Some(new) = &mut change.new {
            new.id = contents.id(&change.path, new.mode)?.unwrap_or(NO_ID);
        }
    }
    Ok(())
}

fn one(
    printer: &mut Printer<'_>,
    contents: &mut Contents<'_>,
    change: &Change,
    between: Between,
) -> Outcome<()> {
    if let Kind::Unmerged(sides) = change.kind {
        return match between {
            Between::CommitAndStaging => {
                let name = printer.quote.name("", &change.path);
                printer.page.line(&format!("* Unmerged path {name}"));
                Ok(())
            }
            Between::StagingAndTree => combined::print(printer, contents, &change.path, sides),
        };
    }
    let diff = contents.attributes(&change.path)?.remove(&b"diff"[..]);
    let old_path = match &change.kind {
        Kind::Renamed { from, .. } => from,
        _ => &change.path,
    };
    let old = side(contents, old_path, change.old, false)?;
    let new = side(contents, &change.path, change.new, between == Between::StagingAndTree)?;
    let is_same = |a: &Side, b: &Side| a.id == b.id && a.mode == b.mode;
    match (&old, &new) {
        // It only looked changed.
        (Some(old), Some(new)) if is_same(old, new) && change.kind == Kind::Modified => Ok(()),
        _ => printer.print(change, old.as_ref(), new.as_ref(), diff.as_ref()),
    }
}

fn side(
    contents: &mut Contents<'_>,
    path: &[u8],
    version: Option<Version>,
    is_file: bool,
) -> Outcome<Option<Side>> {
    let Some(mut version) = version else { return Ok(None) };
    let bytes = content(contents, path, version, is_file)?;
    if bytes.is_none() && version.id.is_zero() {
        version.id = contents.id(path, version.mode)?.unwrap_or(NO_ID);
    }
    Ok(Some(Side::new(version, bytes)))
}

/// The bytes of one version; `None` when they are too many to be compared.
pub(super) fn content(
    contents: &mut Contents<'_>,
    path: &[u8],
    version: Version,
    is_file: bool,
) -> Outcome<Option<Vec<u8>>> {
    if version.mode == SUBMODULE {
        return Ok(None);
    }
    if is_file {
        return match contents.blob(path, version.mode) {
            Ok(Some(bytes)) => Ok(Some(bytes)),
            Ok(None) => {
                contents.note(format!("{}: could not be read", shown(path)));
                Ok(Some(Vec::new()))
            }
            Err(error) if error.reason == Reason::TooLarge => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
    let (size, _) = contents.repo.git.odb()?.read_header(version.id)?;
    if size as u64 > contents.cx.limits.whole_file_bytes {
        return Ok(None);
    }
    Ok(Some(contents.repo.git.find_blob(version.id)?.content().to_vec()))
}
