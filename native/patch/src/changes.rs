//! Converts a plan to file system changes.

use super::plan::{FileOutcome, PatchPlan};
use super::slots::{Slot, SlotContent};
use beamai_base::{Reason, Result, ToolError};
use beamai_workspace::Batch;
use std::collections::{BTreeSet, HashMap};

impl<'p> PatchPlan<'p> {
    /// Prepares all changes.
    ///
    /// # Errors
    /// `invalid_argument` if two paths are the same file; otherwise as [`Batch`].
    pub(super) fn changes(&mut self) -> Result<Batch<'p>> {
        self.refuse_twins()?;
        let moves = self.plan_moves()?;
        let mut batch = Batch::default();
        for slot in self.slots.iter() {
            if let SlotContent::Made(at) = slot.now
                && let Some(replacement) = self.versions[at].replacement.take()
            {
                batch.replace(replacement, slot.original);
            }
        }
        for (from, to) in &moves {
            let (from, to) = (&self.slots[*from], &self.slots[*to]);
            if let Some(original) = from.original {
                batch.rename(from.location, original, to.location)?;
            }
        }
        let moved: BTreeSet<usize> = moves.iter().map(|(from, _)| *from).collect();
        for (at, slot) in self.slots.iter().enumerate() {
            if let (Some(original), SlotContent::Nothing, false) =
                (slot.original, slot.now, moved.contains(&at))
            {
                batch.remove(slot.location, original)?;
            }
        }
        Ok(batch)
    }

    /// Files that keep their content and get another path are renamed; they are copied if another file must make room
    /// first, or across file systems. Returns the renamed ones with their targets.
    fn plan_moves(&mut self) -> Result<Vec<(usize, usize)>> {
        let mut moves: Vec<(usize, usize)> = Vec::new();
        let mut moved: BTreeSet<usize> = BTreeSet::new();
        for to in 0..self.slots.iter().count() {
            let SlotContent::Moved(from) = self.slots[to].now else { continue };
            let is_free = self.slots[to].original.is_none() && self.slots[from].now == SlotContent::Nothing;
            let is_first = !moved.contains(&from);
            if is_free && is_first && is_same_device(&self.slots[from], &self.slots[to]) {
                moved.insert(from);
                moves.push((from, to));
                continue;
            }
            let content = self.content(from, SlotContent::Original)?;
            self.make(to, from, &content.bytes(), &[], None, &mut FileOutcome::default())?;
        }
        Ok(moves)
    }

    /// Refuses to change two hard links of one file.
    fn refuse_twins(&self) -> Result<()> {
        let mut seen: HashMap<(u64, u64), &Slot<'_>> = HashMap::new();
        for slot in self.slots.iter().filter(|slot| slot.now != SlotContent::Original) {
            let Some(original) = &slot.original else { continue };
            #[allow(clippy::useless_conversion, clippy::unnecessary_cast)]
            let identity = (original.st_dev as u64, original.st_ino as u64);
            if let Some(other) = seen.insert(identity, slot) {
                let (one, two) = (other.location.display(), slot.location.display());
                let message = format!(
                    "{one} and {two} are two names (hard links) of one file; change only one of them"
                );
                return Err(ToolError::new(Reason::InvalidArgument, message).file(two));
            }
        }
        Ok(())
    }
}

/// Whether a file can be moved to a path with a rename.
fn is_same_device(from: &Slot<'_>, to: &Slot<'_>) -> bool {
    let mut above = to.location.parent().map(|(above, _)| above);
    while let Some(dir) = above {
        if let Ok(stat) = dir.stat() {
            return from.original.is_some_and(|original| original.st_dev == stat.st_dev);
        }
        above = dir.parent().map(|(above, _)| above);
    }
    false
}
