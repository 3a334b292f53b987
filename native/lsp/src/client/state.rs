//! The state of a server, under one lock that calls wait on.

use super::handshake::ServerCapabilities;
use super::plan::Unavailable;
use super::wire::{Diagnostic, ResponseError};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Silence after which the diagnostics of a file count as complete: some servers publish them in several steps.
const QUIET: Duration = Duration::from_millis(300);
/// Time in which a server publishes new diagnostics of a file after changes in other files, if it does at all.
const REACTION: Duration = Duration::from_millis(1500);
/// Time in which a server that has just started reports that it is working, if it does at all.
const START_OF_WORK: Duration = Duration::from_millis(500);

/// The phase of a server.
#[derive(Debug, Clone)]
pub(super) enum ServerPhase {
    /// It has not been initialized yet.
    Starting,
    /// It is ready.
    Ready(Arc<ServerCapabilities>),
    /// It failed to start.
    Broken(Unavailable),
    /// It has exited; why.
    Gone(String),
}

/// The response to a request.
pub(super) type ServerReply = Result<Value, ResponseError>;

/// Diagnostics that a server has published for a file.
#[derive(Debug, Clone)]
pub(crate) struct PublishedDiagnostics {
    /// The diagnostics.
    pub diagnostics: Vec<Diagnostic>,
    version: Option<i64>,
    at: Instant,
}

/// Whether published diagnostics are for the current content of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// They are.
    Fresh,
    /// Unknown; check again at this time, or on the next event.
    Unknown(Option<Instant>),
}

/// The last notification about a file.
#[derive(Debug, Clone, Copy)]
struct Notified {
    version: i64,
    at: Instant,
}

/// The state of a server.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) phase: ServerPhase,
    /// Pending requests, with their responses.
    replies: HashMap<u64, Option<ServerReply>>,
    published: HashMap<PathBuf, PublishedDiagnostics>,
    told: HashMap<PathBuf, Notified>,
    /// Time of the last notification of any change.
    changed: Instant,
    /// Work that the server has begun and not ended.
    progress: HashSet<String>,
    /// Files that it works on, as far as it says so.
    worked_on: HashSet<PathBuf>,
    /// Whether the server reports that it is still loading.
    is_loading: bool,
    /// Until when the server may still begin work.
    may_begin_work_until: Instant,
}

impl ServerState {
    pub(super) fn new() -> Self {
        let now = Instant::now();
        Self {
            phase: ServerPhase::Starting,
            replies: HashMap::new(),
            published: HashMap::new(),
            told: HashMap::new(),
            changed: now,
            progress: HashSet::new(),
            worked_on: HashSet::new(),
            is_loading: false,
            may_begin_work_until: now,
        }
    }

    /// Registers a pending request.
    pub(super) fn expect(&mut self, id: u64) {
        self.replies.insert(id, None);
    }

    /// Takes the response to a request, if it has arrived.
    pub(super) fn take_reply(&mut self, id: u64) -> Option<ServerReply> {
        let reply = self.replies.get_mut(&id)?.take()?;
        self.replies.remove(&id);
        Some(reply)
    }

    /// Unregisters a pending request.
    pub(super) fn forget(&mut self, id: u64) {
        self.replies.remove(&id);
    }

    /// Stores a response for the call that waits for it.
    pub(super) fn reply(&mut self, id: u64, reply: ServerReply) {
        if let Some(slot) = self.replies.get_mut(&id) {
            *slot = Some(reply);
        }
    }

    /// Records a notification about a file that is about to be sent.
    pub(super) fn note_notified(&mut self, path: &Path, version: i64) {
        self.note_change();
        if self.told.is_empty() {
            self.expect_work();
        }
        self.told.insert(path.to_owned(), Notified { version, at: self.changed });
    }

    /// Records that a file is about to be closed.
    pub(super) fn close(&mut self, path: &Path) {
        self.told.remove(path);
        self.worked_on.remove(path);
        self.published.remove(path);
        self.note_change();
    }

    /// Records that a change is about to be sent.
    pub(super) fn note_change(&mut self) {
        self.changed = Instant::now();
    }

    /// Gives the server time to begin work.
    pub(super) fn expect_work(&mut self) {
        self.may_begin_work_until = Instant::now() + START_OF_WORK;
    }

    /// Stores published diagnostics.
    pub(super) fn publish(&mut self, path: PathBuf, version: Option<i64>, diagnostics: Vec<Diagnostic>) {
        self.published.insert(path, PublishedDiagnostics { diagnostics, version, at: Instant::now() });
    }

    /// Published diagnostics, by file.
    pub(super) fn published(&self) -> &HashMap<PathBuf, PublishedDiagnostics> {
        &self.published
    }

    /// Open files, which the server may publish diagnostics for.
    pub(super) fn open_files(&self) -> impl Iterator<Item = &PathBuf> {
        self.told.keys()
    }

