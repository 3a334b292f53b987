//! Places that commands cannot write: an index that a command leaves must not make git write there.

use super::SnapshotRoot;
use super::index;
use super::nested::KnownEntries;
use super::refused::{is_directory, is_submodule};
use super::repository::{Cleaner, beneath};
use super::sources::TrustedPath;
use super::trees::is_in_git_directory;
use beamai_workspace::decode_path;
use sha1::{Digest, Sha1};
use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Maximum size of a file that is compared with an entry of an index, in bytes.
const MOST_COMPARED: u64 = 16 << 20;

/// Paths whose links are resolved when the first is needed. After most commands none is.
pub(super) type ResolvedPaths = LazyCell<BTreeSet<PathBuf>, Box<dyn FnOnce() -> BTreeSet<PathBuf>>>;

pub(super) fn resolved_later(paths: Vec<PathBuf>) -> ResolvedPaths {
    let resolved = |path: PathBuf| path.canonicalize().unwrap_or(path);
    LazyCell::new(Box::new(move || paths.into_iter().map(resolved).collect()))
}

/// Such places in the work trees of a repository, as paths in its index, each with the file itself.
#[derive(Debug, Default)]
pub(super) struct UnwritablePlaces(BTreeMap<Vec<u8>, PathBuf>);

impl UnwritablePlaces {
    pub(super) fn of<'p>(places: impl IntoIterator<Item = &'p Path>, trees: &[PathBuf]) -> Self {
        let below = |place: &Path| {
            let below = trees.iter().filter_map(|tree| place.strip_prefix(tree).ok());
            let below = below.filter(|below| !below.as_os_str().is_empty() && !is_in_git_directory(below));
            below.map(|below| (below.as_os_str().as_bytes().to_vec(), place.to_owned())).collect::<Vec<_>>()
        };
        Self(places.into_iter().flat_map(below).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The entries of an index that are at or beneath these places, and those of sparse directories around them.
    pub(super) fn entries(&self, text: &[u8], id: usize) -> KnownEntries {
        let mut found = KnownEntries::new();
        _ = index::each_entry(text, id, |name, mode, object| {
            if self.file(name).is_some() || self.is_around(name, mode) {
                found.insert(name.to_vec(), object.to_vec());
            }
        });
        found
    }

    /// Whether git would write a file there for an entry that the index did not have before, and other than the file is.
    pub(super) fn is_written_by(&self, name: &[u8], mode: u32, object: &[u8], known: &KnownEntries) -> bool {
        let file = self.file(name);
        if self.is_around(name, mode) || file.is_some() && is_directory(mode) {
            return known.get(name).is_none_or(|known| known != object);
        }
        file.is_some_and(|file| !known.contains_key(name) && !is_object(&file, object))
    }

    /// Whether git would make a file or a link of a directory around one of the places. A submodule leaves it as it is.
    pub(super) fn is_replaced_by(&self, name: &[u8], mode: u32) -> bool {
        !is_directory(mode) && !is_submodule(mode) && self.has_beneath(&[name, b"/"].concat())
    }

    /// Whether a path is one of the places, beneath one, or around one.
    pub(super) fn concern(&self, name: &[u8]) -> bool {
        self.file(name).is_some() || self.has_beneath(&[name, b"/"].concat())
    }

    /// The file of an entry that is at or beneath one of the places.
    fn file(&self, name: &[u8]) -> Option<PathBuf> {
        let ends = name.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| at);
        ends.chain([name.len()]).find_map(|end| {
            let rest = name[end..].strip_prefix(b"/").unwrap_or_default();
            let place = self.0.get(&name[..end])?;
            Some(if rest.is_empty() { place.clone() } else { place.join(OsStr::from_bytes(rest)) })
        })
    }

    fn is_around(&self, name: &[u8], mode: u32) -> bool {
        is_directory(mode) && self.has_beneath(name)
    }

    fn has_beneath(&self, start: &[u8]) -> bool {
        self.0.range(start.to_vec()..).next().is_some_and(|(place, _)| place.starts_with(start))
    }
}

