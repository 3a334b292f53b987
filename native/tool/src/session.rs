//! State that outlives a call: the host keeps it, a call borrows it.
//!
//! The state is sent with a call and, if the call changed it, comes back with its result. The host serializes calls of
//! one session that use it, so that no change is lost.

use crate::todo::Todo;
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// The state of a session, as plain data.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SessionState {
    /// The task list, in order.
    pub todos: Vec<Todo>,
}

/// A session's state during a call. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Session(Arc<Mutex<SessionCell>>);

#[derive(Debug, Default)]
struct SessionCell {
    state: SessionState,
    changed: bool,
}

impl Session {
    /// A session in this state.
    pub fn new(state: SessionState) -> Self {
        Self(Arc::new(Mutex::new(SessionCell { state, changed: false })))
    }

    /// Reads the state.
    pub fn read<T>(&self, look: impl FnOnce(&SessionState) -> T) -> T {
        look(&self.held().state)
    }

    /// Changes the state; it is unchanged if `change` fails.
    ///
    /// # Errors
    /// Those of the change.
    pub fn change<T, E>(&self, change: impl FnOnce(&mut SessionState) -> Result<T, E>) -> Result<T, E> {
        let mut held = self.held();
        let mut next = held.state.clone();
        let result = change(&mut next)?;
        held.changed |= next != held.state;
        held.state = next;
        Ok(result)
    }

    /// The state, if it has changed since the start.
    pub fn changed(&self) -> Option<SessionState> {
        let held = self.held();
        held.changed.then(|| held.state.clone())
    }

    fn held(&self) -> std::sync::MutexGuard<'_, SessionCell> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
