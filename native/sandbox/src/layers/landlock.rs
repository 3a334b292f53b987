//! Landlock: the kernel's own list of what may be written. It holds where mounts do not reach, and the other way round.

use super::devices::NODES;
use super::mount::point;
use super::{Layer, LayerContext, tree};
use crate::{Confinement, SetupFailure};
use landlock::{
    ABI, Access, AccessFs, BitFlags, PathBeneath, PathFd, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The rules of this version are asked for; of an older kernel, what it has of them.
pub(super) const VERSION: ABI = ABI::V9;

pub(super) struct Landlock;

impl Layer for Landlock {
    fn name(&self) -> &'static str {
        "landlock"
    }

    fn enter(&self, stage: &mut LayerContext<'_>) -> Result<(), SetupFailure> {
        let failure = |errno| SetupFailure::new("restrict this process", errno);
        let root = point(Path::new("/")).map_err(failure)?;
        let status = restrict(stage, &root).map_err(|error| failure(errno_of(&error)))?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err(failure(Errno::OPNOTSUPP)),
            _ => Ok(()),
        }
    }
}

fn restrict(stage: &LayerContext<'_>, root: &OwnedFd) -> Result<RestrictionStatus, RulesetError> {
    let everything = AccessFs::from_all(VERSION);
    let mut rules =
        Ruleset::default().handle_access(everything)?.scope(Scope::from_all(VERSION))?.create()?;
    rules = match stage.profile.has_mounts() {
        true => rules.add_rule(PathBeneath::new(root, AccessFs::from_read(VERSION)))?,
        false => read_but_secrets(rules, root, stage.confinement)?,
    };
    for path in tree::writable(stage.confinement) {
        rules = add(rules, &path, everything)?;
    }
    let device = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    for path in NODES.into_iter().chain(["/dev/ptmx"]) {
        rules = add(rules, path.as_ref(), device)?;
    }
    rules.restrict_self()
}

/// Where no mount hides anything, the directories beside what is to be hidden are permitted, and not those above it: a
/// rule cannot forbid. Names can be seen everywhere.
fn read_but_secrets(
    mut rules: RulesetCreated,
    root: &OwnedFd,
    confinement: &Confinement,
) -> Result<RulesetCreated, RulesetError> {
    let hidden: Vec<PathBuf> =
        confinement.hidden.iter().filter_map(|path| Path::new(path).canonicalize().ok()).collect();
    rules = rules.add_rule(PathBeneath::new(root, AccessFs::ReadDir))?;
    let mut above = vec![PathBuf::from("/")];
    while let Some(directory) = above.pop() {
        for entry in std::fs::read_dir(&directory).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
            // What a link leads to is permitted where it is, or not.
            if is_link || hidden.contains(&path) {
                continue;
            }
            if hidden.iter().any(|secret| secret.starts_with(&path)) {
                above.push(path);
            } else {
                rules = add(rules, path.as_os_str(), AccessFs::from_read(VERSION))?;
            }
        }
    }
    for path in &confinement.readable {
        rules = add(rules, path, AccessFs::from_read(VERSION))?;
    }
    Ok(rules)
}

/// Adds a rule for what lies at a path, if anything does.
pub(super) fn add(
    rules: RulesetCreated,
    path: &std::ffi::OsStr,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match PathFd::new(path) {
        Ok(fd) if Path::new(path).is_dir() => rules.add_rule(PathBeneath::new(fd, access)),
        Ok(fd) => rules.add_rule(PathBeneath::new(fd, access & AccessFs::from_file(VERSION))),
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
