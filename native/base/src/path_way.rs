//! How a path is resolved: what lies at each name of it, and where its links lead.

use super::program_directories::program_directories;
use super::spelling;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;
use std::time::SystemTime;

/// Maximum number of links that the Linux kernel follows in a path.
const MOST_LINKS: usize = 40;

/// Where programs and libraries lie.
const OF_PROGRAMS: [&str; 9] = ["/bin", "/gnu", "/lib", "/lib32", "/lib64", "/nix", "/sbin", "/snap", "/usr"];

/// Other directories without which hardly any command works.
const OF_ALL_COMMANDS: [&str; 5] = ["/etc", "/opt", "/run", "/tmp", "/var"];

/// What programs read in `/etc` whatever they do. Every user may read it.
const SETTINGS_OF_ALL: [&str; 9] = [
    "/etc/alternatives",
    "/etc/group",
    "/etc/hosts",
    "/etc/ld.so.cache",
    "/etc/ld.so.preload",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/etc/resolv.conf",
    "/etc/ssl/certs",
];

/// Directories of programs in the `PATH`, without links.
static OF_PATH: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    program_directories().iter().filter_map(|directory| directory.canonicalize().ok()).collect()
});

/// What links in these directories lead to, as those of package managers do.
static LINKED_PROGRAMS: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let directories = OF_PATH.iter().filter(|directory| !is_of_programs(directory));
    let entries = directories.filter_map(|directory| directory.read_dir().ok()).flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.filter_map(|link| link.path().canonicalize().ok()).filter(|end| !is_of_programs(end)).collect()
});

/// The home directory and that of temporary files, without links.
static OF_USER: LazyLock<Vec<PathBuf>> = LazyLock::new(|| {
    let all = [std::env::home_dir(), Some(std::env::temp_dir())];
    all.into_iter().flatten().filter_map(|directory| directory.canonicalize().ok()).collect()
});

/// The way that an absolute path takes.
#[derive(Debug)]
pub struct PathWay {
    /// The names that are looked up, in order, as their directories spell them.
    pub steps: Vec<PathStep>,
    /// The directories that it leaves by `..`, without links.
    pub left: Vec<PathBuf>,
    /// Where it leads: absolute, and without links. It may not exist.
    pub end: PathBuf,
}

/// An absolute path without `..`: as it is if it has none, and otherwise where it leads now, as far as that exists.
pub fn without_parents(path: PathBuf) -> PathBuf {
    match path.components().any(|part| part == Component::ParentDir) {
        true => PathWay::of(&path, Entry::at).end,
        false => path,
    }
}

/// One name on the way.
#[derive(Debug)]
pub struct PathStep {
    /// Absolute, and without links but possibly the last name.
    pub path: PathBuf,
    /// What lies there.
    pub entry: Entry,
}

/// What lies at a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    /// Nothing, or nothing that this process may look up.
    Nothing,
    /// A directory.
    Directory,
    /// A symbolic link, with its target.
    Link(OsString),
    /// A file, a socket, a device.
    Other,
}

impl PathWay {
    /// The way of an absolute path. `entry_at` says what lies at a path whose directories are without links:
    /// [`Entry::at`], or what lay there before.
    pub fn of(path: &Path, entry_at: impl Fn(&Path) -> Entry) -> Self {
        let mut rest = names(path);
        let mut way = Self { steps: Vec::new(), left: Vec::new(), end: PathBuf::from("/") };
        let mut followed = 0;
        while let Some(name) = rest.pop() {
            match Path::new(&name).components().next() {
                None | Some(Component::CurDir | Component::Prefix(_)) => {}
                Some(Component::RootDir) => way.end = PathBuf::from("/"),
                Some(Component::ParentDir) => {
                    way.left.push(way.end.clone());
                    way.end.pop();
                }
                Some(Component::Normal(name)) => {
                    let entry = entry_at(&way.end.join(name));
                    let name = match entry {
                        Entry::Nothing => name.to_owned(),
                        _ => spelling::listed_at(&way.end, name),
                    };
                    let path = way.end.join(&name);
                    match &entry {
                        Entry::Link(target) if followed < MOST_LINKS => {
                            followed += 1;
                            rest.extend(names(Path::new(target)));
                        }
                        _ => way.end.push(name),
                    }
                    way.steps.push(PathStep { path, entry });
                }
            }
        }
        way
    }

