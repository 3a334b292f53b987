//! Commits what is staged.

use super::hooks;
use super::parents::Parents;
use super::people::People;
use super::text::branch::{Head, head};
use super::text::diff::staged_counts;
use super::text::history::subject;
use super::text::state::{OngoingOperation, RepoState};
use beamai_base::{Reason, ToolError};
use beamai_git_repository::changes::{staged, unmerged};
use beamai_git_repository::{GitCall, GitError, GitResult, Repo, Staging};
use beamai_port_tools::git::path::shown;
use git2::{Commit, ErrorCode, IndexEntryExtendedFlag, Oid, Signature};
use rustix::fs::AtFlags;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Hooks that `git commit` runs.
const HOOKS: [&str; 6] = [
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "post-index-change",
    "reference-transaction",
];

/// Files that a merge leaves in the repository's directory until it is committed.
const LEFT_BY_MERGE: [&str; 5] = ["MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "AUTO_MERGE", "SQUASH_MSG"];

/// Maximum number of changed files whose lines are counted.
const MOST_COUNTED: usize = 1_000;

/// A new commit.
pub(super) struct RecordedCommit {
    pub(super) id: Oid,
    /// The line that git prints.
    pub(super) line: String,
    /// Number of files that it changes.
    pub(super) files: usize,
    /// Number of lines that it adds and deletes; `None` for too many files, or too large ones.
    pub(super) lines: Option<(usize, usize)>,
}

/// Commits what is staged.
pub(super) fn record(repo: &Repo, message: &str, cx: &GitCall) -> GitResult<RecordedCommit> {
    let message = cleaned(message)?;
    refuse_programs(repo, cx)?;
    refuse_locked(repo)?;
    let mut staging = repo.staging(cx)?;
    let state = RepoState::read(repo, &staging)?;
    refuse_unfinished(&staging, &state)?;
    refuse_elsewhere(repo, &staging)?;
    let people = People::read(repo)?;
    let tree = tree(repo, &mut staging)?;
    let parents = Parents::read(repo, &state)?;
    refuse_nothing(repo, tree, &parents, &staging)?;
    let (files, lines) = staged_counts(repo, &staging, MOST_COUNTED, cx)?;
    cx.check()?;
    let commits =
        parents.recorded.iter().map(|id| repo.git.find_commit(*id)).collect::<Result<Vec<_>, _>>()?;
    let tree = repo.git.find_tree(tree)?;
    let commits: Vec<&Commit<'_>> = commits.iter().collect();
    let id = repo.git.commit(None, &people.author, &people.committer, &message, &tree, &commits)?;
    let head = head(repo)?;
    let commit = NewCommit { id, parents: &parents, message: &message, committer: &people.committer };
    advance(repo, &head, &commit, cx)?;
    clean_up(repo)?;
    let line = printed(&head, parents.head.is_none(), &repo.names()?.short(id), &message);
    Ok(RecordedCommit { id, line, files, lines })
}

/// Fails if another git process is about to change the staging area or HEAD, as one does that waits for a message. Git
/// takes both locks.
fn refuse_locked(repo: &Repo) -> GitResult<()> {
    let is_there = |name: &&str| repo.located.git_dir.join(Path::new(name)).stat().is_ok();
    let Some(name) = ["index.lock", "HEAD.lock"].into_iter().find(is_there) else { return Ok(()) };
    let message = format!(
        "{name} exists in the repository's directory: another git process is using it; try again later, or remove the file if none is running"
    );
    Err(ToolError::new(Reason::Busy, message).into())
}

/// Cleans up the message as `git commit -m` does: strips trailing spaces, surrounding empty lines and repeated empty
/// lines.
fn cleaned(message: &str) -> GitResult<String> {
    let refuse = |why: &str| Err(ToolError::new(Reason::InvalidArgument, why).into());
    if message.contains('\0') {
        return refuse("the message has a NUL character; remove it");
    }
    match git2::message_prettify(message, None)? {
        text if text.is_empty() => refuse("the message is empty; say what the commit changes and why"),
        text => Ok(text),
    }
}

/// Refuses if git would start a program for the commit.
fn refuse_programs(repo: &Repo, cx: &GitCall) -> GitResult<()> {
    let what = match hooks::active(repo, &HOOKS, cx)? {
        Some(hook) => hook,
        None if signs(repo) => "commit.gpgSign".to_owned(),
        None => return Ok(()),
    };
    let message = format!(
        "nothing was committed: {what} is active, and this tool runs neither hooks nor signing programs; use the \
         shell tool for `git commit -m`"
    );
    Err(GitError::needs_shell(message).with("active", what).into())
}

/// Whether git would sign the commit. A value that is not a boolean counts: git makes no commit then.
fn signs(repo: &Repo) -> bool {
    match repo.config.get_bool("commit.gpgsign") {
        Ok(is_on) => is_on,
        Err(error) => error.code() != ErrorCode::NotFound,
    }
}

/// Refuses during an operation that has its own command to continue.
fn refuse_unfinished(staging: &Staging, state: &RepoState) -> GitResult<()> {
    let conflicts: Vec<String> = unmerged(staging, b"").iter().map(|change| shown(&change.path)).collect();
    if !conflicts.is_empty() {
        let all = conflicts.join(", ");
        let message =
            format!("these paths have merge conflicts: {all}; resolve them and stage them with git_add");
        return Err(GitError::state(message));
    }
    let (article, command) = match state.underway {
        None => return Ok(()),
        Some(OngoingOperation::Am) => ("an", "am"),
        Some(OngoingOperation::Rebase) => ("a", "rebase"),
        Some(OngoingOperation::CherryPick(_)) => ("a", "cherry-pick"),
        Some(OngoingOperation::Revert(_)) => ("a", "revert"),
    };
    let message =
        format!("{article} {command} is in progress; use the shell tool for `git {command} --continue`");
    Err(GitError::needs_shell(message).into())
}

/// Refuses if paths outside of the workspace are staged.
fn refuse_elsewhere(repo: &Repo, staging: &Staging) -> GitResult<()> {
    if repo.located.above.is_empty() {
        return Ok(());
    }
    let changes = staged(repo, staging, b"")?;
    let mut elsewhere = changes.iter().filter(|change| !repo.located.is_inside(&change.path));
    let Some(first) = elsewhere.next() else { return Ok(()) };
    let message = format!(
        "nothing was committed: {} paths outside of the workspace are staged as well, such as {}; a person can unstage them \
         with `git restore --staged`, or use the shell tool for `git commit -- .`",
        elsewhere.count() + 1,
        shown(&first.path)
    );
    Err(GitError::state(message))
}

/// Writes the tree of the staged files, without those that were only added with `--intent-to-add`.
fn tree(repo: &Repo, staging: &mut Staging) -> GitResult<Oid> {
    let intended = IndexEntryExtendedFlag::INTENT_TO_ADD.bits();
    for entry in staging.entries.iter().filter(|entry| entry.flags_extended & intended != 0) {
        staging.index.remove(Path::new(OsStr::from_bytes(&entry.path)), 0)?;
    }
    Ok(staging.index.write_tree_to(&repo.git)?)
}

fn refuse_nothing(repo: &Repo, tree: Oid, parents: &Parents, staging: &Staging) -> GitResult<()> {
    let is_same = match parents.head {
        _ if parents.is_merge => false,
        None => staging.entries.is_empty(),
        Some(head) => repo.git.find_commit(head)?.tree_id() == tree,
    };
    match is_same {
        true => {
            Err(GitError::state("nothing to commit: nothing is staged; stage changes with git_add first"))
        }
        false => Ok(()),
    }
}

/// A commit that is no part of the history yet.
struct NewCommit<'a> {
    id: Oid,
    parents: &'a Parents,
    message: &'a str,
    committer: &'a Signature<'static>,
}

