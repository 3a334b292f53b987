//! The values of all open messages together: each message is bounded by itself, but many at once take as many times the memory.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of values in all open requests and notifications, keys included.
const MOST_OPEN: usize = 600_000;
/// Maximum number of values in an answer of a client. Nothing tells how long it is kept.
const MOST_UNCOUNTED: usize = 5_000;

/// What messages may still take.
#[derive(Clone)]
pub(crate) struct OpenValues(Arc<Semaphore>);

/// The part of one message. It travels with what the library passes on of the message, and is given back with the last of that.
pub(crate) type OpenShare = Arc<OwnedSemaphorePermit>;

impl OpenValues {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_OPEN)))
    }

    /// Takes the part of a message with this many values.
    ///
    /// # Errors
    /// The open messages leave no room for it.
    pub(crate) fn take(&self, values: usize) -> Result<OpenShare, String> {
        let permits = u32::try_from(values).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.0).try_acquire_many_owned(permits).map(Arc::new);
        taken.map_err(|_| {
            format!(
                "busy: the message has {values} values (keys included), the open requests may have {MOST_OPEN} together, and \
                 {} are left; send it again after the next answer",
                self.0.available_permits()
            )
        })
    }
}

/// Whether an answer may have this size.
pub(crate) fn may_be_uncounted(share: &OpenShare) -> bool {
    share.num_permits() <= MOST_UNCOUNTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_together_are_bounded() {
        let open = OpenValues::new();
        let first = open.take(MOST_OPEN - 10).unwrap();
        assert!(open.take(11).unwrap_err().contains("has 11 values") && open.take(10).is_ok());
        let other = Arc::clone(&first);
        drop(first);
        assert!(open.take(11).is_err());
        drop(other);
        assert!(open.take(MOST_OPEN).is_ok());
    }

    #[test]
    fn an_answer_is_small() {
        let open = OpenValues::new();
        assert!(may_be_uncounted(&open.take(MOST_UNCOUNTED).unwrap()));
        assert!(!may_be_uncounted(&open.take(MOST_UNCOUNTED + 1).unwrap()));
    }
}
