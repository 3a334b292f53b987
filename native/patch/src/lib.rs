//! Applies unified diffs and `*** Begin Patch` patches, completely or not at all.
//!
//! The text is parsed (`parser`), its file names are resolved (`target`), its hunks are fitted to the files (`fit`),
//! all new contents are planned (`plan`), and only then are the files changed, as one batch.

mod begin_patch;
mod body;
mod changes;
mod content;
mod diff;
mod fit;
mod for_model;
pub mod fuzz;
mod header;
mod lines;
mod name;
mod nearest;
mod parser;
mod placing;
mod plan;
mod preview;
mod rewrite;
mod search;
mod slots;
mod target;
mod verdict;

#[cfg(test)]
mod tests;

pub use target::PatchOperation;
pub use verdict::{FilePatchOutput, FileVerdict, HunkVerdict, PatchProblem};

use beamai_base::{Reason, Result, ToolError};
use beamai_files::{buffered_file::BufferedFile, missing};
use beamai_policy::PermissionRequest;
use beamai_text::name_in_sentence;
use beamai_tool::{
    CallContext, ExecutionClass, Interrupt, Operation, Preview, SeenFiles, Traits,
    for_model::{Fields, ModelCall, ModelPage},
};
use beamai_workspace::lock_all;
use diff::{DiffChange, FileDiff};
use plan::PatchPlan;
use schemars::JsonSchema;
use serde::Deserialize;
use std::sync::{Arc, OnceLock};
use target::PatchTarget;

/// Applies a unified diff to files of the workspace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct FilePatch {
    /// Paths are relative to the workspace. In a unified diff, /dev/null as a name creates or deletes a file.
    pub patch: String,
    /// Check only; change nothing.
    #[serde(default)]
    pub dry_run: bool,
    #[serde(skip)]
    #[schemars(skip)]
    understood: OnceLock<Result<Arc<ParsedPatch>>>,
}

/// Why a patch is planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PatchPurpose {
    /// To see whether it applies.
    Check,
    /// To show a person what it would do.
    Show,
    /// To change the files.
    Apply,
}

/// A parsed patch and its files, as checked by the policy.
#[derive(Debug)]
struct ParsedPatch {
    files: Vec<FileDiff>,
    targets: Vec<PatchTarget>,
}

/// Open files needed per changed file until the batch is committed.
const HANDLES: u64 = 4;
/// Maximum number of files in a patch, whatever the limit on open files.
const MOST_FILES: u64 = 20_000;

impl FilePatch {
    fn understood(&self, cx: &CallContext) -> Result<Arc<ParsedPatch>> {
        let understand = || {
            let files = parser::parse(&self.patch)?;
            refuse_too_many(files.len())?;
            let targets = target::resolve(&files, &cx.workspace, &|| cx.check())?;
            Ok(Arc::new(ParsedPatch { files, targets }))
        };
        self.understood.get_or_init(understand).clone()
    }

    /// Plans the whole patch, and applies it if that is the purpose.
    fn tried(&self, cx: &CallContext, purpose: PatchPurpose) -> Result<FilePatchOutput, Interrupt> {
        let understood = self.understood(cx)?;
        let (files, targets) = (&understood.files, &understood.targets);
        let spots = targets.iter().flat_map(|target| target.from.iter().chain(&target.to));
        let locations: Vec<_> = spots.map(|spot| &spot.location).collect();
        let _guards = lock_all(&locations, || cx.check())?;
        let (mut plan, files) = PatchPlan::new(files, targets, cx, purpose == PatchPurpose::Show)?;
        if let Some(failure) = verdict::failure(&files) {
            return Err(failure.into());
        }
        let changes = plan.changes()?;
        cx.check()?;
        let is_applied = purpose == PatchPurpose::Apply;
        if is_applied {
            changes.commit()?;
            take_note(&cx.seen_files, targets, &files);
        }
        let permissions = target::permissions(targets).iter().map(PermissionRequest::subject).collect();
        Ok(FilePatchOutput { applied: is_applied, files, permissions })
    }

