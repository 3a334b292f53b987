//! Symbolic references: git writes the file that such a reference names, which may be any file in the repository.

use super::directory::{OpenDirectory, by_directory};
use super::files::KnownFiles;
use super::repository::Cleaner;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const SYMBOLIC: &[u8] = b"ref:";
const HEAD: &str = "HEAD";
/// Files with a person's text whose names git could take for those of references.
const TEXTS: [&str; 6] =
    ["COMMIT_EDITMSG", "MERGE_MSG", "SQUASH_MSG", "TAG_EDITMSG", "NOTES_EDITMSG", "EDIT_DESCRIPTION"];

/// References of a repository that lead out of its `refs`, with their content; `None` if it cannot be read.
pub(super) type StrayReferences = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// Whether a name is that of a reference in `refs`, where git writes nothing but references.
pub(super) fn is_beneath_refs(name: &[u8]) -> bool {
    let is_plain = |part: &[u8]| !matches!(part, b"" | b"." | b"..");
    name.starts_with(b"refs/")
        && name.split(|byte| *byte == b'/').all(is_plain)
        && !name.iter().any(|byte| *byte <= b' ' || *byte == 0x7f)
}

/// The stray references of a repository: those beside its `HEAD`, and those in its `refs`.
pub(super) fn stray_references(repository: &OpenDirectory) -> StrayReferences {
    let mut stray = StrayReferences::new();
    let is_entered = |parent: &Path, name: &OsStr| parent != "" || name == "refs";
    repository.walk(is_entered, |directory, path, entries| {
        let entries = entries.into_iter().filter(|(name, _)| path != "" || is_of_reference(name));
        note(directory, path, entries, &mut stray);
    });
    stray
}

fn note(
    directory: &OpenDirectory,
    path: &Path,
    entries: impl IntoIterator<Item = (std::ffi::OsString, FileType)>,
    stray: &mut StrayReferences,
) {
    for (name, kind) in entries {
        // Links are looked at in their own right.
        if matches!(kind, FileType::Directory | FileType::Symlink) {
            continue;
        }
        match directory.has_start(&name, SYMBOLIC) {
            Ok(false) | Err(Errno::NOENT) => {}
            Ok(true) => {
                let text = directory.read(&name).ok();
                if !text.as_deref().is_some_and(leads_to_reference) {
                    stray.insert(path.join(name), text);
                }
            }
            Err(_) => _ = stray.insert(path.join(name), None),
        }
    }
}

/// Whether git could write a file beside `HEAD` as a reference without being asked for that name.
fn is_of_reference(name: &OsStr) -> bool {
    let is_of_name = |byte: &u8| byte.is_ascii_uppercase() || matches!(byte, b'_' | b'-');
    name.as_bytes().iter().all(is_of_name) && !TEXTS.iter().any(|text| name == *text)
}

/// Whether a symbolic reference leads to a reference in `refs`.
fn leads_to_reference(text: &[u8]) -> bool {
    text.strip_prefix(SYMBOLIC).is_some_and(|name| is_beneath_refs(name.trim_ascii()))
}

impl Cleaner<'_> {
    /// Moves new references out of the way that lead out of `refs`, and puts `HEAD` back.
    pub(super) fn clean_references(
        &mut self,
        path: &Path,
        repository: &OpenDirectory,
        known: Option<&KnownFiles>,
    ) {
        const WHAT: &str = "a reference that leads out of refs";
        let mut stray = stray_references(repository);
        stray.retain(|reference, text| {
            known.is_none_or(|known| known.references.get(reference) != Some(text))
        });
        for (place, stray) in by_directory(stray) {
            if self.moves_directory(path, repository, &place, stray.len(), WHAT) {
                continue;
            }
            let directory = repository.beneath(&place);
            for (name, _) in stray {
                let head = known
                    .and_then(|known| known.head.as_ref())
                    .filter(|_| place == Path::new("") && name == HEAD);
                let outcome = self.outcome(path, || {
                    // A renamed file in `refs` would still be a reference.
                    let aside = directory.as_ref().map_err(|errno| *errno)?.move_to(&name, repository)?;
                    let aside = path.join(aside).display().to_string();
                    let Some(head) = head else { return Ok(format!("moved to {aside}")) };
                    repository.replace(HEAD, head)?;
                    Ok(format!("as it was; what was there is now {aside}"))
                });
                self.record(&path.join(&place).join(name), WHAT, outcome);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbolic_reference_leads_to_a_reference() {
        for text in ["ref: refs/heads/main\n", "ref:refs/heads/a/b", "ref: \trefs/remotes/o/HEAD \n"] {
            assert!(leads_to_reference(text.as_bytes()), "{text:?}");
        }
        for text in [
            "ref: commondir\n",
            "ref: HEAD",
            "ref: refs",
            "ref: refs/",
            "ref: refs/../commondir",
            "ref: refs//x",
            "ref: refs/./x",
            "ref: /refs/x",
            "ref: refs/x\0y",
            "ref: refs/x\ny",
        ] {
            assert!(!leads_to_reference(text.as_bytes()), "{text:?}");
        }
    }

    #[test]
    fn messages_are_no_references() {
        assert!(["HEAD", "ORIG_HEAD", "AUTO_MERGE"].iter().all(|name| is_of_reference(name.as_ref())));
        assert!(["COMMIT_EDITMSG", "config", "planted-1"].iter().all(|name| !is_of_reference(name.as_ref())));
    }
}
