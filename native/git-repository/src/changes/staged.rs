//! Staged changes: the staging area compared with the last commit.

use super::{BlobVersion, ChangeKind, FileChange, is_below};
use crate::{
    fail::GitResult,
    repo::{Repo, Staging},
    tree::{is_intended, is_left_alone, stage},
};
use git2::{Delta, DiffDelta, DiffFile, DiffOptions, Index, IndexEntry, IndexEntryFlag, Oid};
use std::os::unix::ffi::OsStrExt;

/// The changes below a path, sorted by path, without rename detection.
///
/// # Errors
/// If objects cannot be read.
pub fn staged(repo: &Repo, staging: &Staging, below: &[u8]) -> GitResult<Vec<FileChange>> {
    staged_since(repo, staging, repo.head()?, below)
}

/// As [`staged`], compared with the given commit, or with an empty tree if there is none.
///
/// # Errors
/// If objects cannot be read.
pub fn staged_since(
    repo: &Repo,
    staging: &Staging,
    commit: Option<Oid>,
    below: &[u8],
) -> GitResult<Vec<FileChange>> {
    let tree = commit.map(|commit| repo.git.find_commit(commit)?.tree()).transpose()?;
    let mut options = DiffOptions::new();
    options.include_typechange(true).ignore_submodules(false);
    let plain = plain_index(staging)?;
    let index = plain.as_ref().unwrap_or(&staging.index);
    let diff = repo.git.diff_tree_to_index(tree.as_ref(), Some(index), Some(&mut options))?;
    let mut changes: Vec<FileChange> =
        diff.deltas().filter_map(|delta| change(&delta)).filter(|one| is_below(&one.path, below)).collect();
    let unmerged = unmerged(staging, below);
    changes.retain(|change| unmerged.binary_search_by(|one| one.path.cmp(&change.path)).is_err());
    changes.extend(unmerged);
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

fn change(delta: &DiffDelta<'_>) -> Option<FileChange> {
    let kind = match delta.status() {
        Delta::Added => ChangeKind::Added,
        Delta::Deleted => ChangeKind::Deleted,
        Delta::Modified => ChangeKind::Modified,
        Delta::Typechange => ChangeKind::TypeChanged,
        _ => return None,
    };
    let old = (kind != ChangeKind::Added).then(|| version(&delta.old_file()));
    let new = (kind != ChangeKind::Deleted).then(|| version(&delta.new_file()));
    let file = if new.is_some() { delta.new_file() } else { delta.old_file() };
    Some(FileChange { path: file.path()?.as_os_str().as_bytes().to_vec(), kind, old, new })
}

fn version(file: &DiffFile<'_>) -> BlobVersion {
    BlobVersion { mode: file.mode().into(), id: file.id() }
}

/// The index as a commit records it; `None` if that is the index itself. Paths of `git add --intent-to-add` have no
/// staged content, and libgit2 takes an entry for unchanged whose file in the work tree git was told to leave alone.
fn plain_index(staging: &Staging) -> GitResult<Option<Index>> {
    let is_plain = |entry: &IndexEntry| !is_left_alone(entry) && !is_intended(entry);
    if staging.entries.iter().all(is_plain) {
        return Ok(None);
    }
    let mut index = Index::new()?;
    for entry in staging.entries.iter().filter(|entry| stage(entry) == 0 && !is_intended(entry)) {
        let flags = entry.flags & !IndexEntryFlag::VALID.bits();
        index.add(&IndexEntry { flags, flags_extended: 0, path: entry.path.clone(), ..*entry })?;
    }
    Ok(Some(index))
}

/// Whether a path has merge conflicts.
pub fn is_unmerged(change: &FileChange) -> bool {
    matches!(change.kind, ChangeKind::Unmerged(_))
}

/// Paths with merge conflicts.
pub fn unmerged(staging: &Staging, below: &[u8]) -> Vec<FileChange> {
    let mut changes: Vec<FileChange> = Vec::new();
    for entry in staging.entries.iter().filter(|entry| stage(entry) > 0 && is_below(&entry.path, below)) {
        let side = 1 << (stage(entry) - 1);
        match changes.last_mut() {
            Some(FileChange { path, kind: ChangeKind::Unmerged(sides), .. }) if *path == entry.path => {
                *sides |= side
            }
            _ => {
                let kind = ChangeKind::Unmerged(side);
                changes.push(FileChange { path: entry.path.clone(), kind, old: None, new: None });
            }
        }
    }
    changes
}
