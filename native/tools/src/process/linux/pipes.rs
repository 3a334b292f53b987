//! The pipes between the port and a program.

use super::spec::Stdin;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use std::os::fd::OwnedFd;

/// Both ends of a program's streams. The port's ends do not block.
pub(super) struct Pipes {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// Input, output and errors as the program gets them.
    pub(super) theirs: [OwnedFd; 3],
}

impl Pipes {
    pub(super) fn open(stdin: Stdin) -> Result<Self, Errno> {
        let (stdin, input) = match stdin {
            Stdin::Empty => {
                (None, rustix::fs::open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
            }
            Stdin::Pipe => {
                let (input, ours) = pipe()?;
                (Some(nonblocking(ours)?), input)
            }
        };
        let (stdout, output) = pipe()?;
        let (stderr, errors) = pipe()?;
        Ok(Self {
            stdin,
            stdout: nonblocking(stdout)?,
            stderr: nonblocking(stderr)?,
            theirs: [input, output, errors],
        })
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
}

/// Each end of a pipe has flags of its own: the program's end goes on blocking, as programs expect.
fn nonblocking(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    let flags = rustix::fs::fcntl_getfl(&fd)?;
    rustix::fs::fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
    Ok(fd)
}
