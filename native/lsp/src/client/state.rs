//! What is known of a server at a moment, under one lock that calls wait on.

use super::handshake::ServerCapabilities;
use super::plan::Unavailable;
use super::wire::{Diagnostic, ResponseError};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Silence after which a server has said what it wants to say about a file: some say it in several pieces.
const QUIET: Duration = Duration::from_millis(300);
/// Time in which a server says something new about a file because of changes elsewhere, if it does at all.
const REACTION: Duration = Duration::from_millis(1500);
/// Time in which a server that was just started says that it is busy, if it does at all.
const SETTLING: Duration = Duration::from_millis(500);

/// How far a server is.
#[derive(Debug, Clone)]
pub(super) enum ServerPhase {
    /// It has not answered yet.
    Starting,
    /// It works.
    Ready(Arc<ServerCapabilities>),
    /// It never worked.
    Broken(Unavailable),
    /// It worked and is gone; why.
    Gone(String),
}

/// The answer to a request.
pub(super) type ServerReply = Result<Value, ResponseError>;

/// What a server has said about a file, unasked.
#[derive(Debug, Clone)]
pub(crate) struct PublishedDiagnostics {
    /// What is wrong with it.
    pub diagnostics: Vec<Diagnostic>,
    version: Option<i64>,
    at: Instant,
}

/// Whether what a server has said about a file is about the file as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// It is.
    Fresh,
    /// Ask again then, or when something happens.
    Unknown(Option<Instant>),
}

/// What the server was told of a file last.
#[derive(Debug, Clone, Copy)]
struct Notified {
    version: i64,
    at: Instant,
}

/// What is known of a server at a moment.
#[derive(Debug)]
pub(super) struct ServerState {
    pub(super) phase: ServerPhase,
    /// Requests under way, with their replies.
    replies: HashMap<u64, Option<ServerReply>>,
    published: HashMap<PathBuf, PublishedDiagnostics>,
    told: HashMap<PathBuf, Notified>,
    /// When the server was told of any change last.
    changed: Instant,
    /// Work that the server has announced and not ended.
    progress: HashSet<String>,
    /// Whether the server says of itself that it is not up to date yet.
    is_loading: bool,
    /// Until when the server may yet announce work.
    settles: Instant,
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
            is_loading: false,
            settles: now,
        }
    }

    /// Awaits the reply to a request.
    pub(super) fn expect(&mut self, id: u64) {
        self.replies.insert(id, None);
    }

    /// Takes the reply to a request, if it is there.
    pub(super) fn take_reply(&mut self, id: u64) -> Option<ServerReply> {
        let reply = self.replies.get_mut(&id)?.take()?;
        self.replies.remove(&id);
        Some(reply)
    }

    /// No longer awaits the reply to a request.
    pub(super) fn forget(&mut self, id: u64) {
        self.replies.remove(&id);
    }

    /// Keeps a reply for the call that awaits it.
    pub(super) fn reply(&mut self, id: u64, reply: ServerReply) {
        if let Some(slot) = self.replies.get_mut(&id) {
            *slot = Some(reply);
        }
    }

    /// Notes what the server is about to be told of a file.
    pub(super) fn tell(&mut self, path: &Path, version: i64) {
        self.disturb();
        if self.told.is_empty() {
            self.settle();
        }
        self.told.insert(path.to_owned(), Notified { version, at: self.changed });
    }

    /// Notes that the server is about to be told that a file is no longer of interest.
    pub(super) fn close(&mut self, path: &Path) {
        self.told.remove(path);
        self.published.remove(path);
        self.disturb();
    }

    /// Notes that the server is about to be told of a change.
    pub(super) fn disturb(&mut self) {
        self.changed = Instant::now();
    }

    /// Leaves the server time to announce work.
    pub(super) fn settle(&mut self) {
        self.settles = Instant::now() + SETTLING;
    }

    /// Keeps what the server says about a file.
    pub(super) fn publish(&mut self, path: PathBuf, version: Option<i64>, diagnostics: Vec<Diagnostic>) {
        self.published.insert(path, PublishedDiagnostics { diagnostics, version, at: Instant::now() });
    }

    /// What the server has said, by file.
    pub(super) fn published(&self) -> &HashMap<PathBuf, PublishedDiagnostics> {
        &self.published
    }

    /// Files that the server has been told of and about which it may speak.
    pub(super) fn told_of(&self) -> impl Iterator<Item = &PathBuf> {
        self.told.keys()
    }

    /// Notes that the server begins or ends a piece of work.
    pub(super) fn progress(&mut self, token: &Value, kind: &str) {
        match kind {
            "begin" => _ = self.progress.insert(token.to_string()),
            "end" => _ = self.progress.remove(&token.to_string()),
            _ => {}
        }
    }

    /// Notes what the server says of itself.
    pub(super) fn loading(&mut self, is_loading: bool) {
        self.is_loading = is_loading;
    }

    /// Whether the server has announced work that is not done.
    pub(super) fn is_busy(&self) -> bool {
        self.is_loading || !self.progress.is_empty()
    }

    /// Until when work may yet be announced; `None` when that time is over.
    pub(super) fn settles(&self, now: Instant) -> Option<Instant> {
        Some(self.settles).filter(|settles| now < *settles)
    }

    /// Whether what the server has said about a file is about the file as it is.
    pub(super) fn freshness(&self, path: &Path, now: Instant) -> Freshness {
        let (Some(told), Some(said)) = (self.told.get(path), self.published.get(path)) else {
            return Freshness::Unknown(None);
        };
        let is_of_now = said.version.map_or(said.at > told.at, |version| version >= told.version);
        if !is_of_now || self.is_busy() {
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
        state.tell(Path::new("/a"), 1);
        assert_eq!(at(&state, "/a", LATER), Freshness::Unknown(None), "nothing was said");
        state.publish("/a".into(), Some(1), vec![]);
        assert_eq!(at(&state, "/a", LATER), Freshness::Fresh);
        state.tell(Path::new("/a"), 2);
        state.publish("/a".into(), Some(1), vec![]);
        assert_eq!(at(&state, "/a", LATER), Freshness::Unknown(None), "it was said late");
        state.publish("/a".into(), Some(2), vec![]);
        assert_eq!(at(&state, "/a", LATER), Freshness::Fresh);
    }

    #[test]
    fn without_a_version_the_order_of_events_decides() {
        let mut state = ServerState::new();
        state.publish("/a".into(), None, vec![]);
        state.tell(Path::new("/a"), 1);
        assert_eq!(at(&state, "/a", LATER), Freshness::Unknown(None));
        state.publish("/a".into(), None, vec![]);
        assert_eq!(at(&state, "/a", LATER), Freshness::Fresh);
    }

    #[test]
    fn a_server_gets_time_to_finish_and_to_react() {
        let mut state = ServerState::new();
        state.tell(Path::new("/a"), 1);
        state.publish("/a".into(), Some(1), vec![]);
        assert!(matches!(at(&state, "/a", Duration::ZERO), Freshness::Unknown(Some(_))), "more may come");
        state.tell(Path::new("/b"), 1);
        assert!(matches!(at(&state, "/a", QUIET), Freshness::Unknown(Some(_))), "b may matter to a");
        assert_eq!(at(&state, "/a", REACTION * 2), Freshness::Fresh);
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
