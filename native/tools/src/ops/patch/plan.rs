//! All files of a patch, worked out before any of them changes.
//!
//! The plan keeps what stands at each path as far as the patch has come: the file on disk, a draft of its new content,
//! or nothing. As with git, the parts of one diff are about the files as they are before it: a rename takes the
//! content from before, and a path that one part leaves another may take. A part that comes back to a file that the
//! patch has changed goes on from there.

use super::content::{Content, set_executable};
use super::diff::{FileDiff, Tag};
use super::fit::{Fitted, fit};
use super::rewrite::Cut;
use super::target::{PatchOperation, Spot, Target};
use super::verdict::{FileVerdict, HunkVerdict};
use crate::context::CallContext;
use crate::error::{ErrorKind, Reason, Result, ToolError};
use crate::ops::file::missing;
use crate::text::{Bytes, Charset, splice};
use crate::workspace::{Batch, Place, Replacement};
use rustix::fs::Stat;
use std::collections::{BTreeSet, HashMap};

/// The files of a patch while it is worked out.
pub(super) struct Plan<'p> {
    cx: &'p CallContext,
    slots: Vec<Slot<'p>>,
    by_path: HashMap<&'p str, usize>,
    versions: Vec<Version<'p>>,
    series: Option<usize>,
    /// Paths that the parts of one diff leave.
    vacated: BTreeSet<&'p str>,
}

/// A path and what stands there.
struct Slot<'p> {
    place: &'p Place,
    original: Option<Stat>,
    now: Now,
    /// What stood there before the diff that is being worked out.
    before: Now,
    /// Whether what stands there has come there in this diff.
    has_arrived: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    Nothing,
    Original,
    /// The original of another path, unchanged.
    Moved(usize),
    Made(usize),
}

/// A new content of a path.
struct Version<'p> {
    /// Where it is; taken away when it is the last one of its path.
    replacement: Option<Replacement<'p>>,
    size: u64,
    charset: Option<Charset>,
    /// The path whose file has the attributes that this one gets.
    like: usize,
    executable: Option<bool>,
}

/// What a part of the patch made of a file.
#[derive(Default)]
struct Outcome {
    hunks: Vec<HunkVerdict>,
    charset: Option<Charset>,
    hash: Option<blake3::Hash>,
    is_adapted: bool,
    breaks_link: bool,
    problem: Option<ToolError>,
}

impl Drop for Plan<'_> {
    fn drop(&mut self) {
        // The last first, so that directories that were made for drafts are empty when their turn comes.
        while self.versions.pop().is_some() {}
    }
}

impl<'p> Plan<'p> {
    /// Works out all parts of a patch, and says what becomes of each.
    ///
    /// # Errors
    /// Those that end the call: cancelled, stale, no access. What is wrong with the patch is in the verdicts.
    pub(super) fn new(
        files: &'p [FileDiff],
        targets: &'p [Target],
        cx: &'p CallContext,
    ) -> Result<(Self, Vec<FileVerdict>)> {
        let mut plan = Self {
            cx,
            slots: vec![],
            by_path: HashMap::new(),
            versions: vec![],
            series: None,
            vacated: BTreeSet::new(),
        };
        let mut verdicts = Vec::with_capacity(files.len());
        for (diff, target) in files.iter().zip(targets) {
            cx.check()?;
            if plan.series != Some(diff.series) {
                plan.begin(diff.series, files, targets);
            }
            let outcome = match plan.part(diff, target) {
                Ok(outcome) => outcome,
                Err(error) if is_of_patch(&error) => Outcome { problem: Some(error), ..Outcome::default() },
                Err(error) => return Err(error.file(target.path())),
            };
            verdicts.push(verdict(diff, target, outcome));
        }
        Ok((plan, verdicts))
    }

    /// Begins with a diff of several in the patch.
    fn begin(&mut self, series: usize, files: &[FileDiff], targets: &'p [Target]) {
        for slot in &mut self.slots {
            (slot.before, slot.has_arrived) = (slot.now, false);
        }
        let leaves =
            |target: &&Target| matches!(target.operation, PatchOperation::Deleted | PatchOperation::Renamed);
        let own =
            files.iter().zip(targets).filter(|(diff, _)| diff.series == series).map(|(_, target)| target);
        self.vacated =
            own.filter(leaves).filter_map(|target| Some(target.from.as_ref()?.path.as_str())).collect();
        self.series = Some(series);
    }

