//! Applets of busybox and toybox. Their shell, `find` and `xargs` run other applets in their own process, where no `execve` shows them. So
//! all of their words are judged as they start.

use super::called::whole;
use beamai_bash_reader::{Analysis, Invocation, is_shell, started, system_name};

/// The applet that a program of many names runs.
pub(super) struct Applet {
    /// Its name and its arguments, as far as they are known.
    words: Vec<String>,
    is_all: bool,
}

impl Applet {
    /// `names` are the paths of the program, the called one first, and `argued` is the name that it is given. `None` for another program,
    /// and for one that the system calls by the applet's name, as where its `sh` is busybox: that one starts programs by `execve`.
    pub(super) fn of(
        names: &[String],
        argued: Option<&str>,
        given: impl FnOnce() -> Vec<String>,
        is_all: bool,
    ) -> Option<Self> {
        if !names.iter().any(|name| is_multiple(name)) {
            return None;
        }
        let given = given();
        let known = whole(&given, is_all).iter();
        let name = argued.map(|name| base(name).trim_start_matches('-')).filter(|name| !is_multiple(name));
        let words = match name {
            Some(name) if names.first().and_then(|path| system_name(path)) == Some(name) => return None,
            Some(name) => [name.to_owned()].into_iter().chain(known.cloned()).collect(),
            None => known.skip_while(|text| text.starts_with('-')).cloned().collect(),
        };
        Some(Self { words, is_all })
    }

    /// The programs that it is and runs; `None` is one that may be any.
    pub(super) fn programs(&self) -> Vec<Option<Invocation>> {
        let found = started(&self.words);
        let unknown = (!self.is_known(&found)).then_some(None);
        found.programs.into_iter().map(Some).chain(unknown).collect()
    }

    /// What it runs beside itself, if that is all known.
    pub(super) fn inner(&self) -> Option<Analysis> {
        let mut found = started(&self.words);
        let is_own = |program: &Invocation| {
            program.words.len() == self.words.len() && program.name().as_ref() == self.words.first()
        };
        if !self.is_known(&found) || !found.opens_nothing() {
            return None;
        }
        let own = found.programs.iter().position(is_own)?;
        found.programs.remove(own);
        Some(found)
    }

    /// Whether its words show all that it runs. Those of a shell with a script do not.
    fn is_known(&self, found: &Analysis) -> bool {
        let runs_script = found.programs.len() < 2 && self.words.first().is_some_and(|name| is_shell(name));
        self.is_all && found.is_certain() && !runs_script
    }
}

fn is_multiple(name: &str) -> bool {
    ["busybox", "toybox"].contains(&base(name))
}

fn base(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}