    /// One line for each file that the patch deletes, renames, copies or makes executable without listing its content:
    /// its size, mode and hash, so that an approval covers them.
    fn whole_files(&self, cx: &CallContext) -> Result<String> {
        let understood = self.understood(cx)?;
        let pairs = || understood.files.iter().zip(&understood.targets);
        let whole = pairs().enumerate().filter_map(|(at, (file, target))| {
            let verb = match target.operation {
                PatchOperation::Deleted if matches!(file.change, DiffChange::Remove(_)) => "deletes",
                PatchOperation::Renamed => "renames",
                PatchOperation::Copied => "copies",
                PatchOperation::Updated if file.executable.is_some() => "sets the mode of",
                _ => return None,
            };
            let from = target.from.as_ref().or(target.to.as_ref())?;
            // All parts of one diff move and copy files as they were before the diff.
            let is_before =
                |other: &FileDiff| target.operation == PatchOperation::Updated || other.series != file.series;
            let is_made = pairs().take(at).any(|(other, made)| is_before(other) && made.makes(from));
            (!is_made).then_some((verb, from))
        });
        let mut lines = String::new();
        for (verb, from) in whole {
            let opened = match missing::open(&from.location) {
                Ok(opened) => opened,
                // It is gone, or an earlier part of the patch makes it through a link.
                Err(error) if error.reason == Reason::NoSuchFile => continue,
                Err(error) => return Err(error),
            };
            let file = BufferedFile::new(&from.location, opened)?;
            let hash = file.hash(&|| cx.check())?;
            let (path, mode, bytes) =
                (from.location.display(), file.stat.st_mode & 0o7777, file.bytes().len());
            lines += &format!(
                "{verb} {}: {bytes} bytes, mode {mode:o}, BLAKE3 {}\n",
                name_in_sentence(&path),
                hash.to_hex()
            );
        }
        Ok(lines)
    }

    fn permissions(&self, cx: &CallContext) -> Result<Vec<PermissionRequest>> {
        let targets = &self.understood(cx)?.targets;
        Ok(if self.dry_run { target::permissions_of_dry_run(targets) } else { target::permissions(targets) })
    }
}

impl Operation for FilePatch {
    type Output = FilePatchOutput;
    const TRAITS: Traits = Traits { pace: ExecutionClass::Long, ..Traits::WRITES };
    const RULE: &'static str = "Edit";
    const SEES_FILES: bool = true;
    const CHANGES_SEVERAL_FILES: bool = true;

    fn permission(&self, cx: &CallContext) -> Result<PermissionRequest> {
        Ok(self.permissions(cx)?.swap_remove(0))
    }

    fn more_permissions(&self, cx: &CallContext) -> Result<Vec<PermissionRequest>> {
        Ok(self.permissions(cx)?.split_off(1))
    }

    fn run(self, cx: &CallContext) -> Result<FilePatchOutput, Interrupt> {
        self.tried(cx, if self.dry_run { PatchPurpose::Check } else { PatchPurpose::Apply })
    }

    fn preview(&self, cx: &CallContext) -> Result<Option<Preview>, Interrupt> {
        let tried = self.tried(cx, PatchPurpose::Show)?;
        Ok(Some(preview::preview(&tried.files).with(&self.whole_files(cx)?)))
    }

    fn for_model(result: Fields<'_>, call: &ModelCall<'_>, page: &mut ModelPage) -> Option<()> {
        for_model::patched(result, call, page)
    }
}

/// Updates what the session knows of the files.
fn take_note(seen: &SeenFiles, targets: &[PatchTarget], files: &[FileVerdict]) {
    if !seen.is_on() {
        return;
    }
    let leaves = |target: &&PatchTarget| target.operation != PatchOperation::Copied;
    targets
        .iter()
        .filter(leaves)
        .filter_map(|target| target.from.as_ref())
        .for_each(|from| seen.forget(&from.location));
    for (target, file) in targets.iter().zip(files) {
        if let Some(to) = &target.to {
            seen.wrote(&to.location, file.hash.as_deref().and_then(|hash| blake3::Hash::from_hex(hash).ok()));
        }
    }
}

/// Refuses a patch that would exceed the process's limit on open files.
fn refuse_too_many(files: usize) -> Result<()> {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    let most = MOST_FILES.min(limit / 2 / HANDLES);
    if files as u64 <= most {
        return Ok(());
    }
    let message =
        format!("the patch changes {files} files; at most {most} can be changed at once, so split it");
    Err(ToolError::new(Reason::TooLarge, message))
}
