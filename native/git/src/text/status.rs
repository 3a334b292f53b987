//! The text of a status: HEAD, operations in progress, and changes by group.

use super::branch::{headline, tracking};
use super::diff::{DiffSides, renamed};
use super::progress;
use super::quote::QuoteStyle;
use super::state::RepoState;
use crate::page::LimitedText;
use beamai_git_repository::changes::{ChangeKind, FileChange, is_unmerged, staged};
use beamai_git_repository::tree::{SUBMODULE, UntrackedFinder, WorkTreeReader};
use beamai_git_repository::{GitCall, GitResult, Repo, Staging, Untracked};

/// The content of a status.
pub(crate) struct StatusReport<'r> {
    /// The repository.
    pub repo: &'r Repo,
    /// Changes between the last commit and the staging area, including conflicts.
    pub staged: Vec<FileChange>,
    /// Changes between the staging area and the work tree.
    pub unstaged: Vec<FileChange>,
    /// Untracked paths.
    pub untracked: Vec<Vec<u8>>,
    /// Operations in progress.
    pub state: RepoState,
}

impl<'r> StatusReport<'r> {
    /// Collects the status of everything in the workspace. Notes on the page what could not be read.
    pub(crate) fn read(
        repo: &'r Repo,
        staging: &Staging,
        cx: &GitCall,
        page: &mut LimitedText,
    ) -> GitResult<Self> {
        let below = repo.located.above.as_slice();
        let mut contents = WorkTreeReader::new(repo, staging, cx)?;
        contents.look_ahead(staging.stat.as_ref(), below);
        let all = staged(repo, staging, b"")?;
        let (inside, elsewhere): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|change| repo.located.is_inside(&change.path));
        if !elsewhere.is_empty() {
            page.note(format!("{} staged paths outside of the workspace are not shown", elsewhere.len()));
        }
        let staged = renamed(repo, inside, DiffSides::CommitAndStaging, &mut contents)?;
        let finder = UntrackedFinder::new(repo, &staging.entries, repo.settings.untracked, cx)?;
        let (untracked, notes) = finder.find(below)?;
        let unstaged = contents.changes(staging.stat.as_ref(), below)?;
        let unstaged = renamed(repo, unstaged, DiffSides::StagingAndTree, &mut contents)?;
        contents.take_notes().into_iter().chain(notes).for_each(|note| page.note(note));
        if !below.is_empty() && staged.is_empty() && unstaged.is_empty() && untracked.is_empty() {
            page.note("unstaged changes outside of the workspace are not looked for");
        }
        Ok(Self { repo, staged, unstaged, untracked, state: RepoState::read(repo, staging)? })
    }

    /// Prints the text.
    pub(crate) fn print(&self, page: &mut LimitedText) -> GitResult<()> {
        let names = self.repo.names()?;
        page.line(&headline(self.repo, &names)?);
        tracking(self.repo)?.into_iter().for_each(|line| page.line(&line));
        progress::lines(self.repo, &self.state, &names)?.iter().for_each(|line| page.line(line));
        let conflicts = self.staged.iter().filter(|change| is_unmerged(change));
        self.group("conflicts", conflicts, page);
        self.group("staged", self.staged.iter().filter(|change| !is_unmerged(change)), page);
        self.group("not staged", self.unstaged.iter(), page);
        if !self.untracked.is_empty() {
            page.line("untracked:");
            self.untracked.iter().for_each(|path| page.line(&format!("  {}", self.name(path))));
        }
        if self.repo.settings.untracked == Untracked::No {
            page.line("untracked files are not listed (status.showUntrackedFiles)");
        }
        if self.staged.is_empty() && self.unstaged.is_empty() && self.untracked.is_empty() {
            page.line("clean");
        }
        Ok(())
    }

    fn group<'c>(&self, title: &str, changes: impl Iterator<Item = &'c FileChange>, page: &mut LimitedText) {
        for (at, change) in changes.enumerate() {
            if at == 0 {
                page.line(&format!("{title}:"));
            }
            page.line(&format!("  {}", self.entry(change)));
        }
    }

    fn entry(&self, change: &FileChange) -> String {
        let name = self.name(&change.path);
        let is_submodule = change.new.is_some_and(|new| new.mode == SUBMODULE)
            && change.old.is_some_and(|old| old.mode == SUBMODULE);
        match &change.kind {
            ChangeKind::Added => format!("new: {name}"),
            ChangeKind::Deleted => format!("deleted: {name}"),
            ChangeKind::TypeChanged => format!("type changed: {name}"),
            ChangeKind::Renamed { from, .. } => format!("renamed: {} -> {name}", self.name(from)),
            ChangeKind::Unmerged(sides) => format!("{}: {name}", conflict(*sides)),
            ChangeKind::Modified if is_submodule => format!("modified: {name} (other commit)"),
            ChangeKind::Modified => format!("modified: {name}"),
        }
    }

    /// A path relative to the workspace, quoted as git does.
    fn name(&self, path: &[u8]) -> String {
        let quote = QuoteStyle { beyond_ascii: self.repo.settings.quote_path, spaces: false };
        quote.name("", &in_workspace(self.repo, path))
    }
}

/// A path relative to the workspace; `./` for the workspace itself.
pub(super) fn in_workspace(repo: &Repo, path: &[u8]) -> Vec<u8> {
    match repo.located.outside(path) {
        path if path.is_empty() => b"./".to_vec(),
        path => path,
    }
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
