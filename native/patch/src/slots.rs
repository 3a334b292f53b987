//! What stands at the paths of a patch, as far as it has been worked out.

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
    /// Paths that the parts of the diff that is being worked out leave.
    left: BTreeSet<&'p str>,
}

/// A path and what stands there.
pub(super) struct Slot<'p> {
    pub(super) location: &'p WorkspacePath,
    /// The path with all links followed.
    path: &'p str,
    /// The file that is there before the patch.
    pub(super) original: Option<Stat>,
    pub(super) now: SlotContent,
    /// What stood there before the diff that is being worked out.
    pub(super) before: SlotContent,
    /// Whether what stands there has come there in this diff.
    has_arrived: bool,
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SlotContent {
    Nothing,
    /// The file that is there before the patch.
    Original,
    /// The one that is at another path before the patch.
    Moved(usize),
    /// A new content.
    Made(usize),
}

impl<'p> Slots<'p> {
    /// Begins with one diff of several in a patch; `targets` are its files.
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
    /// Where something else than a file stands there, and those of the operating system.
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

    /// Each slot.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Slot<'p>> {
        self.list.iter()
    }

    /// Refuses to put a file where one stands and stays.
    pub(super) fn refuse_taken(&self, at: usize) -> Result<()> {
        let slot = &self.list[at];
        let is_left = slot.before == slot.now && self.left.contains(slot.path);
        if slot.now == SlotContent::Nothing || is_left {
            return Ok(());
        }
        let shown = slot.location.display();
        let message = format!(
            "{shown} exists already; change it with \"--- a/{shown}\" and lines of it as context, or choose another path"
        );
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
    /// What there is for a part that takes it away: what was there before this diff, unless that has been changed on
    /// purpose and `may_have_changed`.
    ///
    /// # Errors
    /// `invalid_argument` where it is not clear which of the two is meant.
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

    /// What there is for a part that copies it.
    pub(super) fn copied(&self) -> SlotContent {
        if self.before == SlotContent::Nothing { self.now } else { self.before }
    }

    /// Something has come here that was not here before.
    pub(super) fn arrive(&mut self) {
        self.has_arrived = true;
    }

    /// What was taken leaves, unless something else has come here since.
    pub(super) fn leave(&mut self, taken: SlotContent) {
        if self.now == taken && !(self.has_arrived && self.before != SlotContent::Nothing) {
            self.now = SlotContent::Nothing;
        }
    }

    /// The error about a path where nothing is any more.
    pub(super) fn is_gone(&self) -> ToolError {
        let shown = self.location.display();
        let message = format!("{shown} is removed or renamed by an earlier part of the patch");
        ToolError::new(Reason::NoSuchFile, message).file(shown)
    }
}
