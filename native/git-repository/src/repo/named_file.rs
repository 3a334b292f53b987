//! Files that settings name.

use beamai_git_config::ConfigEntry;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A file that a settings file names.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NamedFile {
    /// Further settings, always or under a condition.
    Include { path: Vec<u8>, condition: Option<Vec<u8>> },
    /// A file with patterns of ignored files, or with attributes.
    Patterns(Vec<u8>),
}

/// The files that a settings file names, whether conditions hold or not.
pub(super) fn files_named(entries: &[ConfigEntry]) -> impl Iterator<Item = NamedFile> {
    entries.iter().filter_map(|ConfigEntry { section, subsection, key, value }| {
        let path = value.clone()?;
        match (section.as_str(), subsection, key.as_str()) {
            ("include", None, "path") => Some(NamedFile::Include { path, condition: None }),
            ("includeif", Some(condition), "path") => {
                Some(NamedFile::Include { path, condition: Some(condition.clone()) })
            }
            ("core", None, "excludesfile" | "attributesfile") => Some(NamedFile::Patterns(path)),
            _ => None,
        }
    })
}

/// The pattern of a condition about the addresses of remotes.
pub(super) fn remote_pattern(condition: &[u8]) -> Option<&[u8]> {
    condition.strip_prefix(b"hasconfig:remote.*.url:")
}

/// Whether a condition can hold for git and never holds for libgit2: one about remotes, or an empty pattern.
pub(super) fn is_for_git_alone(condition: &[u8]) -> bool {
    remote_pattern(condition).is_some() || matches!(condition, b"gitdir:" | b"gitdir/i:" | b"onbranch:")
}

/// Whether a condition is about the branch. libgit2 decides it by chance where `HEAD` names none.
pub(super) fn is_about_branch(condition: &[u8]) -> bool {
    condition.starts_with(b"onbranch:")
}

/// Whether git knows more of a path than libgit2 does: the home directory of another user, where git is installed, or
/// that the file may be missing ("pathname" in git-config(1)).
pub(super) fn is_unfollowed(path: &[u8]) -> bool {
    let is_of_user = path.starts_with(b"~") && !path.starts_with(b"~/");
    is_of_user || path.starts_with(b"%(") || path.starts_with(b":(")
}

/// A path from settings, with the home directory for `~`.
pub(super) fn in_home(path: &[u8]) -> PathBuf {
    match (path.strip_prefix(b"~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => PathBuf::from(home).join(OsStr::from_bytes(rest)),
        _ => Path::new(OsStr::from_bytes(path)).to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_that_settings_name_are_told_apart() {
        let text = b"\xef\xbb\xbf[Include] path = a\n[core]\nexcludesFile = ~/b\nattributesfile=\"c d\"\npath = no\n\
                     [includeIf \"gitdir:x]y/\"] Path = \"e f\" ; g\n[user]\npath = no\n[include \"x\"]\npath = no\n";
        let entries = beamai_git_config::read(text).unwrap();
        let include = |path: &[u8], condition: Option<&[u8]>| NamedFile::Include {
            path: path.to_vec(),
            condition: condition.map(<[u8]>::to_vec),
        };
        let patterns = |path: &[u8]| NamedFile::Patterns(path.to_vec());
        let expected =
            [include(b"a", None), patterns(b"~/b"), patterns(b"c d"), include(b"e f", Some(b"gitdir:x]y/"))];
        assert_eq!(files_named(&entries).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn conditions_that_only_git_evaluates_are_seen() {
        assert_eq!(remote_pattern(b"hasconfig:remote.*.url:https://x/**"), Some(&b"https://x/**"[..]));
        for (condition, is_expected) in [
            (&b"hasconfig:remote.*.url:https://x/**"[..], true),
            (b"gitdir:", true),
            (b"gitdir/i:", true),
            (b"gitdir:~/x/", false),
            (b"onbranch:", true),
            (b"onbranch:main", false),
        ] {
            assert_eq!(is_for_git_alone(condition), is_expected, "{condition:?}");
        }
    }
}
