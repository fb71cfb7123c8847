//! # Places
//!
//! An argsort moves places instead of elements: it sorts a copy of the keys with their places as values, and whatever
//! belongs to the keys is then gathered by place.

use crate::keys::Word;
use simt::{Geometry, Global, Scalar, kernel, thread};

/// Threads per block; all of this is bound by memory.
pub const BLOCK: u32 = 256;

/// One thread per place of `n`.
pub const fn geometry(n: u32) -> Geometry {
    Geometry::linear(n.div_ceil(BLOCK), BLOCK)
}

/// Writes each place's own number to it.
#[kernel(max_threads = BLOCK)]
pub fn places_own(places: Global<u32>) {
    let i = thread::index_1d();
    if i < places.len() {
        places.set(i, i);
    }
}

/// Writes to place i of `output`, which has as many elements as `places`, the element of `input` at `places[i]`; zero
/// where `input` has no such place. Elements of all types are moved as words.
#[kernel(max_threads = BLOCK, instances(
    places_gather_u8: <u8>, places_gather_u16: <u16>, places_gather_u32: <u32>, places_gather_u64: <u64>,
))]
pub fn places_gather<W: Scalar>(input: Global<W>, places: Global<u32>, output: Global<W>) {
    let i = thread::index_1d();
    if i < output.len() {
        let place = places.get(i);
        output.set(i, if place < input.len() { input.get(place) } else { W::default() });
    }
}

/// Writes to place i of `halves` the upper (`upper` is 1) or lower half (0) of the key at `places[i]`, mapped to an
/// unsigned word by `order`, see [`crate::keys`]. A stable sort by the lower and then by the upper halves is one by the
/// keys.
#[kernel(max_threads = BLOCK)]
pub fn places_halves(keys: Global<u64>, order: u32, upper: u32, places: Global<u32>, halves: Global<u32>) {
    let i = thread::index_1d();
    if i < halves.len() {
        halves.set(i, (keys.get(places.get(i)).encode(order) >> (32 * upper)) as u32);
    }
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[
    <places_own as simt::Instances>::NAMES,
    <places_gather as simt::Instances>::NAMES,
    <places_halves as simt::Instances>::NAMES,
];
