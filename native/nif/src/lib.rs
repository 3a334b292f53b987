//! The NIF door: binaries in, binaries out. Documented where it is called, in `beamai_nif.erl`.

#![forbid(unsafe_code)]

mod call;
mod describe;
mod job;
mod journal;
mod json;
mod protocol;

use rustler::{Env, Term};

/// What a host reads of a library that it could not load; see `beamai_version.erl`.
#[used]
static MARK: &[u8] = concat!("beamai-nif-version=", env!("CARGO_PKG_VERSION"), "\n").as_bytes();

rustler::init!("beamai_nif", load = load);

/// Refuses beams of another release, which name theirs. What is no text is no release: beams without a description.
fn load(_env: Env<'_>, version: Term<'_>) -> bool {
    version.decode::<&str>().map_or(true, |beams| beams == env!("CARGO_PKG_VERSION"))
}
