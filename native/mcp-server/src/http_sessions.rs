//! The sessions over HTTP. Many clients never end theirs, so beyond a limit the one that has been idle longest ends for
//! a new one.

use rmcp::transport::streamable_http_server::session::SessionManager;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// All sessions.
pub(crate) struct HttpSessions {
    most: usize,
    /// Has the sessions. It ends them by itself when they have been idle for long.
    manager: Arc<LocalSessionManager>,
    uses: Mutex<HashMap<String, SessionUse>>,
    /// Held while a session begins, so that two do not take the same room.
    beginning: tokio::sync::Mutex<()>,
}

struct SessionUse {
    /// Number of its requests that are being answered. Without any, the session is idle.
    requests: usize,
    last: Instant,
}

/// Room for one session.
pub(crate) struct SessionRoom<'s> {
    sessions: &'s HttpSessions,
    _beginning: tokio::sync::MutexGuard<'s, ()>,
}

/// A request of a session that is being answered, until dropped.
pub(crate) struct SessionRequest {
    sessions: Arc<HttpSessions>,
    id: String,
}

impl HttpSessions {
    pub(crate) fn new(most: usize, manager: &Arc<LocalSessionManager>) -> Arc<Self> {
        let (manager, beginning) = (Arc::clone(manager), tokio::sync::Mutex::default());
        Arc::new(Self { most, manager, uses: Mutex::default(), beginning })
    }

    /// Makes room for a session: where there are as many as may be, the one that has been idle longest ends.
    ///
    /// # Errors
    /// All sessions have requests that are being answered.
    pub(crate) async fn room(&self) -> Result<SessionRoom<'_>, String> {
        let beginning = self.beginning.lock().await;
        let open: Vec<String> = self.manager.sessions.read().await.keys().map(|id| id.to_string()).collect();
        if open.len() >= self.most {
            let idle = self.idle_longest(&open).ok_or_else(|| {
                format!(
                    "{} clients are connected, and all of them wait for answers; try again later",
                    self.most
                )
            })?;
            // It fails if the session has just ended by itself.
            _ = self.manager.close_session(&idle.into()).await;
        }
        Ok(SessionRoom { sessions: self, _beginning: beginning })
    }

    fn idle_longest(&self, open: &[String]) -> Option<String> {
        let mut uses = self.uses();
        uses.retain(|id, _| open.contains(id));
        // Such as one whose first answer was an error.
        open.iter().for_each(|id| _ = uses.entry(id.clone()).or_insert_with(SessionUse::new));
        let idle = uses.iter().filter(|(_, using)| using.requests == 0);
        idle.min_by_key(|(_, using)| using.last).map(|(id, _)| id.clone())
    }

    /// Counts a request of a session until the result is dropped. `None` for an unknown session.
    pub(crate) fn request(self: &Arc<Self>, id: &str) -> Option<SessionRequest> {
        self.uses().get_mut(id)?.requests += 1;
        Some(SessionRequest { sessions: Arc::clone(self), id: id.to_owned() })
    }

    fn uses(&self) -> MutexGuard<'_, HashMap<String, SessionUse>> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionUse {
    fn new() -> Self {
        Self { requests: 0, last: Instant::now() }
    }
}

impl SessionRoom<'_> {
    /// Fills the room with the session that has begun.
    pub(crate) fn fill(self, id: &str) {
        self.sessions.uses().insert(id.to_owned(), SessionUse::new());
    }
}

impl Drop for SessionRequest {
    fn drop(&mut self) {
        if let Some(using) = self.sessions.uses().get_mut(&self.id) {
            using.requests -= 1;
            using.last = Instant::now();
        }
    }
}
