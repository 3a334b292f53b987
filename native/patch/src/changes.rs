//! From a plan to the changes that make it true.

use super::plan::{FileOutcome, PatchPlan};
use super::slots::{Slot, SlotContent};
use beamai_base::{Reason, Result, ToolError};
use beamai_workspace::Batch;
use std::collections::{BTreeSet, HashMap};

impl<'p> PatchPlan<'p> {
    /// All the changes, made ready.
    ///
    /// # Errors
    /// `invalid_argument` where two of the files are one; otherwise as [`Batch`].
    pub(super) fn changes(&mut self) -> Result<Batch<'p>> {
        self.refuse_twins()?;
        let moves = self.settle_moves()?;
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

    /// Files that keep their content and get another path are moved; where something else has to make room first,
    /// or the file system is another one, they are copied. Answers which are moved, and where.
    fn settle_moves(&mut self) -> Result<Vec<(usize, usize)>> {
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

    /// Two names of one file cannot both be changed.
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

/// Whether a file can be moved to a path by its name alone.
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