    fn part(&mut self, diff: &'p FileDiff, target: &'p Target) -> Result<Outcome> {
        let from = target.from.as_ref().map(|spot| self.slot(spot)).transpose()?;
        let to = target.to.as_ref().map(|spot| self.slot(spot)).transpose()?;
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

    fn slot(&mut self, spot: &'p Spot) -> Result<usize> {
        if let Some(known) = self.by_path.get(spot.path.as_str()) {
            return Ok(*known);
        }
        let original = match spot.place.open_file() {
            Ok((_, stat)) => Some(stat),
            Err(error) if error.reason == Reason::NoSuchFile => None,
            Err(error) => return Err(error),
        };
        let now = if original.is_some() { Now::Original } else { Now::Nothing };
        self.slots.push(Slot { place: &spot.place, original, now, before: now, has_arrived: false });
        self.by_path.insert(&spot.path, self.slots.len() - 1);
        Ok(self.slots.len() - 1)
    }

    fn create(&mut self, diff: &FileDiff, to: usize) -> Result<Outcome> {
        self.refuse_taken(to)?;
        let mut text = String::new();
        for line in diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.tag == Tag::Insert) {
            text.push_str(&line.text);
            text.push_str(if line.is_open { "" } else { "\n" });
        }
        let cuts = [Cut { range: 0..0, with: text.into_bytes() }];
        let executable = diff.executable.filter(|executable| *executable);
        let mut outcome =
            Outcome { hunks: created(diff), charset: Some(Charset::UTF8), ..Outcome::default() };
        self.make(to, to, &Bytes::Memory(b""), &cuts, executable, &mut outcome)?;
        self.slots[to].has_arrived = true;
        Ok(outcome)
    }

    fn update(&mut self, diff: &FileDiff, to: usize) -> Result<Outcome> {
        let content = self.content(to, self.slots[to].now)?;
        let (like, executable) = match self.slots[to].now {
            Now::Made(at) => (self.versions[at].like, self.versions[at].executable),
            Now::Moved(from) => (from, None),
            _ => (to, None),
        };
        self.fit_and_make(diff, &content, to, like, diff.executable.or(executable))
    }

    fn delete(&mut self, diff: &FileDiff, from: usize) -> Result<Outcome> {
        let source = self.source(from, true)?;
        let content = self.content(from, source)?;
        let (mut outcome, fitted) = self.fit(diff, &content)?;
        if !has_failed(&outcome) {
            let rest = rest(&content, &fitted);
            outcome.problem = (rest > 0).then(|| self.not_empty(from, rest, diff.hunks.is_empty()));
        }
        if !has_failed(&outcome) {
            self.leave(from, source);
        }
        Ok(outcome)
    }

    fn rename(&mut self, diff: &FileDiff, from: usize, to: usize) -> Result<Outcome> {
        let source = self.source(from, false)?;
        self.refuse_taken(to)?;
        let outcome = match (source, diff.hunks.is_empty(), diff.executable) {
            (Now::Original, true, None) => {
                self.slots[to].now = Now::Moved(from);
                Outcome::default()
            }
            _ => self.derive(diff, from, source, to)?,
        };
        if !has_failed(&outcome) {
            self.slots[to].has_arrived = true;
            self.leave(from, source);
        }
        Ok(outcome)
    }

    fn copy(&mut self, diff: &FileDiff, from: usize, to: usize) -> Result<Outcome> {
        self.refuse_taken(to)?;
        let source = match (self.slots[from].before, self.slots[from].now) {
            (Now::Nothing, now) => now,
            (before, _) => before,
        };
        let outcome = self.derive(diff, from, source, to)?;
        self.slots[to].has_arrived |= !has_failed(&outcome);
        Ok(outcome)
    }

    /// A file that begins with the content of another.
    fn derive(&mut self, diff: &FileDiff, from: usize, source: Now, to: usize) -> Result<Outcome> {
        let content = self.content(from, source)?;
        let (like, executable) = match source {
            Now::Made(at) => (self.versions[at].like, self.versions[at].executable),
            Now::Moved(other) => (other, None),
            _ => (from, None),
        };
        self.fit_and_make(diff, &content, to, like, diff.executable.or(executable))
    }