    /// Records that the server begins or ends a piece of work.
    pub(super) fn progress(&mut self, token: &Value, kind: &str) {
        match kind {
            "begin" => _ = self.progress.insert(token.to_string()),
            "end" => _ = self.progress.remove(&token.to_string()),
            _ => {}
        }
    }

    /// Records whether the server works on a file.
    pub(super) fn work_on(&mut self, path: PathBuf, is_at_work: bool) {
        match is_at_work {
            true => _ = self.worked_on.insert(path),
            false => _ = self.worked_on.remove(&path),
        }
    }

    /// Records whether the server is loading.
    pub(super) fn loading(&mut self, is_loading: bool) {
        self.is_loading = is_loading;
    }

    /// Whether the server has unfinished work.
    pub(super) fn is_busy(&self) -> bool {
        self.is_loading || !self.progress.is_empty() || !self.worked_on.is_empty()
    }

    /// Whether the server has unfinished work that may concern a file: not that on another file, which may never end.
    pub(super) fn is_busy_with(&self, path: &Path) -> bool {
        self.is_loading || !self.progress.is_empty() || self.worked_on.contains(path)
    }

    /// Until when work may still begin; `None` when that time has passed.
    pub(super) fn may_begin_work_until(&self, now: Instant) -> Option<Instant> {
        Some(self.may_begin_work_until).filter(|may_begin_work_until| now < *may_begin_work_until)
    }

    /// Whether the published diagnostics of a file are for its current content.
    pub(super) fn freshness(&self, path: &Path, now: Instant) -> Freshness {
        let (Some(told), Some(said)) = (self.told.get(path), self.published.get(path)) else {
            return Freshness::Unknown(None);
        };
        let is_of_now = said.version.map_or(said.at > told.at, |version| version >= told.version);
        if !is_of_now || self.is_busy_with(path) {
            return Freshness::Unknown(None);
        }
        let since = if said.at > self.changed { said.at + QUIET } else { self.changed + REACTION };
        if now >= since { Freshness::Fresh } else { Freshness::Unknown(Some(since)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(state: &ServerState, path: &str, later: Duration) -> Freshness {
        state.freshness(Path::new(path), Instant::now() + later)
    }

    const LATER: Duration = Duration::from_secs(60);

    #[test]
    fn what_was_said_of_an_older_version_is_not_fresh() {
        let mut state = ServerState::new();
        state.note_notified(Path::new("/a"), 1);
        assert_eq!(at(&state, "/a", LATER), Freshness::Unknown(None), "nothing was said");
        state.publish("/a".into(), Some(1), vec![]);
        assert_eq!(at(&state, "/a", LATER), Freshness::Fresh);
        state.note_notified(Path::new("/a"), 2);
        state.publish("/a".into(), Some(1), vec![]);
        assert_eq!(at(&state, "/a", LATER), Freshness::Unknown(None), "it was said late");
        state.publish("/a".into(), Some(2), vec![]);
        assert_eq!(at(&state, "/a", LATER), Freshness::Fresh);
    }

    #[test]
    fn without_a_version_the_order_of_events_decides() {
        let mut state = ServerState::new();
        state.publish("/a".into(), None, vec![]);
        state.note_notified(Path::new("/a"), 1);
        assert_eq!(at(&state, "/a", LATER), Freshness::Unknown(None));
        state.publish("/a".into(), None, vec![]);
        assert_eq!(at(&state, "/a", LATER), Freshness::Fresh);
    }

    #[test]
    fn a_server_gets_time_to_finish_and_to_react() {
        let mut state = ServerState::new();
        state.note_notified(Path::new("/a"), 1);
        state.publish("/a".into(), Some(1), vec![]);
        assert!(matches!(at(&state, "/a", Duration::ZERO), Freshness::Unknown(Some(_))), "more may come");
        state.note_notified(Path::new("/b"), 1);
        assert!(matches!(at(&state, "/a", QUIET), Freshness::Unknown(Some(_))), "b may matter to a");
        assert_eq!(at(&state, "/a", REACTION * 2), Freshness::Fresh);
        state.work_on("/b".into(), true);
        assert_eq!(at(&state, "/a", LATER), Freshness::Fresh, "b may never be finished");
        state.progress(&"t".into(), "begin");
        assert_eq!(at(&state, "/a", LATER), Freshness::Unknown(None), "it is at work");
        state.progress(&"t".into(), "end");
        assert_eq!(at(&state, "/a", LATER), Freshness::Fresh);
    }

    #[test]
    fn a_reply_that_nobody_awaits_is_dropped() {
        let mut state = ServerState::new();
        state.expect(1);
        state.forget(1);
        state.reply(1, Ok(Value::Null));
        assert!(state.take_reply(1).is_none() && state.replies.is_empty());
    }
}
