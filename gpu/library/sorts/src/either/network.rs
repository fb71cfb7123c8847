//! Sorts the keys or the pairs of one block where many are alike, in the registers of its warps. The comparisons of a
//! bitonic network are the same for any keys; atomics on the counters of equal keys would wait for each other.

use super::THREADS;
use crate::msd::Key;
use rungs_common::keys::{Key as Ordered, Word};
use rungs_segments::by_length::group::{Group, load, row, sort_by};
use simt::{Global, Shared, thread, unroll, warp};

const WARPS: u32 = THREADS / warp::WARP;

/// Most keys of a thread.
const MOST: usize = 16;

/// Most keys of a thread if there are fewer, which saves comparisons.
const FEW: [usize; 2] = [2, 8];

/// Bytes of dynamic shared memory.
#[cfg(not(target_os = "cuda"))]
pub const fn network_shared<W>() -> u32 {
    WARPS * row(MOST as u32) * size_of::<W>() as u32
}

/// Sorts all `keys`, at most [`MOST`] per thread, in place. All threads of the block call it, once they are done with
/// the shared memory.
#[simt::device]
#[track_caller]
pub fn sort_by_network<W: Key + Ordered>(keys: Global<W>, order: u32) {
    if keys.len() <= THREADS * FEW[0] as u32 {
        sort_up_to::<W, { FEW[0] }>(keys, order);
    } else if keys.len() <= THREADS * FEW[1] as u32 {
        sort_up_to::<W, { FEW[1] }>(keys, order);
    } else {
        sort_up_to::<W, MOST>(keys, order);
    }
}

/// [`sort_by_network`] with at most K keys per thread.
#[simt::device]
#[track_caller]
fn sort_up_to<W: Key + Ordered, const K: usize>(keys: Global<W>, order: u32) {
    let group = Group { warps: WARPS, len: keys.len() };
    let (first, rest) = group.share(K);
    let (own, mut words) = (keys.slice(first, rest), [W::LAST; K]);
    load(&mut words, rest, |i| own.get(i).encode(order));
    let (len, memory) = (row(K as u32), Shared::<W>::dynamic(0, WARPS * row(K as u32)));
    // No thread stores a key before all have loaded theirs: warps have exchanged keys before.
    sort_by(words, group, true, |warp| memory.slice(warp * len, len), |i, word| own.set(i, word.decode(order)));
}

/// Most pairs that take the shortest network.
pub const FEWEST_PAIRS: u32 = THREADS * FEW[0] as u32;

/// Most pairs. With more per thread it takes longer than passes by digits.
pub const MOST_PAIRS: u32 = THREADS * FEW[1] as u32;

/// Bytes of dynamic shared memory for pairs: words of 64 bits, and values.
#[cfg(not(target_os = "cuda"))]
pub const fn pair_network_shared() -> u32 {
    WARPS * row(FEW[1] as u32) * 8 + MOST_PAIRS * 4
}

/// Sorts all pairs, at most [`MOST_PAIRS`], in place. The keys are words in the order of words, and become keys of
/// the `order`. All threads of the block call it, once they are done with the shared memory.
#[simt::device]
#[track_caller]
pub fn sort_pairs_by_network(keys: Global<u32>, values: Global<u32>, order: u32) {
    if keys.len() <= FEWEST_PAIRS {
        sort_pairs_up_to::<{ FEW[0] }>(keys, values, order);
    } else {
        sort_pairs_up_to::<{ FEW[1] }>(keys, values, order);
    }
}

/// [`sort_pairs_by_network`] with at most K pairs per thread. A word is a key and, below it, the place of the pair: no
/// two words are equal, their order is the stable order of the keys, and the place leads to the value.
#[simt::device]
#[track_caller]
fn sort_pairs_up_to<const K: usize>(keys: Global<u32>, values: Global<u32>, order: u32) {
    let group = Group { warps: WARPS, len: keys.len() };
    let (len, memory) = (row(K as u32), Shared::<u64>::dynamic(0, WARPS * row(K as u32)));
    let kept = Shared::<u32>::dynamic(WARPS * row(K as u32) * 8, THREADS * K as u32);
    let mut i = thread::thread_idx_x();
    while i < values.len() {
        kept.set(i, values.get(i));
        i += THREADS;
    }
    let (first, rest) = group.share(K);
    let mut words = [u64::MAX; K];
    load(&mut words, rest, |i| (keys.get(first + i) as u64) << 32 | (first + i) as u64);
    let (any, mut differ) = (keys.get(0), false);
    unroll::<K>(|i| differ |= words[i] != u64::MAX && (words[i] >> 32) as u32 != any);
    // All keys and values are read before the first is overwritten.
    if !thread::sync_threads_or(differ) {
        // Equal keys are in order.
        unroll::<K>(|i| {
            let i = i as u32 * warp::WARP;
            if i < rest {
                keys.set(first + i, any.decode(order));
            }
        });
        return;
    }
    sort_by(
        words,
        group,
        true,
        |warp| memory.slice(warp * len, len),
        |i, word| {
            keys.set(first + i, ((word >> 32) as u32).decode(order));
            values.set(first + i, kept.get(word as u32));
        },
    );
}
