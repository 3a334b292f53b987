//! The environment variables of processes: none that could be secret.

use beamai_base::{directories_in, without_parents};
use beamai_bash_reader::is_read_as_written;
use beamai_isolation::{PASSED, SandboxMode, SandboxSettings, Tier};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

type Variable = (OsString, OsString);

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
    let home = std::env::home_dir();
    let listed = sandbox.env.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let listed = listed.filter_map(|each| as_meant(each, home.as_deref()));
    for (name, value) in listed.chain(own) {
        all.retain(|(known, _)| *known != name);
        all.push((name, value));
    }
    all
}

fn passed(host: impl Iterator<Item = Variable>) -> Vec<Variable> {
    let host: Vec<Variable> = host.filter(|each| is_passed(&each.0)).collect();
    let home = host.iter().find(|(name, _)| name == "HOME").map(|(_, value)| PathBuf::from(value));
    let mut passed: Vec<Variable> =
        host.into_iter().filter_map(|each| as_meant(each, home.as_deref())).collect();
    if !passed.iter().any(|(name, _)| name == "PATH") {
        passed.push(("PATH".into(), DEFAULT_PATH.into()));
    }
    passed.push(("TERM".into(), "dumb".into()));
    passed
}

/// A variable of the host as rules, file tools and the parser of commands mean it; `None` if they cannot mean what it says.
fn as_meant((name, value): Variable, home: Option<&Path>) -> Option<Variable> {
    let value = match name.to_str() {
        // The places of secrets in a home directory are known only if its path is absolute. Rules that name it are
        // about the directory that it was when the host started, also where it leads through a link which a command
        // could exchange.
        Some("HOME") => Some(value)
            .filter(|value| Path::new(value).is_absolute())
            .map(|value| without_parents(value.into()).into()),
        Some("PATH") => {
            std::env::join_paths(directories_in(&value, home)).ok().filter(|path| !path.is_empty())
        }
        Some("LC_ALL" | "LC_CTYPE" | "LANG") => {
            Some(value).filter(|value| value.to_str().is_some_and(is_read_as_written))
        }
        _ => Some(value),
    };
    Some((name, value?))
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
    fn programs_are_looked_for_in_absolute_directories_alone() {
        let path = |path: &str| {
            let all = passed(pairs(&[("PATH", path), ("HOME", "/h")]).into_iter());
            all.into_iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.into_string().unwrap())
        };
        assert_eq!(path("~/bin:./x::/bin:/proc/self/cwd"), Some("/h/bin:/bin".to_owned()));
        assert_eq!(path(".:"), Some(DEFAULT_PATH.to_owned()));
    }

    #[test]
    fn a_locale_in_which_bash_reads_other_characters_than_the_parser_is_not_passed_on() {
        for (locale, is_passed) in [
            ("C", true),
            ("", true),
            ("POSIX", true),
            ("de_DE.UTF-8", true),
            ("C.utf8", true),
            ("UTF-8", true),
            ("ca_ES.utf8@valencia", true),
            ("ja_JP", false),
            ("ja_JP.SJIS", false),
            ("zh_CN.GBK", false),
            ("de_DE@euro", false),
            ("de_DE.utf8x", false),
        ] {
            for variable in ["LANG", "LC_ALL", "LC_CTYPE"] {
                let all = passed(pairs(&[(variable, locale)]).into_iter());
                assert_eq!(all.iter().any(|(name, _)| name == variable), is_passed, "{variable} {locale}");
            }
        }
        assert!(passed(pairs(&[("LC_TIME", "de_DE")]).into_iter()).iter().any(|(name, _)| name == "LC_TIME"));
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
