//! Known places of secrets: keys, tokens, sessions, mail, histories.
//!
//! [`places`] lists them all, whether they exist or not. [`present`] returns those that exist, with links resolved, the
//! targets of links in them, and what leads there. The sandbox hides these paths from commands and does not let them
//! remove the links. File tools refuse those that [`known`] returns.

mod table;

use beamai_base::{Entry, PathWay, is_of_programs, without_parents};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::FileType;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

/// How long a result of [`present`] is reused.
const FRESH: Duration = Duration::from_secs(1);
/// Maximum number of entries read in a directory of secrets, to find links that lead out of it.
const NAMES: usize = 1_000;

/// Secrets of the machine, and directories with the sockets of its services.
pub const OF_THE_MACHINE: [&str; 9] = [
    "/run",
    "/var/run",
    "/var/lib/docker",
    "/var/lib/containerd",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/ssl/private",
];

/// Directories of the system besides those of programs. They hold nobody's secrets: a place may have a link to a
/// program or to certificates there.
const OF_THE_SYSTEM: [&str; 5] = ["/dev", "/etc", "/opt", "/proc", "/sys"];

/// A tool, or several of a kind, that keeps secrets.
struct CredentialStore {
    #[cfg_attr(not(test), allow(dead_code, reason = "for readers of the table, and checked by tests"))]
    name: &'static str,
    #[cfg_attr(not(test), allow(dead_code, reason = "for readers of the table, and checked by tests"))]
    source: &'static str,
    places: &'static [(PathBase, &'static str)],
}

/// The base directory of a place.
#[derive(Debug, Clone, Copy)]
enum PathBase {
    /// The home directory.
    Home,
    /// `XDG_CONFIG_HOME`, and `.config`.
    Config,
    /// `XDG_DATA_HOME`, and `.local/share`.
    Data,
    /// `XDG_STATE_HOME`, and `.local/state`.
    State,
    /// `XDG_CACHE_HOME`, and `.cache`.
    Cache,
    /// The paths in a variable, and the default beneath the home directory.
    Named { variable: &'static str, otherwise: &'static str },
    /// The paths in a variable without a default.
    Only(&'static str),
}

impl PathBase {
    fn variable(self) -> Option<&'static str> {
        match self {
            Self::Home => None,
            Self::Config => Some("XDG_CONFIG_HOME"),
            Self::Data => Some("XDG_DATA_HOME"),
            Self::State => Some("XDG_STATE_HOME"),
            Self::Cache => Some("XDG_CACHE_HOME"),
            Self::Named { variable, .. } | Self::Only(variable) => Some(variable),
        }
    }

    fn otherwise(self) -> Option<&'static str> {
        match self {
            Self::Home => Some(""),
            Self::Config => Some(".config"),
            Self::Data => Some(".local/share"),
            Self::State => Some(".local/state"),
            Self::Cache => Some(".cache"),
            Self::Named { otherwise, .. } => Some(otherwise),
            Self::Only(_) => None,
        }
    }
}

/// Every known place of secrets for a home directory, whether it exists or not. If an environment variable names a place,
/// both that place and the default are included.
pub fn places(home: &Path) -> Vec<PathBuf> {
    places_with(home, |name| std::env::var_os(name).map(PathBuf::from))
}

fn places_with(home: &Path, variable: impl Fn(&'static str) -> Option<PathBuf>) -> Vec<PathBuf> {
    let mut all = Vec::with_capacity(1_000);
    for (base, path) in table::KEEPERS.iter().flat_map(|store| store.places) {
        // Joined component by component, so that an empty one adds no slash.
        let whole = |base: PathBuf| if path.is_empty() { base } else { base.join(path) };
        if let Some(named) = base.variable().and_then(&variable) {
            let named = std::env::split_paths(&named).filter(|named| named.is_absolute());
            all.extend(named.map(without_parents).map(whole));
        }
        all.extend(base.otherwise().map(|otherwise| whole(home.join(otherwise))));
    }
    all
}

/// The secrets of this user, as last determined.
#[derive(Debug, PartialEq)]
pub struct KnownSecrets {
    /// Every place, by its name. Not sorted: comparing hundreds of paths by their components would take longer than the
    /// rest.
    named: Vec<PathBuf>,
    present: Arc<PresentSecrets>,
}

/// The secrets that exist.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct PresentSecrets {
    /// Their paths with links resolved, and the targets of links in their directories, except in those of the system.
    pub paths: BTreeSet<PathBuf>,
    /// What leads there, by paths that have no link before the last name: links, and directories that a path leaves by `..`.
    pub steps: BTreeSet<PathBuf>,
    /// Whether a directory may not be listed or searched, so that what the links in it lead to is missing.
    is_incomplete: bool,
}