/// Whether a file has the content of an object of git (gitformat-loose(5)). With another object format it counts as
/// different.
fn is_object(file: &Path, object: &[u8]) -> bool {
    let is_small = |found: std::fs::Metadata| found.is_file() && found.len() <= MOST_COMPARED;
    if object.len() != 20 || !std::fs::symlink_metadata(file).is_ok_and(is_small) {
        return false;
    }
    let Ok(text) = std::fs::read(file) else { return false };
    let head = format!("blob {}\0", text.len());
    Sha1::new().chain_update(head).chain_update(text).finalize()[..] == *object
}

/// Files in work trees by which git finds settings or hooks.
pub(super) fn trusted_places(trusted: &[TrustedPath]) -> impl Iterator<Item = &Path> {
    trusted.iter().map(|trusted| trusted.way.end.as_path())
}

impl SnapshotRoot {
    /// The trusted places in these work trees.
    pub(super) fn trusted_in(&self, trees: &[PathBuf]) -> UnwritablePlaces {
        UnwritablePlaces::of(trusted_places(&self.sources.trusted), trees)
    }
}

impl Cleaner<'_> {
    /// The places that an index must not write. What an existing repository tracks where rules deny changes is the person's.
    pub(super) fn unwritable_in(&self, trees: &[PathBuf], is_new: bool) -> UnwritablePlaces {
        let denied: &BTreeSet<PathBuf> = self.unwritable;
        let denied = denied.iter().filter(|_| is_new).map(PathBuf::as_path);
        UnwritablePlaces::of(trusted_places(&self.root.sources.trusted).chain(denied), trees)
    }

    /// The repositories in these work trees that were there before.
    pub(super) fn repositories_in(&self, trees: &[PathBuf]) -> UnwritablePlaces {
        let found = self.root.found.repositories.iter().map(|path| beneath(&self.real, &decode_path(path)));
        let found: Vec<PathBuf> = found.collect();
        let in_tree = |tree: &PathBuf| {
            let names = found.iter().filter_map(|path| path.strip_prefix(tree).ok().zip(Some(path)));
            names.map(|(name, path)| (name.as_os_str().as_bytes().to_vec(), path.clone())).collect::<Vec<_>>()
        };
        UnwritablePlaces(trees.iter().flat_map(in_tree).collect())
    }

    /// Whether a path without links lies at or beneath a place in the writable directories that commands cannot write.
    pub(super) fn is_protected(&self, path: &Path) -> bool {
        let is_trusted =
            |above: &Path| trusted_places(&self.root.sources.trusted).any(|place| place == above);
        path.ancestors().any(|above| self.unwritable.contains(above) || is_trusted(above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_refused_where_it_would_change_something() {
        let dir = tempfile::tempdir().unwrap();
        let tree = dir.path().to_owned();
        std::fs::create_dir(tree.join("hk")).unwrap();
        std::fs::write(tree.join("hk/pre-commit"), "x\n").unwrap();
        let hooks = tree.join("hk");
        let places = UnwritablePlaces::of([hooks.as_path(), Path::new("/elsewhere/hk")], &[tree]);
        let none = KnownEntries::new();
        let writes = |name: &str, object: &[u8], known| {
            places.is_written_by(name.as_bytes(), 0o100_644, object, known)
        };
        // As `git hash-object` says of this content.
        let same = &[
            0x58, 0x7b, 0xe6, 0xb4, 0xc3, 0xf9, 0x3f, 0x93, 0xc4, 0x89, 0xc0, 0x11, 0x1b, 0xba, 0x55, 0x96,
            0x14, 0x7a, 0x26, 0xcb,
        ];
        assert!(writes("hk/pre-commit", &[1; 20], &none) && writes("hk/commit-msg", same, &none));
        assert!(writes("hk", same, &none) && writes("hk/a/b", same, &none));
        assert!(!writes("hk/pre-commit", same, &none) && !writes("hkx/pre-commit", &[1; 20], &none));
        let known = KnownEntries::from([(b"hk/pre-commit".to_vec(), vec![2; 20])]);
        assert!(!writes("hk/pre-commit", &[1; 20], &known) && writes("hk/x", &[1; 20], &known));
        assert!(places.is_written_by(b"h", 0o040_000, same, &none));
        let known = KnownEntries::from([(b"hk/".to_vec(), vec![2; 20])]);
        assert!(places.is_written_by(b"hk/", 0o040_000, same, &known));
        assert!(!places.is_written_by(b"hk/", 0o040_000, &[2; 20], &known));
        assert!(!places.is_written_by(b"g/", 0o040_000, same, &none));
    }
}
