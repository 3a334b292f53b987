//! Pipes between the port and a program.

use super::spec::Stdin;
use rustix::fs::OFlags;
use rustix::io::Errno;
use rustix::pipe::PipeFlags;
use std::os::fd::OwnedFd;

/// Both ends of a program's streams. The port's ends are non-blocking.
pub(super) struct Pipes {
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    /// The program's ends: output, errors, and input if there is a pipe for it.
    pub(super) theirs: Vec<OwnedFd>,
}

impl Pipes {
    pub(super) fn open(stdin: Stdin) -> Result<Self, Errno> {
        let (stdout, output) = pipe()?;
        let (stderr, errors) = pipe()?;
        let mut pipes = Self {
            stdin: None,
            stdout: nonblocking(stdout)?,
            stderr: nonblocking(stderr)?,
            theirs: vec![output, errors],
        };
        if stdin == Stdin::Pipe {
            let (input, ours) = pipe()?;
            pipes.stdin = Some(nonblocking(ours)?);
            pipes.theirs.push(input);
        }
        Ok(pipes)
    }
}

fn pipe() -> Result<(OwnedFd, OwnedFd), Errno> {
    rustix::pipe::pipe_with(PipeFlags::CLOEXEC)
}

/// Flags belong to each end of a pipe: the program's end stays blocking, as programs expect.
fn nonblocking(fd: OwnedFd) -> Result<OwnedFd, Errno> {
    rustix::fs::fcntl_setfl(&fd, OFlags::NONBLOCK)?;
    Ok(fd)
}
