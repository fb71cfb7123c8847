//! Sorts the keys of one block where many are alike, in the registers of its warps. The comparisons of a bitonic
//! network are the same for any keys; atomics on the counters of equal keys would wait for each other.

use super::THREADS;
use crate::msd::Key;
use rungs_common::keys::Key as Ordered;
use rungs_segments::by_length::group::{Group, load, row, sort_by};
use simt::{Global, Shared, warp};

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
