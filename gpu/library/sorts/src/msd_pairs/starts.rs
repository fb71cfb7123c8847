//! Launch 2: where each bucket starts, which tiles the second partition has, and whether all buckets fit a block.

use super::{Buckets, Partition, Shape, go_by_digits};
use crate::msd::start_buckets;
use simt::{Global, grid, kernel, warp};

pub use crate::msd::STARTS_THREADS;

/// Turns the histogram of `1 << (first_bits + second_bits)` buckets of `n` keys into starts and tiles, see
/// `start_buckets`; one block per value of the first bits. The pairs of this `sort` go by digits if a
/// bucket has more than `most` keys.
#[kernel(max_threads = STARTS_THREADS)]
#[rustfmt::skip]
pub fn radix_msd_pairs_starts(
    histogram: Global<u32>, n: u32, first_bits: u32, second_bits: u32, most: u32, control: Global<u32>, sort: u32,
    buckets: Global<u32>,
) {
    let Buckets { first, starts, tiles } = Buckets::new(buckets);
    let bits = [first_bits, second_bits];
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete
    // The passes look back instead of advancing cursors: starts are all that the second partition needs.
    start_buckets::<u32>(histogram, n, bits, starts, [first, starts], tiles, Partition::TILE, |_, count| {
        if warp::any(warp::FULL, count > most) && warp::lane_id() == 0 {
            go_by_digits(control, sort);
        }
    });
}
