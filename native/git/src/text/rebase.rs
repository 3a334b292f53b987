//! What a status says of a rebase.

use super::state::branch;
use crate::page::LimitedText;
use crate::repo::{HashAbbreviator, Repo};
use git2::Oid;

/// Commands shown of those done and of those to do.
const SHOWN: usize = 2;

/// The commands done and to do.
pub(super) fn commands(repo: &Repo, names: &HashAbbreviator<'_>, page: &mut LimitedText) {
    let list = |file: &str| {
        let text = repo.admin(&format!("rebase-merge/{file}")).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        lines.map(|line| abbreviated(line, names)).collect::<Vec<_>>()
    };
    let done = list("done");
    match done.len() {
        0 => page.line("No commands done."),
        1 => page.line("Last command done (1 command done):"),
        count => page.line(&format!("Last commands done ({count} commands done):")),
    }
    done.iter().skip(done.len().saturating_sub(SHOWN)).for_each(|line| page.line(&format!("   {line}")));
    if done.len() > SHOWN {
        page.line("  (see more in file .git/rebase-merge/done)");
    }
    let todo = list("git-rebase-todo");
    match todo.len() {
        0 => return page.line("No commands remaining."),
        1 => page.line("Next command to do (1 remaining command):"),
        count => page.line(&format!("Next commands to do ({count} remaining commands):")),
    }
    todo.iter().take(SHOWN).for_each(|line| page.line(&format!("   {line}")));
    page.line("  (use \"git rebase --edit-todo\" to view and edit)");
}

/// A command with its commit's hash abbreviated.
fn abbreviated(line: &str, names: &HashAbbreviator<'_>) -> String {
    let mut words = line.splitn(3, ' ');
    let (Some(command), Some(hash)) = (words.next(), words.next()) else { return line.to_owned() };
    let id = Oid::from_str(hash).ok().filter(|_| hash.len() == 40);
    match id.filter(|_| !matches!(command, "exec" | "x" | "label" | "l")) {
        Some(id) => [command, &names.short(id)].into_iter().chain(words).collect::<Vec<_>>().join(" "),
        None => line.to_owned(),
    }
}

/// What of the work tree a rebase's state depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct WorkTreeState {
    /// A merge left paths undecided.
    pub(super) has_conflicts: bool,
    /// Something is not staged.
    pub(super) is_changed: bool,
}

/// What the rebase waits for.
pub(super) fn waits(
    repo: &Repo,
    names: &HashAbbreviator<'_>,
    is_interactive: bool,
    tree: WorkTreeState,
    page: &mut LimitedText,
) {
    let dir = if repo.has_admin("rebase-apply") { "rebase-apply" } else { "rebase-merge" };
    let own = branch(repo, &format!("{dir}/head-name"), names);
    let onto = branch(repo, &format!("{dir}/onto"), names);
    let doing = |what: &str, during: &str| match (&own, &onto) {
        (Some(own), Some(onto)) => format!("You are currently {what} branch '{own}' on '{onto}'."),
        _ => format!("You are currently {during}."),
    };
    if tree.has_conflicts {
        page.line(&doing("rebasing", "rebasing"));
        page.line("  (fix conflicts and then run \"git rebase --continue\")");
        page.line("  (use \"git rebase --skip\" to skip this patch)");
        page.line("  (use \"git rebase --abort\" to check out the original branch)");
    } else if !is_interactive || repo.has_admin("MERGE_MSG") {
        page.line(&doing("rebasing", "rebasing"));
        page.line("  (all conflicts fixed: run \"git rebase --continue\")");
    } else if tree.is_changed && is_splitting(repo) {
        page.line(&doing("splitting a commit while rebasing", "splitting a commit during a rebase"));
        page.line("  (Once your working directory is clean, run \"git rebase --continue\")");
    } else {
        page.line(&doing("editing a commit while rebasing", "editing a commit during a rebase"));
        page.line("  (use \"git commit --amend\" to amend the current commit)");
        page.line("  (use \"git rebase --continue\" once you are satisfied with your changes)");
    }
    page.line("");
}

/// Whether the commit that the rebase stopped at was taken apart.
fn is_splitting(repo: &Repo) -> bool {
    let read = |file: &str| Some(repo.admin(file)?.trim_ascii().to_vec());
    let head = repo.head().ok().flatten().map(|id| id.to_string().into_bytes());
    match (read("rebase-merge/amend"), read("rebase-merge/orig-head")) {
        (Some(amend), Some(start)) if amend == start => head != Some(amend),
        (Some(_), Some(start)) => read("ORIG_HEAD").is_some_and(|before| before != start),
        _ => false,
    }
}
