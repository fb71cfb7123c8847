//! A report of `rungs bench`, as `cargo xtask tables` reads it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rungs::bench::Report;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(report) = serde_json::from_slice::<Report>(bytes) {
        let _ = serde_json::to_vec(&report);
    }
});
