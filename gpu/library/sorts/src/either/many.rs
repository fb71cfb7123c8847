//! The kernels for many keys: those of `msd-skewed`, some of which are steps of `onesweep` too.
//!
//! Where keys go from the last digit, no bucket has keys and all lists are empty: so the bucket sort and the sort of
//! groups, which know nothing of the choice, find nothing to do.
//!
//! The first pass needs no order kept, for keys without values: it moves tiles as a partition does, in the launch of
//! the second partition. Where there is only one partition, it is a pass like the others.

use super::THREADS;
use super::choice::{Choice, goes_from_last, sample_goes_from_last};
use crate::buckets::{partition_blocks, partition_cleared};
use crate::digits::{BITS, DIGITS, clear_counters, count_cleared};
use crate::from_last::{PASSES, Passes, REST_BLOCKS, Ways, all_passes};
use crate::msd::{
    COUNT_THREADS, Mapped, Mapping, Plain, STARTS_THREADS, Tables, Tile, TopBits, TopDigit, clear_sample,
    count_buckets, move_tile, spread, tile_shared,
};
use crate::msd_skewed::{Lists, Numbers, SPLIT_SHARED, Window, split, start_and_list};
use crate::pass::{KeysOnly, PASS_SHARED, pass_tile};
use rungs_common::keys::{UNSIGNED, Word};
use simt::{Global, Shared, grid, kernel, thread, unroll, warp};

/// The words of the choice: whether keys go from the last digit on, and whether a sample has shown that.
pub const CHOICE_WORDS: u32 = 2;
/// The word that says whether keys go from the last digit.
pub const FROM_LAST: u32 = 0;
/// The word that says whether a sample has shown it.
pub const SAMPLED: u32 = 1;

/// Counts the keys of each bucket, as [`radix_msd_buckets_histogram`](crate::buckets), unless a sample of
/// the keys shows that they go from the last digit.
#[kernel(max_threads = COUNT_THREADS, min_blocks = 1, instances(
    radix_either_many_histogram: <Plain>,
    radix_either_many_histogram_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_histogram<M: Mapping>(
    keys: Global<u32>, order: u32, top_bits: u32, histogram: Global<u32>, zeroed: Global<u32>, choice: Global<u32>,
    sample: Choice,
) {
    clear_sample();
    count_buckets::<u32, M, _>(keys, order, top_bits, histogram, zeroed, || {
        let from_last = sample_goes_from_last::<M>(keys, order, top_bits, sample);
        // All blocks take the same sample, so one speaks for all.
        if thread::index_1d() == 0 {
            choice.set(SAMPLED, from_last as u32);
        }
        (!from_last).then(|| TopBits::new(top_bits))
    });
}

/// Where each bucket starts, or that none has keys: decides which way keys go, see [`choice`](super::choice), which
/// every block does for itself.
///
/// As [`radix_msd_skewed_starts`](crate::msd_skewed::radix_msd_skewed_starts), beside the words of the
/// `choice`, see [`CHOICE_WORDS`].
#[kernel(max_threads = STARTS_THREADS)]
#[rustfmt::skip]
pub fn radix_either_many_starts(
    histogram: Global<u32>, n: u32, starts: Global<u32>, second: Global<u32>, first: Global<u32>, tiles: Global<u32>,
    lists: Global<u32>, numbers: Numbers, choice: Global<u32>, limits: Choice,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete, and the sort before is done with all of this
    let from_last = choice.get(SAMPLED) != 0 || goes_from_last(histogram, limits);
    if thread::index_1d() == 0 {
        choice.set(FROM_LAST, from_last as u32);
    }
    if !from_last {
        return start_and_list::<u32>(histogram, n, starts, [first, second], tiles, lists, numbers);
    }
    let mut i = thread::index_1d();
    while i < starts.len() {
        starts.set(i, 0);
        i += thread::grid_threads_1d();
    }
}

/// Bytes of counters: eight copies of those of all digits.
const COUNT_SHARED: u32 = 8 * PASSES * DIGITS * 4;

/// Bytes of dynamic shared memory of the first and of the second step.
pub const FIRST_SHARED: u32 = tile_shared(THREADS);
const _: () = assert!(COUNT_SHARED <= FIRST_SHARED);
const _: () = assert!(COUNT_SHARED.is_multiple_of(16 * THREADS), "each thread clears as many packs");

/// Blocks that count: no more than run at once.
#[cfg(not(target_os = "cuda"))]
pub const fn count_blocks(multiprocessors: u32) -> u32 {
    partition_blocks::<u32, Plain>() * multiprocessors
}

/// The first partition, of tile i by block i, or counts all digits in the first `blocks` blocks. `counts`: of all
/// digits, zero before and behind this. `passes`: the words of [`Passes`].
#[kernel(max_threads = THREADS, min_blocks = partition_blocks::<u32, M>(), instances(
    radix_either_many_first: <Plain>,
    radix_either_many_first_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_first<M: Mapping>(
    from: Global<u32>, to: Global<u32>, numbers: Numbers, cursors: Global<u32>, choice: Global<u32>,
    counts: Global<u32>, passes: Global<u32>, blocks: u32,
) {
    let Numbers { order, first_bits, second_bits, .. } = numbers;
    grid::let_next_start();
    Tables::new(THREADS, first_bits).clear();
    grid::wait_for_previous(); // the choice, and the cursors or the counts
    if choice.get(FROM_LAST) == 0 {
        let digit = TopDigit { shift: u32::BITS - first_bits, bits: first_bits };
        let (spread_out, all) = ((second_bits != 0) as u32, choice.slice(0, 0));
        partition_cleared::<u32, M, THREADS>(from, to, order, digit, cursors, spread_out, all);
    } else if thread::block_idx_x() < blocks {
        let order = if M::MAPS { order } else { UNSIGNED };
        clear_counters::<THREADS>(COUNT_SHARED);
        count_cleared::<u32, THREADS>(from, order, PASSES, counts, COUNT_SHARED, blocks);
        Passes(passes).start::<{ THREADS / warp::WARP }>(counts, from.len(), blocks);
    }
}

