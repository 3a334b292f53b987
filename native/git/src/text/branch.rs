//! Where HEAD is, and how its branch stands to the one that it follows.

use super::state::branch;
use crate::{
    fail::GitResult,
    repo::{HashAbbreviator, Repo},
};
use git2::{ErrorCode, Oid, Reference};

/// What HEAD names.
#[derive(Debug)]
pub(crate) enum Head {
    /// A branch, by its full name.
    Branch(String),
    /// A commit.
    Detached,
}

/// What HEAD names now.
pub(crate) fn head(repo: &Repo) -> GitResult<Head> {
    let head = repo.git.find_reference("HEAD")?;
    Ok(match head.symbolic_target_bytes() {
        Some(name) => Head::Branch(String::from_utf8_lossy(name).into_owned()),
        None => Head::Detached,
    })
}

/// What a log says before the first commit.
pub(crate) fn without_commits(repo: &Repo) -> GitResult<String> {
    let Head::Branch(name) = head(repo)? else { return Ok("HEAD names no commit".to_owned()) };
    let branch = name.strip_prefix("refs/heads/").unwrap_or(&name);
    Ok(format!("your current branch '{branch}' does not have any commits yet"))
}

/// The first line of a status.
pub(super) fn headline(repo: &Repo, names: &HashAbbreviator<'_>, rebase: Option<bool>) -> GitResult<String> {
    if let Head::Branch(name) = head(repo)? {
        return Ok(format!("On branch {}", name.strip_prefix("refs/heads/").unwrap_or(&name)));
    }
    if let Some(is_interactive) = rebase {
        let dir = if repo.has_admin("rebase-apply") { "rebase-apply" } else { "rebase-merge" };
        let onto = branch(repo, &format!("{dir}/onto"), names).unwrap_or_default();
        let kind = if is_interactive { "interactive rebase" } else { "rebase" };
        return Ok(format!("{kind} in progress; onto {onto}"));
    }
    Ok(match detached(repo, names)? {
        Some((true, from)) => format!("HEAD detached at {from}"),
        Some((false, from)) => format!("HEAD detached from {from}"),
        None => "Not currently on any branch.".to_owned(),
    })
}

/// Whether HEAD is still where it was detached, and where that was, by the last checkout in its log.
fn detached(repo: &Repo, names: &HashAbbreviator<'_>) -> GitResult<Option<(bool, String)>> {
    let log = repo.git.reflog("HEAD")?;
    for entry in log.iter() {
        let message = String::from_utf8_lossy(entry.message_bytes().unwrap_or_default()).into_owned();
        let Some(moved) = message.strip_prefix("checkout: moving from ") else { continue };
        let Some((_, to)) = moved.rsplit_once(" to ") else { continue };
        let at = entry.id_new();
        let from = match reference_at(repo, to, at) {
            Some(name) => shortened(&name),
            None => names.short(at),
        };
        return Ok(Some((repo.head()? == Some(at), from)));
    }
    Ok(None)
}

/// The full name of the reference that a short name means, if it still names that commit.
fn reference_at(repo: &Repo, name: &str, at: Oid) -> Option<String> {
    let found = repo.git.resolve_reference_from_short_name(name).ok()?;
    let commit = found.peel_to_commit().ok()?.id();
    (commit == at && name != "HEAD").then(|| full_name(&found))
}

fn full_name(reference: &Reference<'_>) -> String {
    String::from_utf8_lossy(reference.name_bytes()).into_owned()
}

/// A reference's name without its kind.
fn shortened(name: &str) -> String {
    let kinds = ["refs/tags/", "refs/remotes/", "refs/heads/", "refs/"];
    kinds.iter().find_map(|kind| name.strip_prefix(kind)).unwrap_or(name).to_owned()
}

/// How the branch stands to its upstream; nothing without one.
pub(super) fn tracking(repo: &Repo) -> GitResult<Vec<String>> {
    let Head::Branch(name) = head(repo)? else { return Ok(Vec::new()) };
    let upstream = match repo.git.branch_upstream_name(&name) {
        Ok(upstream) => String::from_utf8_lossy(&upstream).into_owned(),
        Err(_) => return Ok(Vec::new()),
    };
    let shown = shortened(&upstream);
    let (own, other) = (repo.git.refname_to_id(&name), repo.git.refname_to_id(&upstream));
    match (own, other) {
        (Ok(own), Ok(other)) => {
            let (ahead, behind) = repo.git.graph_ahead_behind(own, other)?;
            Ok(compared(&shown, ahead, behind))
        }
        (Ok(_), Err(error)) if error.code() == ErrorCode::NotFound => Ok(vec![
            format!("Your branch is based on '{shown}', but the upstream is gone."),
            "  (use \"git branch --unset-upstream\" to fixup)".to_owned(),
        ]),
        (Err(error), _) | (_, Err(error)) => Err(error.into()),
    }
}

fn compared(upstream: &str, ahead: usize, behind: usize) -> Vec<String> {
    let commits = |count: usize| format!("{count} commit{}", if count == 1 { "" } else { "s" });
    match (ahead, behind) {
        (0, 0) => vec![format!("Your branch is up to date with '{upstream}'.")],
        (ahead, 0) => vec![
            format!("Your branch is ahead of '{upstream}' by {}.", commits(ahead)),
            "  (use \"git push\" to publish your local commits)".to_owned(),
        ],
        (0, behind) => vec![
            format!("Your branch is behind '{upstream}' by {}, and can be fast-forwarded.", commits(behind)),
            "  (use \"git pull\" to update your local branch)".to_owned(),
        ],
        (ahead, behind) => vec![
            format!("Your branch and '{upstream}' have diverged,"),
            format!("and have {ahead} and {behind} different commits each, respectively."),
            "  (use \"git pull\" if you want to integrate the remote branch with yours)".to_owned(),
        ],
    }
}
