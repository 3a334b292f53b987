//! Plans all files of a patch before any of them changes.
//!
//! For each path the plan tracks the current content: the file on disk, a draft, or nothing. As in git, all parts of
//! one diff refer to the state before it: a rename moves the old content, and a path that one part vacates may be
//! reused by another. A later diff in the same patch starts from the result of the earlier ones.

use super::content::{FileSource, set_executable};
use super::diff::{DiffChange, FileDiff, LineTag};
use super::fit::{FitResult, fit};
use super::rewrite::ByteEdit;
use super::slots::{SlotContent, Slots};
use super::target::{PatchOperation, PatchTarget};
use super::verdict::{FileVerdict, HunkVerdict};
use beamai_base::{ErrorKind, Reason, Result, ToolError};
use beamai_files::missing;
use beamai_text::{Charset, DiffBuilder, FileBytes, around, splice, summarize};
use beamai_tool::{CallContext, Preview};
use beamai_workspace::Replacement;

/// The state of planning a patch.
pub(super) struct PatchPlan<'p> {
    cx: &'p CallContext,
    pub(super) slots: Slots<'p>,
    pub(super) versions: Vec<FileVersion<'p>>,
    /// Index of the current diff, in a patch with several.
    series: Option<usize>,
    /// Whether the changes are to be shown to a person.
    is_shown: bool,
}

/// A new content for a path.
pub(super) struct FileVersion<'p> {
    /// The draft; taken when it becomes the final content of its path.
    pub(super) replacement: Option<Replacement<'p>>,
    size: u64,
    /// Its encoding, or why it cannot be changed in parts.
    charset: Result<Charset>,
    /// The slot whose file provides the mode and attributes.
    like: usize,
    executable: Option<bool>,
}

/// The result of one part of the patch.
#[derive(Default)]
pub(super) struct FileOutcome {
    hunks: Vec<HunkVerdict>,
    charset: Option<Charset>,
    hash: Option<blake3::Hash>,
    is_adapted: bool,
    breaks_link: bool,
    /// The hunks of a diff of its change.
    shown: Option<Preview>,
    problem: Option<ToolError>,
}

impl Drop for PatchPlan<'_> {
    fn drop(&mut self) {
        // In reverse order, so that directories created for drafts are empty when they are removed.
        while self.versions.pop().is_some() {}
    }
}

impl<'p> PatchPlan<'p> {
    /// Plans all parts of a patch, with a verdict for each.
    ///
    /// # Errors
    /// Errors that end the call: cancelled, stale, no access. Errors in the patch are in the verdicts.
    pub(super) fn new(
        files: &'p [FileDiff],
        targets: &'p [PatchTarget],
        cx: &'p CallContext,
        is_shown: bool,
    ) -> Result<(Self, Vec<FileVerdict>)> {
        let mut plan = Self { cx, slots: Slots::default(), versions: vec![], series: None, is_shown };
        let mut verdicts = Vec::with_capacity(files.len());
        for (diff, target) in files.iter().zip(targets) {
            cx.check()?;
            if plan.series != Some(diff.series) {
                let own = files.iter().zip(targets).filter(|(other, _)| other.series == diff.series);
                plan.slots.begin(own.map(|(_, target)| target));
                plan.series = Some(diff.series);
            }
            let outcome = match plan.part(diff, target) {
                Ok(outcome) => outcome,
                Err(error) if is_of_patch(&error) => {
                    FileOutcome { problem: Some(error), ..FileOutcome::default() }
                }
                Err(error) => return Err(error.file(target.path())),
            };
            verdicts.push(verdict(diff, target, outcome));
        }
        Ok((plan, verdicts))
    }

