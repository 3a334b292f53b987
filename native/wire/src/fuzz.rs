//! Fuzzing entry: invariants for any bytes that a host sends. Panics if one is violated, which is a bug. No tool is
//! run.

use crate::frame::{self, PortRequest};
use crate::{decode, encode};
use beamai_engine::HostSettings;
use std::io::{self, Read};

/// Returns one byte per read.
struct Slow<'b>(&'b [u8]);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = buffer.len().min(1);
        self.0.read(&mut buffer[..length])
    }
}

/// All frames of an input, and whether it ended between two of them.
fn frames(mut input: impl Read) -> (Vec<Vec<u8>>, bool) {
    let (mut all, mut frame) = (Vec::new(), Vec::new());
    loop {
        match frame::read(&mut input, &mut frame) {
            Ok(true) => all.push(std::mem::take(&mut frame)),
            Ok(false) => return (all, true),
            Err(_) => return (all, false),
        }
    }
}

/// A term that can be decoded must survive encoding and decoding unchanged.
fn term(bytes: &[u8]) {
    let Ok(value) = decode(bytes) else { return };
    assert_eq!(decode(&encode(&value)).as_ref(), Ok(&value));
    _ = serde_json::from_value::<HostSettings>(value);
    _ = crate::dispatch::parse_call(bytes);
}

/// Input from a host, read at once and byte by byte.
pub fn port_frames(bytes: &[u8]) {
    let whole = frames(bytes);
    assert_eq!(whole, frames(Slow(bytes)), "the reading depends on how the bytes arrive");
    for bytes in &whole.0 {
        if let Some(PortRequest::Call { settings, call, .. }) = frame::parse(bytes) {
            term(settings);
            term(call);
        }
    }
    term(bytes);
}
