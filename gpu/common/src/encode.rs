//! # Maps arrays of keys to unsigned words and back
//!
//! For rungs that do not apply the map of [`crate::keys`] where they load and store keys: one launch before, one after.

use crate::keys::Word;
use simt::{Geometry, Global, kernel, thread};

/// Threads per block; the map is bound by memory.
pub const BLOCK: u32 = 256;

/// One thread per key of `n`.
pub const fn geometry(n: u32) -> Geometry {
    Geometry::linear(n.div_ceil(BLOCK), BLOCK)
}

/// Maps each key, in place, to a word whose unsigned order is the key's.
#[kernel(max_threads = BLOCK, instances(keys_encode: <u32>, keys_encode_u64: <u64>))]
pub fn keys_encode<T: Word>(keys: Global<T>, order: u32) {
    let i = thread::index_1d();
    if i < keys.len() {
        keys.set(i, keys.get(i).encode(order));
    }
}

/// The inverse of [`keys_encode`].
#[kernel(max_threads = BLOCK, instances(keys_decode: <u32>, keys_decode_u64: <u64>))]
pub fn keys_decode<T: Word>(keys: Global<T>, order: u32) {
    let i = thread::index_1d();
    if i < keys.len() {
        keys.set(i, keys.get(i).decode(order));
    }
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[<keys_encode as simt::Instances>::NAMES, <keys_decode as simt::Instances>::NAMES];
