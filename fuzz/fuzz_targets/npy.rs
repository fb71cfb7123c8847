//! Arrays: keys, and a matrix.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rungs::data::Dtype;

fuzz_target!(|bytes: &[u8]| {
    let _ = rungs::data::keys_from(bytes, "the input", &Dtype::ALL);
    let _ = rungs::data::matrix_from(bytes, "the input", &[Dtype::F32], None);
});