impl KnownSecrets {
    fn now() -> Self {
        let homes = homes();
        // A place that is, contains or leads to a whole home directory is left out.
        let is_apart = |path: &PathBuf| !homes.iter().any(|home| home.starts_with(path));
        let all: Vec<PathBuf> = homes.iter().flat_map(|home| places(home)).filter(is_apart).collect();
        let mut present = PresentSecrets::of(&all);
        present.paths.retain(is_apart);
        Self { named: all, present: Arc::new(present) }
    }

    /// The secrets as they are now, given those that were found before.
    fn after(before: Option<Arc<Self>>) -> Arc<Self> {
        let mut now = Self::now();
        let Some(before) = before else { return Arc::new(now) };
        if now.present.is_incomplete {
            Arc::make_mut(&mut now.present).keep(&before.present);
        }
        if *before == now { before } else { Arc::new(now) }
    }

    /// Applies `select` to every known place of secrets of this user and of the machine, and to the resolved paths of
    /// those that exist. Returns the results that are not `None`.
    pub fn all<T>(&self, select: impl Fn(&Path) -> Option<T>) -> Vec<T> {
        let of_user = self.named.iter().chain(&self.present.paths).map(PathBuf::as_path);
        of_user.chain(OF_THE_MACHINE.iter().map(Path::new)).filter_map(select).collect()
    }
}

/// The last result of a look, with its time.
static LAST: RwLock<Option<(Instant, Arc<KnownSecrets>)>> = RwLock::new(None);

fn last() -> Option<(Instant, Arc<KnownSecrets>)> {
    LAST.read().unwrap_or_else(PoisonError::into_inner).clone()
}

fn fresh() -> Option<Arc<KnownSecrets>> {
    last().filter(|(when, _)| when.elapsed() < FRESH).map(|(_, known)| known)
}

/// Whether [`known`] answers at once, without a look at the file system.
pub fn is_fresh() -> bool {
    fresh().is_some()
}

/// The secrets of this user. Refreshed after one second; the same value as before if nothing has changed.
pub fn known() -> Arc<KnownSecrets> {
    static LOOK: Mutex<()> = Mutex::new(());
    if let Some(known) = fresh() {
        return known;
    }
    let _alone = LOOK.lock().unwrap_or_else(PoisonError::into_inner);
    // Another thread may have looked in the meantime.
    if let Some(known) = fresh() {
        return known;
    }
    let known = KnownSecrets::after(last().map(|(_, known)| known));
    let looked = Some((Instant::now(), Arc::clone(&known)));
    *LAST.write().unwrap_or_else(PoisonError::into_inner) = looked;
    known
}

/// The secrets that exist. Refreshed after one second.
pub fn present() -> Arc<PresentSecrets> {
    Arc::clone(&known().present)
}

