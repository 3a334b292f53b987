//! An empty directory and an empty file, to show in place of what is hidden.

use super::mount::{Copy, READ_ONLY, TAME, failed, make_room, point};
use crate::process::linux::message::Failure;
use rustix::fs::FileType;
use rustix::io::Errno;
use std::os::fd::AsFd;
use std::path::Path;

const NOTHING: &str = "/dev/.nothing";
const EMPTY_DIRECTORY: &str = "/dev/.nothing/directory";
const EMPTY_FILE: &str = "/dev/.nothing/file";

/// Makes both, in a `/dev` of the reaper's own.
pub(super) fn arrange() -> Result<(), Failure> {
    let made = make_room(Path::new(EMPTY_DIRECTORY), FileType::Directory)
        .and_then(|()| make_room(Path::new(EMPTY_FILE), FileType::RegularFile));
    made.map_err(failed("make", Path::new(NOTHING)))
}

/// Nothing, to be shown in place of something of a kind.
pub(super) fn of(kind: FileType) -> Result<Copy, Errno> {
    let nothing = if kind == FileType::Directory { EMPTY_DIRECTORY } else { EMPTY_FILE };
    Copy::of(point(Path::new(nothing))?.as_fd())?.with(READ_ONLY | TAME)
}