    /// What a path holds for a part that takes it away: what was there before this diff, unless that has been
    /// changed on purpose.
    fn source(&self, from: usize, may_have_changed: bool) -> Result<Now> {
        let slot = &self.slots[from];
        match (slot.before, slot.now) {
            (Now::Nothing, now) => Ok(now),
            (before, now) if before == now || slot.has_arrived => Ok(before),
            (_, now) if may_have_changed || now == Now::Nothing => Ok(now),
            _ => {
                let shown = slot.place.display();
                let message = format!(
                    "{shown} is changed by one part of the patch and renamed by another; put both into one part, or give \
                     two patches"
                );
                Err(ToolError::new(Reason::InvalidArgument, message))
            }
        }
    }

    /// What was taken leaves the path, unless something else has come there since.
    fn leave(&mut self, from: usize, source: Now) {
        let slot = &mut self.slots[from];
        if slot.now == source && !(slot.has_arrived && slot.before != Now::Nothing) {
            slot.now = Now::Nothing;
        }
    }

    fn refuse_taken(&self, to: usize) -> Result<()> {
        let slot = &self.slots[to];
        let is_left = slot.before == slot.now
            && self.by_path.iter().any(|(path, at)| *at == to && self.vacated.contains(path));
        if slot.now == Now::Nothing || is_left {
            return Ok(());
        }
        let shown = slot.place.display();
        let message = format!(
            "{shown} exists already; change it with \"--- a/{shown}\" and lines of it as context, or choose another path"
        );
        Err(ToolError::new(Reason::AlreadyExists, message).file(shown))
    }

    fn not_empty(&self, from: usize, rest: u64, has_no_hunks: bool) -> ToolError {
        let shown = self.slots[from].place.display();
        let message = match has_no_hunks {
            true => {
                format!("the patch deletes {shown} without its lines; give all of them, each after a \"-\"")
            }
            false => format!(
                "the patch deletes {shown}, but {rest} bytes of it would be left; give all its lines, each after a \"-\""
            ),
        };
        ToolError::new(Reason::NoMatch, message)
    }

    fn content(&self, slot: usize, now: Now) -> Result<Content> {
        let on_disk = |at: usize| {
            let slot = &self.slots[at];
            Content::open(slot.place, slot.original.as_ref())
        };
        match now {
            Now::Original => on_disk(slot),
            Now::Moved(from) => on_disk(from),
            Now::Made(at) => {
                let version = &self.versions[at];
                let draft = version.replacement.as_ref().map(Replacement::reader).transpose()?;
                Ok(Content::draft(draft, version.size, version.charset))
            }
            Now::Nothing if self.slots[slot].original.is_some() => {
                let shown = self.slots[slot].place.display();
                let message = format!("{shown} is removed or renamed by an earlier part of the patch");
                Err(ToolError::new(Reason::NoSuchFile, message).file(shown))
            }
            Now::Nothing => match missing::open(self.slots[slot].place) {
                Ok(_) => Err(self.slots[slot].place.stale()),
                Err(error) => Err(error),
            },
        }
    }

    /// Fits hunks to a content; without hunks it may be of any kind.
    fn fit(&self, diff: &FileDiff, content: &Content) -> Result<(Outcome, Fitted)> {
        if diff.hunks.is_empty() {
            return Ok((Outcome::default(), Fitted::default()));
        }
        let charset = content.charset()?;
        let fitted = fit(diff, content.bytes(), charset, &|| self.cx.check())?;
        let hunks = fitted.hunks.clone();
        let outcome =
            Outcome { hunks, charset: Some(charset), is_adapted: fitted.is_adapted, ..Outcome::default() };
        Ok((outcome, fitted))
    }

