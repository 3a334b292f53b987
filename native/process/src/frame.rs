//! Frames on a stream socket: four bytes of length, the body, and ancillary file descriptors.

use rustix::io::retry_on_intr;
use rustix::io::{Errno, IoSlice, IoSliceMut};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage,
    SendFlags,
};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Maximum body size; commands with their environment are much smaller.
const MAX_BODY: usize = 4 << 20;
/// Maximum number of descriptors per frame.
const MAX_FDS: usize = 8;

/// A received frame.
pub(super) struct Frame {
    pub(super) body: Vec<u8>,
    pub(super) fds: Vec<OwnedFd>,
}

/// Sends a frame. A closed peer is an error, not a signal.
pub(super) fn send(socket: BorrowedFd<'_>, body: &[u8], fds: &[BorrowedFd<'_>]) -> Result<(), Errno> {
    let length = u32::try_from(body.len()).map_err(|_| Errno::MSGSIZE)?;
    if body.len() > MAX_BODY || fds.len() > MAX_FDS {
        return Err(Errno::MSGSIZE);
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !fds.is_empty() {
        control.push(SendAncillaryMessage::ScmRights(fds));
    }
    // The descriptors are sent with the first byte, so the header is sent completely before the body.
    let header = length.to_ne_bytes();
    let sent = retry_on_intr(|| {
        rustix::net::sendmsg(
            socket,
            &[IoSlice::new(&header), IoSlice::new(body)],
            &mut control,
            SendFlags::NOSIGNAL,
        )
    })?;
    match sent.checked_sub(header.len()) {
        Some(sent) => send_all(socket, &body[sent..]),
        None => Err(Errno::IO),
    }
}

/// Receives a frame; `None` if the peer has closed the socket.
pub(super) fn receive(socket: BorrowedFd<'_>) -> Result<Option<Frame>, Errno> {
    let mut header = [0; 4];
    let mut fds = Vec::new();
    let got = receive_header(socket, &mut header, &mut fds)?;
    if got == 0 {
        return Ok(None);
    }
    receive_all(socket, &mut header[got..])?;
    let length = u32::from_ne_bytes(header) as usize;
    if length > MAX_BODY {
        return Err(Errno::MSGSIZE);
    }
    let mut body = vec![0; length];
    receive_all(socket, &mut body)?;
    Ok(Some(Frame { body, fds }))
}

fn receive_header(socket: BorrowedFd<'_>, header: &mut [u8], fds: &mut Vec<OwnedFd>) -> Result<usize, Errno> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MAX_FDS))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = retry_on_intr(|| {
        rustix::net::recvmsg(socket, &mut [IoSliceMut::new(header)], &mut control, RecvFlags::CMSG_CLOEXEC)
    });
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(some) = message {
            fds.extend(some);
        }
    }
    match received {
        // The peer died without reading everything, which counts as closed.
        Err(Errno::CONNRESET) => Ok(0),
        other => Ok(other?.bytes),
    }
}

fn receive_all(socket: BorrowedFd<'_>, mut rest: &mut [u8]) -> Result<(), Errno> {
    while !rest.is_empty() {
        match retry_on_intr(|| rustix::net::recv(socket, &mut *rest, RecvFlags::empty()).map(|(_, got)| got))?
        {
            0 => return Err(Errno::PIPE),
            got => rest = &mut rest[got..],
        }
    }
    Ok(())
}

fn send_all(socket: BorrowedFd<'_>, mut rest: &[u8]) -> Result<(), Errno> {
    while !rest.is_empty() {
        let sent = retry_on_intr(|| rustix::net::send(socket, rest, SendFlags::NOSIGNAL))?;
        rest = &rest[sent..];
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    #[test]
    fn a_frame_larger_than_the_sockets_buffer_arrives_whole_with_its_descriptors() {
        let (left, right) = UnixStream::pair().unwrap();
        let body: Vec<u8> = (0..1_000_000_u32).map(|n| n as u8).collect();
        let expected = body.clone();
        let sender = std::thread::spawn(move || {
            let null = std::fs::File::open("/dev/null").unwrap();
            send(left.as_fd(), &body, &[null.as_fd(), left.as_fd()]).unwrap();
        });
        let frame = receive(right.as_fd()).unwrap().unwrap();
        sender.join().unwrap();
        assert!(frame.body == expected);
        assert_eq!(frame.fds.len(), 2);
    }

    #[test]
    fn a_closed_peer_is_the_end_and_half_a_frame_is_an_error() {
        let (left, right) = UnixStream::pair().unwrap();
        drop(left);
        assert!(receive(right.as_fd()).unwrap().is_none());
        let (left, right) = UnixStream::pair().unwrap();
        rustix::net::send(&left, &[9, 0], SendFlags::NOSIGNAL).unwrap();
        drop(left);
        assert!(receive(right.as_fd()).is_err());
        assert_eq!(send(right.as_fd(), b"x", &[]), Err(Errno::PIPE));
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_unread() {
        let (left, right) = UnixStream::pair().unwrap();
        rustix::net::send(&left, &[0xff; 4], SendFlags::NOSIGNAL).unwrap();
        assert_eq!(receive(right.as_fd()).err(), Some(Errno::MSGSIZE));
    }
}
