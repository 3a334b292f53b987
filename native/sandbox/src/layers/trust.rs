//! A file with the certificate authorities that programs are to trust: the machine's, and the one of the proxy that adds
//! the host's credentials to requests.

use super::mount::failed;
use crate::{SetupFailure, TrustedAuthorities};
use rustix::io::Errno;
use std::fs;
use std::path::Path;

/// The path of the file, in a directory that is private to the sandbox.
pub const AUTHORITIES: &str = "/dev/beamai-authorities.pem";

/// The machine's authorities and the proxy's. Where the machine keeps its own in a directory only, or nobody can read
/// them, programs trust the proxy's alone.
pub(super) fn together(trusted: &TrustedAuthorities) -> Vec<u8> {
    let mut all = trusted.file.as_ref().and_then(|path| fs::read(path).ok()).unwrap_or_default();
    all.push(b'\n');
    all.extend_from_slice(trusted.own.as_bytes());
    all
}

/// Writes the file. Landlock keeps commands from changing it.
pub(super) fn arrange(authorities: &[u8]) -> Result<(), SetupFailure> {
    let path = Path::new(AUTHORITIES);
    let written = fs::write(path, authorities);
    written.map_err(|error| failed("write", path)(Errno::from_io_error(&error).unwrap_or(Errno::IO)))
}
