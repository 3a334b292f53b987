//! The text of `git status`.

use super::branch::{headline, tracking};
use super::diff::{DiffSides, renamed};
use super::quote::QuoteStyle;
use super::rebase;
use super::state::{OngoingOperation, RepoState};
use crate::page::LimitedText;
use crate::{
    changes::{ChangeKind, FileChange, staged::staged},
    fail::GitResult,
    repo::{HashAbbreviator, Repo, Staging, Untracked},
    tree::{
        content::{SUBMODULE, WorkTreeReader},
        untracked::UntrackedFinder,
    },
};
use beamai_tool::CallContext;
use git2::Oid;

/// Everything that a status tells.
pub(crate) struct StatusReport<'r> {
    /// Of this repository.
    pub repo: &'r Repo,
    /// Changes between the last commit and the staging area, conflicts among them.
    pub staged: Vec<FileChange>,
    /// Changes between the staging area and the work tree.
    pub unstaged: Vec<FileChange>,
    /// Paths that git does not know of.
    pub untracked: Vec<Vec<u8>>,
    /// What is under way.
    pub state: RepoState,
    head: Option<Oid>,
}

impl<'r> StatusReport<'r> {
    /// Looks at everything. What could not be looked at is noted on the page.
    pub(crate) fn read(
        repo: &'r Repo,
        staging: &Staging,
        cx: &CallContext,
        page: &mut LimitedText,
    ) -> GitResult<Self> {
        let mut contents = WorkTreeReader::new(repo, staging, cx)?;
        let staged = renamed(repo, staged(repo, staging, b"")?, DiffSides::CommitAndStaging, &mut contents)?;
        let unstaged = contents.changes(staging.stat.as_ref(), b"")?;
        let unstaged = renamed(repo, unstaged, DiffSides::StagingAndTree, &mut contents)?;
        let finder = UntrackedFinder::new(repo, &staging.entries, repo.settings.untracked, cx)?;
        let (untracked, notes) = finder.find(b"")?;
        contents.notes.into_iter().chain(notes).for_each(|note| page.note(note));
        let (state, head) = (RepoState::read(repo, staging)?, repo.head()?);
        Ok(Self { repo, staged, unstaged, untracked, state, head })
    }

    /// Whether a merge left paths undecided.
    pub(crate) fn has_conflicts(&self) -> bool {
        self.staged.iter().any(is_unmerged)
    }

    /// Whether a commit would have something to record.
    pub(crate) fn is_committable(&self) -> bool {
        self.staged.iter().any(|change| !is_unmerged(change)) || (self.state.merge && !self.has_conflicts())
    }

    /// Writes the text.
    pub(crate) fn print(&self, page: &mut LimitedText) -> GitResult<()> {
        let names = self.repo.names()?;
        page.line(&headline(self.repo, &names, self.state.rebase())?);
        if self.head.is_some() {
            section(&tracking(self.repo)?, page);
        }
        self.print_state(&names, page);
        if self.head.is_none() {
            section(&["".to_owned(), "No commits yet".to_owned()], page);
        }
        self.print_staged(page);
        self.print_unmerged(page);
        self.print_unstaged(page);
        self.print_untracked(page);
        self.print_summary(page);
        Ok(())
    }

    fn print_state(&self, names: &HashAbbreviator<'_>, page: &mut LimitedText) {
        if let Some(true) = self.state.rebase() {
            rebase::commands(self.repo, names, page);
            if self.state.merge {
                page.line("");
            }
        }
        let underway = self.state.underway.as_ref();
        match (self.state.merge, underway) {
            (true, _) => section(&self.merging(), page),
            (_, Some(OngoingOperation::Am(is_empty))) => section(&am(*is_empty), page),
            (_, Some(OngoingOperation::Rebase(is_interactive))) => {
                let (has_conflicts, is_changed) = (self.has_conflicts(), !self.unstaged.is_empty());
                let tree = rebase::WorkTreeState { has_conflicts, is_changed };
                rebase::waits(self.repo, names, *is_interactive, tree, page);
            }
            (_, Some(OngoingOperation::CherryPick(at))) => {
                section(&self.picking(("cherry-pick", "Cherry-pick"), *at, names), page);
            }
            (_, Some(OngoingOperation::Revert(at))) => {
                section(&self.picking(("revert", "Revert"), *at, names), page)
            }
            (_, None) => {}
        }
        if let Some(from) = &self.state.bisect {
            section(&bisecting(from.as_deref()), page);
        }
        if let Some(percent) = self.state.sparse {
            let text = format!("You are in a sparse checkout with {percent}% of tracked files present.");
            section(&[text], page);
        }
    }

