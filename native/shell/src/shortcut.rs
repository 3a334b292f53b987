//! Commands for which no shell has to be loaded.
//!
//! Most commands of agents are a program and plain words: `git status`, `cargo test -q`. For these, `bash -c` finds the
//! program on the `PATH` and becomes it. Doing that at once saves the time that bash takes to load, which is about as long
//! as all the rest.

use beamai_bash_reader::plain;
use beamai_port_tools::shell::Shell;
use beamai_process::Shortcut;
use beamai_tool::CallContext;
use std::ffi::OsString;
use std::path::PathBuf;

/// The program that bash would become. `None` where it would do more, and where it may: with variables of the caller's or
/// of the host's choice, of which bash knows many.
pub(super) fn shortcut(
    shell: &Shell,
    environment: &[(OsString, OsString)],
    cx: &CallContext,
) -> Option<Shortcut> {
    if shell.env.as_ref().is_some_and(|env| !env.is_empty()) || !cx.sandbox.env.is_empty() {
        return None;
    }
    let words = plain(&shell.command)?;
    let candidates = candidates(words[0], environment)?;
    Some(Shortcut { candidates, words: words.into_iter().map(OsString::from).collect() })
}

/// Where bash looks for a program: at the path that it is named by, else in the directories of the `PATH`, of which any that
/// is not absolute might mean something else to bash.
fn candidates(name: &str, environment: &[(OsString, OsString)]) -> Option<Vec<PathBuf>> {
    if name.contains('/') {
        return Some(vec![name.into()]);
    }
    let (_, path) = environment.iter().find(|(name, _)| name == "PATH")?;
    std::env::split_paths(path).map(|dir| dir.is_absolute().then(|| dir.join(name))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_looked_for_on_the_path_and_a_path_is_taken_as_it_is() {
        let environment = |path: &str| vec![("PATH".into(), path.into())];
        let paths = |names: &[&str]| Some(names.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(candidates("ls", &environment("/a:/b")), paths(&["/a/ls", "/b/ls"]));
        assert_eq!(candidates("./x", &environment("/a")), paths(&["./x"]));
        for path in ["/a:", "/a::/b", "bin:/a", "~/bin:/a", ""] {
            assert_eq!(candidates("ls", &environment(path)), None, "{path}");
        }
    }
}
