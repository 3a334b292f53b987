//! Rules of permissions: what one allows, it denies where it stands in the other list.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| beamai_engine::fuzz::permission_rules(bytes));
