//! Unified diffs, and files that they are fitted to.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beamai_engine::fuzz::patches(bytes));
