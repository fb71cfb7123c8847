//! The kernels for many keys: those of `msd-skewed`, some of which are steps of `onesweep` too.
//!
//! Where keys go from the last digit, no bucket has keys and all lists are empty: so the bucket sort and the sort of
//! groups, which know nothing of the choice, find nothing to do.
//!
//! The first pass needs no order kept, for keys without values: it moves tiles as a partition does, in the launch of
//! the second partition. Where there is only one partition, it is a pass like the others.

use super::choice::{Choice, goes_from_last, sample_goes_from_last};
use super::{THREADS, TOP};
use crate::keys::{UNSIGNED, Word};
use crate::radix::digits::{BITS, DIGITS, clear_counters, count_cleared};
use crate::radix::msd::{
    COUNT_THREADS, Mapped, Mapping, Plain, STARTS_THREADS, Tables, Tile, clear_sample, count_top_bits, move_tile, spread,
    take, tile_shared,
};
use crate::radix::r7_onesweep::{Digit, KeysOnly, PASS_SHARED, clear_pass, pass_tile, pass_tile_number};
use crate::radix::r8_msd_buckets::{partition_blocks, partition_cleared};
use crate::radix::r9_msd_skewed::{Lists, Numbers, SPLIT_SHARED, Window, each_item, split, start_and_list};
use crate::radix::steps::block_scan;
use simt::{Global, Shared, grid, kernel, shared, thread, unroll, warp};

/// Passes by all digits.
pub const PASSES: u32 = TOP + 1;

/// Words of what the passes go by: the counts of all digits, the cursors of the first pass, whether keys go from the
/// last digit on, and whether a sample has shown that.
pub const MANY_WORDS: u32 = SAMPLED + 1;
/// Where the cursors begin, placed by [`spread`].
const CURSORS: u32 = PASSES * DIGITS;
/// The word that says whether keys go from the last digit.
pub const FROM_LAST: u32 = CURSORS + spread(DIGITS);
/// The word that says whether a sample has shown it.
pub const SAMPLED: u32 = FROM_LAST + 1;

/// Counts the keys of each bucket, as [`radix_msd_buckets_histogram`](crate::radix::r8_msd_buckets), unless a sample of
/// the keys shows that they go from the last digit.
#[kernel(max_threads = COUNT_THREADS, min_blocks = 1, instances(
    radix_either_many_histogram: <Plain>,
    radix_either_many_histogram_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_histogram<M: Mapping>(
    keys: Global<u32>, order: u32, top_bits: u32, histogram: Global<u32>, zeroed: Global<u32>, digits: Global<u32>,
    sample: Choice,
) {
    clear_sample();
    count_top_bits::<u32, M>(keys, order, top_bits, histogram, zeroed, || {
        let from_last = sample_goes_from_last::<M>(keys, order, top_bits, sample);
        // All blocks take the same sample, so one speaks for all.
        if thread::index_1d() == 0 {
            digits.set(SAMPLED, from_last as u32);
        }
        !from_last
    });
}

/// Where each bucket starts, or that none has keys: decides which way keys go, see [`choice`](super::choice), which
/// every block does for itself.
///
/// As [`radix_msd_skewed_starts`](crate::radix::r9_msd_skewed::radix_msd_skewed_starts), beside `digits`, see
/// [`MANY_WORDS`]: if keys go from the last digit, counts and cursors are zero when this ends.
#[kernel(max_threads = STARTS_THREADS)]
#[rustfmt::skip]
pub fn radix_either_many_starts(
    histogram: Global<u32>, n: u32, starts: Global<u32>, second: Global<u32>, first: Global<u32>, tiles: Global<u32>,
    lists: Global<u32>, numbers: Numbers, digits: Global<u32>, choice: Choice,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete, and the sort before is done with all of this
    let (t, index) = (thread::thread_idx_x(), thread::index_1d());
    let from_last = digits.get(SAMPLED) != 0 || goes_from_last(histogram, choice);
    if index == 0 {
        digits.set(FROM_LAST, from_last as u32);
    }
    if !from_last {
        return start_and_list::<u32>(histogram, n, starts, [first, second], tiles, lists, numbers);
    }
    let mut i = index;
    while i < starts.len() {
        starts.set(i, 0);
        i += thread::grid_threads_1d();
    }
    if thread::block_idx_x() == 0 {
        let mut i = t;
        while i < FROM_LAST {
            digits.set(i, 0);
            i += STARTS_THREADS;
        }
    }
}

