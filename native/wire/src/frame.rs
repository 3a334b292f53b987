//! Frames between the port program and its host.
//!
//! Each frame is a length (four bytes, big-endian) and that many bytes; Erlang's `{packet, 4}`. Its first byte is its
//! type:
//!
//! ```text
//! to the port    1  call       id, settings (length: four bytes), call
//!                2  cancel     id
//!                3  end        id, session
//! from the port  1  reply      id, reply
//!                2  progress   id, message
//! ```
//!
//! An id is a length (two bytes) and that many bytes, chosen by the host. Settings, call, reply and message are terms
//! in Erlang's external format. A session is the name that calls use for it; the reply to its end is sent when none of
//! its processes run any more.

use std::io::{self, IoSlice, Read, Write};

/// Maximum frame size for reading, in bytes. No model writes larger arguments.
const MAX_READ: usize = 256 << 20;
/// Capacity reserved before a frame is read, in bytes.
const ROOM: usize = 4 << 10;
/// Maximum frame size for writing, in bytes: the VM allocates what the header states.
pub const MAX_WRITE: usize = 64 << 20;

/// A message from the host.
#[derive(Debug, PartialEq, Eq)]
pub enum PortRequest<'a> {
    /// Run a call.
    Call {
        /// Identifies the call; chosen by the host.
        id: &'a [u8],
        /// A kernel's settings.
        settings: &'a [u8],
        /// The call.
        call: &'a [u8],
    },
    /// Stop a call.
    Cancel {
        /// The call's id.
        id: &'a [u8],
    },
    /// Stop everything that a session runs.
    End {
        /// Identifies this request; chosen by the host.
        id: &'a [u8],
        /// The session.
        session: &'a str,
    },
}

/// A message from the port.
#[derive(Debug, Clone, Copy)]
pub enum ResponseKind {
    /// A call has ended.
    Reply = 1,
    /// A call is in progress.
    Progress = 2,
}

/// Reads one frame into `frame`; false at the end of input.
///
/// # Errors
/// Input that ends inside a frame, or a frame that is too long.
pub fn read(input: &mut impl Read, frame: &mut Vec<u8>) -> io::Result<bool> {
    let mut header = [0; 4];
    if !read_header(input, &mut header)? {
        return Ok(false);
    }
    let length = u32::from_be_bytes(header) as usize;
    if length > MAX_READ {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            format!("a frame of {length} bytes is over {MAX_READ}"),
        ));
    }
    frame.clear();
    frame.reserve(length.min(ROOM));
    // The buffer grows with the bytes received, not with the header's claim.
    let read = input.take(length as u64).read_to_end(frame)?;
    if read < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(true) }
}

fn read_header(input: &mut impl Read, header: &mut [u8; 4]) -> io::Result<bool> {
    let mut have = 0;
    while have < header.len() {
        match input.read(&mut header[have..]) {
            Ok(0) if have == 0 => return Ok(false),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(count) => have += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Parses a frame; `None` if it is unknown or malformed.
pub fn parse(frame: &[u8]) -> Option<PortRequest<'_>> {
    let (kind, rest) = frame.split_first()?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let (id, rest) = rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))?;
    match kind {
        1 => {
            let (length, rest) = rest.split_first_chunk::<4>()?;
            let (settings, call) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
            Some(PortRequest::Call { id, settings, call })
        }
        2 if rest.is_empty() => Some(PortRequest::Cancel { id }),
        3 => Some(PortRequest::End { id, session: std::str::from_utf8(rest).ok()? }),
        _ => None,
    }
}

/// Writes one frame, in one system call if the pipe accepts it.
///
/// # Errors
/// Those of the output.
pub fn write(output: &mut impl Write, kind: ResponseKind, id: &[u8], body: &[u8]) -> io::Result<()> {
    let length = u32::try_from(3 + id.len() + body.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut head = Vec::with_capacity(7 + id.len());
    head.extend(length.to_be_bytes());
    head.push(kind as u8);
    head.extend(u16::try_from(id.len()).map_err(|_| io::ErrorKind::InvalidInput)?.to_be_bytes());
    head.extend(id);
    let mut slices = [IoSlice::new(&head), IoSlice::new(body)];
    let mut rest = &mut slices[..];
    while !rest.is_empty() {
        match output.write_vectored(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => IoSlice::advance_slices(&mut rest, count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(bytes: &[u8]) -> Vec<u8> {
        let mut frame = u32::try_from(bytes.len()).unwrap().to_be_bytes().to_vec();
        frame.extend(bytes);
        frame
    }

    #[test]
    fn a_call_is_read_as_it_was_written() {
        let bytes = framed(b"\x01\x00\x02id\x00\x00\x00\x03envcall");
        let mut frame = Vec::new();
        assert!(read(&mut &bytes[..], &mut frame).unwrap());
        assert_eq!(parse(&frame), Some(PortRequest::Call { id: b"id", settings: b"env", call: b"call" }));
    }

    #[test]
    fn a_session_may_be_ended() {
        assert_eq!(parse(b"\x03\x00\x02ids1"), Some(PortRequest::End { id: b"id", session: "s1" }));
        assert_eq!(parse(b"\x03\x00\x02id\xff"), None);
    }

    #[test]
    fn end_of_input_between_frames_is_the_end_and_inside_one_an_error() {
        let mut frame = Vec::new();
        assert!(!read(&mut &b""[..], &mut frame).unwrap());
        assert!(read(&mut &b"\0\0"[..], &mut frame).is_err());
        assert!(read(&mut &b"\0\0\0\x05abc"[..], &mut frame).is_err());
    }

    #[test]
    fn a_huge_header_allocates_nothing() {
        let mut frame = Vec::new();
        assert!(read(&mut &b"\xff\xff\xff\xffabc"[..], &mut frame).is_err());
        assert!(read(&mut &b"\x0f\xff\xff\xffabc"[..], &mut frame).is_err());
        assert!(frame.capacity() < 1 << 20);
    }

    #[test]
    fn nonsense_says_nothing() {
        for frame in
            [&b""[..], b"\x01", b"\x01\xff\xffid", b"\x01\0\0\xff\xff\xff\xff", b"\x02\0\x01ax", b"\x09\0\0"]
        {
            assert_eq!(parse(frame), None, "{frame:?}");
        }
    }

    #[test]
    fn a_written_frame_has_its_length_in_front() {
        let mut out = Vec::new();
        write(&mut out, ResponseKind::Reply, b"id", b"body").unwrap();
        assert_eq!(out, b"\0\0\0\x09\x01\0\x02idbody");
    }
}
