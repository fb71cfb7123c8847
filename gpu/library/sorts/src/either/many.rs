//! The kernels for many keys: those of `msd-skewed`, which go by a map where top bits do not spread the keys, and some
//! of which are steps of `onesweep` too.
//!
//! **By a map.** A sample shows whether keys take one: those that top bits spread pay nothing for it. A linear map
//! needs the ends of the sample alone, and its look-ups take no longer than top bits. Otherwise the histogram learns
//! one in the same launch: blocks count parts of a larger sample by a ticket, wait for each other, and each makes the
//! table for itself. There are up to twice as many buckets by a learned map: buckets are less even.
//!
//! **From the last digit.** No bucket has keys then and all lists are empty: so the bucket sort and the sort of groups
//! find nothing to do. The first pass needs no order kept, for keys without values: it moves tiles as a partition does,
//! in the launch of the second partition. Where there is only one partition, it is a pass like the others.

use super::THREADS;
use super::choice::{Choice, Worth, found_in, found_in_sample};
use crate::buckets::{partition_blocks, partition_cleared};
use crate::digits::{BITS, DIGITS, clear_counters as clear_digits, count_cleared as count_digits};
use crate::from_last::{Passes, REST_BLOCKS, all_passes};
use crate::learned::{COUNT_WORDS, Map, TABLE_SHARED, learn_together};
use crate::linear::{LINEAR_WORDS, Linear};
use crate::msd::{
    COUNT_THREADS, Key, LastBits, Mapped, Mapping, Plain, SAMPLE, SORT_THREADS, STARTS_THREADS, Tables, Tile, TopBits,
    TopDigit, begin_count, bucket_sort_blocks, clear_counters, clear_sample, count_cleared, counters, ends, extremes,
    move_tile, sort_cleared, spread, take_sample, tile_shared,
};
use crate::msd_skewed::{Lists, Numbers, SPLIT_SHARED, Window, sort_or_list, split, start_and_list};
use crate::pass::{PASS_SHARED, pass_tile};
use crate::ways::{PASSES, Ways};
use rungs_common::keys::{UNSIGNED, Word};
use simt::{Global, Shared, grid, kernel, thread, unroll, warp};

/// The words of the choice: which way keys go; which way they were counted, or that they go from the last digit by a
/// sample; whether a map has been learned; the linear map.
pub const CHOICE_WORDS: u32 = LINEAR + LINEAR_WORDS;
/// The word that says which way keys go.
pub const WAY: u32 = 0;
/// The word that says what a sample has shown.
pub const SAMPLED: u32 = 1;
/// The word that says whether a map has been learned.
pub const LEARNED: u32 = 2;
/// Where the linear map lies.
const LINEAR: u32 = 3;

/// To buckets by the top bits.
pub const BY_BITS: u32 = 0;
/// From the last digit on.
pub const FROM_LAST: u32 = 1;
/// To buckets by a learned map.
pub const BY_MAP: u32 = 2;
/// To buckets by a linear map.
pub const LINEARLY: u32 = 3;

/// What a map takes.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Learning {
    /// Bits of the second partition by a map, beyond those by the top bits.
    pub more_bits: u32,
    /// Parts of the sample that it is learned from; none if no map is learned.
    pub parts: u32,
    /// When it is worth its while.
    pub worth: Worth,
}

impl Learning {
    /// The numbers of a sort whose keys go this way.
    #[simt::device]
    fn numbers(self, mut numbers: Numbers, way: u32) -> Numbers {
        // A choice between two numbers of parameters would become one between the addresses of two parameters.
        numbers.second_bits += if way == BY_MAP { self.more_bits } else { 0 };
        numbers.common_bits *= u32::from(way < BY_MAP); // the keys of a bucket by a map may differ in any bit
        numbers
    }

    /// Bits of the number of a bucket by the map.
    #[simt::device]
    fn bits(self, numbers: Numbers) -> u32 {
        numbers.first_bits + numbers.second_bits + self.more_bits
    }
}

/// Bytes of dynamic shared memory of the histogram, for at most `1 << bits` buckets.
#[cfg(not(target_os = "cuda"))]
pub const fn many_histogram_shared(bits: u32) -> u32 {
    (2 << bits) + TABLE_SHARED
}

