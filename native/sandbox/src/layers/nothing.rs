//! An empty directory and an empty file, to show in place of what is hidden; for files that would be malformed if they were
//! empty, such as settings in XML, one with nothing in it.

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

/// Makes both, in a `/dev` of the reaper's own.
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

/// Nothing, to be shown in place of something of a kind.
pub(super) fn of(kind: FileType) -> Result<MountCopy, Errno> {
    at(Path::new(if kind == FileType::Directory { EMPTY_DIRECTORY } else { EMPTY_FILE }))
}

/// What stands for a secret at a path: its readers take it for one without any.
fn in_place_of(path: &Path, kind: FileType) -> Result<MountCopy, Errno> {
    let text = path.file_name().map(secrets::emptied).unwrap_or_default();
    match secrets::EMPTIED.iter().position(|known| *known == text) {
        Some(number) if kind == FileType::RegularFile => at(&emptied(number)),
        _ => of(kind),
    }
}

/// Shows nothing in place of a directory or a file, if it can be seen at all.
pub(super) fn cover(path: &Path, kind: FileType) -> Result<(), Errno> {
    let nothing = in_place_of(path, kind)?;
    // Something above may have been covered meanwhile, and this with it.
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
