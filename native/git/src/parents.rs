//! The parents of a new commit.

use super::text::state::RepoState;
use beamai_git_repository::{GitResult, Repo};
use git2::Oid;

/// The parents of a commit of what is staged.
pub(super) struct Parents {
    /// The commit that HEAD refers to; `None` before the first one.
    pub(super) head: Option<Oid>,
    /// Whether the commit concludes a merge.
    pub(super) is_merge: bool,
    /// The parents that the commit gets.
    pub(super) recorded: Vec<Oid>,
}

impl Parents {
    /// Reads HEAD and the state of a merge.
    ///
    /// # Errors
    /// If `MERGE_HEAD` is malformed or names objects that are missing.
    pub(super) fn read(repo: &Repo, state: &RepoState) -> GitResult<Self> {
        let head = repo.head()?;
        let is_merge = head.is_some() && state.merge;
        let mut recorded: Vec<Oid> = head.into_iter().collect();
        if is_merge {
            let text = repo.admin("MERGE_HEAD")?.unwrap_or_default();
            for line in String::from_utf8_lossy(&text).lines() {
                recorded.push(Oid::from_str(line.trim())?);
            }
            if repo.admin("MERGE_MODE")?.as_deref() != Some(b"no-ff") {
                recorded = independent(repo, &recorded)?;
            }
        }
        Ok(Self { head, is_merge, recorded })
    }
}

/// The commits that no other one of them contains, each once (`reduce_heads` of git).
fn independent(repo: &Repo, commits: &[Oid]) -> GitResult<Vec<Oid>> {
    let mut found = Vec::new();
    for commit in commits {
        let mut is_contained = found.contains(commit);
        for other in commits {
            is_contained = is_contained || repo.git.graph_descendant_of(*other, *commit)?;
        }
        if !is_contained {
            found.push(*commit);
        }
    }
    Ok(found)
}
