//! The requests of a client that wait for an answer, under numbers of our own.
//!
//! A client may use an id again as soon as its request is over, and a request that it cancelled is over for the client
//! before it is for the server. So the server knows requests by numbers that never come again, and what it says under a
//! number that is over is for nobody.

use rmcp::model::RequestId;
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Default)]
pub(super) struct OpenRequests(Mutex<RequestTable>);

#[derive(Default)]
struct RequestTable {
    last: i64,
    numbers: HashMap<RequestId, i64>,
    ids: HashMap<i64, RequestId>,
}

impl OpenRequests {
    /// Takes note of a request, and gives its number; `None` where one of the same id is open.
    pub(super) fn open(&self, id: &RequestId) -> Option<RequestId> {
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

    /// Closes a request that the client cancels, and gives its number; `None` where none of this id is open.
    pub(super) fn cancel(&self, id: &RequestId) -> Option<RequestId> {
        let mut open = self.lock();
        let number = open.numbers.remove(id)?;
        open.ids.remove(&number);
        Some(RequestId::Number(number))
    }

    /// Closes a request that is answered, and gives the client's id of it; `None` where nobody waits for the answer.
    pub(super) fn answer(&self, number: &RequestId) -> Option<RequestId> {
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
