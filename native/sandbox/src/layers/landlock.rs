//! Landlock: access rights enforced by the Linux kernel. Complements mounts, and replaces them in the tier without
//! namespaces.

use super::devices::NODES;
use super::grants::{Grants, Rights};
use super::mount::{failed, kind, point};
use super::tree::recognise;
use super::{Layer, LayerContext, tree};
use crate::{Confinement, SetupFailure};
use beamai_isolation::{LayerOff, SandboxMode};
use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The Landlock version that is requested; older Linux kernels apply the part that they support.
pub(super) const VERSION: ABI = ABI::V9;
/// The first version that can prevent truncation (Linux 6.2). With mounts, read-only mounts prevent it.
const WITHOUT_MOUNTS: u32 = 3;
/// The first version that covers UNIX sockets with a path.
const UNIX_SOCKETS: u32 = 9;

pub(super) struct Landlock;

impl Layer for Landlock {
    fn name(&self) -> &'static str {
        "landlock"
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let failure = |errno| SetupFailure::new("restrict this process", errno);
        let grants = match stage.profile.has_mounts() {
            true => None,
            false => Some(alone(stage.confinement)?),
        };
        if let Some(why) = grants.as_ref().and_then(|(_, grants)| told(&grants.fixed)) {
            stage.partly.push(LayerOff::new(self.name(), why));
        }
        let status = match grants {
            None => beside_mounts(stage.confinement),
            Some((root, grants)) => restrict(|rules| {
                let add = |rules, (path, rights): &(PathBuf, _)| root.add(rules, path, *rights);
                grants.rules.iter().try_fold(rules, add)
            }),
        };
        match status.map_err(|error| failure(errno_of(&error)))?.ruleset {
            RulesetStatus::NotEnforced => Err(failure(Errno::OPNOTSUPP)),
            _ => Ok(()),
        }
    }
}

/// The Landlock version of the Linux kernel.
///
/// # Errors
/// `ENOSYS` or `EOPNOTSUPP` if it is missing or disabled; `EPERM` if a system call filter refuses it.
pub fn version() -> Result<u32, Errno> {
    const VERSION: libc::c_int = 1;
    // SAFETY: with this flag, the call takes no pointer.
    match unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, std::ptr::null::<u8>(), 0_usize, VERSION)
    } {
        -1 => Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)),
        version => u32::try_from(version).map_err(|_| Errno::INVAL),
    }
}

/// The rules if nothing else keeps files from being written.
fn alone(confinement: &Confinement) -> Result<(Root, Grants), SetupFailure> {
    let version = version().map_err(|errno| SetupFailure::new("restrict this process", errno))?;
    let needs = |step: &str, least: u32| match version >= least {
        true => Ok(()),
        false => Err(SetupFailure::new(
            &format!("{step} with version {version} of Landlock (it takes {least})"),
            Errno::OPNOTSUPP,
        )),
    };
    needs("keep files from being truncated", WITHOUT_MOUNTS)?;
    // With `best_effort`, this layer is used even if it is incomplete.
    if confinement.mode == SandboxMode::Required && confinement.has_proxy {
        return Err(SetupFailure::new(
            "let some names of the network be reached without a network namespace",
            Errno::OPNOTSUPP,
        ));
    }
    if confinement.mode == SandboxMode::Required && confinement.unix_sockets {
        needs("keep services out of reach while the sandbox has unix_sockets", UNIX_SOCKETS)?;
    }
    let rights = Rights { read: AccessFs::from_read(VERSION), write: AccessFs::from_write(VERSION) };
    let root = Root::of(confinement)?;
    let grants = Grants::of(confinement, &root.path, rights)
        .map_err(|errno| SetupFailure::new("permit everything beside what rules deny, one by one", errno))?;
    Ok((root, grants))
}

/// The workspace. Rules within it are added by this handle: another directory may be at its path by then.
struct Root {
    path: PathBuf,
    dir: OwnedFd,
}

impl Root {
    fn of(confinement: &Confinement) -> Result<Self, SetupFailure> {
        let path = Path::new(&confinement.workspace);
        let real = path.canonicalize().map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        let opened = real.and_then(|real| point(&real).map(|dir| Self { path: real, dir }));
        let root = opened.map_err(failed("open", path))?;
        recognise(&root.dir, confinement)?;
        Ok(root)
    }

