//! Programs of rustup, which are there before what they stand for is installed.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whether a program is one of rustup's proxies, and no toolchain has what it would start.
pub(super) fn is_idle(program: &Path) -> bool {
    is_proxy(program)
        && !toolchains().any(|toolchain| is_in(&toolchain, program.file_name().unwrap_or_default()))
}

/// A proxy is rustup by another name: the same file, linked in either way.
fn is_proxy(program: &Path) -> bool {
    let file = |path: &Path| std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()));
    let rustup = program.with_file_name("rustup");
    program != rustup && file(program).is_some_and(|of| file(&rustup) == Some(of))
}

fn toolchains() -> impl Iterator<Item = PathBuf> {
    let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".rustup"));
    let rustup = std::env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(home);
    let entries = rustup.and_then(|rustup| std::fs::read_dir(rustup.join("toolchains")).ok());
    entries.into_iter().flatten().flatten().map(|entry| entry.path())
}

fn is_in(toolchain: &Path, name: &OsStr) -> bool {
    toolchain.join("bin").join(name).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_rustup_by_another_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("rustup"), "x").unwrap();
        std::fs::hard_link(path("rustup"), path("hard")).unwrap();
        std::os::unix::fs::symlink("rustup", path("soft")).unwrap();
        std::fs::write(path("own"), "x").unwrap();
        let proxies = ["rustup", "hard", "soft", "own", "missing"].map(|name| is_proxy(&path(name)));
        assert_eq!(proxies, [false, true, true, false, false]);
        // No toolchain has a program of that name.
        assert!(is_idle(&path("hard")) && !is_idle(&path("own")));
    }

    #[test]
    fn a_toolchain_has_its_programs_in_bin() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("bin")).unwrap();
        std::fs::write(dir.path().join("bin/rust-analyzer"), "").unwrap();
        assert!(is_in(dir.path(), OsStr::new("rust-analyzer")) && !is_in(dir.path(), OsStr::new("rls")));
    }
}
