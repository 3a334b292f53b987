//! The text of `git diff`.

use super::conflict;
use super::patch::{DiffPrinter, DiffSide};
use super::quote::QuoteStyle;
use super::stat::{DiffStat, LineCount};
use crate::page::LimitedText;
use beamai_base::{Reason, ToolError, excerpt};
use beamai_git_repository::changes::{
    BlobVersion, ChangeKind, FileChange, NO_ID, is_below, is_unmerged, pair, staged, staged_since, unmerged,
};
use beamai_git_repository::tree::{AttributeState, FILE, SUBMODULE, WorkTreeReader};
use beamai_git_repository::{GitCall, GitResult, Repo, Staging};
use beamai_port_tools::git::{GitText, path::shown};
use git2::{ErrorCode, Oid};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// The two versions that are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DiffSides {
    /// Staging area and work tree.
    StagingAndTree,
    /// Last commit and staging area.
    CommitAndStaging,
}

/// The options of a diff.
#[derive(Debug)]
pub(crate) struct DiffRequest<'a> {
    /// Show staged changes instead of unstaged ones.
    pub(crate) staged: bool,
    /// Show line counts instead of lines.
    pub(crate) stat: bool,
    /// Compare with this commit instead of the last one or the staging area.
    pub(crate) commit: Option<&'a str>,
    /// Lines of the text to skip.
    pub(crate) offset: u64,
}

/// The differences below a path of the repository.
pub(crate) fn diff(repo: &Repo, request: &DiffRequest<'_>, below: &[u8], cx: &GitCall) -> GitResult<GitText> {
    let between = if request.staged { DiffSides::CommitAndStaging } else { DiffSides::StagingAndTree };
    let since = request.commit.map(|commit| commit_of(repo, commit)).transpose()?;
    let staging = repo.staging(cx)?;
    let mut contents = WorkTreeReader::new(repo, &staging, cx)?;
    let changes = changes(repo, &staging, (between, since), below, &mut contents)?;
    let names = repo.names()?;
    let quote = QuoteStyle { beyond_ascii: repo.settings.quote_path, spaces: false };
    let mut page = LimitedText::new(cx.limits.content_bytes).without_first(request.offset);
    let mut stat = request.stat.then(DiffStat::default);
    for (at, change) in changes.iter().enumerate() {
        cx.check()?;
        if page.is_full() {
            page.note(format!("{} of {} changed files are not shown", changes.len() - at, changes.len()));
            break;
        }
        let mut printer = DiffPrinter { names: &names, quote, page: &mut page };
        one(&mut printer, stat.as_mut(), &mut contents, change, between)?;
    }
    stat.iter().for_each(|stat| stat.sum(&mut page));
    contents.take_notes().into_iter().for_each(|note| page.note(note));
    repo.replacements().into_iter().for_each(|note| page.note(note));
    if changes.is_empty() {
        unknown(&staging, &mut contents, below).into_iter().for_each(|note| page.note(note));
    }
    Ok(page.answer())
}

/// Resolves a revision as git does: a hash, a branch, a tag, `HEAD~2`.
fn commit_of(repo: &Repo, text: &str) -> GitResult<Oid> {
    let found = repo.git.revparse_single(text).and_then(|object| object.peel_to_commit());
    found.map(|commit| commit.id()).map_err(|error| {
        let message = format!(
            "{:?} is no commit of this repository ({}); give one hash, branch or tag, as git_log shows them",
            excerpt(text),
            excerpt(error.message())
        );
        ToolError::new(Reason::InvalidArgument, message).into()
    })
}

/// Explains why there cannot be a difference below a path. git prints nothing in this case, as for unchanged files.
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
            format!(
                "{shown} exists neither in the work tree nor in the staging area; check the path (patterns are not supported)"
            )
        }
    })
}

