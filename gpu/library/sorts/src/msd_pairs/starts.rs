//! Launch 2: where each bucket starts, which tiles the second partition has, and whether all buckets fit a block.

use super::linear::Written;
use super::{Buckets, Partition, Shape, go_by_digits};
use crate::msd::start_buckets;
use simt::{Global, grid, kernel, thread, warp};

pub use crate::msd::STARTS_THREADS;

/// Turns the histogram of `1 << (first_bits + second_bits)` buckets of `n` keys into starts and tiles, see
/// `start_buckets`; one block per value of the first bits. The pairs of this `sort` go by digits if a
/// bucket has more than `most` keys, or if one has keys outside the span of the others.
#[kernel(max_threads = STARTS_THREADS)]
#[rustfmt::skip]
pub fn radix_msd_pairs_starts(
    histogram: Global<u32>, n: u32, first_bits: u32, second_bits: u32, most: u32, control: Global<u32>, sort: u32,
    buckets: Global<u32>,
) {
    let Buckets { first, starts, tiles } = Buckets::new(buckets);
    let bits = [first_bits, second_bits];
    grid::let_next_start();
    grid::wait_for_previous(); // histogram and map are complete
    let all = first_bits + second_bits;
    let own = thread::block_idx_x() << second_bits | thread::thread_idx_x();
    let outside = Written::read(control).leaves_last(all) && own == (1 << all) - 1;
    // The passes look back instead of advancing cursors: starts are all that the second partition needs.
    start_buckets::<u32>(histogram, n, bits, starts, [first, starts], tiles, Partition::TILE, |_, count| {
        let most = if outside { 0 } else { most };
        if warp::any(warp::FULL, count > most) && warp::lane_id() == 0 {
            go_by_digits(control, sort);
        }
    });
}