/// Counts the keys of each bucket by the top bits, or by a map, or none if a sample shows that they go from the last
/// digit.
///
/// `learn`: [`COUNT_WORDS`], zero, and behind them the map.
#[kernel(max_threads = COUNT_THREADS, min_blocks = 1, instances(
    radix_either_many_histogram: <u32, Plain>,
    radix_either_many_histogram_mapped: <u32, Mapped>,
    radix_either_many_histogram_u64: <u64, Plain>,
    radix_either_many_histogram_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_histogram<W: Key, M: Mapping>(
    keys: Global<W>, numbers: Numbers, histogram: Global<u32>, zeroed: Global<u32>, choice: Global<u32>,
    limits: Choice, learning: Learning, learn: Global<u32>,
) {
    let Numbers { order, first_bits, second_bits, .. } = numbers;
    let (top_bits, map_bits) = (first_bits + second_bits, learning.bits(numbers));
    clear_sample();
    begin_count(map_bits, zeroed);
    let sample = take_sample::<W, M>(keys, order);
    let found = found_in_sample(sample, TopBits::new(top_bits), limits);
    let mut way = if W::HALVES == 1 && found.from_last(limits) { FROM_LAST } else { BY_BITS };
    let (mut learned, mut linear) = (false, Linear::whole(top_bits));
    if learning.parts != 0 {
        let (behind, any) = (2 << map_bits, M::encode(keys.get(0), order));
        if learning.worth.is_worth(sample, found, any, Shared::<W>::dynamic(behind, SAMPLE)) {
            if W::HALVES == 1 {
                let [a, b] = [sample[0].top(), sample[1].top()];
                let slots = Shared::dynamic(behind, 2 * warp::WARP);
                let ends = extremes(a.min(b), a.max(b), slots, COUNT_THREADS / warp::WARP);
                let map = Linear::of_sample(ends, 1 << top_bits, second_bits);
                clear_sample();
                // Keys that all go to one bucket are counted slowly: a few of them first.
                if !found_in_sample(sample, map, limits).is_crowded()
                    && learning.worth.spreads::<W, M>(keys, order, counters(top_bits), map)
                {
                    (way, linear) = (LINEARLY, map);
                }
            }
            if way != LINEARLY {
                learned = true;
                thread::sync_threads(); // the repetitions are counted before the table takes their memory
                let (counts, map) = (learn.slice(0, COUNT_WORDS), learn.slice(COUNT_WORDS, learn.len() - COUNT_WORDS));
                let table = Shared::dynamic(behind, TABLE_SHARED / 4);
                let range = learn_together::<W, M>(keys, order, learning.parts, counts, map, table);
                let map = Map::new(range, table, map_bits);
                if learning.worth.spreads::<W, M>(keys, order, counters(map_bits), map) {
                    way = BY_MAP;
                    count_cleared::<W, M>(keys, order, map_bits, histogram, map);
                }
            }
        }
    }
    // All blocks take the same sample, so one speaks for all.
    if thread::index_1d() == 0 {
        choice.set(SAMPLED, way);
        choice.set(LEARNED, learned as u32);
        linear.write(choice.slice(LINEAR, LINEAR_WORDS));
    }
    if way == BY_BITS || way == LINEARLY {
        count_cleared::<W, M>(keys, order, top_bits, histogram, linear);
    }
}

