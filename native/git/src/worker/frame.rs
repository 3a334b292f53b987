//! Frames: a length of four bytes, little-endian, followed by JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{Error, ErrorKind, Read, Result, Write};

/// Maximum size of a frame. Answers contain a text of limited length and a few notes.
const MAX_BYTES: u32 = 256 << 20;
/// Size of the length field.
pub(super) const HEAD: usize = 4;

/// Encodes a value as a frame.
///
/// # Errors
/// `InvalidData` if it is too long.
pub(super) fn encode(value: &impl Serialize) -> Result<Vec<u8>> {
    let mut frame = vec![0; HEAD];
    serde_json::to_writer(&mut frame, value)?;
    let length = u32::try_from(frame.len() - HEAD).ok().filter(|length| *length <= MAX_BYTES);
    let length = length.ok_or_else(|| Error::new(ErrorKind::InvalidData, "a frame is too long"))?;
    frame[..HEAD].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Parses the length field.
///
/// # Errors
/// `InvalidData` if the frame is too long.
pub(super) fn length(head: [u8; HEAD]) -> Result<usize> {
    match u32::from_le_bytes(head) {
        length if length <= MAX_BYTES => Ok(length as usize),
        length => Err(Error::new(ErrorKind::InvalidData, format!("a frame of {length} bytes is too long"))),
    }
}

/// Writes a value.
///
/// # Errors
/// Those of the writer.
pub(super) fn write(to: &mut impl Write, value: &impl Serialize) -> Result<()> {
    to.write_all(&encode(value)?)?;
    to.flush()
}

/// Reads a value; `None` at the end of input.
///
/// # Errors
/// Those of the reader, and `InvalidData`.
pub(super) fn read<T: DeserializeOwned>(from: &mut impl Read) -> Result<Option<T>> {
    let mut head = [0; HEAD];
    match from.read_exact(&mut head) {
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let mut body = vec![0; length(head)?];
    from.read_exact(&mut body)?;
    Ok(Some(serde_json::from_slice(&body)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_length_that_nothing_has_is_refused() {
        let mut bytes = Vec::new();
        write(&mut bytes, &vec![1, 2]).unwrap();
        let mut rest = bytes.as_slice();
        assert_eq!(read::<Vec<u8>>(&mut rest).unwrap(), Some(vec![1, 2]));
        assert_eq!(read::<Vec<u8>>(&mut rest).unwrap(), None);
        assert!(read::<Vec<u8>>(&mut &[255; 8][..]).is_err());
    }
}