/// Bytes of counters: eight copies of those of all digits.
const COUNT_SHARED: u32 = 8 * PASSES * DIGITS * 4;

/// Bytes of dynamic shared memory of the first step.
pub const FIRST_SHARED: u32 = tile_shared(THREADS);
const _: () = assert!(COUNT_SHARED <= FIRST_SHARED);
const _: () = assert!(COUNT_SHARED.is_multiple_of(16 * THREADS), "each thread clears as many packs");

/// Blocks that count: as many as run at once.
#[cfg(not(target_os = "cuda"))]
pub const fn count_blocks(multiprocessors: u32) -> u32 {
    partition_blocks::<u32, Plain>() * multiprocessors
}

/// The first partition, of tile i by block i, or counts all digits in the first `blocks` blocks.
#[kernel(max_threads = THREADS, min_blocks = partition_blocks::<u32, M>(), instances(
    radix_either_many_first: <Plain>,
    radix_either_many_first_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_first<M: Mapping>(
    from: Global<u32>, to: Global<u32>, numbers: Numbers, cursors: Global<u32>, digits: Global<u32>, blocks: u32,
) {
    let Numbers { order, first_bits, second_bits, .. } = numbers;
    grid::let_next_start();
    Tables::new(THREADS, first_bits).clear();
    grid::wait_for_previous(); // the choice, and the cursors or the counts
    if digits.get(FROM_LAST) == 0 {
        let (shift, spread_out, all) = (u32::BITS - first_bits, (second_bits != 0) as u32, digits.slice(0, 0));
        partition_cleared::<u32, M, THREADS>(from, to, order, shift, first_bits, cursors, spread_out, all);
    } else if thread::block_idx_x() < blocks {
        let order = if M::MAPS { order } else { UNSIGNED };
        clear_counters::<THREADS>(COUNT_SHARED);
        count_cleared::<u32, THREADS>(from, order, PASSES, digits.slice(0, PASSES * DIGITS), COUNT_SHARED, blocks);
    }
}

/// The second partition, `tiles` and `cursors` as for [`radix_msd_buckets_partition`], or the first pass, of tile i by
/// block i.
///
/// [`radix_msd_buckets_partition`]: crate::radix::r8_msd_buckets::radix_msd_buckets_partition
#[kernel(max_threads = THREADS, min_blocks = partition_blocks::<u32, M>(), instances(
    radix_either_many_second: <Plain>,
    radix_either_many_second_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_second<M: Mapping>(
    keys: Global<u32>, scratch: Global<u32>, numbers: Numbers, cursors: Global<u32>, tiles: Global<u32>,
    digits: Global<u32>,
) {
    let Numbers { order, first_bits, second_bits, .. } = numbers;
    grid::let_next_start();
    Tables::new(THREADS, BITS).clear(); // as many counters as the second partition has, or more
    grid::wait_for_previous(); // keys and cursors, or the counts of all digits
    if digits.get(FROM_LAST) == 0 {
        let shift = u32::BITS - first_bits - second_bits;
        partition_cleared::<u32, Plain, THREADS>(scratch, keys, UNSIGNED, shift, second_bits, cursors, 0, tiles);
    } else if thread::block_idx_x() < keys.len().div_ceil(pass_tile::<u32>()) {
        first_pass::<M>(keys, scratch, order, digits);
    }
}

shared!(STARTS: [u32; DIGITS]);

