//! Where git has the settings of the machine.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// The directory of the machine's `gitconfig` and `gitattributes`, for the first `git` on the `PATH`.
///
/// Built for `/usr`, git has them in `/etc`, otherwise in `etc` of its prefix (`sysconfdir` in git's Makefile). Some
/// who package it for a prefix of their own choose `/etc` all the same, so that is taken where the prefix has no such
/// file.
#[must_use]
pub fn system_directory() -> PathBuf {
    directory_of(&std::env::var_os("PATH").unwrap_or_default())
}

fn directory_of(search_path: &OsStr) -> PathBuf {
    let own = || {
        let git = std::env::split_paths(search_path).filter(|dir| dir.is_absolute());
        let git = git.map(|dir| dir.join("git")).find(|git| is_program(git))?;
        // Where a link leads to it, its own prefix is that of the file.
        let prefixes = [git.canonicalize().unwrap_or_else(|_| git.clone()), git];
        let prefixes = prefixes.into_iter().filter_map(|git| prefix(&git));
        prefixes.map(|prefix| prefix.join("etc")).find(|etc| has_any(etc))
    };
    own().unwrap_or_else(|| PathBuf::from("/etc"))
}

/// The installation prefix of git; `None` for `/usr`. Git puts its exec path (`libexec/git-core`) first on the `PATH`
/// of aliases and hooks, and that directory contains a `git`, too.
fn prefix(program: &Path) -> Option<PathBuf> {
    let directory = program.parent()?;
    let inner =
        ["bin", "libexec/git-core", "lib/git-core"].into_iter().find(|inner| directory.ends_with(inner))?;
    let prefix = directory.ancestors().nth(Path::new(inner).iter().count())?;
    (prefix != Path::new("/usr")).then(|| prefix.to_owned())
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn has_any(directory: &Path) -> bool {
    ["gitconfig", "gitattributes"].iter().any(|name| directory.join(name).exists())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn program(path: &Path, mode: u32) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn settings_lie_in_the_prefix_of_the_first_git() {
        let top = tempfile::tempdir().unwrap();
        let at = |path: &str| top.path().join(path);
        let found = |dirs: &[PathBuf]| directory_of(&std::env::join_paths(dirs).unwrap());
        program(&at("data/bin/git"), 0o644);
        program(&at("own/bin/git"), 0o755);
        let dirs = [at("none"), at("data/bin"), at("own/bin"), "/usr/bin".into()];
        assert_eq!(found(&dirs), Path::new("/etc"));
        for prefix in ["data", "own"] {
            fs::create_dir(at(prefix).join("etc")).unwrap();
            fs::write(at(prefix).join("etc/gitconfig"), "").unwrap();
        }
        assert_eq!(found(&dirs), at("own/etc"));
        assert_eq!(found(&["/usr/bin".into(), at("own/bin")]), Path::new("/etc"));
        assert_eq!(found(&["own/bin".into()]), Path::new("/etc"));
        // By a link, as package managers install programs.
        fs::create_dir_all(at("links/bin")).unwrap();
        std::os::unix::fs::symlink(at("own/bin/git"), at("links/bin/git")).unwrap();
        assert_eq!(found(&[at("links/bin")]), at("own/etc"));
        // As git itself starts programs.
        for parts in ["libexec/git-core", "lib/git-core"] {
            fs::create_dir_all(at("own").join(parts)).unwrap();
            fs::hard_link(at("own/bin/git"), at("own").join(parts).join("git")).unwrap();
            assert_eq!(found(&[at("own").join(parts), "/usr/bin".into()]), at("own/etc"));
        }
    }
}