    fn fit_and_make(
        &mut self,
        diff: &FileDiff,
        content: &Content,
        to: usize,
        like: usize,
        executable: Option<bool>,
    ) -> Result<Outcome> {
        let (mut outcome, fitted) = self.fit(diff, content)?;
        if !has_failed(&outcome) {
            self.make(to, like, &content.bytes(), &fitted.cuts, executable, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Writes a new content of a path.
    fn make(
        &mut self,
        to: usize,
        like: usize,
        bytes: &Bytes<'_>,
        cuts: &[Cut],
        executable: Option<bool>,
        outcome: &mut Outcome,
    ) -> Result<()> {
        let (place, model) = (self.slots[to].place, &self.slots[like]);
        let mut replacement = match like != to && model.original.is_some() {
            true => place.replace_like(model.place)?,
            false => place.replace()?,
        };
        let (hash, size) =
            splice(bytes, cuts.iter().map(Cut::splice), replacement.file(), &|| self.cx.check())?;
        if let Some(executable) = executable {
            set_executable(replacement.file(), executable)
                .map_err(|error| place.error("set the mode of", error))?;
        }
        outcome.hash = Some(hash);
        outcome.breaks_link = replacement.breaks_link();
        let charset = outcome.charset;
        self.versions.push(Version { replacement: Some(replacement), size, charset, like, executable });
        self.slots[to].now = Now::Made(self.versions.len() - 1);
        Ok(())
    }
}

/// Changing the files.
impl<'p> Plan<'p> {
    /// Makes all the changes, or none.
    ///
    /// # Errors
    /// As [`Batch::commit`].
    pub(super) fn commit(mut self) -> Result<()> {
        self.refuse_twins()?;
        let moves = self.settle_moves()?;
        let mut batch = Batch::default();
        for slot in &mut self.slots {
            if let Now::Made(at) = slot.now
                && let Some(replacement) = self.versions[at].replacement.take()
            {
                batch.replace(replacement, slot.original);
            }
        }
        for (from, to) in &moves {
            let (from, to) = (&self.slots[*from], &self.slots[*to]);
            if let Some(original) = from.original {
                batch.rename(from.place, original, to.place)?;
            }
        }
        let moved: BTreeSet<usize> = moves.iter().map(|(from, _)| *from).collect();
        for (at, slot) in self.slots.iter().enumerate() {
            if let (Some(original), Now::Nothing, false) = (slot.original, slot.now, moved.contains(&at)) {
                batch.remove(slot.place, original)?;
            }
        }
        self.cx.check()?;
        batch.commit()
    }

    /// Files that keep their content and get another path are moved; where something else has to make room first,
    /// or the file system is another one, they are copied.
    fn settle_moves(&mut self) -> Result<Vec<(usize, usize)>> {
        let mut moves: Vec<(usize, usize)> = Vec::new();
        for to in 0..self.slots.len() {
            let Now::Moved(from) = self.slots[to].now else { continue };
            let is_free = self.slots[to].original.is_none() && self.slots[from].now == Now::Nothing;
            let is_first = !moves.iter().any(|(other, _)| *other == from);
            if is_free && is_first && self.is_same_device(from, to) {
                moves.push((from, to));
                continue;
            }
            let content = self.content(from, Now::Original)?;
            self.make(to, from, &content.bytes(), &[], None, &mut Outcome::default())?;
        }
        Ok(moves)
    }

    fn is_same_device(&self, from: usize, to: usize) -> bool {
        let mut above = self.slots[to].place.parent().map(|(above, _)| above);
        while let Some(dir) = above {
            if let Ok(stat) = dir.stat() {
                return self.slots[from].original.is_some_and(|original| original.st_dev == stat.st_dev);
            }
            above = dir.parent().map(|(above, _)| above);
        }
        false
    }

    /// Two names of one file cannot both be changed.
    fn refuse_twins(&self) -> Result<()> {
        let mut seen: HashMap<(u64, u64), &Slot<'_>> = HashMap::new();
        for slot in self.slots.iter().filter(|slot| slot.now != Now::Original) {
            let Some(original) = &slot.original else { continue };
            #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
            let identity = (original.st_dev as u64, original.st_ino as u64);
            if let Some(other) = seen.insert(identity, slot) {
                let (one, two) = (other.place.display(), slot.place.display());
                let message = format!(
                    "{one} and {two} are two names (hard links) of one file; change only one of them"
                );
                return Err(ToolError::new(Reason::InvalidArgument, message).file(two));
            }
        }
        Ok(())
    }
}

/// Whether it is the patch, not the circumstances, that is wrong.
fn is_of_patch(error: &ToolError) -> bool {
    matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound)
}

fn has_failed(outcome: &Outcome) -> bool {
    outcome.problem.is_some() || outcome.hunks.iter().any(|hunk| hunk.problem.is_some())
}

/// Bytes that are left of a content, a byte order mark aside.
fn rest(content: &Content, fitted: &Fitted) -> u64 {
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

fn verdict(diff: &FileDiff, target: &Target, outcome: Outcome) -> FileVerdict {
    let is_moved = matches!(target.operation, PatchOperation::Renamed | PatchOperation::Copied);
    let old_path = target.from.as_ref().filter(|_| is_moved).map(|from| from.place.display());
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
        problem: outcome.problem.map(Into::into),
    }
}
