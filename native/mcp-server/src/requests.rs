//! A client's open requests, under internal numbers.
//!
//! A client may reuse an id as soon as its request has ended, and for the client a cancelled request ends earlier than
//! for the server. Therefore the server uses numbers that are never reused, and drops messages for numbers that are
//! closed.

use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(crate) struct OpenRequests(Mutex<RequestTable>);

#[derive(Default)]
struct RequestTable {
    last: i64,
    numbers: HashMap<RequestId, i64>,
    ids: HashMap<i64, RequestId>,
}

impl OpenRequests {
    /// Registers a request and returns its number; `None` if one with the same id is open.
    pub(crate) fn open(&self, id: &RequestId) -> Option<RequestId> {
        let mut open = self.lock();
        if open.numbers.contains_key(id) {
            return None;
        }
        open.last += 1;
        let number = open.last;
        open.numbers.insert(id.clone(), number);
        open.ids.insert(number, id.clone());
        Some(RequestId::Number(number))
    }

    /// Closes a request that the client cancels, and returns its number; `None` if none with this id is open.
    pub(crate) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let mut open = self.lock();
        let number = open.numbers.remove(id)?;
        open.ids.remove(&number);
        Some(RequestId::Number(number))
    }

    /// Closes an answered request, and returns the client's id; `None` if nobody waits for the answer.
    pub(crate) fn answer(&self, number: &RequestId) -> Option<RequestId> {
        let RequestId::Number(number) = number else { return None };
        let mut open = self.lock();
        let id = open.ids.remove(number)?;
        open.numbers.remove(&id);
        Some(id)
    }

    fn lock(&self) -> MutexGuard<'_, RequestTable> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_comes_too_late_is_for_nobody() {
        let (requests, id) = (OpenRequests::default(), RequestId::String("a".into()));
        let first = requests.open(&id).unwrap();
        assert_eq!(requests.open(&id), None);
        assert_eq!(requests.cancel(&id), Some(first.clone()));
        assert_eq!(requests.cancel(&id), None);
        let second = requests.open(&id).unwrap();
        assert_eq!(requests.answer(&first), None);
        assert_eq!(requests.answer(&second), Some(id.clone()));
        assert_eq!(requests.answer(&second), None);
        assert!(requests.open(&id).is_some());
    }
}
