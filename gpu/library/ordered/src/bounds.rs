//! # Places of needles among sorted keys
//!
//! One thread per needle searches by halves. Needles that are sorted themselves are found faster: the threads of a warp
//! then read the same sectors.
//!
//! **Bottleneck.** Latency: log₂ n loads, each of which waits for the one before. The first steps of all threads read
//! the same few keys, which stay in L2.

use crate::BLOCK;
use rungs_common::keys::Word;
use simt::{Global, kernel, thread};

/// Writes to each place of `places` how many of the sorted `keys` come before the needle there: those that are less,
/// or, where `upper` is not 0, those that are not greater. Keys that are not sorted give some place up to their number.
#[kernel(max_threads = BLOCK, instances(bounds_u32: <u32>, bounds_u64: <u64>))]
pub fn bounds<W: Word>(keys: Global<W>, needles: Global<W>, order: u32, upper: u32, places: Global<u32>) {
    let i = thread::index_1d();
    if i >= places.len() {
        return;
    }
    let needle = needles.get(i).encode(order);
    let (mut low, mut high) = (0, keys.len());
    while low < high {
        let middle = low + (high - low) / 2;
        let key = keys.get(middle).encode(order);
        if key < needle || upper != 0 && key == needle {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    places.set(i, low);
}
