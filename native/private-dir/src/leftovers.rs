//! Deletes the temporary directories of servers that were killed.
//!
//! A directory identifies the process that created it: by boot id, pid namespace, pid and start time. It is deleted if
//! it belongs to this namespace and the process has exited. Directories of other namespaces and machines, which may
//! share the file system, are kept. The Erlang side uses the same format.

use std::fs;
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const OWNER: &str = "owner";

/// Writes the identity of this process into a directory.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn sign(directory: &Path) -> Result<()> {
    match (place(), started("self")) {
        (Some(place), Some(started)) => {
            fs::write(directory.join(OWNER), format!("{place}\n{}\n{started}", std::process::id()))
        }
        // Without an identity nobody will delete it.
        _ => Ok(()),
    }
}

/// Deletes unused directories with this prefix.
pub(crate) fn sweep(directory: &Path, prefix: &str) {
    let Some(here) = place() else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix));
        if is_one && is_private(&entry.path()) && is_left(&entry.path(), &here) {
            super::delete(&entry.path());
        }
    }
}

/// A directory that another user can change is not deleted: during the deletion, it could be replaced by a link.
fn is_private(directory: &Path) -> bool {
    directory.symlink_metadata().is_ok_and(|metadata| {
        let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
        metadata.is_dir() && is_own && metadata.mode() & 0o077 == 0
    })
}

fn is_left(directory: &Path, here: &str) -> bool {
    let owner = fs::read_to_string(directory.join(OWNER)).unwrap_or_default();
    match *owner.split('\n').collect::<Vec<_>>() {
        // Pids are reused; the start time distinguishes the processes.
        [place, pid, time] => place == here && started(pid).as_deref() != Some(time),
        _ => false,
    }
}

/// This boot of the machine, and this pid namespace.
fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    started("self")?;
    Some(format!("{} {}", boot.trim(), namespace.to_str()?))
}

/// The start time of a process: the 22nd field of its stat file. The second field is in parentheses and may contain any
/// characters.
fn started(pid: &str) -> Option<String> {
    let stat = fs::read_to_string(Path::new("/proc").join(pid).join("stat")).ok()?;
    stat.rsplit_once(") ")?.1.split(' ').nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn what_a_process_left_that_is_gone_is_deleted_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let (place, own) = (place().unwrap(), std::process::id());
        let time = started("self").unwrap();
        for (name, owner, stays) in [
            ("x-gone", format!("{place}\n{own}\n1"), false),
            ("x-mine", format!("{place}\n{own}\n{time}"), true),
            ("x-elsewhere", format!("other\n{own}\n1"), true),
            ("x-unsigned", String::new(), true),
            ("y-gone", format!("{place}\n{own}\n1"), true),
        ] {
            let path = dir.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join(OWNER), owner).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o700)).unwrap();
            sweep(dir.path(), "x-");
            assert_eq!(path.exists(), stays, "{name}");
        }
    }

    #[test]
    fn what_others_can_enter_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x-open");
        fs::create_dir(&path).unwrap();
        fs::write(path.join(OWNER), format!("{}\n1\n1", place().unwrap())).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        sweep(dir.path(), "x-");
        assert!(path.exists());
    }
}
