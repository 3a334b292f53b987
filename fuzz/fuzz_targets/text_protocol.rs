//! A model's responses, whole and in pieces.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beamai_engine::fuzz::text_protocol(bytes));
