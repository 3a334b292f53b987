//! Changes to several files, applied all together or not at all.
//!
//! Whatever takes time or can fail comes first: new contents are written to drafts, and the current files have been
//! read. The commit is then one rename per file. Until all are done, each can be undone: by this process, or, from a
//! [journal], by another process after this one has died.
//!
//! [journal]: super::journal

use super::journal::{self, Journal, Record};
use super::relocation::Relocation;
use super::{Expected, Replacement, WorkspacePath};
use beamai_base::{Result, ToolError};
use rustix::fs::Stat;

/// Prepared changes that have not been applied. Dropping the batch discards them.
#[derive(Debug, Default)]
pub struct Batch<'p> {
    steps: Vec<BatchStep<'p>>,
    /// Declared last, so that it is dropped after everything that might be undone.
    journal: Option<Journal>,
}

#[derive(Debug)]
enum BatchStep<'p> {
    Replace(Box<Replacement<'p>>, Option<Stat>),
    Relocate(Box<Relocation<'p>>),
}

impl<'p> Batch<'p> {
    /// Adds new content for a file. `read` describes the file that was read at its path, `None` if there was none.
    pub fn replace(&mut self, replacement: Replacement<'p>, read: Option<Stat>) {
        self.steps.push(BatchStep::Replace(Box::new(replacement), read));
    }

    /// Adds the removal of the file that was read. Parent directories that become empty are removed too.
    ///
    /// # Errors
    /// As [`WorkspacePath::resolved`].
    pub fn remove(&mut self, path: &'p WorkspacePath, read: Stat) -> Result<()> {
        self.steps.push(BatchStep::Relocate(Box::new(Relocation::away(path, read)?)));
        Ok(())
    }

    /// Adds the move of the file that was read to an unused path.
    ///
    /// # Errors
    /// As [`WorkspacePath::replace`].
    pub fn rename(&mut self, path: &'p WorkspacePath, read: Stat, to: &'p WorkspacePath) -> Result<()> {
        self.steps.push(BatchStep::Relocate(Box::new(Relocation::to(path, read, to)?)));
        Ok(())
    }

    /// Applies all the changes.
    ///
    /// # Errors
    /// `stale` when a file is not the one that was read, the I/O reasons from the operating system, also when no
    /// journal can be written. On error nothing has changed, or the message lists what could not be restored.
    pub fn commit(mut self) -> Result<()> {
        self.journal = self.begin()?;
        for at in 0..self.steps.len() {
            if let Err(error) = self.steps[at].apply() {
                return Err(self.roll_back(error));
            }
        }
        if let Some(Err(error)) = self.journal.as_ref().map(Journal::seal) {
            return Err(self.roll_back(journal::failed(&error)));
        }
        // Point of no return: nothing is undone from here on.
        while let Some(mut step) = self.steps.pop() {
            step.make_permanent();
        }
        Ok(())
    }

    /// Whether the change takes more than one rename.
    pub(super) fn needs_journal(&self) -> bool {
        match &self.steps[..] {
            [] => false,
            [BatchStep::Replace(replacement, _)] => replacement.makes_directories(),
            _ => true,
        }
    }

    /// Begins the journal of the change; `None` when a single rename makes all of it.
    fn begin(&self) -> Result<Option<Journal>> {
        if !self.needs_journal() {
            return Ok(None);
        }
        let mut record = Record::default();
        self.steps.iter().try_for_each(|step| step.note(&mut record))?;
        journal::begin(&record).map(Some)
    }

    fn roll_back(&mut self, cause: ToolError) -> ToolError {
        let undone = self.steps.iter_mut().rev().map(BatchStep::roll_back);
        let failures: Vec<String> = undone.filter_map(Result::err).map(|error| error.message).collect();
        if failures.is_empty() {
            return cause;
        }
        let message = format!("{}. Some changes could not be undone: {}", cause.message, failures.join("; "));
        ToolError { message, ..cause }.with("not_put_back", failures)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        // In reverse order, so that directories that were created are empty when they are removed.
        while let Some(mut step) = self.steps.pop() {
            _ = step.roll_back();
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

    fn apply(&mut self) -> Result<()> {
        match self {
            Self::Replace(replacement, Some(read)) => replacement.apply(Expected::Unchanged(read)),
            Self::Replace(replacement, None) => replacement.apply(Expected::Absent),
            Self::Relocate(relocation) => relocation.apply(),
        }
    }

    fn roll_back(&mut self) -> Result<()> {
        match self {
            Self::Replace(replacement, _) => replacement.roll_back(),
            Self::Relocate(relocation) => relocation.roll_back(),
        }
    }

    fn make_permanent(&mut self) {
        match self {
            Self::Replace(replacement, _) => replacement.make_permanent(),
            Self::Relocate(relocation) => relocation.make_permanent(),
        }
    }
}
