//! Index entries that staged files replace: the index holds no file and directory of one name.

use beamai_base::{Reason, ToolError};
use beamai_git_repository::tree::stage;
use beamai_git_repository::{GitCall, GitError, GitResult, Repo, Staging};
use beamai_port_tools::git::path::shown;
use git2::IndexEntry;
use std::collections::{BTreeSet, HashMap};

/// A file in the new index, and the path of another file that makes a directory of its name.
struct Clash<'e> {
    file: &'e [u8],
    inner: &'e [u8],
}

/// The entries that staging `put` replaces when those of `changed` are staged or removed. git drops such entries too.
///
/// # Errors
/// If rules or a sparse checkout keep such an entry, and if the index would hold a file and a directory of one name for
/// another reason.
pub(super) fn replaced(
    repo: &Repo,
    staging: &Staging,
    put: &BTreeSet<&[u8]>,
    changed: &BTreeSet<Vec<u8>>,
    cx: &GitCall,
) -> GitResult<BTreeSet<Vec<u8>>> {
    let kept = staging.entries.iter().filter(|entry| !changed.contains(&entry.path));
    let kept: HashMap<&[u8], &IndexEntry> = kept.map(|entry| (entry.path.as_slice(), entry)).collect();
    let mut replaced = BTreeSet::new();
    for clash in clashes(put, &kept) {
        let (new, old) = match (kept.get(clash.file), kept.get(clash.inner)) {
            (Some(old), None) => (clash.inner, *old),
            (None, Some(old)) => (clash.file, *old),
            // A merge may leave both, as versions of different sides.
            (Some(file), Some(inner)) if stage(file) != stage(inner) => continue,
            _ => return Err(both(repo, &clash)),
        };
        refuse_kept(repo, new, old, cx)?;
        // As in git, a conflict stays until its own path is staged.
        if stage(old) == 0 {
            replaced.insert(old.path.clone());
        }
    }
    Ok(replaced)
}

fn clashes<'e>(put: &BTreeSet<&'e [u8]>, kept: &HashMap<&'e [u8], &IndexEntry>) -> Vec<Clash<'e>> {
    let mut found = Vec::new();
    for inner in put.iter().chain(kept.keys()).copied() {
        for (end, _) in inner.iter().enumerate().filter(|(_, byte)| **byte == b'/') {
            let file = &inner[..end];
            if put.contains(file) || kept.contains_key(file) {
                found.push(Clash { file, inner });
            }
        }
    }
    found
}

/// Refuses to drop an entry that is not this call's to drop.
fn refuse_kept(repo: &Repo, new: &[u8], old: &IndexEntry, cx: &GitCall) -> GitResult<()> {
    let old_path = repo.located.outside(&old.path);
    let (new, shown_old) = (shown(&repo.located.outside(new)), shown(&old_path));
    let refused = format!("nothing was staged: {new} would replace {shown_old} in the staging area");
    if cx.denied.of(std::slice::from_ref(&old_path))? == [true] {
        let message = format!(
            "{refused}, which permission rules keep from being staged; move {new} away, or let a person stage both"
        );
        return Err(ToolError::new(Reason::Denied, message).file(shown_old).into());
    }
    if repo.is_outside_sparse_checkout(old) {
        return Err(GitError::state(format!(
            "{refused}, which is outside of the sparse checkout; use the shell tool for `git add --sparse`"
        )));
    }
    Ok(())
}

fn both(repo: &Repo, clash: &Clash<'_>) -> GitError {
    let [file, inner] = [clash.file, clash.inner].map(|path| shown(&repo.located.outside(path)));
    GitError::state(format!(
        "nothing was staged: the staging area would hold both {file} and {inner}, a file and a directory of one name; \
         stage again the one that exists, or let a person remove the other with `git rm --cached`"
    ))
}
