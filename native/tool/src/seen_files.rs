//! Hashes of the file contents that a session has seen, so that it does not overwrite changes by others.
//!
//! Two calls of a session may run concurrently, and the second must know of the first one's change as soon as it gets
//! the file's lock. So the hashes are kept in each process that runs tools, not by the host. Only named sessions are
//! tracked, and only the most recently used files: a file that has been forgotten is not checked.

use beamai_base::{Reason, Result, ToolError};
use beamai_workspace::WorkspacePath;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of files, over all sessions. Beyond that, the least recently used half is forgotten.
const MOST: usize = 1 << 16;

/// What a session has seen of files. Without a session name, nothing is tracked.
#[derive(Debug, Clone, Default)]
pub struct SeenFiles(Option<Arc<str>>);

/// A logical timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeenMoment(u64);

/// Hash of a session name and a file.
type Key = [u8; 16];

static MEMORY: Mutex<Option<SeenFilesTable>> = Mutex::new(None);

#[derive(Default)]
struct SeenFilesTable {
    files: HashMap<Key, (blake3::Hash, SeenMoment)>,
    now: u64,
}

impl SeenFiles {
    /// The table of the session of that name. Names must never be reused.
    pub fn of(session: Option<&str>) -> Self {
        Self(session.map(Arc::from))
    }

    /// Whether anything is tracked.
    pub fn is_on(&self) -> bool {
        self.0.is_some()
    }

    /// The current timestamp; to be taken before a file is read without a lock on it.
    pub fn now(&self) -> SeenMoment {
        match self.is_on() {
            true => with_table(|memory| memory.tick()),
            false => SeenMoment(0),
        }
    }

    /// Records a file's content that was read at `since` or later, unless another call of the session has recorded it
    /// meanwhile. `None` for content without a known hash: the file is forgotten.
    pub fn saw(&self, path: &WorkspacePath, hash: Option<blake3::Hash>, since: SeenMoment) {
        let Some(key) = self.key(path) else { return };
        with_table(|memory| {
            if memory.files.get(&key).is_none_or(|(_, noted)| noted.0 <= since.0) {
                memory.record(key, hash);
            }
        });
    }

    /// Records the content that the session has written to a file whose lock it holds.
    pub fn wrote(&self, path: &WorkspacePath, hash: Option<blake3::Hash>) {
        let Some(key) = self.key(path) else { return };
        with_table(|memory| memory.record(key, hash));
    }

    /// Records an append to a file whose lock the session holds. If the session had not seen the content before, it has
    /// not seen the whole content now either.
    pub fn added_to(&self, path: &WorkspacePath, before: Option<blake3::Hash>, after: Option<blake3::Hash>) {
        match self.last(path) {
            Some(seen) if before.is_some_and(|before| before != seen) => {}
            _ => self.wrote(path, after),
        }
    }

    /// Forgets a file that no longer exists.
    pub fn forget(&self, path: &WorkspacePath) {
        self.wrote(path, None);
    }

    /// Hash of the content that the session saw last, if it is known.
    pub fn last(&self, path: &WorkspacePath) -> Option<blake3::Hash> {
        let key = self.key(path)?;
        with_table(|memory| memory.files.get(&key).map(|(hash, _)| *hash))
    }

    /// Refuses to change a file whose content differs from what the session saw last. `actual` returns the hash of the
    /// current content; it is called only if the session has seen the file.
    ///
    /// # Errors
    /// `stale`, and those of `actual`.
    pub fn expect(&self, path: &WorkspacePath, actual: impl FnOnce() -> Result<blake3::Hash>) -> Result<()> {
        let Some(seen) = self.last(path) else { return Ok(()) };
        let actual = actual()?;
        if actual == seen {
            return Ok(());
        }
        let shown = path.display();
        let message = format!(
            "{shown} was changed by somebody else since it was last read or written here; read it again and repeat the \
             change"
        );
        Err(ToolError::new(Reason::Stale, message).file(shown).with("hash", actual.to_hex().as_str()))
    }

    fn key(&self, path: &WorkspacePath) -> Option<Key> {
        let session = self.0.as_ref()?;
        let (device, inode, name) = path.identity();
        let mut hasher = blake3::Hasher::new();
        hasher.update(session.as_bytes()).update(&[0]).update(&device.to_le_bytes());
        hasher.update(&inode.to_le_bytes()).update(name.as_encoded_bytes());
        let mut key = Key::default();
        hasher.finalize_xof().fill(&mut key);
        Some(key)
    }
}

