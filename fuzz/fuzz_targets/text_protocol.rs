//! A model's responses, whole and in pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beamai_tools::fuzz::text_protocol(bytes));
