//! The NIF door: binaries in, binaries out. `beamai_nif.erl` documents the functions.

#![forbid(unsafe_code)]

mod arguments;
mod call;
mod describe;
mod job;
mod journal;
mod json;
mod protocol;

use rustler::{Env, Term};

/// Lets a host find the version of a library that it could not load; see `beamai_version.erl`.
#[used]
static MARK: &[u8] = concat!("beamai-nif-version=", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

rustler::init!("beamai_nif", load = load);

/// Rejects beams of another release, which pass their version. A term that is not a string is no version: such beams have
/// no application description.
fn load(_env: Env<'_>, version: Term<'_>) -> bool {
    version.decode::<&str>().map_or(true, |beams| beams == env!("CARGO_PKG_VERSION"))
}