fn with_table<T>(work: impl FnOnce(&mut SeenFilesTable) -> T) -> T {
    let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    work(memory.get_or_insert_default())
}

impl SeenFilesTable {
    fn tick(&mut self) -> SeenMoment {
        self.now += 1;
        SeenMoment(self.now)
    }

    fn record(&mut self, key: Key, hash: Option<blake3::Hash>) {
        let now = self.tick();
        match hash {
            Some(hash) => _ = self.files.insert(key, (hash, now)),
            None => _ = self.files.remove(&key),
        }
        if self.files.len() > MOST {
            self.forget_half();
        }
    }

    fn forget_half(&mut self) {
        let mut moments: Vec<u64> = self.files.values().map(|(_, noted)| noted.0).collect();
        let middle = moments.len() / 2;
        let middle = *moments.select_nth_unstable(middle).1;
        self.files.retain(|_, (_, noted)| noted.0 >= middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use beamai_workspace::Workspace;

    fn hash(text: &str) -> Option<blake3::Hash> {
        Some(blake3::hash(text.as_bytes()))
    }

    #[test]
    fn a_session_remembers_what_it_saw_last_and_others_do_not() {
        let dir = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("f", dir.path().join("link")).unwrap();
        let workspace = Workspace::open(dir.path()).unwrap();
        let (path, link) = (workspace.parse_path("f").unwrap(), workspace.parse_path("./link").unwrap());
        let seen = SeenFiles::of(Some("a session that remembers"));
        seen.saw(&path, hash("one"), seen.now());
        assert_eq!((seen.last(&link), SeenFiles::of(Some("another")).last(&path)), (hash("one"), None));
        assert!(seen.expect(&link, || Ok(blake3::hash(b"one"))).is_ok());
        let error = seen.expect(&path, || Ok(blake3::hash(b"two"))).unwrap_err();
        assert_eq!(error.reason, Reason::Stale);
        assert!(error.message.contains("read it again"), "{error}");
        seen.forget(&link);
        assert!(seen.expect(&path, || panic!("there is nothing to compare")).is_ok());
    }

    #[test]
    fn what_was_read_before_a_change_of_the_session_does_not_undo_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = Workspace::open(dir.path()).unwrap().parse_path("f").unwrap();
        let seen = SeenFiles::of(Some("a session that reads and writes at once"));
        let since = seen.now();
        seen.wrote(&path, hash("new"));
        seen.saw(&path, hash("old"), since);
        assert_eq!(seen.last(&path), hash("new"));
        seen.saw(&path, hash("newer"), seen.now());
        assert_eq!(seen.last(&path), hash("newer"));
    }

    #[test]
    fn an_addition_shows_no_more_than_was_seen() {
        let dir = tempfile::tempdir().unwrap();
        let path = Workspace::open(dir.path()).unwrap().parse_path("f").unwrap();
        let seen = SeenFiles::of(Some("a session that adds"));
        seen.added_to(&path, hash("a"), hash("ab"));
        seen.added_to(&path, hash("ab"), hash("abc"));
        assert_eq!(seen.last(&path), hash("abc"));
        seen.added_to(&path, hash("abcx"), hash("abcxd"));
        assert_eq!(seen.last(&path), hash("abc"));
        seen.added_to(&path, None, None);
        assert_eq!(seen.last(&path), None);
    }

    #[test]
    fn without_a_name_nothing_is_remembered() {
        let dir = tempfile::tempdir().unwrap();
        let path = Workspace::open(dir.path()).unwrap().parse_path("f").unwrap();
        let seen = SeenFiles::default();
        seen.wrote(&path, hash("x"));
        assert_eq!((seen.last(&path), seen.is_on()), (None, false));
    }

    #[test]
    fn the_files_used_last_are_remembered() {
        let mut memory = SeenFilesTable::default();
        let key = |at: usize| {
            let mut key = Key::default();
            key[..8].copy_from_slice(&at.to_le_bytes());
            key
        };
        (0..=MOST).for_each(|at| memory.record(key(at), hash("x")));
        assert!(memory.files.len() <= MOST / 2 + 1);
        assert!(memory.files.contains_key(&key(MOST)) && !memory.files.contains_key(&key(0)));
    }
}