/// The second partition, `tiles` and `cursors` as for [`radix_msd_buckets_partition`], or the first pass, of tile i by
/// block i and in any order: before the first pass there is none to keep.
///
/// [`radix_msd_buckets_partition`]: crate::buckets::radix_msd_buckets_partition
#[kernel(max_threads = THREADS, min_blocks = partition_blocks::<u32, M>(), instances(
    radix_either_many_second: <Plain>,
    radix_either_many_second_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_second<M: Mapping>(
    keys: Global<u32>, scratch: Global<u32>, numbers: Numbers, cursors: Global<u32>, tiles: Global<u32>,
    choice: Global<u32>, passes: Global<u32>,
) {
    let Numbers { order, first_bits, second_bits, .. } = numbers;
    grid::let_next_start();
    Tables::new(THREADS, BITS).clear(); // as many counters as the second partition has, or more
    grid::wait_for_previous(); // keys and cursors
    if choice.get(FROM_LAST) == 0 {
        let digit = TopDigit { shift: u32::BITS - first_bits - second_bits, bits: second_bits };
        partition_cleared::<u32, Plain, THREADS>(scratch, keys, UNSIGNED, digit, cursors, 0, tiles);
        return;
    }
    let (passes, begin) = (Passes(passes), thread::block_idx_x() * pass_tile::<u32>());
    // If keys differ in one digit, the last step writes them anew.
    if begin < keys.len() && passes.differ().count_ones() > 1 {
        let tile = Tile { begin, end: keys.len().min(begin + pass_tile::<u32>()), origin: begin };
        let digit = Window { shift: passes.from(0).trailing_zeros() * BITS, bits: BITS };
        move_tile::<u32, M, THREADS>(keys, scratch, order, tile, digit, passes.cursors(), spread);
    }
}

/// Bytes of dynamic shared memory of the last step.
pub const REST_SHARED: u32 = if SPLIT_SHARED > PASS_SHARED { SPLIT_SHARED } else { PASS_SHARED };
const _: () = assert!(4 * PASSES * DIGITS <= REST_SHARED);

/// Splits the buckets that are too large; or does all passes or, if the second launch did the first one, the others.
/// Keys that differ in one digit take no pass: its counts say all.
///
/// `epoch`: as many as passes, from this one on, are numbers that `states` have not seen, 256 words per tile.
#[kernel(max_threads = THREADS, min_blocks = REST_BLOCKS)]
#[rustfmt::skip]
pub fn radix_either_rest(
    keys: Global<u32>, scratch: Global<u32>, lists: Global<u32>, numbers: Numbers, choice: Global<u32>,
    passes: Global<u32>, states: Global<u64>, epoch: u32,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists
    if choice.get(FROM_LAST) == 0 {
        return split::<u32, 1>(scratch, keys, lists, numbers);
    }
    let passes = Passes(passes);
    let differ = passes.differ();
    if differ.is_power_of_two() {
        return write_anew(keys, numbers.order, differ.trailing_zeros(), passes);
    }
    let first = (numbers.second_bits != 0) as u32;
    // No bucket is split, so the phases of the lists are free.
    let phase = |number| Lists::new(lists, keys.len(), numbers.limits).phase(number);
    let ways = Ways { keys: [keys, scratch], values: [keys.slice(0, 0); 2] };
    all_passes::<KeysOnly>(ways, numbers.order, passes, first, phase, states, epoch);
}

/// Writes keys that differ in digit `place` alone: each value as often as it was counted. No key is read.
#[inline(always)]
#[track_caller]
fn write_anew(keys: Global<u32>, order: u32, place: u32, passes: Passes) {
    let (n, t) = (keys.len(), thread::thread_idx_x());
    let starts = Shared::<u32>::dynamic(0, PASSES * DIGITS);
    if t < DIGITS {
        unroll::<{ PASSES as usize }>(|p| starts.set(p as u32 * DIGITS + t, passes.starts(p as u32).get(t)));
    }
    thread::sync_threads(); // all starts are there before they are searched
    // The last value of digit p that starts at this place or before: the others that do so have no keys behind them.
    let value_at = |p: u32, at: u32| {
        let (mut value, mut half) = (0, DIGITS / 2);
        while half > 0 {
            if starts.get(p * DIGITS + value + half) <= at {
                value += half;
            }
            half /= 2;
        }
        value
    };
    let mut rest = 0;
    unroll::<{ PASSES as usize }>(|p| {
        if p as u32 != place {
            rest |= value_at(p as u32, 0) << (p as u32 * BITS);
        }
    });
    let key_at = |at: u32| (rest | value_at(place, at) << (place * BITS)).decode(order);
    let packs = n / 4;
    let mut i = thread::index_1d();
    while i < packs {
        let (low, high) = (key_at(4 * i), key_at(4 * i + 3));
        let mut pack = [low; 4];
        if low != high {
            unroll::<4>(|j| pack[j] = key_at(4 * i + j as u32));
        }
        keys.set_pack(i, pack);
        i += thread::grid_threads_1d();
    }
    let at = 4 * packs + thread::index_1d();
    if at < n {
        keys.set(at, key_at(at));
    }
}
