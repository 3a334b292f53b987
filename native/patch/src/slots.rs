//! Tracks the content at each path while a patch is planned.

use super::diff::{DiffChange, FileDiff, PatchForm};
use super::target::{PatchOperation, PatchPath, PatchTarget};
use beamai_base::{Reason, Result, ToolError};
use beamai_workspace::WorkspacePath;
use rustix::fs::Stat;
use std::collections::{BTreeSet, HashMap};
use std::ops::{Index, IndexMut};

/// The paths of a patch.
#[derive(Default)]
pub(super) struct Slots<'p> {
    list: Vec<Slot<'p>>,
    by_path: HashMap<&'p str, usize>,
    /// Paths that the current diff deletes or renames.
    left: BTreeSet<&'p str>,
}

/// A path and its content.
pub(super) struct Slot<'p> {
    pub(super) location: &'p WorkspacePath,
    /// The path with all links resolved.
    path: &'p str,
    /// The file on disk before the patch.
    pub(super) original: Option<Stat>,
    pub(super) now: SlotContent,
    /// The content before the current diff.
    pub(super) before: SlotContent,
    /// Whether the current diff has put new content here.
    has_arrived: bool,
}

/// The content at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotContent {
    Nothing,
    /// The file on disk.
    Original,
    /// The file on disk that belongs to another slot.
    Moved(usize),
    /// A draft, by index.
    Made(usize),
}

impl<'p> Slots<'p> {
    /// Starts the next diff; `targets` are its files.
    pub(super) fn begin(&mut self, targets: impl Iterator<Item = &'p PatchTarget>) {
        for slot in &mut self.list {
            (slot.before, slot.has_arrived) = (slot.now, false);
        }
        let leaves = |target: &&PatchTarget| {
            matches!(target.operation, PatchOperation::Deleted | PatchOperation::Renamed)
        };
        self.left =
            targets.filter(leaves).filter_map(|target| Some(target.from.as_ref()?.path.as_str())).collect();
    }

    /// The slot of a path.
    ///
    /// # Errors
    /// If the path is not a regular file, and I/O errors.
    pub(super) fn at(&mut self, target_path: &'p PatchPath) -> Result<usize> {
        if let Some(known) = self.by_path.get(target_path.path.as_str()) {
            return Ok(*known);
        }
        let original = match target_path.location.open_file() {
            Ok((_, stat)) => Some(stat),
            Err(error) if error.reason == Reason::NoSuchFile => None,
            Err(error) => return Err(error),
        };
        let now = if original.is_some() { SlotContent::Original } else { SlotContent::Nothing };
        let (location, path) = (&target_path.location, target_path.path.as_str());
        self.list.push(Slot { location, path, original, now, before: now, has_arrived: false });
        self.by_path.insert(path, self.list.len() - 1);
        Ok(self.list.len() - 1)
    }

    /// All slots.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot<'p>> {
        self.list.iter()
    }

    /// Fails if the path, which this part of the patch puts a file at, is taken by a file that stays.
    pub(super) fn refuse_taken(&self, at: usize, diff: &FileDiff) -> Result<()> {
        let slot = &self.list[at];
        let is_left = slot.before == slot.now && self.left.contains(slot.path);
        if slot.now == SlotContent::Nothing || is_left {
            return Ok(());
        }
        let shown = slot.location.display();
        let change = match (&diff.change, diff.form) {
            (DiffChange::Rename { .. } | DiffChange::Copy { .. }, _) => String::new(),
            (_, PatchForm::Unified) => {
                format!("change it with \"--- a/{shown}\" and lines of it as context, or ")
            }
            (_, PatchForm::BeginPatch) => format!("change it with \"*** Update File: {shown}\", or "),
        };
        let message = format!("{shown} exists already; {change}choose another path");
        Err(ToolError::new(Reason::AlreadyExists, message).file(shown))
    }
}

impl<'p> Index<usize> for Slots<'p> {
    type Output = Slot<'p>;

    fn index(&self, at: usize) -> &Slot<'p> {
        &self.list[at]
    }
}

impl IndexMut<usize> for Slots<'_> {
    fn index_mut(&mut self, at: usize) -> &mut Self::Output {
        &mut self.list[at]
    }
}

impl Slot<'_> {
    /// The content that a delete or rename takes: the content before this diff, or the current content if this part
    /// `may_have_changed` it.
    ///
    /// # Errors
    /// `invalid_argument` if it is ambiguous which content is meant.
    pub(super) fn source(&self, may_have_changed: bool) -> Result<SlotContent> {
        match (self.before, self.now) {
            (SlotContent::Nothing, now) => Ok(now),
            (before, now) if before == now || self.has_arrived => Ok(before),
            (_, now) if may_have_changed || now == SlotContent::Nothing => Ok(now),
            _ => {
                let shown = self.location.display();
                let message = format!(
                    "{shown} is changed by one part of the patch and renamed by another; put both into one part, or give \
                     two patches"
                );
                Err(ToolError::new(Reason::InvalidArgument, message))
            }
        }
    }

    /// The content for a copy.
    pub(super) fn copied(&self) -> SlotContent {
        if self.before == SlotContent::Nothing { self.now } else { self.before }
    }

    /// Marks that new content was put here.
    pub(super) fn arrive(&mut self) {
        self.has_arrived = true;
    }

    /// Removes content that was taken, unless it has been replaced since.
    pub(super) fn leave(&mut self, taken: SlotContent) {
        if self.now == taken && !(self.has_arrived && self.before != SlotContent::Nothing) {
            self.now = SlotContent::Nothing;
        }
    }

    /// The error about a path whose file was removed earlier in the patch.
    pub(super) fn is_gone(&self) -> ToolError {
        let shown = self.location.display();
        let message = format!("{shown} is removed or renamed by an earlier part of the patch");
        ToolError::new(Reason::NoSuchFile, message).file(shown)
    }
}
