//! # Top k, one read of the keys
//!
//! **Idea.** A sample of 4096 keys shows roughly where the threshold is. Take the r-th largest key of the sample as
//! *pivot*, with r so large that almost surely more than k of all keys are above it, but not many more. One read of all
//! keys writes those above the pivot to a list and counts those equal to it. One block selects from the list by radix
//! select.
//!
//! **Changed from the rung before.** The keys are filtered in the first read, by a guess, in place of the second, by a
//! count. Keys equal to the pivot are not listed: only their number matters, so equal keys cost nothing.
//!
//! **Bottleneck.** Memory, for many keys; for fewer the two kernels of one block. A faster filter has more loads in
//! flight: the library's reads 16 bytes per load and prefetches (`gpu/library/selections/src/sampled`).
//!
//! **Cost.** One read of each key; 3 launches, and the clearing of the state before them. One write of each key above
//! the pivot, and 5 reads of each of those, by one block. 16 barriers for the sample, as many for the selection.
//!
//! **Threads.** The filter as in the rung before. Sample and selection are one block of 1024 threads each.
//!
//! **Limits.** Any n, any k up to n. The result is right for every sample: if fewer than k keys are above the pivot or
//! equal to it, the one block selects from all keys, which is slow. For k near n this always happens, because no pivot
//! is low enough; the rung before is then better.
//!
//! **Source.** R. W. Floyd, R. L. Rivest, "Expected time bounds for selection" (1975), its sample. Changed: one pivot,
//! and radix select among what is left.

use super::{BINS, DIGITS, Known, append, digit, each};
use rungs_common::keys::Word;
use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL};
use simt::{Global, Shared, kernel, math, shared, thread};

/// Threads per block of the filter.
pub const BLOCK: u32 = 256;

/// Threads of the block that samples, and of the block that selects.
pub const ONE_BLOCK: u32 = 1024;

/// Keys of the sample.
pub const SAMPLES: u32 = 4096;

/// Blocks that keep an SM of 2048 threads full.
const BLOCKS_PER_SM: u32 = 2048 / BLOCK;

/// Words of the state, each in 32 bytes of its own: the pivot, the keys above it, the keys equal to it, and the places
/// of the output that are taken.
const PIVOT: u32 = 0;
const LISTED: u32 = 8;
const EQUAL: u32 = 16;
const TAKEN: u32 = 24;

/// Words of the state in all.
pub const STATE: u32 = 32;

shared!(
    /// The counts of a digit.
    COUNTED: [u32; BINS]
);
shared!(
    /// The threshold as far as it is known, and its rank.
    FOUND: [u32; 2]
);

/// Blocks of the filter for `n` keys on a device with the given number of SMs.
pub const fn grid(n: u32, sms: u32) -> u32 {
    let (needed, most) = (n.div_ceil(BLOCK), sms * BLOCKS_PER_SM);
    if needed < most { needed } else { most }
}

/// Writes the pivot: of keys at places that look random, the one of rank `rank`. One block.
#[kernel(max_threads = ONE_BLOCK)]
pub fn top_k_one_read_pivot(keys: Global<u32>, order: u32, rank: u32, state: Global<u32>) {
    let sample = |i: u32| keys.get(math::mul_hi(scramble(i), keys.len())).encode(order);
    let pivot = select(SAMPLES, rank, sample);
    if thread::thread_idx_x() == 0 {
        state.set(PIVOT, pivot.word);
    }
}

/// Writes the keys above the pivot to `list`, and their number and that of the keys equal to it to the state.
#[kernel(max_threads = BLOCK)]
pub fn top_k_one_read_filter(keys: Global<u32>, order: u32, state: Global<u32>, list: Global<u32>) {
    let (pivot, mut equal) = (state.get(PIVOT), 0);
    each(keys.len(), |i| {
        let key = i.map(|i| keys.get(i));
        equal += key.is_some_and(|key| key.encode(order) == pivot) as u32;
        append(state.slice(LISTED, 1), list, key.filter(|key| key.encode(order) > pivot));
    });
    let equal = warp::reduce_add(FULL, equal);
    if warp::lane_id() == 0 && equal > 0 {
        state.fetch_add(EQUAL, equal, Relaxed, Scope::Device);
    }
}