fn changes(
    repo: &Repo,
    staging: &Staging,
    (between, since): (DiffSides, Option<Oid>),
    below: &[u8],
    contents: &mut WorkTreeReader<'_>,
) -> GitResult<Vec<FileChange>> {
    let changes = match (between, since) {
        (DiffSides::CommitAndStaging, None) => staged(repo, staging, below)?,
        (DiffSides::CommitAndStaging, since) => staged_since(repo, staging, since, below)?,
        (DiffSides::StagingAndTree, None) => {
            let mut changes = contents.changes(staging.stat.as_ref(), below)?;
            changes.extend(unmerged(staging, below));
            changes.sort_by(|a, b| a.path.cmp(&b.path));
            changes
        }
        (DiffSides::StagingAndTree, Some(since)) => {
            let staged = staged_since(repo, staging, Some(since), below)?;
            let mut changes = joined(staged, contents.changes(staging.stat.as_ref(), below)?);
            let conflicts: Vec<_> = changes.extract_if(.., |one| is_unmerged(one)).collect();
            for conflict in conflicts {
                changes.extend(since_commit(since, conflict.path, contents)?);
            }
            changes.sort_by(|a, b| a.path.cmp(&b.path));
            changes
        }
    };
    let changes = readable(repo, changes, contents)?;
    renamed(repo, changes, between, contents)
}

/// The changes between a commit and the work tree, combined from staged and unstaged changes.
fn joined(staged: Vec<FileChange>, unstaged: Vec<FileChange>) -> Vec<FileChange> {
    let mut all: BTreeMap<Vec<u8>, FileChange> =
        staged.into_iter().map(|change| (change.path.clone(), change)).collect();
    for later in unstaged {
        let old = all.remove(&later.path).map_or(later.old, |earlier| earlier.old);
        all.extend(change(later.path, old, later.new).map(|change| (change.path.clone(), change)));
    }
    all.into_values().collect()
}

/// The change of a file between two versions; `None` if there is neither.
fn change(path: Vec<u8>, old: Option<BlobVersion>, new: Option<BlobVersion>) -> Option<FileChange> {
    let kind_of = |mode: u32| mode & 0o170_000;
    let kind = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => ChangeKind::Added,
        (Some(_), None) => ChangeKind::Deleted,
        (Some(old), Some(new)) if kind_of(old.mode) != kind_of(new.mode) => ChangeKind::TypeChanged,
        (Some(_), Some(_)) => ChangeKind::Modified,
    };
    Some(FileChange { path, kind, old, new })
}

/// The change of a file with merge conflicts since a commit. Like git, compares the file as it is, with its markers.
fn since_commit(
    commit: Oid,
    path: Vec<u8>,
    contents: &mut WorkTreeReader<'_>,
) -> GitResult<Option<FileChange>> {
    let tree = contents.repo.git.find_commit(commit)?.tree()?;
    let old = match tree.get_path(Path::new(OsStr::from_bytes(&path))) {
        Ok(entry) => Some(BlobVersion { mode: entry.filemode().cast_unsigned(), id: entry.id() }),
        Err(error) if error.code() == ErrorCode::NotFound => None,
        Err(error) => return Err(error.into()),
    };
    let new = contents.work_version(&path, old.map_or(FILE, |old| old.mode));
    Ok(change(path, old, new))
}

/// The changes without those of files that rules deny reading.
fn readable(
    repo: &Repo,
    changes: Vec<FileChange>,
    contents: &mut WorkTreeReader<'_>,
) -> GitResult<Vec<FileChange>> {
    let paths: Vec<Vec<u8>> = changes.iter().map(|change| repo.located.outside(&change.path)).collect();
    let denied = contents.cx.denied.of(&paths)?;
    let count = denied.iter().filter(|denied| **denied).count();
    if count > 0 {
        contents
            .note(format!("{count} changed files are left out: permission rules keep them from being read"));
    }
    let kept = changes.into_iter().zip(denied).filter(|(_, denied)| !denied);
    Ok(kept.map(|(change, _)| change).collect())
}

/// The changes with renames detected, if the settings enable it.
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