impl NewCommit<'_> {
    /// Its line in the logs of HEAD and of the branch.
    fn logged(&self) -> String {
        let kind = match self.parents.head {
            None => " (initial)",
            Some(_) if self.parents.is_merge => " (merge)",
            Some(_) => "",
        };
        format!("commit{kind}: {}", self.message.lines().next().unwrap_or_default())
    }
}

/// Moves HEAD's branch, or a detached HEAD, to the new commit, if it has not moved in the meantime.
fn advance(repo: &Repo, head: &Head, commit: &NewCommit<'_>, cx: &GitCall) -> GitResult<()> {
    let name = match head {
        Head::Branch(name) => name,
        Head::Detached => "HEAD",
    };
    repo.tell_locks(cx, &["HEAD.lock"], &[&format!("{name}.lock")])?;
    let Some(before) = commit.parents.head else {
        repo.git.reference(name, commit.id, false, &commit.logged())?;
        return Ok(());
    };
    // Only a transaction lets the log name the committer.
    let mut transaction = repo.git.transaction()?;
    transaction.lock_ref(name)?;
    if repo.git.find_reference(name)?.target() != Some(before) {
        return Err(GitError::state(format!("nothing was committed: {name} has moved meanwhile; try again")));
    }
    transaction.set_target(name, commit.id, Some(commit.committer), &commit.logged())?;
    Ok(transaction.commit()?)
}

fn clean_up(repo: &Repo) -> GitResult<()> {
    let dir = repo.located.git_dir.open_dir()?;
    for name in LEFT_BY_MERGE {
        match rustix::fs::unlinkat(&dir, name, AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(ToolError::io("remove", format!(".git/{name}"), error).into()),
        }
    }
    Ok(())
}

fn printed(head: &Head, is_first: bool, short: &str, message: &str) -> String {
    let branch = match head {
        Head::Branch(name) => name.strip_prefix("refs/heads/").unwrap_or(name),
        Head::Detached => "detached HEAD",
    };
    let first = if is_first { " (root-commit)" } else { "" };
    format!("[{branch}{first} {short}] {}", subject(message))
}
