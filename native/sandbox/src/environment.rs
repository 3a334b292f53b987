//! The environment variables of processes: none that could be secret.

use beamai_base::without_parents;
use beamai_isolation::{SandboxMode, SandboxSettings, Tier};
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::LazyLock;

type Variable = (OsString, OsString);

/// Variables that are passed on, besides those that start with `LC_`.
const PASSED: [&str; 7] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "LANG"];

/// The PATH if the host has none.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The host's environment does not change while the program runs.
static INHERITED: LazyLock<Vec<Variable>> = LazyLock::new(|| passed(std::env::vars_os()));

/// The complete environment of a process: the passed-on variables, `TERM=dumb`, `TMPDIR` with the session's temporary
/// directory if there is one, the host's variables that the sandbox settings list, and finally the process's own
/// variables.
///
/// The home directory is read-only in a sandbox, so caches are redirected to the session's directory.
pub fn environment(
    temp: Option<&Path>,
    sandbox: &SandboxSettings,
    own: impl Iterator<Item = Variable>,
) -> Vec<Variable> {
    let mut all = INHERITED.clone();
    all.extend(temp.map(|temp| ("TMPDIR".into(), temp.into())));
    let private = match (sandbox.mode, sandbox.tier) {
        (SandboxMode::Off, _) => None,
        // Without mounts, this directory is shared with other users.
        (SandboxMode::BestEffort, _) | (_, Tier::Landlock) => temp,
        (SandboxMode::Required, Tier::Full) => temp.or(Some(Path::new("/tmp"))),
    };
    all.extend(private.map(|place| ("XDG_CACHE_HOME".into(), place.join(".cache").into())));
    let listed = sandbox.env.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    for (name, value) in listed.chain(own) {
        all.retain(|(known, _)| *known != name);
        all.push((name, value));
    }
    all
}

fn passed(host: impl Iterator<Item = Variable>) -> Vec<Variable> {
    // The places of secrets in a home directory are known only if its path is absolute. Rules that name it are about the directory that
    // it was when the host started, also where it leads through a link which a command could exchange.
    let known = |(name, value): Variable| match name == "HOME" {
        true if !Path::new(&value).is_absolute() => None,
        true => Some((name, without_parents(value.into()).into())),
        false => Some((name, value)),
    };
    let mut passed: Vec<Variable> = host.filter(|each| is_passed(&each.0)).filter_map(known).collect();
    if !passed.iter().any(|(name, _)| name == "PATH") {
        passed.push(("PATH".into(), DEFAULT_PATH.into()));
    }
    passed.push(("TERM".into(), "dumb".into()));
    passed
}

fn is_passed(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| PASSED.contains(&name) || name.starts_with("LC_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(pairs: &[(&str, &str)]) -> Vec<Variable> {
        pairs.iter().map(|(name, value)| (name.into(), value.into())).collect()
    }

    #[test]
    fn only_what_is_listed_is_passed_on() {
        let host = pairs(&[
            ("API_KEY", "s"),
            ("LC_ALL", "C"),
            ("PATH", "/bin"),
            ("TERM", "xterm"),
            ("LD_PRELOAD", "x"),
        ]);
        assert_eq!(passed(host.into_iter()), pairs(&[("LC_ALL", "C"), ("PATH", "/bin"), ("TERM", "dumb")]));
    }

    #[test]
    fn a_relative_home_is_not_passed_on() {
        for (home, is_passed) in [("/h", true), ("h", false), ("../h", false), ("", false)] {
            let all = passed(pairs(&[("HOME", home)]).into_iter());
            assert_eq!(all.iter().any(|(name, _)| name == "HOME"), is_passed, "{home}");
        }
    }

    #[test]
    fn a_host_without_a_path_has_a_usual_one() {
        assert_eq!(passed(pairs(&[]).into_iter())[0], ("PATH".into(), DEFAULT_PATH.into()));
    }

    #[test]
    fn in_a_sandbox_caches_go_where_only_the_session_writes() {
        let cache = |temp: Option<&str>, mode: SandboxMode| {
            let all = environment(temp.map(Path::new), &mode.into(), std::iter::empty());
            all.into_iter().find(|(name, _)| name == "XDG_CACHE_HOME").map(|(_, value)| value)
        };
        assert_eq!(cache(None, SandboxMode::Required), Some("/tmp/.cache".into()));
        assert_eq!(cache(Some("/t"), SandboxMode::BestEffort), Some("/t/.cache".into()));
        assert_eq!(cache(None, SandboxMode::BestEffort), None);
        assert_eq!(cache(Some("/t"), SandboxMode::Off), None);
    }

    #[test]
    fn the_commands_own_variables_win() {
        let all = environment(
            Some(Path::new("/t")),
            &SandboxMode::Off.into(),
            pairs(&[("TMPDIR", "/mine"), ("X", "1")]).into_iter(),
        );
        let value = |wanted: &str| {
            all.iter().filter(|(name, _)| name == wanted).map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(value("TMPDIR"), ["/mine"]);
        assert_eq!(value("X"), ["1"]);
    }
}