/// Moves the keys of the block's tile by the first digit that there is a pass for, in any order.
#[inline(always)]
#[track_caller]
fn first_pass<M: Mapping>(keys: Global<u32>, scratch: Global<u32>, order: u32, digits: Global<u32>) {
    let (t, n) = (thread::thread_idx_x(), keys.len());
    let mut differ = 0u32;
    unroll::<{ PASSES as usize }>(|p| {
        let has_all = t < DIGITS && digits.get(p as u32 * DIGITS + t) == n;
        if !thread::sync_threads_or(has_all) {
            differ |= 1 << p;
        }
    });
    if differ.count_ones() < 2 {
        return; // the last step writes the keys anew
    }
    let first = passes_by(differ).trailing_zeros();
    let count = if t < DIGITS { digits.get(first * DIGITS + t) } else { 0 };
    let (start, _) = block_scan::<{ THREADS / warp::WARP }>(count, SUMS::view());
    if t < DIGITS {
        // Barriers follow before any is read.
        STARTS::view().set(t, start);
    }
    let begin = thread::block_idx_x() * pass_tile::<u32>();
    let tile = Tile { begin, end: n.min(begin + pass_tile::<u32>()), origin: begin };
    let digit = Window { shift: first * BITS, bits: BITS };
    move_tile::<u32, M, THREADS>(keys, scratch, order, tile, digit, |value, keys| {
        STARTS::view().get(value) + take(digits.slice(CURSORS, spread(DIGITS)), spread(value), keys)
    });
}

/// By which digits there are passes, a bit each, if keys differ in those of `differ`: as many as end where they began.
/// One by a digit in which keys do not differ is a copy.
#[inline(always)]
fn passes_by(differ: u32) -> u32 {
    let same = !differ & ((1 << PASSES) - 1);
    if differ.count_ones().is_multiple_of(2) { differ } else { differ | (same & same.wrapping_neg()) }
}

/// Blocks per multiprocessor of the last step, and for how many the compiler makes room.
pub const REST_BLOCKS: u32 = 2;

/// Bytes of dynamic shared memory of the last step. Behind a tile of a pass lie the starts of all digits.
pub const REST_SHARED: u32 = {
    let passes = PASS_SHARED + PASSES * DIGITS * 4;
    if SPLIT_SHARED > passes { SPLIT_SHARED } else { passes }
};

/// Splits the buckets that are too large, or does all passes, or those behind the first.
///
/// `epoch`: as many as passes, from this one on, are numbers that `states` have not seen, 256 words per tile.
#[kernel(max_threads = THREADS, min_blocks = REST_BLOCKS)]
#[rustfmt::skip]
pub fn radix_either_rest(
    keys: Global<u32>, scratch: Global<u32>, lists: Global<u32>, numbers: Numbers, digits: Global<u32>,
    states: Global<u64>, epoch: u32,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists, or the counts of all digits
    if digits.get(FROM_LAST) == 0 {
        split::<u32, 1>(scratch, keys, lists, numbers);
    } else {
        sort_from_last(keys, scratch, lists, numbers, digits, states, epoch);
    }
}

shared!(SUMS: [u32; THREADS / warp::WARP]);
shared!(ALIKE: [u32; PASSES]);
// The digits that are left, a bit each, with that of the pass; the number of the pass.
shared!(STEP: [u32; 2]);