    /// The way of an absolute path without `..` if it leads elsewhere: through links as they are now, or to names that their
    /// directories spell otherwise.
    pub fn leading_elsewhere(path: &Path) -> Option<Self> {
        if surely_leads_nowhere_else(path) {
            return None;
        }
        let way = Self::of(path, Entry::at);
        (way.links().next().is_some() || way.end != path).then_some(way)
    }

    /// The paths of the links on it, in order.
    pub fn links(&self) -> impl Iterator<Item = &Path> {
        let links = self.steps.iter().filter(|step| matches!(step.entry, Entry::Link(_)));
        links.map(|step| step.path.as_path())
    }

    /// Where it turns: its links, and the directories that it leaves by `..`. Without one of them, it leads nowhere.
    pub fn turns(&self) -> impl Iterator<Item = &Path> {
        self.links().chain(self.left.iter().map(PathBuf::as_path))
    }

    /// Whether it leads through `/proc` or `/dev`, where a name such as `/proc/self/cwd` is another place for each process.
    pub fn depends_on_process(&self) -> bool {
        self.steps.iter().any(|step| ["/proc", "/dev"].iter().any(|top| step.path.starts_with(top)))
    }

    /// Whether it leads to what every command needs: the workspace, the home directory, that of temporary files,
    /// directories above these, a whole directory of the system; programs and libraries, and files that all programs
    /// read; or nowhere in particular. Who can make a link must not decide about these by one.
    pub fn is_needed_by_commands(&self, workspace: &Path) -> bool {
        let end = &*self.end;
        let of_path = || OF_PATH.iter().map(PathBuf::as_path).filter(|own| !own.starts_with(workspace));
        let linked =
            || LINKED_PROGRAMS.iter().map(PathBuf::as_path).filter(|own| !own.starts_with(workspace));
        let settings = || SETTINGS_OF_ALL.iter().map(Path::new);
        let whole = || {
            let of_system = OF_ALL_COMMANDS.iter().map(Path::new).chain(settings());
            of_system.chain(OF_USER.iter().map(PathBuf::as_path)).chain(of_path()).chain(linked())
        };
        workspace.starts_with(end)
            || is_of_programs(end)
            || self.depends_on_process()
            || self.links().count() > MOST_LINKS
            || whole().any(|needed| needed.starts_with(end))
            || settings().any(|needed| end.starts_with(needed))
            || of_path().any(|directory| end.parent() == Some(directory)) && is_executable(end)
    }

    /// Whether it leads to a `.git` or into one.
    pub fn is_in_repository(&self) -> bool {
        self.end.components().any(|part| part.as_os_str() == ".git")
    }

    /// Whether anything lies at its end.
    pub fn exists(&self) -> bool {
        self.steps.last().is_none_or(|step| step.entry != Entry::Nothing)
    }

    /// Whether a directory lies at its end.
    pub fn is_directory(&self) -> bool {
        self.steps.last().is_none_or(|step| step.entry == Entry::Directory)
    }
}

/// Whether a path without links lies where programs and libraries do, such as `/usr`.
pub fn is_of_programs(path: &Path) -> bool {
    OF_PROGRAMS.iter().any(|top| path.starts_with(top))
}

fn is_executable(file: &Path) -> bool {
    file.symlink_metadata().is_ok_and(|found| found.is_file() && found.mode() & 0o111 != 0)
}

/// Device and inode number of what lies at a path, a link included; zeros if nothing does.
pub fn identity_at(path: &Path) -> (u64, u64) {
    std::fs::symlink_metadata(path).map_or((0, 0), |found| (found.dev(), found.ino()))
}

/// Device and inode number of what lies at a path, a link included, and the time of its creation, because the number
/// may be used again.
pub type EntryIdentity = (u64, u64, Option<SystemTime>);

/// The identity of what lies at a path; zeros if nothing does.
pub fn entry_identity(path: &Path) -> EntryIdentity {
    let created = path.symlink_metadata().and_then(|found| found.created()).ok();
    let (device, inode) = identity_at(path);
    (device, inode, created)
}