    fn merging(&self) -> Vec<String> {
        lines(match self.has_conflicts() {
            true => &[
                "You have unmerged paths.",
                "  (fix conflicts and run \"git commit\")",
                "  (use \"git merge --abort\" to abort the merge)",
            ],
            false => &[
                "All conflicts fixed but you are still merging.",
                "  (use \"git commit\" to conclude merge)",
            ],
        })
    }

    fn picking(
        &self,
        (command, title): (&str, &str),
        at: Option<Oid>,
        names: &HashAbbreviator<'_>,
    ) -> Vec<String> {
        let doing = if command == "revert" { "reverting" } else { "cherry-picking" };
        let first = match at {
            Some(at) => format!("You are currently {doing} commit {}.", names.short(at)),
            None => format!("{title} currently in progress."),
        };
        let next = match (self.has_conflicts(), at) {
            (true, _) => format!("  (fix conflicts and run \"git {command} --continue\")"),
            (false, None) => format!("  (run \"git {command} --continue\" to continue)"),
            (false, Some(_)) => format!("  (all conflicts fixed: run \"git {command} --continue\")"),
        };
        vec![
            first,
            next,
            format!("  (use \"git {command} --skip\" to skip this patch)"),
            format!("  (use \"git {command} --abort\" to cancel the {command} operation)"),
        ]
    }

    fn name(&self, path: &[u8]) -> String {
        QuoteStyle { beyond_ascii: self.repo.settings.quote_path, spaces: false }.name("", path)
    }

    /// How staged paths are taken back; nothing in the middle of a merge or a cherry-pick, as in git.
    fn unstage_hint(&self) -> Option<&'static str> {
        match (self.state.merge, &self.state.underway, self.head) {
            (true, _, _) | (_, Some(OngoingOperation::CherryPick(Some(_))), _) => None,
            (_, _, Some(_)) => Some("  (use \"git restore --staged <file>...\" to unstage)"),
            (_, _, None) => Some("  (use \"git rm --cached <file>...\" to unstage)"),
        }
    }

    fn print_staged(&self, page: &mut LimitedText) {
        let changes: Vec<&FileChange> = self.staged.iter().filter(|change| !is_unmerged(change)).collect();
        if changes.is_empty() {
            return;
        }
        page.line("Changes to be committed:");
        self.unstage_hint().into_iter().for_each(|hint| page.line(hint));
        changes.iter().for_each(|change| page.line(&self.entry(change, "")));
        page.line("");
    }

    fn print_unmerged(&self, page: &mut LimitedText) {
        let all = |change: &FileChange| match change.kind {
            ChangeKind::Unmerged(sides) => Some((sides, self.name(&change.path))),
            _ => None,
        };
        let conflicts: Vec<(u8, String)> = self.staged.iter().filter_map(all).collect();
        if conflicts.is_empty() {
            return;
        }
        page.line("Unmerged paths:");
        self.unstage_hint().into_iter().for_each(|hint| page.line(hint));
        page.line(resolve_hint(&conflicts));
        for (sides, name) in conflicts {
            page.line(&format!("\t{:<17}{name}", format!("{}:", conflict(sides))));
        }
        page.line("");
    }

    fn print_unstaged(&self, page: &mut LimitedText) {
        if self.unstaged.is_empty() {
            return;
        }
        let gone = self.unstaged.iter().any(|change| change.kind == ChangeKind::Deleted);
        page.line("Changes not staged for commit:");
        let add = if gone { "add/rm" } else { "add" };
        page.line(&format!("  (use \"git {add} <file>...\" to update what will be committed)"));
        page.line("  (use \"git restore <file>...\" to discard changes in working directory)");
        self.unstaged.iter().for_each(|change| page.line(&self.entry(change, " (new commits)")));
        page.line("");
    }

    /// A changed path; `moved` is said of a submodule.
    fn entry(&self, change: &FileChange, moved: &str) -> String {
        let name = self.name(&change.path);
        let is_submodule = change.new.is_some_and(|new| new.mode == SUBMODULE)
            && change.old.is_some_and(|old| old.mode == SUBMODULE);
        match &change.kind {
            ChangeKind::Added => format!("\tnew file:   {name}"),
            ChangeKind::Deleted => format!("\tdeleted:    {name}"),
            ChangeKind::TypeChanged => format!("\ttypechange: {name}"),
            ChangeKind::Renamed { from, .. } => format!("\trenamed:    {} -> {name}", self.name(from)),
            _ if is_submodule => format!("\tmodified:   {name}{moved}"),
            _ => format!("\tmodified:   {name}"),
        }
    }

    fn print_untracked(&self, page: &mut LimitedText) {
        if self.repo.settings.untracked == Untracked::No {
            if self.is_committable() {
                page.line("Untracked files not listed (use -u option to show untracked files)");
            }
            return;
        }
        if self.untracked.is_empty() {
            return;
        }
        page.line("Untracked files:");
        page.line("  (use \"git add <file>...\" to include in what will be committed)");
        self.untracked.iter().for_each(|path| page.line(&format!("\t{}", self.name(path))));
        page.line("");
    }

    fn print_summary(&self, page: &mut LimitedText) {
        if self.is_committable() {
            return;
        }
        page.line(if self.has_conflicts() || !self.unstaged.is_empty() {
            "no changes added to commit (use \"git add\" and/or \"git commit -a\")"
        } else if !self.untracked.is_empty() {
            "nothing added to commit but untracked files present (use \"git add\" to track)"
        } else if self.head.is_none() {
            "nothing to commit (create/copy files and use \"git add\" to track)"
        } else if self.repo.settings.untracked == Untracked::No {
            "nothing to commit (use -u to show untracked files)"
        } else {
            "nothing to commit, working tree clean"
        });
    }
}