/// Sorts the keys by the digits in which they differ: passes, or if there is one such digit, its counts say all.
#[inline(always)]
#[track_caller]
#[rustfmt::skip]
fn sort_from_last(
    keys: Global<u32>, scratch: Global<u32>, lists: Global<u32>, numbers: Numbers, digits: Global<u32>,
    states: Global<u64>, epoch: u32,
) {
    let starts = Shared::<u32>::dynamic(PASS_SHARED, PASSES * DIGITS);
    let differ = start_digits(digits, keys.len(), starts);
    if differ == 0 {
        return; // all keys are equal
    }
    if differ.is_power_of_two() {
        return write_anew(keys, numbers.order, differ.trailing_zeros(), starts);
    }
    let (passes, first) = (passes_by(differ), (numbers.second_bits != 0) as u32);
    // Which pass it is lies in shared memory, because registers are few.
    let (t, step) = (thread::thread_idx_x(), STEP::view());
    let number = || step.get(1);
    let place = || step.get(0).trailing_zeros();
    let is_last = || step.get(0).is_power_of_two();
    let digit = || Digit {
        shift: place() * BITS,
        encode: if number() == 0 { numbers.order } else { UNSIGNED },
        decode: if is_last() { numbers.order } else { UNSIGNED },
        epoch: epoch + number(),
    };
    let keys_of = || if number() % 2 == 0 { [keys, scratch] } else { [scratch, keys] };
    if t == 0 {
        step.set(0, if first == 0 { passes } else { passes & (passes - 1) });
        step.set(1, first);
    }
    thread::sync_threads(); // the first pass is known
    loop {
        let last = is_last();
        // No bucket is split, so the phases of the lists are free. Tickets count up, so that the tiles which a block
        // waits for have been taken by running blocks.
        let phase = || Lists::new(lists, keys.len(), numbers.limits).phase(number());
        each_item(phase, || keys.len().div_ceil(pass_tile::<u32>()), !last, |tile| {
            clear_pass();
            warp::sync_warp(warp::FULL); // the counters are zero before the warp counts its first key
            let start = || starts.get(place() * DIGITS + thread::thread_idx_x());
            let none = digits.slice(0, 0);
            pass_tile_number::<u32, KeysOnly>(tile, keys_of, [none; 2], digit, start, states);
        });
        if last {
            return;
        }
        // All have left the pass: its end was waited for.
        if t == 0 {
            step.set(0, step.get(0) & (step.get(0) - 1));
            step.set(1, number() + 1);
        }
        thread::sync_threads(); // the next pass is known
    }
}

/// Turns the counts of all `digits` into `starts`. Returns a bit for each digit in which keys differ; the value of
/// another digit is in [`ALIKE`].
#[inline(always)]
#[track_caller]
fn start_digits(digits: Global<u32>, n: u32, starts: Shared<u32>) -> u32 {
    let t = thread::thread_idx_x();
    let (mut counts, mut differ) = ([0; PASSES as usize], 0);
    if t < DIGITS {
        unroll::<{ PASSES as usize }>(|p| counts[p] = digits.get(p as u32 * DIGITS + t));
    }
    unroll::<{ PASSES as usize }>(|p| {
        let (start, _) = block_scan::<{ THREADS / warp::WARP }>(counts[p], SUMS::view());
        if t < DIGITS {
            starts.set(p as u32 * DIGITS + t, start);
        }
        let has_all = counts[p] == n;
        if has_all {
            ALIKE::view().set(p as u32, t);
        }
        // Also: the starts are there, and all have read the sums before the next digit's are written.
        if !thread::sync_threads_or(has_all) {
            differ |= 1 << p;
        }
    });
    differ
}

/// Writes keys that differ in one digit: each value as often as it was counted. No key is read.
#[inline(always)]
#[track_caller]
fn write_anew(keys: Global<u32>, order: u32, place: u32, starts: Shared<u32>) {
    let (n, shift, starts) = (keys.len(), place * BITS, starts.slice(place * DIGITS, DIGITS));
    let mut rest = 0;
    unroll::<{ PASSES as usize }>(|p| {
        if p as u32 != place {
            rest |= ALIKE::view().get(p as u32) << (p as u32 * BITS);
        }
    });
    let key = |digit: u32| (rest | digit << shift).decode(order);
    // The last value that starts at this place or before: the others that do so have no keys behind them.
    let digit_at = |at: u32| {
        let (mut digit, mut half) = (0, DIGITS / 2);
        while half > 0 {
            if starts.get(digit + half) <= at {
                digit += half;
            }
            half /= 2;
        }
        digit
    };
    let packs = n / 4;
    let mut i = thread::index_1d();
    while i < packs {
        let (low, high) = (digit_at(4 * i), digit_at(4 * i + 3));
        let mut pack = [key(low); 4];
        if low != high {
            unroll::<4>(|j| pack[j] = key(digit_at(4 * i + j as u32)));
        }
        keys.set_pack(i, pack);
        i += thread::grid_threads_1d();
    }
    let at = 4 * packs + thread::index_1d();
    if at < n {
        keys.set(at, key(digit_at(at)));
    }
}