/// Writes the k largest keys. One block.
#[kernel(max_threads = ONE_BLOCK)]
pub fn top_k_one_read_select(
    keys: Global<u32>,
    order: u32,
    state: Global<u32>,
    list: Global<u32>,
    output: Global<u32>,
) {
    let (k, listed, equal) = (output.len(), state.get(LISTED), state.get(EQUAL));
    // The list is of use if it is whole, and the k largest are in it or equal to the pivot.
    let is_listed = listed <= list.len() && (listed >= k || equal >= k - listed);
    let from = if is_listed { list } else { keys };
    let len = if is_listed { listed } else { keys.len() };
    let threshold = if is_listed && listed < k {
        // All that are listed, and copies of the pivot.
        Known { word: state.get(PIVOT), rank: k - listed }
    } else {
        select(len, k, |i| from.get(i).encode(order))
    };
    each(len, |i| {
        let key = i.map(|i| from.get(i)).filter(|key| key.encode(order) > threshold.word);
        append(state.slice(TAKEN, 1), output, key);
    });
    each(threshold.rank, |i| {
        if let Some(i) = i {
            output.set(k - 1 - i, threshold.word.decode(order));
        }
    });
}

/// The key of a rank among `len` words, by radix select; the rank that is returned is that among its equals. The grid
/// is one block, which makes the call.
#[simt::device]
#[track_caller]
fn select(len: u32, rank: u32, word: impl Fn(u32) -> u32) -> Known {
    let (t, mut known) = (thread::thread_idx_x(), Known { word: 0, rank });
    let (counted, found): (Shared<u32>, Shared<u32>) = (COUNTED::view(), FOUND::view());
    let mut number = 0;
    while number < DIGITS {
        if t < BINS {
            counted.set(t, 0);
        }
        thread::sync_threads(); // all counters are zero before the first word is counted
        each(len, |i| {
            if let Some(word) = i.map(&word)
                && known.agrees(word, number)
            {
                counted.fetch_add(digit(word, number), 1, Relaxed, Scope::Block);
            }
        });
        thread::sync_threads(); // all words are counted before the counts are read
        let count = if t < BINS { counted.get(BINS - 1 - t) } else { 0 };
        if let Some(known) = known.narrow(number, count) {
            found.set(0, known.word);
            found.set(1, known.rank);
        }
        thread::sync_threads(); // the digit is written before all read it; the counts are read before they are cleared
        known = Known { word: found.get(0), rank: found.get(1) };
        number += 1;
    }
    known
}

/// A bijection of words without visible pattern: the last steps of MurmurHash3.
#[simt::device]
fn scramble(word: u32) -> u32 {
    let word = (word ^ word >> 16).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ word >> 13).wrapping_mul(0xc2b2_ae35);
    word ^ word >> 16
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: sample, filter, select.

    use super::*;
    use rungs_common::ladder::top_k::*;

    /// The rung.
    pub static RUNG: Entry<&dyn TopK> =
        rung!("r3_one_read.rs", [top_k_one_read_pivot, top_k_one_read_filter, top_k_one_read_select])
            .with_tiles(&[BLOCK as u64])
            .run_by(&OneRead);

    struct OneRead;

    /// The rank of the pivot in the sample. About `SAMPLES * k / n` samples are among the k largest keys, with a
    /// standard deviation of no more than the root of that; with five deviations more, hardly any sample is too small.
    pub fn rank(n: u32, k: u32) -> u32 {
        let expected = f64::from(k) * f64::from(SAMPLES) / f64::from(n);
        (expected + 5.0 * expected.sqrt() + 6.0).ceil().min(f64::from(SAMPLES)) as u32
    }

    impl FindsLargest for OneRead {
        /// The state, and the list of the keys above the pivot.
        type Memory = [Scratch<u32>; 2];

        fn scratch(on: &dyn Launcher, n: u32, k: u32) -> Result<Self::Memory> {
            // Room for twice as many keys as are expected above the pivot; if there are more, they do not count.
            let room = (2 * u64::from(rank(n, k)) + 16) * u64::from(n) / u64::from(SAMPLES);
            Ok([on.scratch(STATE)?, on.scratch(room.min(n.into()) as u32)?])
        }

        fn find(on: &dyn Launcher, Keys { input, output, order }: Keys, [state, list]: &mut Self::Memory) -> Result {
            let (state, list, n, k) = (state.view(), list.view(), input.len(), output.len());
            let one = Geometry::linear(1, ONE_BLOCK);
            on.clear(state)?;
            on.launch(top_k_one_read_pivot, one, (input, order, rank(n, k), state))?;
            let all = Geometry::linear(grid(n, on.device().multiprocessors), BLOCK);
            on.launch(top_k_one_read_filter, all, (input, order, state, list))?;
            on.launch(top_k_one_read_select, one, (input, order, state, list, output))
        }
    }
}
