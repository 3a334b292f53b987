//! Operations in progress: a merge, rebase, cherry-pick, revert, bisection or `am` session.

use beamai_git_repository::{GitResult, HashAbbreviator, Repo, Staging};
use git2::{IndexEntryExtendedFlag, Oid};

/// A command that stopped before its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum OngoingOperation {
    /// `git am`.
    Am,
    /// `git rebase`.
    Rebase,
    /// `git cherry-pick`: the current commit, or `None` between two commits.
    CherryPick(Option<Oid>),
    /// `git revert`, likewise.
    Revert(Option<Oid>),
}

/// Everything in progress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RepoState {
    /// A merge that is not committed.
    pub merge: bool,
    /// Another command that stopped before its end.
    pub underway: Option<OngoingOperation>,
    /// A bisection, and the branch that it started from.
    pub bisect: Option<Option<String>>,
    /// Percentage of tracked files that a sparse checkout contains.
    pub(super) sparse: Option<usize>,
}

impl RepoState {
    /// Reads the state files in the repository's directory.
    ///
    /// # Errors
    /// If one cannot be read.
    pub(crate) fn read(repo: &Repo, staging: &Staging) -> GitResult<Self> {
        let merge = repo.has_admin("MERGE_HEAD");
        let rebase = rebase(repo);
        let underway = match (merge, rebase) {
            (_, Some(rebase)) => Some(rebase),
            (true, None) => revert(repo)?,
            (false, None) => match (cherry_pick(repo)?, revert(repo)?) {
                (None, None) => sequence(repo)?,
                (picked, reverted) => picked.or(reverted),
            },
        };
        let bisect = repo.has_admin("BISECT_LOG").then(|| bisected(repo)).transpose()?;
        Ok(Self { merge, underway, bisect, sparse: sparse(repo, staging) })
    }
}

fn rebase(repo: &Repo) -> Option<OngoingOperation> {
    if repo.has_admin("rebase-apply") {
        let is_am = repo.has_admin("rebase-apply/applying");
        return Some(if is_am { OngoingOperation::Am } else { OngoingOperation::Rebase });
    }
    repo.has_admin("rebase-merge").then_some(OngoingOperation::Rebase)
}

fn cherry_pick(repo: &Repo) -> GitResult<Option<OngoingOperation>> {
    Ok(oid(repo, "CHERRY_PICK_HEAD")?.map(|id| OngoingOperation::CherryPick(Some(id))))
}

fn revert(repo: &Repo) -> GitResult<Option<OngoingOperation>> {
    Ok(oid(repo, "REVERT_HEAD")?.map(|id| OngoingOperation::Revert(Some(id))))
}

/// The branch from which a bisection started.
fn bisected(repo: &Repo) -> GitResult<Option<String>> {
    let Some(start) = repo.admin("BISECT_START")? else { return Ok(None) };
    let start = String::from_utf8_lossy(start.trim_ascii_end()).into_owned();
    Ok(Some(start.strip_prefix("refs/heads/").unwrap_or(&start).to_owned()))
}

/// A sequence of cherry-picks or reverts, between two of its commits.
fn sequence(repo: &Repo) -> GitResult<Option<OngoingOperation>> {
    let todo = repo.admin("sequencer/todo")?.unwrap_or_default();
    let is = |command: &[u8], short: &[u8]| todo.starts_with(command) || todo.starts_with(short);
    Ok(if is(b"pick ", b"p ") {
        Some(OngoingOperation::CherryPick(None))
    } else {
        is(b"revert ", b"revert\t").then_some(OngoingOperation::Revert(None))
    })
}

fn oid(repo: &Repo, name: &str) -> GitResult<Option<Oid>> {
    let text = repo.admin(name)?.unwrap_or_default();
    Ok(std::str::from_utf8(text.trim_ascii()).ok().and_then(|text| Oid::from_str(text).ok()))
}

/// The branch that a file names, without prefix; an abbreviated hash if it names a commit; `None` for a detached HEAD.
pub(super) fn branch(repo: &Repo, file: &str, names: &HashAbbreviator<'_>) -> GitResult<Option<String>> {
    let text = repo.admin(file)?.unwrap_or_default();
    let text = String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
    Ok(match text.strip_prefix("refs/heads/") {
        Some(branch) => Some(branch.to_owned()),
        None if text == "detached HEAD" || text.is_empty() => None,
        None if text.len() == 40 => Some(Oid::from_str(&text).map_or(text, |id| names.short(id))),
        None => Some(text),
    })
}

fn sparse(repo: &Repo, staging: &Staging) -> Option<usize> {
    if staging.entries.is_empty() || !repo.config.get_bool("core.sparsecheckout").unwrap_or(false) {
        return None;
    }
    let skipped = IndexEntryExtendedFlag::SKIP_WORKTREE.bits();
    let left_out = staging.entries.iter().filter(|entry| entry.flags_extended & skipped != 0).count();
    Some(100 - 100 * left_out / staging.entries.len())
}
