//! # Radix sort, choose MSD or LSD on the device
//!
//! **Idea.** For keys that spread over the buckets an MSD radix sort is fastest, for others mostly an LSD radix sort.
//! Only the device can tell which keys it has, once it has counted the digits. So a launch can be a step of either
//! sort: the launch that turns counts into starts decides, and the others read its decision.
//!
//! **Up to 2²⁰ keys.** `msd-skewed` splits an oversized bucket level by level, and its blocks wait for each other at
//! the end of each phase. For so few keys that waiting is most of the time. On skewed keys `onesweep` is then faster:
//! its time hardly depends on how keys are distributed. Both sorts begin with a count, so one count of all four digits
//! serves both. Launches whose blocks exit at once are not free either: with three more of them a sort took 5 to 12 µs
//! longer on an H200. Keys that fit a block are one launch: they are spread over counters as a bucket is, by their top
//! bits or, signed keys, floats and keys of which many share a counter, between the least and the greatest key; floats
//! by their values, if those spread them better than their bits. If many still share a counter, they are sorted by a
//! bitonic network, which takes as long for any keys.
//!
//! **More keys.** A count of all digits costs too much where the keys spread. There the launches are those of
//! `msd-skewed`, and six of its kernels are replaced. The histogram looks at a sample. If top bits do not spread it,
//! and few of its keys are repetitions, buckets may be equal parts of the span of the sample: a linear map, for keys of
//! 32 bits. If that does not spread more keys of a sample, the histogram learns a map as `learned` does, and counts by
//! that if it spreads them. It counts nothing if the sample is skewed beyond doubt. The starts decide if the
//! sample did not. For an LSD sort the first partition counts all digits instead, the second one does the first pass,
//! and the split of oversized buckets does the other passes: a persistent kernel whose blocks take the tiles of a pass
//! by a ticket, and wait for its end before the next. The first pass needs no order kept, since equal keys are alike,
//! so it is a partition; with one partition alone, the last launch does it, too. A digit in which no two keys differ
//! needs no pass. If keys differ in one digit alone, the counts are the result: each value is written as often as it
//! was counted. The split goes on until no bit is left, so the launch that tallies is not needed. For more than 2²⁵
//! keys, and for keys of 64 bits, there is no LSD sort: it would take longer than to split and to tally.
//!
//! **Floats.** Their top bits do not spread them: half of those between 0 and 1 share an exponent. From 2²⁰ floats of
//! either width on, the launches are those of `learned`: the device's choice of a map takes a quarter longer for them.
//!
//! **Bottleneck.** The launches: six, for work of a few microseconds each. For many keys, that of the sort that is
//! chosen.
//!
//! **Cost.** 4 bytes per key to count. Then MSD 16 bytes per key: one partition, and the sort of the buckets; or LSD 32
//! bytes per key, in four passes. Six launches; one up to [`ONE_BLOCK`] keys. In one block, 8 bytes per key; keys of
//! which many share a counter are read once or twice more.
//!
//! For more than [`MOST`] keys seven launches, six with one partition, eight without LSD, whichever way is chosen. MSD
//! moves the bytes that `msd-skewed` moves; a map takes the keys of a sample, up to 2¹⁹. LSD moves 4 bytes per key to
//! count, or 8 if the sample did not suffice, and 8 per key and pass: one for each digit in which keys differ, and one
//! more if that makes their number even. Keys that differ in one digit take no pass, but 4 bytes per key to write.
//!
//! **Threads.** 512 per block, with 16 keys each in partitions and passes, and with 12 keys each in buckets. Buckets of
//! more than [`MOST`] keys in all are sorted by 384 threads per block.
//!
//! **Limits.** Those of `msd-skewed`. There is a choice for fewer than 2²⁷ keys, of keys of 64 bits for more than 2²¹;
//! `msd-skewed` sorts the others. A block of the histogram or of a pass waits, but only for parts of a sample or tiles
//! that running blocks have taken, never for a block that has yet to start.
//!
//! **Source.** As for `onesweep` and `msd-skewed`; the choice on the device is ours.
//!
//! Up to [`MOST`] keys:
//!
//! | launch | kernel | keys that spread (MSD) | skewed keys (LSD) |
//! | --- | --- | --- | --- |
//! | 1 | `radix_onesweep_histogram` | counts all digits | the same |
//! | 2 | `radix_either_starts` | where each bucket starts | where each value of each digit starts |
//! | 3 | `radix_either_first` | moves the keys to their buckets | first pass |
//! | 4 | `radix_either_second` | sorts each bucket | second pass |
//! | 5 | `radix_either_third` | sorts the buckets in which many keys share a counter | third pass |
//! | 6 | `radix_either_last` | exits | last pass |
//!
//! For fewer than 2²⁷ keys, by `many_launches.rs`; `choice.rs` says which keys are skewed:
//!
//! | launch | kernel | keys that bits or a map spread (MSD) | skewed keys (LSD) |
//! | --- | --- | --- | --- |
//! | 1 | `radix_either_many_histogram` | finds a map, if need be; counts the keys of each bucket | counts, or exits |
//! | 2 | `radix_either_many_starts` | where each bucket starts | no bucket has keys |
//! | 3 | `radix_either_many_first` | first partition | counts all digits |
//! | 4 | `radix_either_many_second` | second partition, above 2²¹ keys | first pass |
//! | 5 | `radix_either_many_bucket_sort` | sorts each bucket | exits: no bucket has keys |
//! | 6 | `radix_either_rest` | splits the oversized buckets | the other passes, or all |
//! | 7 | `radix_msd_skewed_groups` | sorts the groups | exits: the list is empty |
//!
//! Without LSD the last ones are launches 6 to 8 of `msd-skewed`.

