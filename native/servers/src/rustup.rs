//! Detects rustup proxies: programs that are on the `PATH` even if the component behind them is not installed.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Whether the file is a rustup proxy for a component that no toolchain has.
pub(super) fn is_hollow(file: &Path) -> bool {
    let Some(name) = file.file_name() else { return false };
    is_proxy(file) && !toolchains().iter().any(|toolchain| toolchain.join("bin").join(name).is_file())
}

/// Proxies are links to the program `rustup` in the same directory, hard or symbolic.
fn is_proxy(file: &Path) -> bool {
    let (Ok(own), Ok(rustup)) = (fs::metadata(file), fs::metadata(file.with_file_name("rustup"))) else {
        return false;
    };
    (own.dev(), own.ino()) == (rustup.dev(), rustup.ino())
}

/// The toolchain directories: <https://rust-lang.github.io/rustup/installation/index.html>.
fn toolchains() -> Vec<PathBuf> {
    let own = std::env::var_os("RUSTUP_HOME").map(PathBuf::from);
    let usual = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".rustup"));
    let Some(home) = own.or_else(usual) else { return vec![] };
    let entries = fs::read_dir(home.join("toolchains")).into_iter().flatten();
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_to_rustup_is_a_proxy_and_another_program_is_not() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = |name: &str| dir.path().join(name);
        fs::write(file("rustup"), "#!/bin/sh\n").unwrap();
        fs::write(file("clangd"), "#!/bin/sh\n").unwrap();
        fs::hard_link(file("rustup"), file("no-such-component")).unwrap();
        symlink("rustup", file("no-such-one-either")).unwrap();
        let hollow = ["clangd", "no-such-component", "no-such-one-either", "nothing"];
        assert_eq!(hollow.map(|name| is_hollow(&file(name))), [false, true, true, false]);
    }
}
