//! Lists of files in a repository's database: git deletes a file of a list when it is no longer needed, whatever its name.

use super::directory::{FileStamp, OpenDirectory};
use super::files::KnownFiles;
use super::repository::Cleaner;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Where the lists are, and the beginning of their names.
const LISTS: [(&str, &str); 3] = [
    ("objects/pack", "multi-pack-index"),
    ("objects/pack/multi-pack-index.d", "multi-pack-index"),
    ("reftable", "tables.list"),
];
/// The header of a multi-pack-index, and an entry of its table of contents.
const HEADER: u64 = 12;
const CHUNK: u64 = 12;
/// Maximum size of the names in a list, in bytes: more than 100,000 packs.
const MOST: u64 = 8 << 20;

pub(super) type Lists = BTreeMap<PathBuf, FileStamp>;

pub(super) fn lists(repository: &OpenDirectory) -> Lists {
    let mut all = Lists::new();
    for (place, name) in LISTS {
        let Ok(directory) = repository.beneath(place.as_ref()) else { continue };
        for found in directory.names() {
            if is_list(&found, name)
                && let Some(stamp) = directory.stamp(&found)
            {
                all.insert(Path::new(place).join(found), stamp);
            }
        }
    }
    all
}

/// Whether git reads a list by a name: locks and files that were set aside are none.
fn is_list(found: &OsString, name: &str) -> bool {
    match found.as_bytes().strip_prefix(name.as_bytes()) {
        Some(b"") => true,
        Some(rest) => rest == b"-chain" || rest.starts_with(b"-") && rest.ends_with(b".midx"),
        None => false,
    }
}

impl Cleaner<'_> {
    /// Sets lists aside that a command has changed and that name files in other directories.
    pub(super) fn clean_lists(
        &mut self,
        path: &Path,
        repository: &OpenDirectory,
        known: Option<&KnownFiles>,
    ) {
        for (list, stamp) in lists(repository) {
            if known.is_some_and(|known| known.lists.get(&list) == Some(&stamp)) {
                continue;
            }
            let (Some(place), Some(name)) = (list.parent(), list.file_name()) else { continue };
            let Ok(directory) = repository.beneath(place) else { continue };
            let is_binary = name != "tables.list" && name != "multi-pack-index-chain";
            let is_plain = match is_binary {
                true => directory.open(name).is_ok_and(|file| has_plain_packs(&file).is_some()),
                false => directory.read(name).is_ok_and(|text| lines(&text).all(is_plain)),
            };
            if !is_plain {
                self.set_aside(&path.join(place), &directory, name, "a list of files that may lie elsewhere");
            }
        }
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.strip_suffix(b"\n").unwrap_or(text).split(|byte| *byte == b'\n')
}

/// Whether a name is that of a file in the same directory, as git makes them.
fn is_plain(name: &[u8]) -> bool {
    name.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && name != b".."
}

/// Whether all packs of a multi-pack-index (gitformat-pack(5)) lie beside it; `None` if not, or if git could read others.
fn has_plain_packs(file: &File) -> Option<()> {
    let mut header = [0; HEADER as usize];
    file.read_exact_at(&mut header, 0).ok()?;
    let (chunks, packs) = (header[6], u32::from_be_bytes(*header[8..].first_chunk()?));
    if !header.starts_with(b"MIDX") || !matches!(header[4], 1 | 2) {
        return None;
    }
    let mut names = None;
    for at in 0..u64::from(chunks) {
        // The next entry says where a chunk ends.
        let mut table = [0; 2 * CHUNK as usize];
        file.read_exact_at(&mut table, HEADER + at * CHUNK).ok()?;
        if table.starts_with(b"PNAM") {
            let offset = |at: usize| Some(u64::from_be_bytes(*table[at..].first_chunk()?));
            let (start, end) = (offset(4)?, offset(16)?);
            if names.replace((start, end.checked_sub(start).filter(|length| *length <= MOST)?)).is_some() {
                return None;
            }
        }
    }
    let (start, length) = names?;
    let mut text = vec![0; usize::try_from(length).ok()?];
    file.read_exact_at(&mut text, start).ok()?;
    let mut rest = text.split(|byte| *byte == 0);
    let are_plain = (0..packs).all(|_| rest.next().is_some_and(|name| !name.is_empty() && is_plain(name)));
    (are_plain && rest.all(<[u8]>::is_empty)).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// A multi-pack-index with these names.
    fn has_plain(names: &[u8], packs: u8) -> bool {
        let mut text = b"MIDX\x01\x01\x01\0\0\0\0".to_vec();
        text.push(packs);
        let start = HEADER + 2 * CHUNK;
        text.extend(b"PNAM");
        text.extend(start.to_be_bytes());
        text.extend([0; 4]);
        text.extend((start + names.len() as u64).to_be_bytes());
        text.extend(names);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&text).unwrap();
        has_plain_packs(&file).is_some()
    }

    #[test]
    fn packs_of_an_index_lie_beside_it() {
        assert!(has_plain(b"pack-0a.idx\0pack-1b.idx\0\0\0\0", 2));
        for (names, packs) in [
            (&b"../x.idx\0"[..], 1),
            (b"pack-0a.idx\0../x.idx\0", 1),
            (b"a\0", 2),
            (b"a", 2),
            (b"..\0", 1),
            (b"", 0),
        ] {
            assert_eq!(has_plain(names, packs), names.is_empty(), "{names:?}");
        }
    }

    #[test]
    fn only_what_git_reads_is_a_list() {
        for (name, is) in [
            ("multi-pack-index", true),
            ("multi-pack-index-0a.midx", true),
            ("multi-pack-index-chain", true),
            ("multi-pack-index.planted", false),
            ("multi-pack-index-0a.rev", false),
            ("multi-pack-index.lock", false),
        ] {
            assert_eq!(is_list(&name.into(), "multi-pack-index"), is, "{name}");
        }
    }
}