/// The home directories of this user, from the environment and from the system's user list.
pub fn homes() -> Vec<PathBuf> {
    let named = std::env::var_os("HOME").map(PathBuf::from);
    let all =
        named.into_iter().chain(listed_homes()).filter(|home| home.is_absolute() && home.parent().is_some());
    // Both as given and resolved, because paths occur in both forms.
    let resolved = |home: &PathBuf| Some(PathWay::of(&home.canonicalize().ok()?, Entry::at).end);
    let both = all.map(without_parents).flat_map(|home| [resolved(&home), Some(home)].into_iter().flatten());
    both.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The path of this user's own settings beneath a directory for settings (XDG base directory specification).
pub const OWN_SETTINGS: &str = "beamai/settings.json";

/// Where the own settings of this user can be, which the command line reads for all calls: beneath `XDG_CONFIG_HOME`,
/// and beneath `.config` in each home directory (XDG base directory specification).
pub fn own_settings() -> Vec<PathBuf> {
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let usual = homes().into_iter().map(|home| home.join(".config"));
    config.into_iter().chain(usual).map(|config| config.join(OWN_SETTINGS)).collect()
}

/// Those of the list of users, which may have several entries for one user (passwd(5)).
fn listed_homes() -> Vec<PathBuf> {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let list = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let fields = list.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let own = fields.filter(|fields| fields.get(2) == Some(&&*uid));
    own.filter_map(|fields| fields.get(5).map(PathBuf::from)).collect()
}

impl PresentSecrets {
    fn of(places: &[PathBuf]) -> Self {
        let mut all = Self::default();
        for place in places {
            // Few of them exist, and resolving one that does not costs a system call for each directory above it.
            if place.symlink_metadata().is_err_and(|error| error.kind() != ErrorKind::PermissionDenied) {
                continue;
            }
            let Some((real, kind)) = all.add(place) else { continue };
            if kind.is_dir() {
                all.add_links_in(&real);
            }
        }
        all
    }

    fn add_links_in(&mut self, directory: &Path) {
        let Ok(entries) = std::fs::read_dir(directory) else {
            self.is_incomplete = true;
            return;
        };
        let entries = entries.flatten().take(NAMES);
        let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
        let links = links.map(|link| link.path()).filter(|link| !leads_to_system(link));
        links.for_each(|link| _ = self.add(&link));
    }

    /// Adds the secrets that were known before. A command may have closed a directory that leads to them.
    fn keep(&mut self, before: &Self) {
        self.paths.extend(before.paths.iter().cloned());
        self.steps.extend(before.steps.iter().cloned());
    }

    /// Adds what a path leads to, or a directory on the way that may not be searched: its owner can change that in a
    /// command. Returns it, if it can hold secrets.
    fn add(&mut self, path: &Path) -> Option<(PathBuf, FileType)> {
        let real = match path.canonicalize() {
            Ok(real) => real,
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                self.is_incomplete = true;
                closed(&PathWay::of(path, Entry::at))?.to_owned()
            }
            Err(_) => return None,
        };
        let kind = holds(&real)?;
        if real != path {
            self.steps.extend(PathWay::of(path, Entry::at).turns().map(Path::to_owned));
        }
        // The directory may spell it otherwise.
        self.paths.extend([PathWay::of(&real, Entry::at).end, real.clone()]);
        Some((real, kind))
    }
}

/// The directory on a way that may not be searched, so that nobody knows what lies in it.
fn closed(way: &PathWay) -> Option<&Path> {
    way.end.ancestors().skip(1).find(|above| above.symlink_metadata().is_ok())
}

/// What lies at a path that can hold secrets. A variable or a link may name `/dev/null` or a directory of the system
/// instead.
fn holds(real: &Path) -> Option<FileType> {
    let kind = std::fs::symlink_metadata(real).ok()?.file_type();
    ((kind.is_file() || kind.is_dir()) && depth(real) >= 2).then_some(kind)
}

fn leads_to_system(link: &Path) -> bool {
    link.canonicalize().is_ok_and(|real| is_of_system(&real))
}

/// Whether a path without links lies in a directory of the system, such as `/usr`.
pub fn is_of_system(path: &Path) -> bool {
    is_of_programs(path) || OF_THE_SYSTEM.iter().any(|top| path.starts_with(top))
}

fn depth(path: &Path) -> usize {
    path.components().filter(|part| matches!(part, Component::Normal(_))).count()
}

/// Contents of stand-ins for files that must not be empty.
pub const EMPTIED: [&str; 4] = ["<settings/>\n", "<settingsSecurity/>\n", "<configuration/>\n", "{}\n"];

