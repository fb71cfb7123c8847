//! The only launch of few pairs: one block sorts them all.
//!
//! They are a bucket by a map, whose keys may differ in any bit: `any.rs` sorts it, in one round if the keys differ by
//! fewer than 2¹⁹, and in two if not. Keys that share counters, as a sample shows, would wait for each other there. For
//! them, and for so few that it is faster, a bitonic network has the same comparisons whatever they are.

use super::bucket_sort::row;
use super::window::{Block, LearnedBuckets, Window};
use crate::either::THREADS;
use crate::either::network::{FEWEST_PAIRS, MOST_PAIRS, sort_pairs_by_network};
use crate::msd::clear_counters;
use rungs_common::keys::{UNSIGNED, Word};
use simt::math::mul_hi;
use simt::{Global, grid, kernel, thread, warp};

/// Most pairs of a sort in one launch.
pub const ONE_BLOCK_PAIRS: u32 = MOST_PAIRS;
const _: () = assert!(THREADS == LearnedBuckets::THREADS && ONE_BLOCK_PAIRS <= LearnedBuckets::MOST);

/// Keys of the sample, a few warps.
const SAMPLED: u32 = 4 * warp::WARP;

/// So many of them share a counter with others of their warp if keys are skewed; of uniform ones one or two do.
const SKEWED: u32 = 10;

/// Sorts all pairs in place, at most [`ONE_BLOCK_PAIRS`] and at least one, in one block.
#[kernel(max_threads = LearnedBuckets::THREADS, min_blocks = 1)]
pub fn radix_msd_pairs_one_block(keys: Global<u32>, values: Global<u32>, order: u32) {
    grid::let_next_start();
    clear_counters(LearnedBuckets::THREADS);
    grid::wait_for_previous(); // pairs
    let window = Window::<LearnedBuckets>::new(0, keys.len());
    if order != UNSIGNED {
        // As partitions leave the keys of a bucket.
        let own = window.column(keys);
        window.each::<false>(|i| {
            let i = row::<LearnedBuckets>(i);
            own.set(i, own.get(i).encode(order));
        });
        thread::sync_threads(); // all keys are words in the order of words before a thread reads that of another one
    }
    // Behind this barrier the counters are clear, and their memory may be used for the network.
    let crowded = thread::sync_threads_count(shares_a_counter(keys));
    if keys.len() <= FEWEST_PAIRS || crowded >= SKEWED {
        return sort_pairs_by_network(keys, values, order);
    }
    let full = window.filled >= LearnedBuckets::FULL_ROWS * LearnedBuckets::THREADS;
    window.sort_any(full, keys, values, order);
}

/// Whether this thread's key of a sample, taken from all over the keys, would share a counter with one of its warp: by
/// all bits, or by the last ones, of which there is a round. If all keys share those, that round ends at once.
#[simt::device]
fn shares_a_counter(keys: Global<u32>) -> bool {
    let t = thread::thread_idx_x();
    if t >= SAMPLED {
        return false;
    }
    let key = keys.get(t * keys.len() / SAMPLED);
    let (least, greatest) = (warp::reduce_min(warp::FULL, key), warp::reduce_max(warp::FULL, key));
    let shift = ((greatest - least) | 1).leading_zeros();
    let counter = mul_hi((key - least) << shift, LearnedBuckets::SLOTS);
    let by_last = warp::match_any(warp::FULL, key & 0xffff);
    warp::match_any(warp::FULL, counter).count_ones() > 1 || by_last.count_ones() > 1 && by_last != warp::FULL
}
