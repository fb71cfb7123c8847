//! # The number of each element's segment
//!
//! Writes how many offsets there are up to each element: one more than the number of its segment. Neighbours of
//! different segments have different numbers, so what runs by key, a scan say, runs by segments. Elements before the
//! first offset have number 0; those behind the last one have the number of offsets.
//!
//! A block takes a tile of elements. It looks for the numbers of the first and the last of them, and each thread
//! bisects what is between: nothing, if a segment holds the whole tile.
//!
//! **Bottleneck.** Memory where segments are long; where they are short, the loads of the bisection, from L1.

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Elements per thread.
const ITEMS: usize = 8;

/// Elements of a tile.
pub const TILE: u32 = BLOCK * ITEMS as u32;

// The numbers of the tile's first element and of its last.
shared!(ENDS: [u32; 2]);

/// Writes the numbers to `numbers`. `broken`, one word that is 0 before, or none, is 1 afterwards if offsets descend or
/// lie beyond the elements; the numbers are then unspecified.
#[kernel(max_threads = BLOCK)]
pub fn segment_numbers(offsets: Global<u32>, numbers: Global<u32>, broken: Global<u32>) {
    let (t, n, ends) = (thread::thread_idx_x(), numbers.len(), ENDS::view());
    let start = thread::block_idx_x() * TILE;
    if start < n && t < 2 {
        let place = if t == 0 { start } else { start + (n - start).min(TILE) - 1 };
        ends.set(t, up_to(offsets, place, 0, offsets.len()));
    }
    let mut i = thread::index_1d();
    while i < offsets.len() && !broken.is_empty() {
        let (offset, is_last) = (offsets.get(i), i + 1 == offsets.len());
        if offset > n || !is_last && offset > offsets.get(i + 1) {
            broken.store(0, 1, Relaxed, Scope::Device);
        }
        i += thread::grid_threads_1d();
    }
    thread::sync_threads(); // both ends are written before all threads read them
    unroll::<ITEMS>(|i| {
        let at = i as u32 * BLOCK + t;
        if start < n && at < n - start {
            numbers.set(start + at, up_to(offsets, start + at, ends.get(0), ends.get(1)));
        }
    });
}

/// How many offsets are at most `place`: `low` to `high` of them, if they do not descend.
#[simt::device]
fn up_to(offsets: Global<u32>, place: u32, mut low: u32, mut high: u32) -> u32 {
    while low < high {
        let middle = low + (high - low) / 2;
        if offsets.get(middle) <= place {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[<segment_numbers as simt::Instances>::NAMES];

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches.

    use super::*;
    use simt::Geometry;
    use simt::launcher::{Launcher, Result};

    /// Writes the number of each element's segment, and to `broken`, one word or none, whether the offsets are wrong.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn number(on: &dyn Launcher, offsets: Global<u32>, numbers: Global<u32>, broken: Global<u32>) -> Result {
        if !broken.is_empty() {
            on.clear(broken)?;
        }
        let blocks = numbers.len().div_ceil(TILE).max(1);
        on.launch(segment_numbers, Geometry::linear(blocks, BLOCK), (offsets, numbers, broken))
    }
}
