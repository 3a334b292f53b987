//! The diff of a file with merge conflicts: our version compared with the work-tree file, as in `git diff --ours`.

use super::diff::side;
use super::patch::DiffPrinter;
use beamai_git_repository::GitResult;
use beamai_git_repository::changes::{BlobVersion, ChangeKind, FileChange};
use beamai_git_repository::tree::{WorkTreeReader, stage};

/// Prints the diff of a conflicted path. If there is no version of ours, only a line that says so.
pub(super) fn print(
    printer: &mut DiffPrinter<'_>,
    contents: &mut WorkTreeReader<'_>,
    path: &[u8],
) -> GitResult<()> {
    printer.page.line(&format!("* Unmerged path {}", printer.quote.name("", path)));
    let Some(ours) = contents.entries.iter().find(|entry| entry.path == path && stage(entry) == 2) else {
        return Ok(());
    };
    let ours = BlobVersion { mode: ours.mode, id: ours.id };
    let file = contents.work_version(path, ours.mode);
    let Some(old) = side(contents, path, Some(ours), false)? else { return Ok(()) };
    let new = side(contents, path, file, true)?;
    if new.as_ref().is_some_and(|new| new.id == old.id && new.mode == old.mode) {
        return Ok(());
    }
    let kind = if new.is_some() { ChangeKind::Modified } else { ChangeKind::Deleted };
    let change = FileChange { path: path.to_vec(), kind, old: Some(ours), new: file };
    let diff = contents.attributes(path)?.remove(&b"diff"[..]);
    printer.print(&change, Some(&old), new.as_ref(), diff.as_ref())
}