pub mod choice;
#[cfg(not(target_os = "cuda"))]
pub mod launches;
pub mod many;
#[cfg(not(target_os = "cuda"))]
pub mod many_launches;
pub(crate) mod network;
#[cfg(not(target_os = "cuda"))]
pub(crate) mod one_block;

use super::digits::{BITS, DIGITS};
use super::msd::{
    Key, Mapped, Mapping, Outcome, Plain, Tables, Tile, clear_counters, ends, in_block_most, move_tile, sort_cleared,
    sort_in_block, sort_whole,
};
use super::pass::{Digit, KeysOnly, PASS_THREADS, pass, pass_tile};
use super::steps::block_scan;
use network::sort_by_network;
use rungs_common::keys::{Key as Ordered, UNSIGNED};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, grid, kernel, shared, thread, warp};

/// Threads per block.
pub const THREADS: u32 = PASS_THREADS;

/// Most keys of a bucket, and of a sort in one launch.
pub const ONE_BLOCK: u32 = in_block_most(THREADS);

/// Most keys of which all digits are counted before the choice: buckets of uniform keys, which are told apart by one
/// digit, have 4096 keys on average, and none of them more than fit a block.
pub const MOST: u32 = 1 << 20;

/// The digit that buckets are told apart by: the first one.
const TOP: u32 = 3;

/// Words of the controls: whether keys go from the last digit on; how many buckets are oversized; a ticket for each
/// pass; the oversized buckets.
pub const CONTROLS: u32 = OVERSIZED + DIGITS;
const FROM_LAST: u32 = 0;
const HOW_MANY: u32 = 1;
const TICKETS: u32 = 2;
const OVERSIZED: u32 = TICKETS + TOP + 1;

shared!(SUMS: [u32; DIGITS / warp::WARP]);

/// Turns each digit's counts into starts, in one block of 256 per digit, zeroes `histogram` for the next sort, and
/// decides which sort the launches behind it are.
///
/// `starts`: a word for each digit and value, and one for the end. `cursors`: a word per bucket, set to its start.
/// `control`: see [`CONTROLS`].
#[kernel(max_threads = DIGITS)]
pub fn radix_either_starts(
    histogram: Global<u32>,
    n: u32,
    starts: Global<u32>,
    cursors: Global<u32>,
    control: Global<u32>,
) {
    let t = thread::thread_idx_x();
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete, and the sort before is done with all of this
    let (digit, tickets) = (thread::block_idx_x(), control.slice(TICKETS, TOP + 1));
    let count = histogram.get(digit * DIGITS + t);
    let (start, _) = block_scan::<{ DIGITS / warp::WARP }>(count, SUMS::view());
    starts.set(digit * DIGITS + t, start);
    histogram.set(digit * DIGITS + t, 0);
    if t == 0 {
        tickets.set(digit, 0);
    }
    if thread::block_idx_x() == TOP {
        let too_large = thread::sync_threads_count(count > ONE_BLOCK);
        cursors.set(t, start);
        if t == 0 {
            starts.set((TOP + 1) * DIGITS, n);
            control.set(FROM_LAST, (too_large != 0) as u32);
            control.set(HOW_MANY, 0);
        }
    }
}

/// The numbers of a step. Beside them it gets `from` and `to`, the keys before and behind it, and `states`, 256 words
/// per tile.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Step {
    /// The digit of the pass.
    pub digit: Digit,
    /// Number of the pass.
    pub number: u32,
    /// How keys are ordered, see [`rungs_common::keys`].
    pub order: u32,
    /// How many there are.
    pub n: u32,
}

/// A pass by the digit of `step` if keys go from the last digit on, and `other` if not.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
fn either(
    from: Global<u32>, to: Global<u32>, step: Step, starts: Global<u32>, control: Global<u32>, states: Global<u64>,
    other: impl FnOnce(),
) {
    let (starts_of, ticket) = (starts.slice(step.number * DIGITS, DIGITS), control.slice(TICKETS + step.number, 1));
    let none = starts.slice(0, 0);
    pass::<u32, KeysOnly>(from, to, [none; 2], step.digit, starts_of, ticket, states, || {
        if control.get(FROM_LAST) == 0 {
            thread::sync_threads(); // the pass has cleared its counters before the other step uses their memory
            other();
            return false;
        }
        // There are more blocks than tiles if there are more buckets.
        thread::block_idx_x() < step.n.div_ceil(pass_tile::<u32>())
    });
}