    /// Adds a rule for a path without links, if it exists.
    fn add(
        &self,
        rules: RulesetCreated,
        path: &Path,
        access: BitFlags<AccessFs>,
    ) -> Result<RulesetCreated, RulesetError> {
        match path.strip_prefix(&self.path) {
            Ok(inside) => add_in(rules, self.dir.as_fd(), &Path::new(".").join(inside), access),
            Err(_) => add(rules, path, access),
        }
    }
}

/// Describes directories with restrictions, for people.
fn told(fixed: &[PathBuf]) -> Option<String> {
    let first = fixed.first()?.display();
    let more = match fixed.len() {
        1 => String::new(),
        count => format!(" and {} directories more", count - 1),
    };
    Some(format!(
        "something in {first}{more} is hidden, or denied by rules: nothing can be created, renamed or removed there, for \
         Landlock can only permit what lies beside it"
    ))
}

/// With mounts, everything that is visible can be read.
fn beside_mounts(confinement: &Confinement) -> Result<RestrictionStatus, RulesetError> {
    restrict(|rules| {
        let mut rules = add(rules, Path::new("/"), AccessFs::from_read(VERSION))?;
        let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
        let devices = NODES.into_iter().chain(["/dev/ptmx"]).map(|path| (PathBuf::from(path), device));
        let writable = tree::writable(confinement).map(|path| (path.into(), AccessFs::from_all(VERSION)));
        for (path, access) in writable.chain(devices) {
            rules = add(rules, &path.canonicalize().unwrap_or(path), access)?;
        }
        Ok(rules)
    })
}

fn restrict(
    permit: impl FnOnce(RulesetCreated) -> Result<RulesetCreated, RulesetError>,
) -> Result<RestrictionStatus, RulesetError> {
    let rules = Ruleset::default()
        .handle_access(AccessFs::from_all(VERSION))?
        .scope(Scope::from_all(VERSION))?
        .create()?;
    permit(rules)?.restrict_self()
}

/// Adds a rule for a path without links, if it exists. A path that has become a link gets none.
pub(super) fn add(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    add_in(rules, CWD, path, access)
}

fn add_in(
    rules: RulesetCreated,
    dir: BorrowedFd<'_>,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let Ok(fd) = rustix::fs::openat2(dir, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) else {
        return Ok(rules);
    };
    add_fd(rules, fd, access)
}

/// Adds a rule for the file of `fd`.
pub(super) fn add_fd(
    rules: RulesetCreated,
    fd: OwnedFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match kind(fd.as_fd()) {
        Ok(FileType::Directory) => rules.add_rule(PathBeneath::new(fd, access)),
        Ok(_) => rules.add_rule(PathBeneath::new(fd, access & AccessFs::from_file(VERSION))),
        Err(_) => Ok(rules),
    }
}

pub(super) fn errno_of(error: &RulesetError) -> Errno {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(errno) = error.downcast_ref::<std::io::Error>().and_then(Errno::from_io_error) {
            return errno;
        }
        source = error.source();
    }
    Errno::INVAL
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    fn confinement(path: &Path) -> Confinement {
        let found = path.metadata().unwrap();
        Confinement::new(path, (found.dev(), found.ino()), &SandboxMode::Required.into())
    }

    #[test]
    fn another_directory_in_the_place_of_the_workspace_is_never_granted() {
        let dir = tempfile::tempdir().unwrap();
        let [own, moved, other] = ["own", "moved", "other"].map(|name| dir.path().join(name));
        [&own, &other].into_iter().for_each(|path| std::fs::create_dir(path).unwrap());
        let confinement = confinement(&own);
        let root = Root::of(&confinement).unwrap();
        std::fs::rename(&own, &moved).unwrap();
        symlink(&other, &own).unwrap();
        assert!(Root::of(&confinement).err().unwrap().is_stale());
        // Exchanged after it was recognised. Applies to this thread only.
        let written = move || {
            restrict(|rules| root.add(rules, &root.path, AccessFs::from_all(VERSION))).unwrap();
            [moved, other].map(|path| std::fs::write(path.join("file"), "").is_ok())
        };
        assert_eq!(std::thread::spawn(written).join().unwrap(), [true, false]);
    }
}
