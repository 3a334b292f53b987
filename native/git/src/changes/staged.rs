//! What the next commit would change: the staging area against the last commit.

use super::{Change, Kind, Version, is_below};
use crate::{
    fail::Outcome,
    repo::{Repo, Staging},
    tree::content::stage,
};
use git2::{Delta, DiffDelta, DiffFile, DiffOptions, IndexEntryExtendedFlag, Oid};
use std::os::unix::ffi::OsStrExt;

/// The changes below a path, in the order of paths; renames are not looked for yet.
pub(crate) fn staged(repo: &Repo, staging: &Staging, below: &[u8]) -> Outcome<Vec<Change>> {
    staged_since(repo, staging, repo.head()?, below)
}

/// As [`staged`], against another commit than the last; against nothing without one.
pub(crate) fn staged_since(
    repo: &Repo,
    staging: &Staging,
    commit: Option<Oid>,
    below: &[u8],
) -> Outcome<Vec<Change>> {
    let tree = commit.map(|commit| repo.git.find_commit(commit)?.tree()).transpose()?;
    let mut options = DiffOptions::new();
    options.include_typechange(true).ignore_submodules(false);
    let diff = repo.git.diff_tree_to_index(tree.as_ref(), Some(&staging.index), Some(&mut options))?;
    let mut changes: Vec<Change> =
        diff.deltas().filter_map(|delta| change(&delta)).filter(|one| is_below(&one.path, below)).collect();
    changes.retain(|change| !is_intended(staging, &change.path));
    changes.extend(unmerged(staging, below));
    changes.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

fn change(delta: &DiffDelta<'_>) -> Option<Change> {
    let kind = match delta.status() {
        Delta::Added => Kind::Added,
        Delta::Deleted => Kind::Deleted,
        Delta::Modified => Kind::Modified,
        Delta::Typechange => Kind::TypeChanged,
        _ => return None,
    };
    let old = (kind != Kind::Added).then(|| version(&delta.old_file()));
    let new = (kind != Kind::Deleted).then(|| version(&delta.new_file()));
    let file = if new.is_some() { delta.new_file() } else { delta.old_file() };
    Some(Change { path: file.path()?.as_os_str().as_bytes().to_vec(), kind, old, new })
}

fn version(file: &DiffFile<'_>) -> Version {
    Version { mode: file.mode().into(), id: file.id() }
}

/// A path that `git add --intent-to-add` named: it has no content in the staging area.
fn is_intended(staging: &Staging, path: &[u8]) -> bool {
    let at = staging.entries.binary_search_by(|entry| entry.path.as_slice().cmp(path));
    at.is_ok_and(|at| staging.entries[at].flags_extended & IndexEntryExtendedFlag::INTENT_TO_ADD.bits() != 0)
}

/// Paths that a merge left undecided.
pub(crate) fn unmerged(staging: &Staging, below: &[u8]) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    for entry in staging.entries.iter().filter(|entry| stage(entry) > 0 && is_below(&entry.path, below)) {
        let side = 1 << (stage(entry) - 1);
        match changes.last_mut() {
            Some(Change { path, kind: Kind::Unmerged(sides), .. }) if *path == entry.path => *sides |= side,
            _ => {
                let kind = Kind::Unmerged(side);
                changes.push(Change { path: entry.path.clone(), kind, old: None, new: None });
            }
        }
    }
    changes
}