/// Moves the keys to their buckets, block i those of tile i, or to their places by the last digit.
#[kernel(max_threads = THREADS, min_blocks = 2, instances(
    radix_either_first: <Plain>,
    radix_either_first_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_first<M: Mapping>(
    from: Global<u32>, to: Global<u32>, step: Step, starts: Global<u32>, cursors: Global<u32>, control: Global<u32>,
    states: Global<u64>,
) {
    either(from, to, step, starts, control, states, || {
        Tables::new(THREADS, BITS).clear();
        let begin = thread::block_idx_x() * pass_tile::<u32>();
        let tile = Tile { begin, end: step.n.min(begin + pass_tile::<u32>()), origin: begin };
        let digit = super::msd::TopDigit { shift: u32::BITS - BITS, bits: BITS };
        move_tile::<u32, M, THREADS>(from, to, step.order, tile, digit, cursors, |bucket| bucket);
    });
}

/// Sorts the buckets, or moves the keys by the third digit. Block b has bucket b; an oversized bucket goes on the list
/// of the `control`.
#[kernel(max_threads = THREADS, min_blocks = 2, instances(
    radix_either_second: <Plain>,
    radix_either_second_mapped: <Mapped>,
))]
#[rustfmt::skip]
pub fn radix_either_second<M: Mapping>(
    from: Global<u32>, to: Global<u32>, step: Step, starts: Global<u32>, control: Global<u32>, states: Global<u64>,
) {
    either(from, to, step, starts, control, states, || {
        if thread::block_idx_x() >= DIGITS {
            return;
        }
        clear_counters(THREADS);
        let bucket = ends(starts.slice(TOP * DIGITS, DIGITS + 1), thread::block_idx_x());
        let outcome = sort_cleared::<u32, M, true, THREADS>(from, to, step.order, bucket, BITS);
        if outcome != Outcome::Sorted && thread::thread_idx_x() == 0 {
            let i = control.fetch_add(HOW_MANY, 1, Relaxed, Scope::Device);
            let in_output = ((outcome == Outcome::InOutput) as u32) << 31;
            control.set(OVERSIZED + i, thread::block_idx_x() | in_output);
        }
    });
}

/// Sorts the oversized buckets, or moves the keys by the second digit. The keys of an oversized bucket are in `to`, or
/// in `from` if it was found to be oversized only when they had been written there; they go to `from`.
#[kernel(max_threads = THREADS, min_blocks = 2)]
#[rustfmt::skip]
pub fn radix_either_third(
    from: Global<u32>, to: Global<u32>, step: Step, starts: Global<u32>, control: Global<u32>, states: Global<u64>,
) {
    either(from, to, step, starts, control, states, || {
        let how_many = control.get(HOW_MANY);
        let mut i = thread::block_idx_x();
        while i < how_many {
            let bucket = control.get(OVERSIZED + i) & (DIGITS - 1);
            let in_output = control.get(OVERSIZED + i) >> 31 != 0;
            let buckets = starts.slice(TOP * DIGITS + bucket, 2);
            let input = if in_output { from } else { to };
            clear_counters(THREADS);
            sort_in_block::<u32, Mapped, false, THREADS>(
                input, from, step.order, buckets.get(0), buckets.get(1), 0,
            );
            thread::sync_threads(); // all are done with the shared memory before the next bucket uses it
            i += thread::grid_dim_x();
        }
    });
}

/// Leaves, or moves the keys by the first digit.
#[kernel(max_threads = THREADS, min_blocks = 2)]
#[rustfmt::skip]
pub fn radix_either_last(
    from: Global<u32>, to: Global<u32>, step: Step, starts: Global<u32>, control: Global<u32>, states: Global<u64>,
) {
    either(from, to, step, starts, control, states, || {});
}

/// Sorts all `keys`, at most [`ONE_BLOCK`], in one block. Unsigned keys are spread over counters by their top bits;
/// others, and those that then share few counters, between the least and the greatest key. A bitonic network sorts keys
/// that are too skewed for either.
#[kernel(max_threads = THREADS, min_blocks = 1, instances(
    radix_either_one_block: <u32>,
    radix_either_one_block_u64: <u64>,
))]
pub fn radix_either_one_block<W: Key + Ordered>(keys: Global<W>, order: u32) {
    grid::let_next_start();
    clear_counters(THREADS);
    grid::wait_for_previous(); // keys
    let mut outcome = Outcome::Untouched;
    if order == UNSIGNED {
        outcome = sort_in_block::<W, Mapped, true, THREADS>(keys, keys, order, 0, keys.len(), 0);
    }
    if outcome == Outcome::Untouched {
        if order == UNSIGNED {
            thread::sync_threads(); // all are done with the counters before they are cleared again
            clear_counters(THREADS);
        }
        outcome = sort_whole::<W, Mapped, THREADS>(keys, order);
    }
    if outcome != Outcome::Sorted {
        thread::sync_threads(); // all are done with the shared memory, and with the keys, before they are sorted again
        sort_by_network(keys, order);
    }
}
