//! The NIF door: binaries in, binaries out. Documented where it is called, in `beamai_nif.erl`.

#![forbid(unsafe_code)]

mod call;
mod describe;
mod job;
mod journal;
mod json;
mod protocol;

rustler::init!("beamai_nif");