fn is_unmerged(change: &FileChange) -> bool {
    matches!(change.kind, ChangeKind::Unmerged(_))
}

fn lines(text: &[&str]) -> Vec<String> {
    text.iter().map(|line| (*line).to_owned()).collect()
}

/// Lines with an empty one behind them; nothing for none.
fn section(lines: &[String], page: &mut LimitedText) {
    lines.iter().for_each(|line| page.line(line));
    if !lines.is_empty() {
        page.line("");
    }
}

fn am(is_empty: bool) -> Vec<String> {
    let first = ["You are in the middle of an am session."].into_iter();
    let rest: &[&str] = match is_empty {
        true => &[
            "The current patch is empty.",
            "  (use \"git am --skip\" to skip this patch)",
            "  (use \"git am --allow-empty\" to record this patch as an empty commit)",
        ],
        false => &[
            "  (fix conflicts and then run \"git am --continue\")",
            "  (use \"git am --skip\" to skip this patch)",
        ],
    };
    let last = "  (use \"git am --abort\" to restore the original branch)";
    lines(&first.chain(rest.iter().copied()).chain([last]).collect::<Vec<_>>())
}

fn bisecting(from: Option<&str>) -> Vec<String> {
    let first = match from {
        Some(from) => format!("You are currently bisecting, started from branch '{from}'."),
        None => "You are currently bisecting.".to_owned(),
    };
    vec![first, "  (use \"git bisect reset\" to get back to the original branch)".to_owned()]
}

fn conflict(sides: u8) -> &'static str {
    match sides {
        1 => "both deleted",
        2 => "added by us",
        3 => "deleted by them",
        4 => "added by them",
        5 => "deleted by us",
        6 => "both added",
        _ => "both modified",
    }
}

fn resolve_hint(conflicts: &[(u8, String)]) -> &'static str {
    let any = |kinds: &[u8]| conflicts.iter().any(|(sides, _)| kinds.contains(sides));
    match (any(&[1]), any(&[3, 5]), any(&[2, 4, 6, 7])) {
        (false, false, _) => "  (use \"git add <file>...\" to mark resolution)",
        (true, false, false) => "  (use \"git rm <file>...\" to mark resolution)",
        _ => "  (use \"git add/rm <file>...\" as appropriate to mark resolution)",
    }
}