    fn part(&mut self, diff: &'p FileDiff, target: &'p PatchTarget) -> Result<FileOutcome> {
        let from = target.from.as_ref().map(|spot| self.slots.at(spot)).transpose()?;
        let to = target.to.as_ref().map(|spot| self.slots.at(spot)).transpose()?;
        match (target.operation, from, to) {
            (PatchOperation::Created, _, Some(to)) => self.create(diff, to),
            (PatchOperation::Updated, _, Some(to)) => self.update(diff, to),
            (PatchOperation::Deleted, Some(from), _) => self.delete(diff, from),
            (PatchOperation::Renamed, Some(from), Some(to)) => self.rename(diff, from, to),
            (PatchOperation::Copied, Some(from), Some(to)) => self.copy(diff, from, to),
            (operation, ..) => {
                Err(ToolError::new(Reason::Crash, format!("a file to be {operation:?} has no path")))
            }
        }
    }

    fn create(&mut self, diff: &FileDiff, to: usize) -> Result<FileOutcome> {
        self.slots.refuse_taken(to, diff)?;
        let mut text = String::new();
        for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.tag == LineTag::Insert)
        {
            text.push_str(&line.text);
            text.push_str(if line.is_open { "" } else { "\n" });
        }
        let cuts = [ByteEdit { range: 0..0, line: 1, with: text.into_bytes() }];
        // The file that is replaced may be executable.
        let (wanted, has_model) = (diff.executable == Some(true), self.slots[to].original.is_some());
        let executable = (wanted || has_model).then_some(wanted);
        let mut outcome = FileOutcome {
            hunks: created(diff),
            charset: Some(Charset::UTF8),
            shown: self.shown(&FileBytes::Memory(b""), Charset::UTF8, &cuts)?,
            ..FileOutcome::default()
        };
        self.make(to, to, &FileBytes::Memory(b""), &cuts, executable, &mut outcome)?;
        self.slots[to].arrive();
        Ok(outcome)
    }

    fn update(&mut self, diff: &FileDiff, to: usize) -> Result<FileOutcome> {
        self.derive(diff, to, self.slots[to].now, to)
    }

    fn delete(&mut self, diff: &FileDiff, from: usize) -> Result<FileOutcome> {
        let source = self.slots[from].source(true)?;
        let content = self.content(from, source)?;
        self.expect_seen(from, source, &content)?;
        let (mut outcome, fitted) = self.fit(diff, &content)?;
        if !has_failed(&outcome) {
            let rest = if matches!(diff.change, DiffChange::Remove(_)) { 0 } else { rest(&content, &fitted) };
            outcome.problem = (rest > 0).then(|| self.not_empty(from, rest, diff.hunks.is_empty()));
        }
        if !has_failed(&outcome) {
            self.slots[from].leave(source);
        }
        Ok(outcome)
    }

    fn rename(&mut self, diff: &FileDiff, from: usize, to: usize) -> Result<FileOutcome> {
        let source = self.slots[from].source(false)?;
        self.slots.refuse_taken(to, diff)?;
        let outcome = match (source, diff.hunks.is_empty(), diff.executable) {
            (SlotContent::Original, true, None) => {
                self.slots[to].now = SlotContent::Moved(from);
                FileOutcome::default()
            }
            _ => self.derive(diff, from, source, to)?,
        };
        if !has_failed(&outcome) {
            self.slots[to].arrive();
            self.slots[from].leave(source);
        }
        Ok(outcome)
    }

    fn copy(&mut self, diff: &FileDiff, from: usize, to: usize) -> Result<FileOutcome> {
        self.slots.refuse_taken(to, diff)?;
        let outcome = self.derive(diff, from, self.slots[from].copied(), to)?;
        if !has_failed(&outcome) {
            self.slots[to].arrive();
        }
        Ok(outcome)
    }

    /// Starts a file with the content of another one.
    fn derive(
        &mut self,
        diff: &FileDiff,
        from: usize,
        source: SlotContent,
        to: usize,
    ) -> Result<FileOutcome> {
        let content = self.content(from, source)?;
        if !matches!(diff.change, DiffChange::Copy { .. }) {
            self.expect_seen(from, source, &content)?;
        }
        let (mut outcome, fitted) = self.fit(diff, &content)?;
        if !has_failed(&outcome) {
            let (like, executable) = match source {
                SlotContent::Made(at) => (self.versions[at].like, self.versions[at].executable),
                SlotContent::Moved(other) => (other, None),
                SlotContent::Original | SlotContent::Nothing => (from, None),
            };
            let executable = diff.executable.or(executable);
            self.make(to, like, &content.bytes(), &fitted.cuts, executable, &mut outcome)?;
            // Of no importance here, but for later parts of the patch.
            if let Some(made) = self.versions.last_mut().filter(|_| diff.hunks.is_empty()) {
                made.charset = content.charset();
            }
        }
        Ok(outcome)
    }

    fn not_empty(&self, from: usize, rest: u64, has_no_hunks: bool) -> ToolError {
        let shown = self.slots[from].location.display();
        let message = match has_no_hunks {
            true => {
                format!("the patch deletes {shown} without its lines; give all of them, each after a \"-\"")
            }
            false => format!(
                "the patch deletes {shown}, but {rest} bytes would remain; give all its lines, each after a \"-\""
            ),
        };
        ToolError::new(Reason::NoMatch, message)
    }

    /// The content at a path.
    pub(super) fn content(&self, slot: usize, now: SlotContent) -> Result<FileSource> {
        let on_disk = |at: usize| {
            let slot = &self.slots[at];
            FileSource::open(slot.location, slot.original.as_ref())
        };
        match now {
            SlotContent::Original => on_disk(slot),
            SlotContent::Moved(from) => on_disk(from),
            SlotContent::Made(at) => {
                let version = &self.versions[at];
                let draft = version.replacement.as_ref().map(Replacement::reader).transpose()?;
                Ok(FileSource::draft(draft, version.size, version.charset.clone()))
            }
            SlotContent::Nothing if self.slots[slot].original.is_some() => Err(self.slots[slot].is_gone()),
            SlotContent::Nothing => match missing::open(self.slots[slot].location) {
                Ok(_) => Err(self.slots[slot].location.stale()),
                Err(error) => Err(error),
            },
        }
    }

    /// Fails if a file on disk is not the version that the session has seen.
    fn expect_seen(&self, slot: usize, now: SlotContent, content: &FileSource) -> Result<()> {
        if now != SlotContent::Original {
            return Ok(());
        }
        let check = || self.cx.check();
        let actual = || Ok(summarize(&content.bytes(), Charset::UTF8, &check)?.hash());
        self.cx.seen_files.expect(self.slots[slot].location, actual)
    }

    /// Fits hunks to a content. Without hunks the content may be of any type.
    fn fit(&self, diff: &FileDiff, content: &FileSource) -> Result<(FileOutcome, FitResult)> {
        if diff.hunks.is_empty() {
            return Ok((FileOutcome::default(), FitResult::default()));
        }
        let charset = content.charset()?;
        let fitted = fit(diff, content.bytes(), charset, &|| self.cx.check())?;
        let hunks = fitted.hunks.clone();
        let outcome = FileOutcome {
            shown: self.shown(&content.bytes(), charset, &fitted.cuts)?,
            hunks,
            charset: Some(charset),
            is_adapted: fitted.is_adapted,
            ..FileOutcome::default()
        };
        Ok((outcome, fitted))
    }

    /// The hunks of a diff that shows what the edits do to the bytes, line ends included; none if nobody is asked.
    fn shown(&self, bytes: &FileBytes<'_>, charset: Charset, cuts: &[ByteEdit]) -> Result<Option<Preview>> {
        if !self.is_shown {
            return Ok(None);
        }
        let mut diff = DiffBuilder::with_header(String::new(), usize::MAX);
        // A git diff is about the byte order mark, too; it is shown where it is changed.
        let is_at_mark = cuts.iter().any(|cut| cut.range.start < charset.bom().len() as u64);
        let unmarked = Charset::labelled(&charset.name(), b"").filter(|_| is_at_mark);
        let charset = unmarked.unwrap_or(charset);
        let check = || self.cx.check();
        around(bytes, charset, cuts.iter().map(ByteEdit::splice), &mut diff, &check)?;
        let diff = diff.finish();
        let contents = || Ok(summarize(bytes, Charset::UTF8, &check)?.hash());
        Preview::default().with_diff(&diff.text, diff.is_truncated, contents).map(Some)
    }

    /// Writes a draft for a path, with the attributes of the file at `like`.
    pub(super) fn make(
        &mut self,
        to: usize,
        like: usize,
        bytes: &FileBytes<'_>,
        cuts: &[ByteEdit],
        executable: Option<bool>,
        outcome: &mut FileOutcome,
    ) -> Result<()> {
        let (location, model) = (self.slots[to].location, &self.slots[like]);
        let mut replacement = match like != to && model.original.is_some() {
            true => location.replace_like(model.location)?,
            false => location.replace()?,
        };
        let (hash, size) =
            splice(bytes, cuts.iter().map(ByteEdit::splice), replacement.file(), &|| self.cx.check())?;
        // The draft has the mode of the file that it replaces, which is another one.
        let replaces_other = like != to && model.original.is_none() && self.slots[to].original.is_some();
        let executable = executable.or(replaces_other.then_some(false));
        if let Some(executable) = executable {
            set_executable(replacement.file(), executable)
                .map_err(|error| location.error("set the mode of", error))?;
        }
        outcome.hash = Some(hash);
        outcome.breaks_link = replacement.breaks_link();
        let charset = Ok(outcome.charset.unwrap_or(Charset::UTF8));
        self.versions.push(FileVersion { replacement: Some(replacement), size, charset, like, executable });
        self.slots[to].now = SlotContent::Made(self.versions.len() - 1);
        Ok(())
    }
}

