//! What the fuzz targets run: each reader of bytes from outside, by the name of its target and of its folder of seeds.
//!
//! A reader returns a result or an error. `host/cli/tests/foreign.rs` includes this file, and runs the same functions
//! over the seeds and mutations of them without a nightly compiler.

use rungs_cli::bench::Report;
use rungs_cli::data::{Dtype, keys_from, matrix_from, read_counted};

/// Arrays: keys, and a matrix.
pub fn npy(bytes: &[u8]) {
    let _ = keys_from(bytes, "the input", &Dtype::ALL);
    let _ = matrix_from(bytes, "the input", &[Dtype::F32], None);
}

/// Elements without a head, unless they begin as an array does: any whole number of them is read.
pub fn raw(bytes: &[u8]) {
    for dtype in Dtype::ALL {
        let read = keys_from(bytes, "the input", &[dtype]);
        assert!(bytes.starts_with(b"\x93NUMPY") || read.is_ok() == bytes.len().is_multiple_of(dtype.size()));
    }
    let _ = matrix_from(bytes, "the input", &[Dtype::F32], Some((2, 3)));
}

/// The stream of `rungs lab`.
pub fn lab(mut bytes: &[u8]) {
    let _ = read_counted(&mut bytes);
}

/// A report of `rungs bench`, as `cargo xtask tables` reads it: data that was read can be written, and is the same when
/// it is read again.
pub fn report(bytes: &[u8]) {
    if let Ok(report) = serde_json::from_slice::<Report>(bytes) {
        let again = serde_json::to_vec(&report).unwrap();
        assert_eq!(serde_json::from_slice::<Report>(&again).unwrap(), report);
    }
}