/// Hashes added files, which rename detection compares with deleted ones.
fn hashed(changes: &mut [FileChange], contents: &mut WorkTreeReader<'_>) -> GitResult<()> {
    // The commit of a submodule is known.
    let is_new = |change: &FileChange| {
        change.kind == ChangeKind::Added && change.new.is_some_and(|new| new.mode != SUBMODULE)
    };
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

/// Number of files that a commit of the staging area changes, and of lines that it adds and removes, as git counts them.
/// No lines are counted for more files than `most`, or for one that is too large.
pub(crate) fn staged_counts(
    repo: &Repo,
    staging: &Staging,
    most: usize,
    cx: &GitCall,
) -> GitResult<(usize, Option<(usize, usize)>)> {
    let mut contents = WorkTreeReader::new(repo, staging, cx)?;
    let between = DiffSides::CommitAndStaging;
    let changes = renamed(repo, staged(repo, staging, b"")?, between, &mut contents)?;
    let mut lines = (changes.len() <= most).then_some((0, 0));
    for change in &changes {
        let Some((all_added, all_removed)) = lines else { break };
        cx.check()?;
        let (old, new, diff) = compared(&mut contents, change, between)?;
        lines = match LineCount::of(old.as_ref(), new.as_ref(), diff.as_ref())? {
            LineCount::Lines(added, removed) => Some((all_added + added, all_removed + removed)),
            LineCount::Binary => lines,
            LineCount::TooLarge | LineCount::Unread => None,
        };
    }
    Ok((changes.len(), lines))
}

/// The two sides of a change, and the path's attribute `diff`.
type ComparedSides = (Option<DiffSide>, Option<DiffSide>, Option<AttributeState>);

fn compared(
    contents: &mut WorkTreeReader<'_>,
    change: &FileChange,
    between: DiffSides,
) -> GitResult<ComparedSides> {
    let diff = contents.attributes(&change.path)?.remove(&b"diff"[..]);
    let old_path = match &change.kind {
        ChangeKind::Renamed { from, .. } => from,
        _ => &change.path,
    };
    let old = side(contents, old_path, change.old, false)?;
    let new = side(contents, &change.path, change.new, between == DiffSides::StagingAndTree)?;
    Ok((old, new, diff))
}

fn one(
    printer: &mut DiffPrinter<'_>,
    stat: Option<&mut DiffStat>,
    contents: &mut WorkTreeReader<'_>,
    change: &FileChange,
    between: DiffSides,
) -> GitResult<()> {
    if let ChangeKind::Unmerged(_) = change.kind {
        return match (stat, between) {
            (Some(stat), _) => {
                stat.unmerged(&change.path, printer.quote, printer.page);
                Ok(())
            }
            (None, DiffSides::CommitAndStaging) => {
                let name = printer.quote.name("", &change.path);
                printer.page.line(&format!("* Unmerged path {name}"));
                Ok(())
            }
            (None, DiffSides::StagingAndTree) => conflict::print(printer, contents, &change.path),
        };
    }
    let (old, new, diff) = compared(contents, change, between)?;
    let is_same = |a: &DiffSide, b: &DiffSide| a.id == b.id && a.mode == b.mode;
    match (&old, &new, stat) {
        // Its metadata changed, but not its content.
        (Some(old), Some(new), _) if is_same(old, new) && change.kind == ChangeKind::Modified => Ok(()),
        (old, new, Some(stat)) => {
            stat.file(change, (old.as_ref(), new.as_ref()), diff.as_ref(), printer.quote, printer.page)
        }
        (old, new, None) => printer.print(change, old.as_ref(), new.as_ref(), diff.as_ref()),
    }
}

/// One side of a comparison. A file of the work tree that was not hashed could not be read.
pub(super) fn side(
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

/// The content of one version; `None` if it is too large to be compared, or cannot be read.
fn content(
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
            // Not present in a sparse checkout: use the staged content.
            Ok(None) if !version.id.is_zero() => stored(contents, version),
            Ok(None) => {
                if !contents.unread().contains(path) {
                    contents.note(format!("{}: could not be read", shown(path)));
                }
                Ok(None)
            }
            Err(error) if error.reason == Reason::TooLarge => Ok(None),
            Err(error) => Err(error.into()),
        };
    }
    stored(contents, version)
}

/// The content of a version in the repository; `None` if it is too large to be compared.
fn stored(contents: &WorkTreeReader<'_>, version: BlobVersion) -> GitResult<Option<Vec<u8>>> {
    let (size, _) = contents.repo.git.odb()?.read_header(version.id)?;
    if size as u64 > contents.cx.limits.whole_file_bytes {
        return Ok(None);
    }
    Ok(Some(contents.repo.git.find_blob(version.id)?.content().to_vec()))
}