/// Whether the error is caused by the patch.
fn is_of_patch(error: &ToolError) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound)
}

fn has_failed(outcome: &FileOutcome) -> bool {
    outcome.problem.is_some() || outcome.hunks.iter().any(|hunk| hunk.problem.is_some())
}

/// Size of a content after the edits, ignoring a byte order mark.
fn rest(content: &FileSource, fitted: &FitResult) -> u64 {
    let mark = content.charset().map_or(0, |charset| charset.bom().len() as u64);
    let gone: u64 = fitted.cuts.iter().map(|cut| cut.range.end - cut.range.start).sum();
    let rest = content.bytes().len() - gone;
    if rest == mark { 0 } else { rest }
}

fn created(diff: &FileDiff) -> Vec<HunkVerdict> {
    let verdict = |hunk: &super::diff::Hunk| HunkVerdict {
        patch_line: hunk.line,
        line: Some(1),
        new_line: Some(1),
        offset: hunk.stated.map(|_| 0),
        additions: hunk.changes().0,
        deletions: 0,
        note: None,
        problem: None,
    };
    diff.hunks.iter().map(verdict).collect()
}

fn verdict(diff: &FileDiff, target: &PatchTarget, outcome: FileOutcome) -> FileVerdict {
    let is_moved = matches!(target.operation, PatchOperation::Renamed | PatchOperation::Copied);
    let old_path = target.from.as_ref().filter(|_| is_moved).map(|from| from.location.display());
    let changes = diff.hunks.iter().map(super::diff::Hunk::changes);
    let (additions, deletions) = changes.fold((0, 0), |sum, hunk| (sum.0 + hunk.0, sum.1 + hunk.1));
    FileVerdict {
        path: target.path(),
        operation: target.operation,
        old_path,
        hunks: outcome.hunks,
        additions,
        deletions,
        hash: outcome.hash.map(|hash| hash.to_hex().to_string()),
        encoding: outcome.charset.map(Charset::name),
        executable: diff
            .executable
            .filter(|executable| *executable || target.operation != PatchOperation::Created),
        line_endings_adapted: outcome.is_adapted,
        link_broken: outcome.breaks_link,
        note: target.note.clone(),
        shown: outcome.shown,
        problem: outcome.problem.map(Into::into),
    }
}
