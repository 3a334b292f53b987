//! The text of `git diff`.

use super::combined;
use super::patch::{DiffPrinter, DiffSide};
use super::quote::QuoteStyle;
use crate::page::LimitedText;
use crate::{
    changes::{
        BlobVersion, ChangeKind, FileChange, NO_ID, is_below,
        renames::pair,
        staged::{staged, unmerged},
    },
    fail::GitResult,
    repo::{Repo, Staging},
    tree::content::{SUBMODULE, WorkTreeReader},
};
use beamai_base::Reason;
use beamai_port_tools::git::{GitText, path::shown};
use beamai_tool::CallContext;

/// Which two versions are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffSides {
    /// The staging area and the work tree.
    StagingAndTree,
    /// The last commit and the staging area.
    CommitAndStaging,
}

/// The differences below a path of the repository.
pub(crate) fn diff(repo: &Repo, between: DiffSides, below: &[u8], cx: &CallContext) -> GitResult<GitText> {
    let staging = repo.staging()?;
    let mut contents = WorkTreeReader::new(repo, &staging, cx)?;
    let changes = changes(repo, &staging, between, below, &mut contents)?;
    let names = repo.names()?;
    let quote = QuoteStyle { beyond_ascii: repo.settings.quote_path, spaces: false };
    let mut page = LimitedText::new(cx.limits.content_bytes);
    for (at, change) in changes.iter().enumerate() {
        cx.check()?;
        if page.is_full() {
            page.note(format!("{} of {} changed files were not begun", changes.len() - at, changes.len()));
            break;
        }
        let mut printer = DiffPrinter { names: &names, quote, page: &mut page };
        one(&mut printer, &mut contents, change, between)?;
    }
    contents.notes.drain(..).for_each(|note| page.note(note));
    if changes.is_empty() {
        unknown(&staging, &mut contents, below).into_iter().for_each(|note| page.note(note));
    }
    Ok(page.answer())
}

/// Why there can be no difference below a path: git prints nothing there, as it does for what has not changed.
fn unknown(staging: &Staging, contents: &mut WorkTreeReader<'_>, below: &[u8]) -> Option<String> {
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
    between: DiffSides,
    below: &[u8],
    contents: &mut WorkTreeReader<'_>,
) -> GitResult<Vec<FileChange>> {
    let changes = match between {
        DiffSides::CommitAndStaging => staged(repo, staging, below)?,
        DiffSides::StagingAndTree => {
            let mut changes = contents.changes(staging.stat.as_ref(), below)?;
            changes.extend(unmerged(staging, below));
            // As git does: what is compared with both sides of a merge comes first.
            let has_both =
                |change: &FileChange| matches!(change.kind, ChangeKind::Unmerged(sides) if sides & 6 == 6);
            changes.sort_by(|a, b| (!has_both(a), &a.path).cmp(&(!has_both(b), &b.path)));
            changes
        }
    };
    renamed(repo, readable(repo, changes, contents), between, contents)
}

/// The changes without those of files that permission rules keep from being read.
fn readable(repo: &Repo, mut changes: Vec<FileChange>, contents: &mut WorkTreeReader<'_>) -> Vec<FileChange> {
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
    mut changes: Vec<FileChange>,
    between: DiffSides,
    contents: &mut WorkTreeReader<'_>,
) -> GitResult<Vec<FileChange>> {
    if !repo.settings.renames {
        return Ok(changes);
    }
    if between == DiffSides::StagingAndTree {
        hashed(&mut changes, contents)?;
    }
    pair(changes, repo.settings.rename_limit, contents.cx, |change| {
        let (version, is_new) = match change.kind {
            ChangeKind::Added => (change.new, true),
            _ => (change.old, false),
        };
        let Some(version) = version else { return Ok(None) };
        let is_file = is_new && between == DiffSides::StagingAndTree;
        content(contents, &change.path, version, is_file)
    })
}

/// New files of the work tree take part in renames, so their hashes are needed.
fn hashed(changes: &mut [FileChange], contents: &mut WorkTreeReader<'_>) -> GitResult<()> {
    let is_new = |change: &FileChange| change.kind == ChangeKind::Added;
    if changes.iter().all(|change| change.kind != ChangeKind::Deleted) {
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
    printer: &mut DiffPrinter<'_>,
    contents: &mut WorkTreeReader<'_>,
    change: &FileChange,
    between: DiffSides,
) -> GitResult<()> {
    if let ChangeKind::Unmerged(sides) = change.kind {
        return match between {
            DiffSides::CommitAndStaging => {
                let name = printer.quote.name("", &change.path);
                printer.page.line(&format!("* Unmerged path {name}"));
                Ok(())
            }
            DiffSides::StagingAndTree => combined::print(printer, contents, &change.path, sides),
        };
    }
    let diff = contents.attributes(&change.path)?.remove(&b"diff"[..]);
    let old_path = match &change.kind {
        ChangeKind::Renamed { from, .. } => from,
        _ => &change.path,
    };
    let old = side(contents, old_path, change.old, false)?;
    let new = side(contents, &change.path, change.new, between == DiffSides::StagingAndTree)?;
    let is_same = |a: &DiffSide, b: &DiffSide| a.id == b.id && a.mode == b.mode;
    match (&old, &new) {
        // It only looked changed.
        (Some(old), Some(new)) if is_same(old, new) && change.kind == ChangeKind::Modified => Ok(()),
        _ => printer.print(change, old.as_ref(), new.as_ref(), diff.as_ref()),
    }
}

fn side(
    contents: &mut WorkTreeReader<'_>,
    path: &[u8],
    version: Option<BlobVersion>,
    is_file: bool,
) -> GitResult<Option<DiffSide>> {
    let Some(mut version) = version else { return Ok(None) };
    let bytes = content(contents, path, version, is_file)?;
    if bytes.is_none() && version.id.is_zero() {
        version.id = contents.id(path, version.mode)?.unwrap_or(NO_ID);
    }
    Ok(Some(DiffSide::new(version, bytes)))
}

/// The bytes of one version; `None` when they are too many to be compared.
pub(super) fn content(
    contents: &mut WorkTreeReader<'_>,
    path: &[u8],
    version: BlobVersion,
    is_file: bool,
) -> GitResult<Option<Vec<u8>>> {
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
