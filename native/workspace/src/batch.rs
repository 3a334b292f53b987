//! Changes of several files: all of them happen, or none.
//!
//! Everything that takes time or can fail comes before: new contents are written to drafts, and what stands at the
//! paths has been read. What is left is one rename for each file, and as long as not all of them are done, each
//! can be undone: by the process itself, or, from a [journal], by whoever finds that it has died.
//!
//! [journal]: super::journal

use super::journal::{self, Journal, Record};
use super::relocation::Relocation;
use super::{Expected, Replacement, WorkspacePath};
use beamai_base::{Result, ToolError};
use rustix::fs::Stat;

/// Changes that were made ready and have not happened yet. Dropped, they never do.
#[derive(Debug, Default)]
pub struct Batch<'p> {
    steps: Vec<BatchStep<'p>>,
    /// Dropped last, when nothing has to be undone any more.
    journal: Option<Journal>,
}

#[derive(Debug)]
enum BatchStep<'p> {
    Replace(Box<Replacement<'p>>, Option<Stat>),
    Relocate(Box<Relocation<'p>>),
}

impl<'p> Batch<'p> {
    /// Adds new content of a file, at whose path the file that was read stands, or nothing.
    pub fn replace(&mut self, replacement: Replacement<'p>, read: Option<Stat>) {
        self.steps.push(BatchStep::Replace(Box::new(replacement), read));
    }

    /// Adds the removal of the file that was read. Directories that are left empty go with it.
    ///
    /// # Errors
    /// As [`WorkspacePath::resolved`].
    pub fn remove(&mut self, place: &'p WorkspacePath, read: Stat) -> Result<()> {
        self.steps.push(BatchStep::Relocate(Box::new(Relocation::away(place, read)?)));
        Ok(())
    }

    /// Adds the move of the file that was read to a path where nothing stands.
    ///
    /// # Errors
    /// As [`WorkspacePath::replace`].
    pub fn rename(&mut self, place: &'p WorkspacePath, read: Stat, to: &'p WorkspacePath) -> Result<()> {
        self.steps.push(BatchStep::Relocate(Box::new(Relocation::to(place, read, to)?)));
        Ok(())
    }

    /// Makes all the changes.
    ///
    /// # Errors
    /// `stale` when a file is not what was read, `io` and the like from the operating system, also where no journal can
    /// be written. Nothing has changed then, or the message says what could not be put back.
    pub fn commit(mut self) -> Result<()> {
        self.journal = self.begin()?;
        for at in 0..self.steps.len() {
            if let Err(error) = self.steps[at].put() {
                return Err(self.take_back(error));
            }
        }
        if let Some(Err(error)) = self.journal.as_ref().map(Journal::seal) {
            return Err(self.take_back(journal::failed(&error)));
        }
        // From here on nothing is undone, whatever happens.
        while let Some(mut step) = self.steps.pop() {
            step.settle();
        }
        Ok(())
    }

    /// Whether more is changed than one rename does.
    pub(super) fn needs_journal(&self) -> bool {
        match &self.steps[..] {
            [] => false,
            [BatchStep::Replace(replacement, _)] => replacement.makes_directories(),
            _ => true,
        }
    }

    /// The journal of the change. None where a single rename makes all of it.
    fn begin(&self) -> Result<Option<Journal>> {
        if !self.needs_journal() {
            return Ok(None);
        }
        let mut record = Record::default();
        self.steps.iter().try_for_each(|step| step.note(&mut record))?;
        journal::begin(&record).map(Some)
    }

    fn take_back(&mut self, cause: ToolError) -> ToolError {
        let undone = self.steps.iter_mut().rev().map(BatchStep::take_back);
        let failures: Vec<String> = undone.filter_map(Result::err).map(|error| error.message).collect();
        if failures.is_empty() {
            return cause;
        }
        let message =
            format!("{}. Not all that was changed could be put back: {}", cause.message, failures.join("; "));
        ToolError { message, ..cause }.with("not_put_back", failures)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // The other way round, so that directories that were made are empty when their turn comes.
        while let Some(mut step) = self.steps.pop() {
            _ = step.take_back();
        }
    }
}

impl BatchStep<'_> {
    fn note(&self, record: &mut Record) -> Result<()> {
        match self {
            Self::Replace(replacement, read) => replacement.note(read.as_ref(), record),
            Self::Relocate(relocation) => {
                relocation.note(record);
                Ok(())
            }
        }
    }

    fn put(&mut self) -> Result<()> {
        match self {
            Self::Replace(replacement, Some(read)) => replacement.put(Expected::Unchanged(read)),
            Self::Replace(replacement, None) => replacement.put(Expected::Absent),
            Self::Relocate(relocation) => relocation.put(),
        }
    }

    fn take_back(&mut self) -> Result<()> {
        match self {
            Self::Replace(replacement, _) => replacement.take_back(),
            Self::Relocate(relocation) => relocation.take_back(),
        }
    }

    fn settle(&mut self) {
        match self {
            Self::Replace(replacement, _) => replacement.settle(),
            Self::Relocate(relocation) => relocation.settle(),
        }
    }
}
