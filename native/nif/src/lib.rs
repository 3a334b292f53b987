//! The NIF door: binaries in, binaries out. `beamai_nif.erl` documents the functions.

#![forbid(unsafe_code)]

mod call;
mod describe;
mod job;
mod journal;
mod json;
mod protocol;

rustler::init!("beamai_nif");
