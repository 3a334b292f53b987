//! An empty directory and an empty file, shown in place of hidden ones; and for formats in which an empty file is
//! malformed, such as XML settings, a file with no content.

use super::mount::{MountCopy, READ_ONLY, TAME, failed, make_room, point};
use crate::SetupFailure;
use beamai_policy::secrets;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

const NOTHING: &str = "/dev/.nothing";
const EMPTY_DIRECTORY: &str = "/dev/.nothing/directory";
const EMPTY_FILE: &str = "/dev/.nothing/file";

/// Creates both in the reaper's `/dev`.
pub(super) fn arrange() -> Result<(), SetupFailure> {
    let created = make_room(Path::new(EMPTY_DIRECTORY), FileType::Directory)
        .and_then(|()| make_room(Path::new(EMPTY_FILE), FileType::RegularFile));
    created.map_err(failed("make", Path::new(NOTHING)))?;
    for (number, text) in secrets::EMPTIED.iter().enumerate() {
        let written = std::fs::write(emptied(number), text);
        let written = written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        written.map_err(failed("write", Path::new(NOTHING)))?;
    }
    Ok(())
}

/// The replacement for a file of some type.
pub(super) fn of(kind: FileType) -> Result<MountCopy, Errno> {
    at(Path::new(if kind == FileType::Directory { EMPTY_DIRECTORY } else { EMPTY_FILE }))
}

/// The replacement for a secret at a path: programs treat it as missing credentials.
fn in_place_of(path: &Path, kind: FileType) -> Result<MountCopy, Errno> {
    let text = path.file_name().map(secrets::emptied).unwrap_or_default();
    match secrets::EMPTIED.iter().position(|known| *known == text) {
        Some(number) if kind == FileType::RegularFile => at(&emptied(number)),
        _ => of(kind),
    }
}

/// Covers a directory or file with its empty replacement, if it is visible.
pub(super) fn cover(path: &Path, kind: FileType) -> Result<(), Errno> {
    let nothing = in_place_of(path, kind)?;
    // A directory above may have been covered in the meantime.
    match point(path) {
        Ok(target) => nothing.attach(target.as_fd()),
        Err(Errno::NOENT) => Ok(()),
        Err(errno) => Err(errno),
    }
}

fn at(path: &Path) -> Result<MountCopy, Errno> {
    MountCopy::of(point(path)?.as_fd())?.with(READ_ONLY | TAME)
}

fn emptied(number: usize) -> PathBuf {
    Path::new(NOTHING).join(number.to_string())
}
