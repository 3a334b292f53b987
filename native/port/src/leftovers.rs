//! The temporary directories of servers that were killed.
//!
//! A directory says which process made it: in which boot and pid namespace, under which pid, started when. It is deleted
//! if that namespace is the own one and has no such process any more. What cannot be decided stays: other namespaces and
//! machines may share the place. The Erlang side writes and reads the same.

use crate::temp_dir;
use std::fs;
use std::io::Result;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const OWNER: &str = "owner";

/// Writes into a directory who made it.
///
/// # Errors
/// Those of the operating system.
pub(crate) fn sign(directory: &Path) -> Result<()> {
    match (place(), started("self")) {
        (Some(place), Some(started)) => {
            fs::write(directory.join(OWNER), format!("{place}\n{}\n{started}", std::process::id()))
        }
        // Without such facts nobody will delete it.
        _ => Ok(()),
    }
}

/// Deletes what nobody can use any more of the directories with this prefix.
pub(crate) fn sweep(directory: &Path, prefix: &str) {
    let Some(here) = place() else { return };
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let is_one = entry.file_name().to_str().is_some_and(|name| name.starts_with(prefix));
        if is_one && is_private(&entry.path()) && is_left(&entry.path(), &here) {
            temp_dir::delete(&entry.path());
        }
    }
}

/// What another user can change is not deleted: while that goes on, a link could take the place of a directory.
fn is_private(directory: &Path) -> bool {
    directory.symlink_metadata().is_ok_and(|metadata| {
        let is_own = metadata.uid() == rustix::process::geteuid().as_raw();
        metadata.is_dir() && is_own && metadata.mode() & 0o077 == 0
    })
}

fn is_left(directory: &Path, here: &str) -> bool {
    let owner = fs::read_to_string(directory.join(OWNER)).unwrap_or_default();
    match *owner.split('\n').collect::<Vec<_>>() {
        // A pid is used again; the time of its start tells one process from the next.
        [place, pid, time] => place == here && started(pid).as_deref() != Some(time),
        _ => false,
    }
}

/// This boot of the machine and this pid namespace.
fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = fs::read_link("/proc/self/ns/pid").ok()?;
    started("self")?;
    Some(format!("{} {}", boot.trim(), namespace.to_str()?))
}

/// When a process was started: the 22nd field of its stat file. The second one is in parentheses and may hold anything.
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
