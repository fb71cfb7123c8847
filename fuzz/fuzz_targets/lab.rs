//! The stream of `rungs lab`.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = rungs::data::read_counted(&mut &bytes[..]);
});
