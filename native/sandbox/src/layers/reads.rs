//! A list of what a process of our own may read, which the kernel keeps whatever paths lead to.

use super::landlock::{VERSION, add_fd, errno_of};
use crate::SetupFailure;
use landlock::{AccessFs, BitFlags, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreated, RulesetError};
use rustix::fs::{Mode, OFlags};
use std::path::{Path, PathBuf};

/// Has this thread, and threads that it makes from here on, open for reading and list nothing but what lies at and beneath
/// these paths; those that are not there are left out. What may be written is not changed. There is no way back. Where the
/// machine has no Landlock, nothing is limited: whether it must have it has been decided before.
///
/// # Errors
/// What Landlock refused.
pub fn limit_reads(paths: &[PathBuf]) -> Result<(), SetupFailure> {
    let limited = || -> Result<RestrictionStatus, RulesetError> {
        let access = AccessFs::from_read(VERSION);
        let mut rules = Ruleset::default().handle_access(access | AccessFs::Refer)?.create()?;
        // Whoever limits anything with Landlock has to say that files may still be moved between directories.
        rules = add(rules, Path::new("/"), AccessFs::Refer.into())?;
        for path in paths {
            rules = add(rules, path, access)?;
        }
        rules.restrict_self()
    };
    limited().map(drop).map_err(|error| SetupFailure::new("limit what this process reads", errno_of(&error)))
}

/// Adds a rule for what a path leads to, if it leads anywhere. This process may be in a sandbox already, whose filter
/// refuses `openat2`.
fn add(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, RulesetError> {
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(fd) => add_fd(rules, fd, access),
        Err(_) => Ok(rules),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_listed_cannot_be_read_by_any_path() {
        let [inside, outside] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        std::fs::write(inside.path().join("a"), "own").unwrap();
        std::fs::create_dir(inside.path().join("d")).unwrap();
        std::fs::write(outside.path().join("a"), "secret").unwrap();
        std::os::unix::fs::symlink(outside.path(), inside.path().join("link")).unwrap();
        let [own, moved, link] = ["a", "d/a", "link/a"].map(|name| inside.path().join(name));
        let allowed = vec![inside.path().to_owned(), "/no/such/directory".into()];
        // Of one thread alone.
        let limited = move || {
            assert!(std::fs::read(&link).is_ok());
            limit_reads(&allowed).unwrap();
            std::fs::rename(&own, &moved).unwrap();
            (std::fs::read_to_string(moved).unwrap(), std::fs::read(&link).is_err())
        };
        assert_eq!(std::thread::spawn(limited).join().unwrap(), ("own".to_owned(), true));
    }
}
