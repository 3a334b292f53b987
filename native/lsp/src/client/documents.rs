//! The open documents of a server.
//!
//! Before every request, each open document is compared with its file, which a tool, another door, a command or a
//! person may have changed.

use super::server::LanguageServer;
use super::text::DocumentText;
use super::uri::uri_of;
use super::watch::{self, SourceSnapshot};
use beamai_base::Result;
use beamai_servers::lock;
use beamai_tool::CallContext;
use beamai_workspace::WorkspacePath;
use rustix::fs::Stat;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// Maximum number of open documents of a server; beyond it, the least recently used one is closed.
const MOST_OPEN: usize = 100;
/// File timestamps are coarse: a file that was modified this shortly before it was read may change again undetected.
const RACY: Duration = Duration::from_secs(2);

/// The documents that a server has been sent.
#[derive(Debug)]
pub(super) struct DocumentStore(Mutex<DocumentTable>);

#[derive(Debug)]
struct DocumentTable {
    open: BTreeMap<PathBuf, OpenDocument>,
    /// The other files of the language, as the server last knew them.
    snapshot: SourceSnapshot,
    uses: u64,
}

/// An open document.
#[derive(Debug)]
struct OpenDocument {
    file: WorkspacePath,
    text: Arc<DocumentText>,
    version: i64,
    stamp: DocumentStamp,
    used: u64,
}

/// File metadata that detects changes without reading the file.
#[derive(Debug, PartialEq, Eq)]
struct DocumentStamp {
    file: (u64, u64, i64),
    modified: (i64, i64),
    changed: (i64, i64),
    /// Whether the file could have changed since without a new timestamp.
    is_racy: bool,
}

impl DocumentStamp {
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "types differ by system")]
    fn of(stat: &Stat) -> Self {
        let changed = Duration::from_secs(u64::try_from(stat.st_ctime).unwrap_or(0));
        let age = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH + changed);
        Self {
            file: (stat.st_dev as u64, stat.st_ino as u64, stat.st_size as i64),
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
            changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
            is_racy: age.map_or(true, |age| age < RACY),
        }
    }

    /// Whether the file is certainly unchanged since this stamp.
    fn proves(&self, now: &Stat) -> bool {
        let now = Self::of(now);
        !self.is_racy && (self.file, self.modified, self.changed) == (now.file, now.modified, now.changed)
    }
}

impl DocumentStore {
    /// For a server without open documents that starts from this snapshot of the workspace.
    pub(super) fn new(snapshot: SourceSnapshot) -> Self {
        Self(Mutex::new(DocumentTable { open: BTreeMap::new(), snapshot, uses: 0 }))
    }

    /// Notifies the server of all changes, and opens the file.
    ///
    /// # Errors
    /// Those of reading the file, `cancelled` and `timeout`.
    pub(super) fn open(
        &self,
        server: &LanguageServer,
        cx: &CallContext,
        file: &WorkspacePath,
        id: &str,
    ) -> Result<Arc<DocumentText>> {
        let mut told = lock(&self.0);
        let others_changed = told.refresh(server, cx)?;
        told.uses += 1;
        let (text, stat) = DocumentText::read(file)?;
        let path = file.absolute();
        let uses = told.uses;
        match told.open.get_mut(&path) {
            Some(document) => {
                document.used = uses;
                if !document.update(server, &path, text, &stat) && others_changed {
                    document.save(server, &path);
                }
            }
            None => told.begin(server, file, id, text, &stat),
        }
        Ok(Arc::clone(&told.open[&path].text))
    }

    /// Notifies the server of all changes.
    ///
    /// # Errors
    /// `cancelled` and `timeout`.
    pub(super) fn refresh(&self, server: &LanguageServer, cx: &CallContext) -> Result<()> {
        let mut told = lock(&self.0);
        if told.refresh(server, cx)? {
            told.open.iter().for_each(|(path, document)| document.save(server, path));
        }
        Ok(())
    }

    /// The text of a file that the server was sent last.
    pub(super) fn text(&self, path: &Path) -> Option<Arc<DocumentText>> {
        lock(&self.0).open.get(path).map(|document| Arc::clone(&document.text))
    }
}

impl DocumentTable {
    /// Notifies the server of changes; returns whether there were any.
    fn refresh(&mut self, server: &LanguageServer, cx: &CallContext) -> Result<bool> {
        self.open.retain(|path, document| document.refresh(server, path));
        let now = SourceSnapshot::take(&server.plan, cx)?;
        let changes = self.snapshot.changes(&now, server.root());
        self.snapshot = now;
        let has_changed = !changes.is_empty();
        watch::notify_changes(server, changes);
        Ok(has_changed)
    }

    /// Opens a file.
    fn begin(
        &mut self,
        server: &LanguageServer,
        file: &WorkspacePath,
        id: &str,
        text: DocumentText,
        stat: &Stat,
    ) {
        if self.open.len() >= MOST_OPEN {
            self.close_oldest(server);
        }
        let path = file.absolute();
        let version = 1;
        server.state().note_notified(&path, version);
        server.notify(
            "textDocument/didOpen",
            &json!({"textDocument": {
                "uri": uri_of(&path), "languageId": id, "version": version, "text": text.as_str(),
            }}),
        );
        let document = OpenDocument {
            file: file.clone(),
            text: Arc::new(text),
            version,
            stamp: DocumentStamp::of(stat),
            used: self.uses,
        };
        self.open.insert(path, document);
    }

    fn close_oldest(&mut self, server: &LanguageServer) {
        let oldest = self.open.iter().min_by_key(|(_, document)| document.used).map(|(path, _)| path.clone());
        if let Some(path) = oldest {
            self.open.remove(&path);
            close(server, &path);
        }
    }
}

impl OpenDocument {
    /// Notifies the server of a change; returns whether the file can stay open.
    fn refresh(&mut self, server: &LanguageServer, path: &Path) -> bool {
        if self.file.stat().is_ok_and(|now| self.stamp.proves(&now)) {
            return true;
        }
        match DocumentText::read(&self.file) {
            Ok((text, stat)) => {
                self.update(server, path, text, &stat);
                true
            }
            Err(_) => {
                close(server, path);
                false
            }
        }
    }

    /// Sends the file's text; returns whether it has changed.
    fn update(&mut self, server: &LanguageServer, path: &Path, text: DocumentText, stat: &Stat) -> bool {
        self.stamp = DocumentStamp::of(stat);
        if text == *self.text {
            return false;
        }
        self.text = Arc::new(text);
        self.version += 1;
        let document = json!({"uri": uri_of(path), "version": self.version});
        server.state().note_notified(path, self.version);
        let changes = json!([{"text": self.text.as_str()}]);
        server
            .notify("textDocument/didChange", &json!({"textDocument": document, "contentChanges": changes}));
        self.save(server, path);
        true
    }

    /// Some servers check a file, or those that it includes, only on save.
    fn save(&self, server: &LanguageServer, path: &Path) {
        let Some(with_text) = server.save_option() else { return };
        let mut params = json!({"textDocument": {"uri": uri_of(path)}});
        if with_text {
            params["text"] = Value::from(self.text.as_str());
        }
        server.notify("textDocument/didSave", &params);
    }
}

fn close(server: &LanguageServer, path: &Path) {
    server.state().close(path);
    server.notify("textDocument/didClose", &json!({"textDocument": {"uri": uri_of(path)}}));
}
