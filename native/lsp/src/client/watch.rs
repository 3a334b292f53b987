//! Changes of files that are not open.
//!
//! Servers rely on the client to watch the workspace. This client does not watch: before each request it compares names
//! and timestamps of the language's files with those before the previous one.

use super::plan::ServerPlan;
use super::server::LanguageServer;
use super::uri::uri_of;
use beamai_base::Result;
use beamai_tool::CallContext;
use beamai_walk::{Select, Tally, Visit, Walk, WalkEntry};
use rustix::fs::AtFlags;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// Maximum number of files; in a larger workspace, a server is notified of changes to open files only.
const MOST: usize = 50_000;

/// Size, inode and timestamps of a file.
type FileMark = (i64, u64, i64, i64);

/// The files of a language, by path in the workspace; `None` if there are too many.
#[derive(Debug)]
pub(super) struct SourceSnapshot(Option<HashMap<Vec<u8>, FileMark>>);

/// Kind of change, with the protocol's numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileChangeType {
    Created = 1,
    Changed = 2,
    Deleted = 3,
}

impl SourceSnapshot {
    /// Takes a snapshot of all files whose changes the server is notified of.
    ///
    /// # Errors
    /// `cancelled`, `timeout`, and those of opening the workspace.
    pub(super) fn take(plan: &ServerPlan, cx: &CallContext) -> Result<Self> {
        let tree = plan.workspace.top().tree()?;
        let walk =
            Walk { tree: &tree, select: &plan.sources, hidden: false, ignored: false, depth: None, cx };
        let (found, _) = walk.run(SourceCollector::default).finish()?;
        let all: HashMap<_, _> = found.into_iter().flat_map(|found| found.0).collect();
        Ok(Self(Some(all).filter(|all| all.len() <= MOST)))
    }

    /// The changes from this snapshot to the next, as URIs.
    pub(super) fn changes(&self, next: &Self, root: &Path) -> Vec<(String, FileChangeType)> {
        let (Some(before), Some(now)) = (&self.0, &next.0) else { return Vec::new() };
        let changed = now.iter().filter_map(|(path, mark)| match before.get(path) {
            None => Some((path, FileChangeType::Created)),
            Some(old) if old != mark => Some((path, FileChangeType::Changed)),
            Some(_) => None,
        });
        let gone =
            before.keys().filter(|path| !now.contains_key(*path)).map(|path| (path, FileChangeType::Deleted));
        let uri = |path: &[u8]| uri_of(&root.join(OsStr::from_bytes(path)));
        changed.chain(gone).map(|(path, change)| (uri(path), change)).collect()
    }
}

/// Notifies the server of changes, if there are any.
pub(super) fn notify_changes(server: &LanguageServer, changes: Vec<(String, FileChangeType)>) {
    if changes.is_empty() {
        return;
    }
    server.state().note_change();
    let event = |(uri, change): (String, FileChangeType)| json!({"uri": uri, "type": change as u8});
    let changes: Vec<Value> = changes.into_iter().map(event).collect();
    server.notify("workspace/didChangeWatchedFiles", &json!({"changes": changes}));
}

/// Selects the files of a language and its project files.
#[derive(Debug, Clone)]
pub(super) struct SourceFilter {
    extensions: Arc<[String]>,
    names: &'static [&'static str],
}

impl SourceFilter {
    /// Files with these extensions, and files with these names.
    pub(super) fn new(extensions: impl Iterator<Item = String>, names: &'static [&'static str]) -> Self {
        Self { extensions: extensions.collect(), names }
    }
}

impl Select for SourceFilter {
    fn file(&self, path: &[u8]) -> bool {
        let path = Path::new(OsStr::from_bytes(path));
        let extension = path.extension().and_then(OsStr::to_str);
        extension.is_some_and(|extension| self.extensions.iter().any(|known| known == extension))
            || path.file_name().is_some_and(|name| self.names_hidden(name.as_bytes()))
    }

    fn directory(&self, _: &[u8]) -> bool {
        true
    }

    fn names_hidden(&self, name: &[u8]) -> bool {
        self.names.iter().any(|known| known.as_bytes() == name)
    }
}

#[derive(Default)]
struct SourceCollector(Vec<(Vec<u8>, FileMark)>);

impl Visit for SourceCollector {
    const OPENS_FILES: bool = false;

    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "types differ by system")]
    fn visit(&mut self, entry: &WalkEntry<'_>, _: &mut Tally) -> Result<()> {
        // A file that is already gone will be missing in the next snapshot too.
        if self.0.len() <= MOST
            && let Ok(stat) = rustix::fs::statat(entry.dir, entry.name, AtFlags::SYMLINK_NOFOLLOW)
        {
            let changed = (stat.st_ctime as i64, stat.st_ctime_nsec as i64);
            self.0
                .push((entry.path.to_vec(), (stat.st_size as i64, stat.st_ino as u64, changed.0, changed.1)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(files: &[(&str, i64)]) -> SourceSnapshot {
        let marked = |(name, size): &(&str, i64)| (name.as_bytes().to_vec(), (*size, 0, 0, 0));
        SourceSnapshot(Some(files.iter().map(marked).collect()))
    }

    #[test]
    fn every_kind_of_change_is_found() {
        let before = snapshot(&[("same", 1), ("grown", 1), ("gone", 1)]);
        let now = snapshot(&[("same", 1), ("grown", 2), ("a b", 1)]);
        let mut changes = before.changes(&now, Path::new("/w"));
        changes.sort_by(|a, b| a.0.cmp(&b.0));
        let expected = [
            ("file:///w/a%20b", FileChangeType::Created),
            ("file:///w/gone", FileChangeType::Deleted),
            ("file:///w/grown", FileChangeType::Changed),
        ];
        assert_eq!(changes, expected.map(|(uri, change)| (uri.to_owned(), change)));
    }

    #[test]
    fn where_there_are_too_many_nothing_is_made_up() {
        let all = SourceSnapshot(None);
        assert!(all.changes(&snapshot(&[("a", 1)]), Path::new("/w")).is_empty());
        assert!(snapshot(&[("a", 1)]).changes(&all, Path::new("/w")).is_empty());
    }
}
