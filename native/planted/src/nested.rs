//! Repositories without a `.git` that lie in the work tree of another one, whose index must write no file of theirs.

use super::index;
use super::refused::is_directory;
use beamai_workspace::decode_path;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// What commands cannot write in a repository.
const PROTECTED: [&[u8]; 5] = [b"config", b"config.worktree", b"commondir", b"gitdir", b"hooks"];

/// Files of such repositories in an index, with their objects.
pub(super) type KnownEntries = BTreeMap<Vec<u8>, Vec<u8>>;

/// The beginnings of paths in these work trees that lie in repositories without a `.git`.
pub(super) fn nested(
    root: &Path,
    repositories: &[String],
    trees: impl FnOnce() -> Vec<PathBuf>,
) -> Vec<Vec<u8>> {
    let bare = bare_repositories(root, repositories);
    if bare.is_empty() {
        return Vec::new();
    }
    let trees = trees();
    let pairs = bare.iter().flat_map(|path| trees.iter().map(move |tree| path.strip_prefix(tree)));
    let beneath = pairs.flatten().map(|path| path.as_os_str().as_bytes()).filter(|path| !path.is_empty());
    beneath.map(|path| [path, b"/"].concat()).collect()
}

/// The repositories without a `.git`.
pub(super) fn bare_repositories(root: &Path, repositories: &[String]) -> Vec<PathBuf> {
    let bare = repositories.iter().filter(|path| path.split('/').all(|part| part != ".git"));
    bare.map(|path| root.join(decode_path(path))).collect()
}

/// The entries of an index in these places, and of sparse directories around them.
pub(super) fn entries(text: &[u8], id: usize, places: &[Vec<u8>]) -> KnownEntries {
    let mut found = KnownEntries::new();
    // What cannot be read is nobody's that is kept.
    _ = index::each_entry(text, id, |name, mode, object| {
        if places.iter().any(|place| name.starts_with(place) || is_around(name, mode, place)) {
            found.insert(name.to_vec(), object.to_vec());
        }
    });
    found
}

/// Whether an entry is that of a sparse directory in which a place lies: git may write the files of its tree there later.
fn is_around(name: &[u8], mode: u32, place: &[u8]) -> bool {
    is_directory(mode) && place.starts_with(name)
}

/// Whether an entry writes a file of such a repository that git did not write there before. Where other files of it are
/// in the index, it is part of the work, and only what commands cannot write counts.
pub(super) fn is_foreign(
    name: &[u8],
    mode: u32,
    object: &[u8],
    places: &[Vec<u8>],
    known: &KnownEntries,
) -> bool {
    if places.iter().any(|place| is_around(name, mode, place)) {
        return known.get(name).is_none_or(|known| known != object);
    }
    let Some(place) = places.iter().find(|place| name.starts_with(place)) else { return false };
    let first = name[place.len()..].split(|byte| *byte == b'/').next().unwrap_or_default();
    if PROTECTED.iter().any(|own| first.eq_ignore_ascii_case(own)) {
        return known.get(name).is_none_or(|known| known != object);
    }
    !known.keys().any(|known| known.starts_with(place))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_foreign_unless_it_was_there() {
        let places = nested(Path::new("/w"), &["r/.git", "r/b.git", "c.git"].map(String::from), || {
            vec!["/w/r".into()]
        });
        assert_eq!(places, [b"b.git/"]);
        let is = |name: &str, object: &[u8], known: &KnownEntries| {
            is_foreign(name.as_bytes(), 0o100_644, object, &places, known)
        };
        let none = KnownEntries::new();
        assert!(is("b.git/x", b"1", &none) && is("b.git/hooks/x", b"1", &none));
        assert!(!is("b.git", b"1", &none) && !is("b.gitx/y", b"1", &none));
        let known = KnownEntries::from([(b"b.git/config".to_vec(), b"1".to_vec())]);
        assert!(!is("b.git/config", b"1", &known) && !is("b.git/objects/x", b"2", &known));
        assert!(is("b.git/config", b"2", &known) && is("b.git/hooks/x", b"1", &known));
    }

    #[test]
    fn a_sparse_directory_around_a_repository_is_foreign_unless_it_was_there() {
        let places = [b"a/b/c.git/".to_vec()];
        let is = |name: &str, object: &[u8], known: &KnownEntries| {
            is_foreign(name.as_bytes(), 0o040_000, object, &places, known)
        };
        let none = KnownEntries::new();
        assert!(["a/", "a/b/", "a/b/c.git/", "a/b/c.git/hooks/"].iter().all(|name| is(name, b"1", &none)));
        assert!(!is("a/c/", b"1", &none) && !is("a/b/c/", b"1", &none));
        let known = KnownEntries::from([(b"a/".to_vec(), b"1".to_vec())]);
        assert!(!is("a/", b"1", &known) && is("a/", b"2", &known));
        // Files of the repository in the index say nothing of what a tree has.
        let known = KnownEntries::from([(b"a/b/c.git/config".to_vec(), b"1".to_vec())]);
        assert!(is("a/", b"1", &known) && is("a/b/c.git/", b"1", &known));
    }
}
