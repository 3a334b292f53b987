//! Staged changes: the staging area compared with the last commit.

use super::{BlobVersion, ChangeKind, FileChange, is_below};
use crate::{
    fail::GitResult,
    repo::{Repo, Staging},
    tree::stage,
};
use git2::{Delta, DiffDelta, DiffFile, DiffOptions, IndexEntryExtendedFlag, Oid};
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
    let diff = repo.git.diff_tree_to_index(tree.as_ref(), Some(&staging.index), Some(&mut options))?;
    let mut changes: Vec<FileChange> =
        diff.deltas().filter_map(|delta| change(&delta)).filter(|one| is_below(&one.path, below)).collect();
    changes.retain(|change| !is_intended(staging, &change.path));
    changes.extend(unmerged(staging, below));
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

/// Whether the path was added with `git add --intent-to-add`, so that it has no staged content.
fn is_intended(staging: &Staging, path: &[u8]) -> bool {
    let at = staging.entries.binary_search_by(|entry| entry.path.as_slice().cmp(path));
    at.is_ok_and(|at| staging.entries[at].flags_extended & IndexEntryExtendedFlag::INTENT_TO_ADD.bits() != 0)
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
