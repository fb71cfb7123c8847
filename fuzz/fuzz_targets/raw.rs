//! Elements without a head, unless they begin as an array does.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rungs::data::Dtype;

fuzz_target!(|bytes: &[u8]| {
    for dtype in Dtype::ALL {
        let _ = rungs::data::keys_from(bytes, "the input", &[dtype]);
    }
    let _ = rungs::data::matrix_from(bytes, "the input", &[Dtype::F32], Some((2, 3)));
});
