//! What a host sends to the port: frames, and the terms in them.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beamai_wire::fuzz::port_frames(bytes));