/// The contents that make programs treat a file of secrets as having none: one of [`EMPTIED`], or nothing.
pub fn emptied(name: &OsStr) -> &'static str {
    let [settings, security, configuration, object] = EMPTIED;
    match name.to_str() {
        Some("settings.xml") => settings,
        Some("settings-security.xml" | "settings-security4.xml") => security,
        Some("NuGet.Config") => configuration,
        Some(name) if name.ends_with(".json") => object,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn every_keeper_has_a_name_a_source_and_places_that_are_relative() {
        for store in table::KEEPERS {
            assert!(!store.name.is_empty() && !store.source.is_empty() && !store.places.is_empty());
            for (base, path) in store.places {
                let is_plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
                assert!(is_plain && !path.ends_with('/'), "{}: {path}", store.name);
                assert!(
                    !path.is_empty() || matches!(base, PathBase::Named { .. } | PathBase::Only(_)),
                    "{}: {path}",
                    store.name
                );
            }
        }
        assert!(places(Path::new("/home/a")).len() > 400);
    }

    #[test]
    fn no_place_is_a_whole_home_or_a_directory_that_toolchains_live_in() {
        let home = Path::new("/home/a");
        let kept = [
            "",
            ".config",
            ".local",
            ".local/share",
            ".local/state",
            ".cache",
            ".cargo",
            ".cargo/bin",
            ".rustup",
            ".m2",
            ".m2/repository",
            ".gradle",
            ".gradle/caches",
            ".npm",
            ".nvm",
            ".pyenv",
            ".rbenv",
            ".asdf",
            ".hex/packages",
            ".mix",
            ".cache/pip",
            ".cache/uv",
            ".gem/ruby",
            ".nuget/packages",
            ".local/share/pnpm",
            ".bun/bin",
            "go",
            ".gitconfig",
            ".config/git/config",
            ".cache/rebar3",
            ".config/rebar3",
            ".conan2/p",
            ".claude/skills",
        ];
        for place in places_with(home, |_| None) {
            assert!(!kept.iter().any(|kept| home.join(kept).starts_with(&place)), "{}", place.display());
        }
    }

    #[test]
    fn variables_name_further_places() {
        let named = |name| match name {
            "XDG_CONFIG_HOME" => Some("/x/config".into()),
            "KUBECONFIG" => Some("/k/one:/k/two".into()),
            "KRB5CCNAME" => Some("FILE:/k/tickets".into()),
            "CARGO_HOME" => Some("relative".into()),
            _ => None,
        };
        let all: BTreeSet<_> = places_with(Path::new("/home/a"), named).into_iter().collect();
        for path in [
            "/x/config/gh",
            "/home/a/.config/gh",
            "/k/one",
            "/k/two",
            "/k/tickets",
            "/home/a/.cargo/credentials.toml",
        ] {
            assert!(all.contains(Path::new(path)), "{path}");
        }
        assert!(!all.iter().any(|path| path.is_relative()));
    }

    #[test]
    fn what_links_lead_to_is_present_and_what_lies_elsewhere_by_chance_is_not() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        for dir in ["dotfiles/ssh", "keys", ".gnupg", "empty"] {
            fs::create_dir_all(home.join(dir)).unwrap();
        }
        fs::write(home.join("keys/signing"), "SECRET").unwrap();
        symlink("dotfiles/ssh", home.join(".ssh")).unwrap();
        symlink("../keys/signing", home.join(".gnupg/signing")).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join("key"), "SECRET").unwrap();
        symlink(elsewhere.path().join("key"), home.join(".gnupg/key")).unwrap();
        symlink("/var/lib", home.join(".gnupg/lib")).unwrap();
        for (name, target) in
            [("hosts", "/etc/hosts"), ("null", "/dev/null"), ("sh", "/bin/sh"), ("var", "/var")]
        {
            symlink(target, home.join(".gnupg").join(name)).unwrap();
        }
        symlink("/dev/null", home.join(".bash_history")).unwrap();
        symlink("gone", home.join(".netrc")).unwrap();
        let found = PresentSecrets::of(&places_with(&home, |_| None));
        let elsewhere = elsewhere.path().canonicalize().unwrap();
        let within = |paths: &[&str]| paths.iter().map(|path| home.join(path)).collect::<Vec<_>>();
        let mut expected = within(&[".gnupg", "dotfiles/ssh", "keys/signing"]);
        expected.extend([elsewhere.join("key"), PathBuf::from("/var/lib")]);
        assert_eq!(found.paths, BTreeSet::from_iter(expected));
        let steps = within(&[".gnupg", ".gnupg/key", ".gnupg/lib", ".gnupg/signing", ".ssh"]);
        assert_eq!(found.steps, BTreeSet::from_iter(steps));
    }

    #[test]
    fn the_home_of_the_list_of_users_counts_too() {
        assert!(listed_homes().first().is_some_and(|home| home.is_absolute()));
    }
}
