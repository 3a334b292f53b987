//! A look at the mounts that somebody else has made, from within: whether they are those that were planned.

use super::devices::NODES;
use super::mount::{failed, kind, point};
use super::reaper_plan::ReaperPlan;
use super::script::{MountKind, PlannedMount, identity};
use crate::SetupFailure;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsString;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// Where the kernel's own files are, and files in memory, beside what was planned.
const WRITABLE: [&str; 3] = ["/proc", "/dev/shm", "/dev/pts"];

/// The mounts of this namespace, by the kernel's numbers.
pub(super) struct MountTable(HashMap<u64, Mount>);

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    path: PathBuf,
    is_read_only: bool,
    kind: String,
}

impl MountTable {
    pub(super) fn now() -> Result<Self, SetupFailure> {
        let text = std::fs::read("/proc/self/mountinfo").map_err(|error| {
            SetupFailure::new("look at the mounts", Errno::from_io_error(&error).unwrap_or(Errno::IO))
        })?;
        Ok(Self(text.split(|byte| *byte == b'\n').filter_map(parse).collect()))
    }

    /// Whether everything is read-only that was not given to be written, and the devices are those of a `/dev` in memory.
    pub(super) fn at_the_machine(&self, plan: &ReaperPlan) -> Result<(), SetupFailure> {
        for (id, mount) in self.0.iter().filter(|(_, mount)| !mount.is_read_only) {
            let is_seen = id_at(&mount.path) == Ok(*id);
            if is_seen && !may_be_written(&mount.path, plan) {
                return Err(failed("have made read-only", &mount.path)(Errno::PERM));
            }
        }
        match self.mount_at(Path::new("/dev")) {
            Ok(Mount { path, kind, .. }) if path == Path::new("/dev") && kind == "tmpfs" => Ok(()),
            _ => Err(failed("have covered", Path::new("/dev"))(Errno::PERM)),
        }
    }

    /// Whether what was planned is there.
    pub(super) fn at_parts(&self, plan: &ReaperPlan, protects: bool) -> Result<(), SetupFailure> {
        for (path, part) in plan.parts.iter().filter(|(_, part)| part.protects == protects) {
            let path = Path::new(path);
            match self.at(path, part) {
                // It is gone since it was planned.
                Err(Errno::NOENT | Errno::NOTDIR) if protects => {}
                seen => seen.map_err(failed("have mounted", path))?,
            }
        }
        Ok(())
    }

    fn at(&self, path: &Path, part: &PlannedMount) -> Result<(), Errno> {
        let mount = self.mount_at(path)?;
        let fd = point(path)?;
        let is_it = match &part.what {
            MountKind::Shown { source, read_only } => {
                mount.is_read_only == *read_only && identity(fd.as_fd())? == (source.device, source.inode)
            }
            MountKind::Temporary => !mount.is_read_only && mount.kind == "tmpfs",
            MountKind::Bare => mount.is_read_only && mount.kind == "tmpfs",
            MountKind::Hidden { is_directory } => {
                let is_kind = (kind(fd.as_fd())? == FileType::Directory) == *is_directory;
                mount.is_read_only && is_kind && is_empty(path, *is_directory)
            }
        };
        match is_it && mount.path == path {
            true => Ok(()),
            // Something else came to be there meanwhile, or was mounted.
            false => Err(Errno::STALE),
        }
    }

    /// The mount that is seen at a path.
    fn mount_at(&self, path: &Path) -> Result<&Mount, Errno> {
        self.0.get(&id_at(path)?).ok_or(Errno::STALE)
    }
}

/// The kernel's number of the mount that is seen at a path.
fn id_at(path: &Path) -> Result<u64, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
    let found = rustix::fs::statx(CWD, path, flags, StatxFlags::MNT_ID)?;
    match found.stx_mask & StatxFlags::MNT_ID.bits() {
        0 => Err(Errno::NOSYS),
        _ => Ok(found.stx_mnt_id),
    }
}

/// Whether a mount may be written: it is one of those that are harmless, was planned, or lies in a directory that was.
fn may_be_written(path: &Path, plan: &ReaperPlan) -> bool {
    let is_known = WRITABLE.into_iter().chain(NODES).any(|known| Path::new(known) == path);
    let above =
        || path.ancestors().find_map(|above| plan.parts.iter().find(|(at, _)| Path::new(at) == above));
    is_known
        || above().is_some_and(|(_, part)| {
            matches!(part.what, MountKind::Temporary | MountKind::Shown { read_only: false, .. })
        })
}

fn is_empty(path: &Path, is_directory: bool) -> bool {
    match is_directory {
        true => std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none()),
        false => std::fs::read(path).is_ok_and(|text| text.is_empty()),
    }
}

/// A line of the list of mounts: number, parent, device, root, path, options, some fields up to a hyphen, and the kind
/// of file system.
fn parse(line: &[u8]) -> Option<(u64, Mount)> {
    let mut fields = line.split(|byte| *byte == b' ');
    let id = std::str::from_utf8(fields.next()?).ok()?.parse().ok()?;
    let path = fields.nth(3)?;
    let is_read_only = fields.next()?.split(|byte| *byte == b',').any(|option| option == b"ro");
    let kind = fields.skip_while(|field| *field != b"-").nth(1)?;
    let kind = String::from_utf8_lossy(kind).into_owned();
    Some((id, Mount { path: unescaped(path).into(), is_read_only, kind }))
}

/// The text, in which some bytes are written as three octal digits.
fn unescaped(text: &[u8]) -> OsString {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, others)) = rest.split_first() {
        let digits = others.get(..3).filter(|_| *first == b'\\');
        let byte = digits.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 8).ok());
        out.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &others[3..] } else { others };
    }
    OsString::from_vec(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_list_of_mounts_is_read() {
        let line = br"128 95 254:0 /var/tmp /var/a\040b\134 rw,nosuid,ro master:1 - ext4 /dev/vda rw,ro";
        let mount = Mount { path: r"/var/a b\".into(), is_read_only: true, kind: "ext4".into() };
        assert_eq!(parse(line), Some((128, mount)));
        assert_eq!(
            parse(br"1 2 0:1 / /x rw - tmpfs none ro").map(|(_, mount)| mount.is_read_only),
            Some(false)
        );
        assert_eq!(parse(b""), None);
    }

    #[test]
    fn this_process_sees_its_root() {
        assert!(
            MountTable::now()
                .unwrap()
                .mount_at(Path::new("/"))
                .is_ok_and(|mount| mount.path == Path::new("/"))
        );
    }
}
