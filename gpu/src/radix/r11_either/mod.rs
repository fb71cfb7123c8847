//! # Radix sort from whichever end suits the keys
//!
//! **Idea.** Few keys are sorted fastest from the most significant digit if they spread over the buckets, and from the
//! least significant digit if they do not. Which is the case is known once the top digit is counted, and only on the
//! device. So the host launches both sorts, one behind the other, and the launch that turns counts into starts decides:
//! it tells the launches of one sort that they have nothing to do.
//!
//! **Changed from the rung before.** `msd-pairs` is for keys with values; for keys alone the rung before is
//! `msd-skewed`. It splits a bucket that is too large, level by level, tile by tile, and blocks wait for each other at
//! the end of each phase. For up to 2²⁰ keys that waiting is most of the time: `onesweep` is then faster on skewed
//! keys, and it does not care how they are distributed. Both sorts begin with a count, so one count of all four digits
//! serves both.
//!
//! **Bottleneck.** The launches: nine, of which four or three leave at once, for work of a few microseconds each.
//!
//! **Cost.** 4 bytes per key to count. Then from the first digit 16 bytes per key: one partition and the sort of the
//! buckets; or from the last digit 32 bytes per key, in four passes. Nine launches; for more keys those of
//! `msd-skewed`.
//!
//! **Threads.** Those of `onesweep` and `msd-skewed`.
//!
//! **Limits.** Those of `msd-skewed`. Two sorts are there for up to [`MOST`] keys of 32 bits; more keys, and keys of 64
//! bits, go the way of `msd-skewed`.
//!
//! **Source.** As for `onesweep` and `msd-skewed`; that the device takes one of two ways, by launches that leave at
//! once, is ours.
//!
//! | launch | kernel | keys that spread | skewed keys |
//! | --- | --- | --- | --- |
//! | 1 | `radix_onesweep_histogram` | counts all four digits | the same |
//! | 2 | `radix_either_starts` | starts of buckets | starts of the values of each digit |
//! | 3 | `radix_msd_buckets_partition` | moves the keys to their buckets | leaves: its tiles are empty |
//! | 4 | `radix_msd_skewed_bucket_sort` | sorts each bucket | leaves: its buckets are empty |
//! | 5 | `radix_msd_skewed_groups` | sorts the buckets that are crowded | leaves: there is none |
//! | 6 to 9 | `radix_either_pass` | leaves | a pass by each digit |

#[cfg(not(target_os = "cuda"))]
pub mod launches;

use super::digits::DIGITS;
use super::msd::BUCKET_MAX;
use super::r7_onesweep::{Digit, KeysOnly, PASS_THREADS, pass, start_digit};
use super::r8_msd_buckets::partition_tile;
use super::r9_msd_skewed::CONTROL_WORDS;
use simt::{Global, grid, kernel, thread};

/// Most keys that have the choice: as many as buckets by one digit can take.
pub const MOST: u32 = 1 << 20;

/// The digit that buckets are told apart by: the first one.
const TOP: u32 = 3;

/// Words of the controls: whether keys go from the last digit on, then a ticket for each pass.
pub const CONTROLS: u32 = 1 + 4;

/// What only the sort from the first digit needs.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Keys {
    /// How many there are.
    pub n: u32,
    /// Keys per tile of the partition.
    pub tile: u32,
}

/// Turns each digit's counts into starts, in one block of 256 per digit, zeroes `histogram` for the next sort, and
/// decides which sort the launches behind it are.
///
/// `control`: see [`CONTROLS`]. `buckets`: where each bucket starts, and the end; all zero if keys go from the last
/// digit on. `cursors`: one word per bucket, set to its start. `tiles`: four words per tile of the partition, begin,
/// end, first bucket and begin; none has keys if they go from the last digit on. `lists`: those of `msd-skewed`, made
/// empty.
#[kernel(max_threads = DIGITS)]
#[rustfmt::skip]
pub fn radix_either_starts(
    histogram: Global<u32>, keys: Keys, starts: Global<u32>, control: Global<u32>, buckets: Global<u32>,
    cursors: Global<u32>, tiles: Global<u32>, lists: Global<u32>,
) {
    let t = thread::thread_idx_x();
    grid::let_next_start();
    grid::wait_for_previous(); // the histogram is complete, and the sort before is done with all of this
    let (count, start) = start_digit(histogram, starts, control.slice(1, control.len() - 1));
    if thread::block_idx_x() != TOP {
        return;
    }
    // The barrier inside makes all threads of the block take the same way.
    let from_last = thread::sync_threads_count(count > BUCKET_MAX) != 0;
    cursors.set(t, start);
    buckets.set(t, if from_last { 0 } else { start });
    if t == 0 {
        buckets.set(DIGITS, if from_last { 0 } else { keys.n });
        control.set(0, from_last as u32);
    }
    let mut tile = t;
    while tile < tiles.len() / 4 {
        let begin = tile * keys.tile;
        let end = if from_last { begin } else { keys.n.min(begin + keys.tile) };
        tiles.set_pack(tile, [begin, end, 0, begin]);
        tile += DIGITS;
    }
    let mut word = t;
    while word < CONTROL_WORDS {
        lists.set(word, 0);
        word += DIGITS;
    }
}

/// [`radix_onesweep_pass`](super::r7_onesweep::radix_onesweep_pass) number `number`, if keys go from the last digit on.
#[kernel(max_threads = PASS_THREADS, min_blocks = 2)]
#[rustfmt::skip]
pub fn radix_either_pass(
    input: Global<u32>, output: Global<u32>, digit: Digit, number: u32, starts: Global<u32>, control: Global<u32>,
    states: Global<u64>,
) {
    let (starts, ticket) = (starts.slice(number * DIGITS, DIGITS), control.slice(1 + number, 1));
    let none = starts.slice(0, 0);
    pass::<u32, KeysOnly>(input, output, [none; 2], digit, starts, ticket, states, || control.get(0) != 0);
}
