//! What is shown in place of hidden files and directories.
//!
//! In place of secrets: an empty directory, an empty file, and for formats in which an empty file is malformed, such as
//! XML settings, a file with no content. Programs take it for missing credentials. In place of secrets and of what deny
//! rules match in a writable directory: a file that cannot be opened, and a directory in which no name can be looked
//! up. Otherwise a program that records the workspace, such as git, would record that the files are empty or deleted.

use super::mount::{MountCopy, READ_ONLY, TAME, failed, make_room, point};
use crate::SetupFailure;
use beamai_isolation::secrets;
use rustix::fs::{FileType, Mode};
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

const NOTHING: &str = "/dev/.nothing";
const EMPTY_DIRECTORY: &str = "/dev/.nothing/directory";
const EMPTY_FILE: &str = "/dev/.nothing/file";
const DENIED_DIRECTORY: &str = "/dev/.nothing/denied_directory";
const DENIED_FILE: &str = "/dev/.nothing/denied_file";

/// Creates all of them in the reaper's `/dev`.
pub(super) fn arrange() -> Result<(), SetupFailure> {
    let create = |path: &str, kind| make_room(Path::new(path), kind);
    // A directory that can be listed stops no program that walks the workspace. Commands have no capability to override
    // modes, and read-only mounts keep them from changing these.
    let deny = |path: &str, kind, mode| {
        create(path, kind)?;
        rustix::fs::chmod(path, Mode::from_raw_mode(mode))
    };
    let created = create(EMPTY_DIRECTORY, FileType::Directory)
        .and_then(|()| create(EMPTY_FILE, FileType::RegularFile))
        .and_then(|()| deny(DENIED_DIRECTORY, FileType::Directory, 0o444))
        .and_then(|()| deny(DENIED_FILE, FileType::RegularFile, 0));
    created.map_err(failed("make", Path::new(NOTHING)))?;
    for (number, text) in secrets::EMPTIED.iter().enumerate() {
        let written = std::fs::write(emptied(number), text);
        let written = written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
        written.map_err(failed("write", Path::new(NOTHING)))?;
    }
    Ok(())
}

/// The replacement in writable directories.
pub(super) fn denied(kind: FileType) -> Result<MountCopy, Errno> {
    at(Path::new(if kind == FileType::Directory { DENIED_DIRECTORY } else { DENIED_FILE }))
}

/// The empty replacement for a file of some type.
fn of(kind: FileType) -> Result<MountCopy, Errno> {
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
    put(in_place_of(path, kind)?, path)
}

/// Covers a directory or file with a replacement that cannot be opened, if it is visible.
pub(super) fn deny(path: &Path, kind: FileType) -> Result<(), Errno> {
    put(denied(kind)?, path)
}

fn put(nothing: MountCopy, path: &Path) -> Result<(), Errno> {
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
