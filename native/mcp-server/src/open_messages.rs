//! The memory of all open messages together: each message is bounded by itself, but many at once take as many times the
//! memory.

use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum of the values (keys included) in all open requests and notifications, and of the bytes in them, 256 of which
/// count as a value. A value takes a few hundred bytes, and a text is there several times while a call is made of it.
const MOST_OPEN: usize = 600_000;
const BYTES_OF_VALUE: usize = 256;
/// The same for an answer of a client. Nothing tells how long it is kept.
const MOST_OF_ANSWER: usize = 5_000;

/// What messages may still take.
#[derive(Clone)]
pub(crate) struct OpenMessages(Arc<Semaphore>);

/// The part of one message. It travels with what the library passes on of the message, and is given back with the last
/// of that.
pub(crate) type OpenShare = Arc<OwnedSemaphorePermit>;

impl OpenMessages {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(MOST_OPEN)))
    }

    /// Takes the part of a message.
    ///
    /// # Errors
    /// The open messages leave no room for it.
    pub(crate) fn take(&self, values: usize, bytes: usize) -> Result<OpenShare, String> {
        let permits = u32::try_from(values + bytes / BYTES_OF_VALUE).unwrap_or(u32::MAX);
        let taken = Arc::clone(&self.0).try_acquire_many_owned(permits).map(Arc::new);
        taken.map_err(|_| {
            format!(
                "busy: for this message, of {bytes} bytes with {values} values (keys included), the open requests leave no room; \
                 send it again after the next answer"
            )
        })
    }
}

/// Whether an answer may have this size.
pub(crate) fn is_size_of_answer(share: &OpenShare) -> bool {
    share.num_permits() <= MOST_OF_ANSWER
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_together_are_bounded() {
        let open = OpenMessages::new();
        let first = open.take(MOST_OPEN - 10, 0).unwrap();
        assert!(open.take(11, 0).unwrap_err().contains("11 values") && open.take(10, 0).is_ok());
        assert!(open.take(1, 10 * BYTES_OF_VALUE).is_err() && open.take(0, 10 * BYTES_OF_VALUE).is_ok());
        let other = Arc::clone(&first);
        drop(first);
        assert!(open.take(11, 0).is_err());
        drop(other);
        assert!(open.take(MOST_OPEN, 0).is_ok());
    }

    #[test]
    fn an_answer_is_small() {
        let open = OpenMessages::new();
        assert!(is_size_of_answer(&open.take(MOST_OF_ANSWER, 0).unwrap()));
        assert!(!is_size_of_answer(&open.take(MOST_OF_ANSWER, BYTES_OF_VALUE).unwrap()));
    }
}
