//! Launch 7: all passes by digits, for pairs whose keys do not spread.

use super::{TICKETS, by_buckets};
use crate::codes::{CODES_WORDS, Codes};
use crate::from_last::{PASSES_WORDS, Passes, REST_BLOCKS, all_passes_of_pairs};
use crate::pass::PASS_THREADS;
use crate::ways::Ways;
use simt::{Global, grid, kernel};

/// Sorts pairs by all digits from the last one, by way of `other`, memory for as many pairs; or leaves, if they have
/// gone by buckets. In a launch of at most as many blocks as run at once, so that leaving takes no time.
///
/// `sort`: as many as passes, from this one on, are numbers that `states` have not seen, 256 words per tile.
#[kernel(max_threads = PASS_THREADS, min_blocks = REST_BLOCKS, max_spills = 8)]
#[rustfmt::skip]
pub fn radix_msd_pairs_rest(
    keys: Global<u32>, values: Global<u32>, other: Global<u64>, order: u32, control: Global<u32>,
    buckets: Global<u32>, passes: Global<u32>, states: Global<u64>, sort: u32,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // starts and tickets
    if by_buckets(control, buckets, sort) {
        return;
    }
    let phase = |pass| (control.slice(TICKETS + 2 * pass, 1), control.slice(TICKETS + 2 * pass + 1, 1));
    let (ways, codes) = (Ways::new(keys, values, other), Codes(passes.slice(PASSES_WORDS, CODES_WORDS)));
    all_passes_of_pairs(ways, order, Passes(passes), codes, phase, states, sort);
}
