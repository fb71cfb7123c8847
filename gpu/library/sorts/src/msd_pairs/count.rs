//! Launch 3, or the first one where the host chose the digits: how often each digit has each value.

use super::linear::LINEAR;
use super::{TABLE_WORDS, TICKETS, by_buckets};
use crate::codes::{CODES_WORDS, Codes};
use crate::digits::{DIGITS, count_digits};
use crate::from_last::{PASSES_WORDS, Passes};
use crate::ways::PASSES;
use simt::{Global, kernel, thread, warp};

pub use crate::digits::HISTOGRAM_THREADS as COUNT_THREADS;

/// How many copies of each counter a block has; lanes take turns in them.
pub trait Copies: 'static {
    /// Blocks per SM.
    const BLOCKS: u32;
    /// Bytes of dynamic shared memory.
    const SHARED: u32;
}

/// A copy for two lanes each: there is less to clear, which counts where pairs are few.
pub struct PerTwoLanes;
/// A copy for each lane, in a bank of its own.
pub struct PerLane;

impl Copies for PerTwoLanes {
    const BLOCKS: u32 = 2;
    const SHARED: u32 = 16 * PASSES * DIGITS * 4;
}
impl Copies for PerLane {
    const BLOCKS: u32 = 1;
    const SHARED: u32 = 32 * PASSES * DIGITS * 4;
}

/// Adds how often digit p of the keys has value d to word `p · 256 + d` of one of two tables of `counts`, which was
/// zero, and zeroes the other one, for the next sort, and the tickets. If there are `passes`, the counts become starts,
/// and zero again, see [`Passes::start`]. By buckets it counts nothing.
#[kernel(max_threads = COUNT_THREADS, min_blocks = C::BLOCKS, instances(
    radix_msd_pairs_count: <PerLane>,
    radix_msd_pairs_count_few: <PerTwoLanes>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_count<C: Copies>(
    keys: Global<u32>, order: u32, counts: Global<u32>, table: u32, control: Global<u32>, buckets: Global<u32>,
    passes: Global<u32>, sort: u32,
) {
    let (i, mut by_digits) = (thread::index_1d(), false);
    let [counts, other] = [table, table ^ 1].map(|table| counts.slice(table * TABLE_WORDS, TABLE_WORDS));
    count_digits::<u32>(keys, order, counts, C::SHARED, || {
        if i < TABLE_WORDS {
            other.set(i, 0);
        }
        if i < LINEAR - TICKETS {
            control.set(TICKETS + i, 0);
        }
        by_digits = !by_buckets(control, buckets, sort);
        by_digits
    });
    if by_digits && !passes.is_empty() {
        let codes = Codes(passes.slice(PASSES_WORDS, CODES_WORDS));
        let blocks = thread::grid_dim_x();
        Passes(passes).start::<{ COUNT_THREADS / warp::WARP }>(counts, keys.len(), blocks, Some(codes));
    }
}