/// Where each bucket starts, or that none has keys: decides whether keys go from the last digit, see
/// [`choice`](super::choice), which every block does for itself.
///
/// As [`radix_msd_skewed_starts`](crate::msd_skewed::radix_msd_skewed_starts), and in addition the words of the
/// `choice`, see [`CHOICE_WORDS`], and `counts`: those of slices, which are zero behind this.
#[kernel(max_threads = STARTS_THREADS, instances(
    radix_either_many_starts: <u32>,
    radix_either_many_starts_u64: <u64>,
))]
#[rustfmt::skip]
pub fn radix_either_many_starts<W: Key>(
    histogram: Global<u32>, n: u32, starts: Global<u32>, second: Global<u32>, first: Global<u32>, tiles: Global<u32>,
    lists: Global<u32>, numbers: Numbers, choice: Global<u32>, limits: Choice, learning: Learning, counts: Global<u32>,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete, and the sort before is done with all of this
    let sampled = choice.get(SAMPLED);
    let numbers = learning.numbers(numbers, sampled);
    let buckets = histogram.slice(0, 1 << (numbers.first_bits + numbers.second_bits));
    let from_last = W::HALVES == 1
        && (sampled == FROM_LAST || limits.least != u32::MAX && found_in(buckets, limits).from_last(limits));
    if thread::index_1d() == 0 {
        choice.set(WAY, if from_last { FROM_LAST } else { sampled });
    }
    if choice.get(LEARNED) != 0 {
        zero(counts);
    }
    if !from_last {
        return start_and_list::<W>(histogram, n, starts, [first, second], tiles, lists, numbers);
    }
    zero(starts);
}

