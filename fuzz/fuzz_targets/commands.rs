//! The judge of shell commands: what is denied is never hidden by what stands around it.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beamai_engine::fuzz::commands(bytes));
