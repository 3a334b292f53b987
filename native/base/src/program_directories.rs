//! The directories in which programs are looked for by name.

use super::path_way::{Entry, PathWay, without_parents};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static OF_HOST: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let path = std::env::var_os("PATH").unwrap_or_default();
    directories_in(&path, std::env::home_dir().as_deref())
});

/// The directories of the host's `PATH`, as commands get it.
pub fn program_directories() -> &'static [PathBuf] {
    &OF_HOST
}

/// The directories of a `PATH` that are the same for every process, in their order. `~` stands for the home directory,
/// as in bash. Other relative entries depend on where a process is, and those that lead into `/proc` or `/dev` on which
/// process looks. They are left out.
pub fn directories_in(path: &OsStr, home: Option<&Path>) -> Vec<PathBuf> {
    let home = home.filter(|home| home.is_absolute()).map(|home| without_parents(home.into()));
    let absolute = |entry: PathBuf| match entry.strip_prefix("~") {
        Ok(rest) => home.as_ref().map(|home| home.join(rest)),
        Err(_) => Some(entry).filter(|entry| entry.is_absolute()),
    };
    let is_same_for_all = |entry: &PathBuf| !PathWay::of(entry, Entry::at).depends_on_process();
    std::env::split_paths(path).filter_map(absolute).filter(is_same_for_all).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_the_same_for_every_process_is_looked_in() {
        let link = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/proc/self/cwd", link.path().join("here")).unwrap();
        let path = format!(
            "/bin::.:bin:./bin:../bin:/proc/self/cwd:{}/here:/dev/fd:~/b:~:~x/b:~/b/..:/bin",
            link.path().display()
        );
        let expected = ["/bin", "/h/b", "/h", "/h/b/..", "/bin"].map(PathBuf::from);
        assert_eq!(directories_in(path.as_ref(), Some(Path::new("/h"))), expected);
        for home in [None, Some(Path::new("h"))] {
            assert_eq!(directories_in("~/b:/bin".as_ref(), home), [PathBuf::from("/bin")]);
        }
    }
}
