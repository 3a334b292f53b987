//! Paths in git's settings.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A path in a setting as git expands it ("pathname" in git-config(1)): `~/`, `~USER/`, `%(prefix)/`, and `:(optional)` before it.
pub(super) fn expanded(path: &Path) -> PathBuf {
    let path = path.as_os_str().as_bytes();
    let path = path.strip_prefix(b":(optional)").unwrap_or(path);
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
            (":(optional)~/h", home.join("h")),
            ("~root/h", home_of(b"root").unwrap().join("h")),
            ("%(prefix)/share/h", git_prefix().unwrap().join("share/h")),
            ("/h/~/x", "/h/~/x".into()),
            ("../h", "../h".into()),
            ("h", "h".into()),
            ("~nobody-has-this-name/h", "~nobody-has-this-name/h".into()),
        ] {
            assert_eq!(expanded(Path::new(path)), expected, "{path}");
        }
        assert!(git_prefix().unwrap().join("bin/git").exists());
    }
}