/// Zeroes words, by all threads of the grid.
#[simt::device]
fn zero(words: Global<u32>) {
    let mut i = thread::index_1d();
    while i < words.len() {
        words.set(i, 0);
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

/// Bytes per thread of spilled registers that are accepted for the look-ups in the map. The ptxas of CUDA 13.5 spills
/// most.
const SPILLS: u32 = 56;

/// The first partition, of tile i by block i, or counts all digits in the first `blocks` blocks. `counts`: of all
/// digits, zero before and behind this. `passes`: the words of [`Passes`].
#[kernel(max_threads = THREADS, min_blocks = partition_blocks::<W, M>(), max_spills = SPILLS, instances(
    radix_either_many_first: <u32, Plain>,
    radix_either_many_first_mapped: <u32, Mapped>,
    radix_either_many_first_u64: <u64, Plain>,
    radix_either_many_first_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_first<W: Key, M: Mapping>(
    from: Global<W>, to: Global<W>, numbers: Numbers, cursors: Global<u32>, choice: Global<u32>, map: Global<u32>,
    counts: Global<u32>, passes: Global<u32>, blocks: u32,
) {
    let Numbers { order, first_bits: bits, second_bits, .. } = numbers;
    grid::let_next_start();
    Tables::new(THREADS, bits).clear();
    grid::wait_for_previous(); // the choice, and the cursors or the counts
    let (way, spread_out, all) = (choice.get(WAY), (second_bits != 0) as u32, choice.slice(0, 0));
    if way == BY_BITS {
        let digit = TopDigit { shift: u32::BITS - bits, bits };
        partition_cleared::<W, M, THREADS>(from, to, order, digit, cursors, spread_out, all);
    } else if way == BY_MAP {
        let digit = LastBits { buckets: Map::read(map, bits), bits };
        partition_cleared::<W, M, THREADS>(from, to, order, digit, cursors, spread_out, all);
    } else if W::HALVES == 1 && way == LINEARLY {
        let buckets = Linear::read(choice.slice(LINEAR, LINEAR_WORDS)).without(second_bits);
        partition_cleared::<W, M, THREADS>(from, to, order, LastBits { buckets, bits }, cursors, spread_out, all);
    } else if W::HALVES == 1 && thread::block_idx_x() < blocks {
        let order = if M::MAPS { order } else { UNSIGNED };
        clear_digits::<THREADS>(COUNT_SHARED);
        count_digits::<u32, THREADS>(from.cast(), order, PASSES, counts, COUNT_SHARED, blocks);
        Passes(passes).start::<{ THREADS / warp::WARP }>(counts, from.len(), blocks, None);
    }
}

/// The second partition, `tiles` and `cursors` as for [`radix_msd_skewed_partition`], or the first pass, of tile i by
/// block i and in any order: before the first pass there is none to keep.
///
/// [`radix_msd_skewed_partition`]: crate::buckets::radix_msd_skewed_partition
#[kernel(max_threads = THREADS, min_blocks = partition_blocks::<W, M>(), max_spills = SPILLS, instances(
    radix_either_many_second: <u32, Plain>,
    radix_either_many_second_mapped: <u32, Mapped>,
    radix_either_many_second_u64: <u64, Plain>,
    radix_either_many_second_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_second<W: Key, M: Mapping>(
    keys: Global<W>, scratch: Global<W>, numbers: Numbers, learning: Learning, cursors: Global<u32>,
    tiles: Global<u32>, choice: Global<u32>, map: Global<u32>, passes: Global<u32>,
) {
    let Numbers { order, first_bits, second_bits, .. } = numbers;
    grid::let_next_start();
    Tables::new(THREADS, BITS).clear(); // as many counters as the second partition has, or more
    grid::wait_for_previous(); // keys and cursors
    let way = choice.get(WAY);
    if way == BY_BITS {
        let digit = TopDigit { shift: u32::BITS - first_bits - second_bits, bits: second_bits };
        partition_cleared::<W, Plain, THREADS>(scratch, keys, UNSIGNED, digit, cursors, 0, tiles);
    } else if way == BY_MAP {
        let buckets = Map::read(map, learning.bits(numbers));
        let digit = LastBits { buckets, bits: second_bits + learning.more_bits };
        partition_cleared::<W, Plain, THREADS>(scratch, keys, UNSIGNED, digit, cursors, 0, tiles);
    } else if W::HALVES == 1 && way == LINEARLY {
        let digit = LastBits { buckets: Linear::read(choice.slice(LINEAR, LINEAR_WORDS)), bits: second_bits };
        partition_cleared::<W, Plain, THREADS>(scratch, keys, UNSIGNED, digit, cursors, 0, tiles);
    } else if W::HALVES == 1 {
        let (passes, begin) = (Passes(passes), thread::block_idx_x() * pass_tile::<u32>());
        // If keys differ in one digit, the last step writes them again.
        if begin < keys.len() && passes.differ().count_ones() > 1 {
            let tile = Tile { begin, end: keys.len().min(begin + pass_tile::<u32>()), origin: begin };
            let digit = Window { shift: passes.from(0).trailing_zeros() * BITS, bits: BITS };
            move_tile::<W, M, THREADS>(keys, scratch, order, tile, digit, passes.cursors(), spread);
        }
    }
}

/// Sorts bucket b, as [`radix_msd_skewed_bucket_sort`](crate::msd_skewed::radix_msd_skewed_bucket_sort), or by a map
/// buckets b, b + blocks and so on, keys of which may differ in all bits. `histogram` is zero behind this.
#[kernel(max_threads = SORT_THREADS, min_blocks = bucket_sort_blocks::<W>(false), max_spills = SPILLS, instances(
    radix_either_many_bucket_sort: <u32, Plain>,
    radix_either_many_bucket_sort_mapped: <u32, Mapped>,
    radix_either_many_bucket_sort_u64: <u64, Plain>,
    radix_either_many_bucket_sort_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_many_bucket_sort<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, starts: Global<u32>, histogram: Global<u32>, lists: Global<u32>,
    numbers: Numbers, choice: Global<u32>,
) {
    grid::let_next_start();
    clear_counters(SORT_THREADS);
    grid::wait_for_previous(); // keys and starts
    let (mut b, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    let mine = b + thread::thread_idx_x() * blocks;
    if mine < histogram.len() {
        histogram.set(mine, 0);
    }
    // Asked for together with the way.
    let (mut bucket, way) = (ends(starts, b), choice.get(WAY));
    if way < BY_MAP {
        return sort_or_list::<W, M, SORT_THREADS>(input, output, bucket, lists, numbers);
    }
    loop {
        // What is too large is on the lists.
        sort_cleared::<W, M, false, SORT_THREADS>(input, output, numbers.order, bucket, 0);
        b += blocks;
        if way != BY_MAP || b >= histogram.len() {
            return;
        }
        bucket = ends(starts, b);
        thread::sync_threads(); // all are done with the shared memory before the next bucket uses it
        clear_counters(SORT_THREADS);
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
    if choice.get(WAY) != FROM_LAST {
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
    all_passes(ways, numbers.order, passes, first, phase, states, epoch);
}

/// Writes keys that differ in digit `place` alone: each value as often as it was counted. No key is read.
#[simt::device]
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
