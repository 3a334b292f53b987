//! Applets of busybox and toybox. Many applets, such as the shell, `find` and `env`, can run another applet in their
//! own process, without an `execve` that the exec guard sees. So only the applets of a short list are judged by their
//! words. Any other applet may be any program.

use super::called::{base_name, whole};
use super::program_rule::files_of_name;
use beamai_bash_reader::{Analysis, is_plain_applet, started, system_name};
use beamai_isolation::FileIdentity;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const MULTIPLE: [&str; 2] = ["busybox", "toybox"];

/// How long the files of these names are not looked up again.
const FRESH: Duration = Duration::from_secs(1);

/// The applet that a program of many names runs.
pub(super) struct Applet {
    /// Its name and its arguments, as far as they are known.
    words: Vec<String>,
    is_all: bool,
}

impl Applet {
    /// `names` are the paths of the program, the called one first, and `argued` is the name that it is given. `None`
    /// for another program, and for one that the system calls by the applet's name, as where its `sh` is busybox: that
    /// one starts programs by `execve`.
    pub(super) fn of(
        names: &[String],
        identity: Option<FileIdentity>,
        argued: Option<&str>,
        given: impl FnOnce() -> Vec<String>,
        is_all: bool,
    ) -> Option<Self> {
        // It may be a hard link, which has no name in common with it.
        if !names.iter().any(|name| is_multiple(name)) && !identity.is_some_and(is_multiple_file) {
            return None;
        }
        let given = given();
        let known = whole(&given, is_all).to_vec();
        let words = match argued.map(base_name).filter(|name| !is_multiple(name)) {
            Some(name) if names.first().and_then(|path| system_name(path)) == Some(name) => return None,
            Some(name) => [vec![name.to_owned()], known].concat(),
            None => known,
        };
        Some(Self { words, is_all })
    }

    /// The words of the program that it is; `None` if that may be any.
    pub(super) fn plain(&self) -> Option<&[String]> {
        self.words.first().filter(|name| is_plain_applet(name)).map(|_| &*self.words)
    }

    /// What it is as a command; `None` if it may be any, or not all of its words are known.
    pub(super) fn read(&self) -> Option<Analysis> {
        self.plain().filter(|_| self.is_all).map(started)
    }
}

/// Whether a program of this name chooses an applet by its first argument. Both programs look only at the beginning of
/// their name.
fn is_multiple(name: &str) -> bool {
    MULTIPLE.iter().any(|multiple| base_name(name).starts_with(multiple))
}

/// Whether a file is such a program of the system.
fn is_multiple_file(identity: FileIdentity) -> bool {
    static FILES: Mutex<Option<(Instant, Vec<FileIdentity>)>> = Mutex::new(None);
    let mut files = FILES.lock().unwrap_or_else(PoisonError::into_inner);
    if files.as_ref().is_none_or(|(since, _)| since.elapsed() >= FRESH) {
        *files = Some((Instant::now(), MULTIPLE.iter().flat_map(|name| files_of_name(name)).collect()));
    }
    files.as_ref().is_some_and(|(_, files)| files.contains(&identity))
}
