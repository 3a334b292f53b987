//! Paths in git's settings.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The paths that a setting may mean ("pathname" in git-config(1)), with `~/`, `~USER/` and `%(prefix)/` expanded.
/// Newer versions of git take `:(optional)` before a path for an option, and older ones for a part of it.
pub(super) fn expanded(path: &Path) -> impl Iterator<Item = PathBuf> {
    let bytes = path.as_os_str().as_bytes();
    let of_option = bytes.strip_prefix(b":(optional)").map(expanded_by_names);
    of_option.into_iter().chain([expanded_by_names(bytes)])
}

fn expanded_by_names(path: &[u8]) -> PathBuf {
    let Some(end) = path.iter().position(|byte| *byte == b'/') else { return OsStr::from_bytes(path).into() };
    let (first, rest) = (&path[..end], OsStr::from_bytes(&path[end + 1..]));
    let base = match first {
        b"~" => std::env::var_os("HOME").map(PathBuf::from),
        b"%(prefix)" => git_prefix(),
        [b'~', user @ ..] => home_of(user),
        _ => None,
    };
    base.map_or_else(|| OsStr::from_bytes(path).into(), |base| base.join(rest))
}

/// The home directory of a user of this machine (passwd(5)).
fn home_of(user: &[u8]) -> Option<PathBuf> {
    let users = std::fs::read("/etc/passwd").ok()?;
    users.split(|byte| *byte == b'\n').find_map(|line| {
        let mut fields = line.split(|byte| *byte == b':');
        let home = (fields.next()? == user).then(|| fields.nth(4))??;
        Some(OsStr::from_bytes(home).into())
    })
}

/// Where git is installed: the directory above the one with the program.
fn git_prefix() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let mut programs = std::env::split_paths(&path).map(|directory| directory.join("git"));
    let program = programs.find(|program| program.is_file())?.canonicalize().ok()?;
    Some(program.parent()?.parent()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_expanded_as_git_does() {
        let home = PathBuf::from(std::env::var_os("HOME").unwrap());
        for (path, expected) in [
            ("~/h", home.join("h")),
            ("~root/h", home_of(b"root").unwrap().join("h")),
            ("%(prefix)/share/h", git_prefix().unwrap().join("share/h")),
            ("/h/~/x", "/h/~/x".into()),
            ("../h", "../h".into()),
            ("h", "h".into()),
            ("~nobody-has-this-name/h", "~nobody-has-this-name/h".into()),
        ] {
            assert_eq!(expanded(Path::new(path)).collect::<Vec<_>>(), [expected], "{path}");
        }
        let optional: Vec<PathBuf> = expanded(Path::new(":(optional)~/h")).collect();
        assert_eq!(optional, [home.join("h"), ":(optional)~/h".into()]);
        assert!(git_prefix().unwrap().join("bin/git").exists());
    }
}
