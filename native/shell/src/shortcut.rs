//! Commands that need no shell.
//!
//! Most commands of agents are a program and plain words: `git status`, `cargo test -q`. For these, `bash -c` finds the
//! program on the `PATH` and executes it in place of itself. Executing it directly saves the time that bash takes to
//! load, about half of the total.

use beamai_bash_reader::plain;
use beamai_port_tools::shell::Shell;
use beamai_process::Shortcut;
use beamai_tool::CallContext;
use std::ffi::OsString;
use std::path::PathBuf;

/// The program that bash would execute. `None` if bash would do more, or might: with variables of the caller's or of
/// the host's choice, many of which bash interprets.
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

/// The paths that bash would try: the name itself if it has a slash, otherwise the directories of the `PATH`. `None` if
/// the `PATH` has a relative entry, which bash might resolve differently.
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
