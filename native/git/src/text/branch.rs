//! HEAD, its branch, and the branch's upstream.

use beamai_git_repository::{GitResult, HashAbbreviator, MOST_SYMBOLIC, Repo};
use git2::ErrorCode;

/// What HEAD refers to, in the end.
#[derive(Debug)]
pub(crate) enum Head {
    /// A branch, by its full name. No other symbolic reference is between.
    Branch(String),
    /// A commit.
    Detached,
}

/// What HEAD refers to now.
pub(crate) fn head(repo: &Repo) -> GitResult<Head> {
    let mut reference = repo.git.find_reference("HEAD")?;
    let mut head = Head::Detached;
    for _ in 0..MOST_SYMBOLIC {
        let Some(name) = reference.symbolic_target_bytes() else { break };
        let name = String::from_utf8_lossy(name).into_owned();
        match repo.git.find_reference(&name) {
            Ok(next) => reference = next,
            Err(error) if error.code() == ErrorCode::NotFound => return Ok(Head::Branch(name)),
            Err(error) => return Err(error.into()),
        }
        head = Head::Branch(name);
    }
    Ok(head)
}

/// The log's text before the first commit.
pub(crate) fn without_commits(repo: &Repo) -> GitResult<String> {
    let Head::Branch(name) = head(repo)? else { return Ok("HEAD names no commit".to_owned()) };
    let branch = name.strip_prefix("refs/heads/").unwrap_or(&name);
    Ok(format!("your current branch '{branch}' does not have any commits yet"))
}

/// The first line of a status.
pub(super) fn headline(repo: &Repo, names: &HashAbbreviator<'_>) -> GitResult<String> {
    let commit = repo.head()?;
    Ok(match (head(repo)?, commit) {
        (Head::Branch(name), Some(_)) => format!("branch: {}", shortened(&name)),
        (Head::Branch(name), None) => format!("branch: {} (no commits yet)", shortened(&name)),
        (Head::Detached, Some(commit)) => format!("HEAD: detached at {}", names.short(commit)),
        (Head::Detached, None) => "HEAD: names no commit".to_owned(),
    })
}

/// A reference name without its prefix.
fn shortened(name: &str) -> &str {
    let kinds = ["refs/tags/", "refs/remotes/", "refs/heads/", "refs/"];
    kinds.iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name)
}

/// The upstream of the branch, and how many commits each is ahead; `None` without an upstream.
pub(super) fn tracking(repo: &Repo) -> GitResult<Option<String>> {
    let Head::Branch(name) = head(repo)? else { return Ok(None) };
    let Ok(upstream) = repo.git.branch_upstream_name(&name) else { return Ok(None) };
    let upstream = String::from_utf8_lossy(&upstream).into_owned();
    let shown = shortened(&upstream);
    Ok(match (repo.git.refname_to_id(&name), repo.git.refname_to_id(&upstream)) {
        (Ok(own), Ok(other)) => {
            let (ahead, behind) = repo.git.graph_ahead_behind(own, other)?;
            Some(format!("upstream: {shown}, {ahead} ahead, {behind} behind"))
        }
        (_, Err(error)) if error.code() == ErrorCode::NotFound => {
            Some(format!("upstream: {shown}, which is gone"))
        }
        (Err(error), _) if error.code() == ErrorCode::NotFound => Some(format!("upstream: {shown}")),
        (Err(error), _) | (_, Err(error)) => return Err(error.into()),
    })
}