/// Whether the kernel says that no link is on a path, in one call instead of one for each name.
#[cfg(target_os = "linux")]
fn surely_leads_nowhere_else(path: &Path) -> bool {
    use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(found) => spelling::is_local(found),
        // The kernel has come upon no link, but its directories may be spelled otherwise.
        Err(rustix::io::Errno::NOENT) => path.parent().is_none_or(surely_leads_nowhere_else),
        Err(_) => false,
    }
}

#[cfg(not(target_os = "linux"))]
fn surely_leads_nowhere_else(_: &Path) -> bool {
    false
}

/// The components of a path, the last one first.
fn names(path: &Path) -> Vec<OsString> {
    path.components().rev().map(|part| part.as_os_str().to_owned()).collect()
}

impl Entry {
    /// What lies at a path now.
    pub fn at(path: &Path) -> Self {
        let Ok(found) = std::fs::symlink_metadata(path) else { return Self::Nothing };
        match (found.is_dir(), found.is_symlink()) {
            (true, _) => Self::Directory,
            (_, true) => std::fs::read_link(path).map_or(Self::Nothing, |to| Self::Link(to.into())),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn way(path: impl AsRef<Path>) -> PathWay {
        PathWay::of(path.as_ref(), Entry::at)
    }

    #[test]
    fn links_on_the_way_are_found_in_order_and_a_circle_ends() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("dotfiles/v2/ssh")).unwrap();
        symlink("v2", home.join("dotfiles/current")).unwrap();
        symlink("ssh", home.join(".ssh")).unwrap();
        symlink("dotfiles/../dotfiles/current/ssh", home.join("ssh")).unwrap();
        symlink("circle", home.join("circle")).unwrap();
        symlink(&home, home.join("dotfiles/home")).unwrap();
        let links = |path: &str| {
            let way = way(home.join(path));
            let within = way.links().map(|link| link.strip_prefix(&home).unwrap().to_owned());
            within.collect::<Vec<_>>()
        };
        assert_eq!(links(".ssh/key"), [".ssh", "ssh", "dotfiles/current"].map(PathBuf::from));
        let key = way(home.join("dotfiles/home/.ssh/key"));
        assert_eq!(key.end, home.join("dotfiles/v2/ssh/key"));
        assert_eq!(key.left, [home.join("dotfiles")]);
        assert!(!key.exists() && way(home.join(".ssh")).is_directory());
        assert!(links("dotfiles/v2").is_empty());
        assert_eq!(links("circle").len(), MOST_LINKS + 1);
    }

    #[test]
    fn a_name_in_proc_or_dev_is_another_place_for_each_process() {
        let dir = tempfile::tempdir().unwrap();
        symlink("/proc/self/cwd/hooks", dir.path().join("link")).unwrap();
        assert!(way(dir.path().join("link")).depends_on_process());
        assert!(way("/dev/fd/../cwd").depends_on_process());
        assert!(!way(dir.path()).depends_on_process() && !way("/process/x").depends_on_process());
    }

    #[test]
    fn what_every_command_needs_is_whole_directories_and_few_files() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let dir = dir.path().canonicalize().unwrap();
        let is_needed = |path: &Path| way(path).is_needed_by_commands(&dir.join("workspace"));
        let home = std::env::home_dir().unwrap().canonicalize().unwrap();
        for needed in [
            "/",
            "/etc",
            "/opt",
            "/run",
            "/tmp",
            "/var",
            "/usr/bin/env",
            "/etc/passwd",
            "/etc/ssl",
            "/etc/ssl/certs/x",
        ] {
            assert!(is_needed(Path::new(needed)), "{needed}");
        }
        assert!(is_needed(&dir) && is_needed(&dir.join("workspace")) && is_needed(&home));
        for other in ["/etc/app/env", "/opt/app", "/etc/ssl/private/key", "/var/lib/app", "/srv"] {
            assert!(!is_needed(Path::new(other)), "{other}");
        }
        assert!(
            !is_needed(&dir.join("workspace/x"))
                && !is_needed(&dir.join("other"))
                && !is_needed(&home.join(".aws"))
        );
        for directory in OF_PATH.iter() {
            let mut entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
            let program = entries.find(|entry| is_executable(entry));
            assert!(
                is_needed(directory) && program.is_none_or(|program| is_needed(&program)),
                "{directory:?}"
            );
        }
    }
}
