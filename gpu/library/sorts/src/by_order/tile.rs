//! A tile of keys in shared memory that a block sorts or merges.
//!
//! Two runs that are to be merged, A and B, lie side by side, A ascending and B descending, so that each ends where the
//! other's largest key lies. A thread that has used up one run then compares with that key, which loses or is equal,
//! and needs no test for the end. Where equivalent keys differ ([`Order::TOTAL`] is false) it needs one such test: when
//! A is used up, B's key may be equivalent to what is read instead of A's.
//!
//! A thread merges `N` neighbouring keys of the result. It finds where they begin in A and B by a binary search (the
//! merge path), and where they end follows from its merging. If the order is one, that is where the next thread begins.
//! If it is not, threads may disagree, and keys would be taken twice and others not at all. So the threads compare
//! what they found, and where it differs the block leaves the runs of that level as they are.

use super::network;
use rungs_common::order::Order;
use simt::{Global, Scalar, Shared, grid, thread, unroll};

/// Slots before the tile and behind its keys. A thread reads up to `N + 1` keys beyond either end, and does not use
/// them.
const PAD: u32 = 32;

/// The keys in the block's dynamic shared memory, and where each thread begins to merge.
pub(crate) struct Tile<K> {
    slots: Shared<K>,
    starts: Shared<u32>,
}

impl<K> Clone for Tile<K> {
    #[simt::device]
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Tile<K> {}

/// Bytes of dynamic shared memory of a block of `threads` threads for a tile of `keys` keys of type `K`.
pub const fn tile_shared<K>(threads: u32, keys: u32) -> u32 {
    let bytes = (2 * PAD + keys) * size_of::<K>() as u32;
    bytes.next_multiple_of(4) + 4 * threads
}

impl<K: Scalar> Tile<K> {
    /// The tile of `keys` keys of a block of `threads` threads.
    #[simt::device]
    pub fn new(threads: u32, keys: u32) -> Self {
        let starts = tile_shared::<K>(0, keys);
        Self { slots: Shared::dynamic(0, 2 * PAD + keys), starts: Shared::dynamic(starts, threads) }
    }

    /// The key in slot `i`. Slots up to 32 before the tile, as wrapped numbers, and behind it can be read.
    #[simt::device]
    #[track_caller]
    pub fn get(self, i: u32) -> K {
        self.slots.get(i.wrapping_add(PAD))
    }

    /// The key this number of bytes behind slot 0, or, as a wrapped number, before it.
    #[simt::device]
    #[track_caller]
    fn at_byte(self, offset: u32) -> K {
        let size = size_of::<K>() as u32;
        self.slots.cast::<u8>().slice(offset.wrapping_add(PAD * size), size).cast::<K>().get(0)
    }

    /// Puts a key in slot `i`.
    #[simt::device]
    #[track_caller]
    pub fn set(self, i: u32, key: K) {
        self.slots.set(i.wrapping_add(PAD), key);
    }

    /// Writes the slots around the first `count`, which are read though no key of a sort was ever put there. A barrier
    /// follows.
    #[simt::device]
    pub fn surround(self, count: u32) {
        let t = thread::thread_idx_x();
        if t < PAD {
            self.set(t.wrapping_sub(PAD), K::default());
            self.set(count + t, K::default());
        }
    }

    /// All slots, and the number of the tile's first one among them.
    #[simt::device]
    pub fn slots(self) -> (Shared<K>, u32) {
        (self.slots, PAD)
    }

    /// Puts the first `count` of the thread's keys in the slots from `first` on, or up to `first` if `down`.
    #[simt::device]
    fn put<const N: usize>(self, keys: &[K; N], first: u32, count: u32, down: bool) {
        // The whole thread's part without a test for each key. The threads of a warp agree about `down` but for the
        // first levels.
        if count >= N as u32 {
            if down {
                unroll::<N>(|i| self.set(first - i as u32, keys[i]));
            } else {
                unroll::<N>(|i| self.set(first + i as u32, keys[i]));
            }
        } else {
            unroll::<N>(|i| {
                if (i as u32) < count {
                    self.set(if down { first - i as u32 } else { first + i as u32 }, keys[i]);
                }
            });
        }
    }
}

/// What a thread merges: of run A, `a` slots from `base` on, and run B, `b` slots behind it, the keys of the result
/// from number `diagonal` on.
#[derive(Clone, Copy)]
pub(crate) struct Pair {
    pub base: u32,
    pub a: u32,
    pub b: u32,
    pub diagonal: u32,
}

/// The thread's part of a merge: its keys, and how many of A are before its first and up to its last key.
struct Part<K, const N: usize> {
    keys: [K; N],
    first: u32,
    end: u32,
}

/// Merges `count` keys, at least one and at most `N`. `AHEAD`: keys are loaded a step before they are needed, which
/// takes more instructions and less time where few warps share an SM.
#[simt::device]
fn merge<K: Scalar, C: Order<K>, const N: usize, const AHEAD: bool>(
    tile: Tile<K>,
    pair: Pair,
    count: u32,
    order: C,
) -> Part<K, N> {
    let Pair { base, a, b, diagonal } = pair;
    // B from its smallest key on, downwards.
    let top = base + a + b - 1;
    let (mut low, mut high) = (diagonal.saturating_sub(b), if diagonal < a { diagonal } else { a });
    while low < high {
        let middle = (low + high) / 2;
        let b_first = order.before(tile.get(top + 1 + middle - diagonal), tile.get(base + middle));
        (low, high) = (if b_first { low } else { middle + 1 }, if b_first { middle } else { high });
    }
    let first = low;
    // Places are offsets in bytes, which an access takes as they are.
    let size = size_of::<K>() as u32;
    let (mut at_a, mut at_b) = ((base + first) * size, top.wrapping_sub(diagonal - first).wrapping_mul(size));
    let end_a = (base + a) * size;
    let (mut key_a, mut key_b) = (tile.at_byte(at_a), tile.at_byte(at_b));
    let [mut next_a, mut next_b] = [K::default(); 2];
    if AHEAD {
        (next_a, next_b) = (tile.at_byte(at_a + size), tile.at_byte(at_b.wrapping_sub(size)));
    }
    let (mut keys, mut from_b) = ([K::default(); N], 0);
    unroll::<N>(|i| {
        let take_b = order.before(key_b, key_a) || !C::TOTAL && at_a >= end_a;
        keys[i] = if take_b { key_b } else { key_a };
        if !C::TOTAL {
            from_b |= (take_b as u32) << i;
        }
        if i + 1 < N {
            let (after_a, after_b) = (at_a + size, at_b.wrapping_sub(size));
            if AHEAD {
                // What is loaded now is compared in the step after the next at the earliest.
                let next = tile.at_byte(if take_b { after_b.wrapping_sub(size) } else { after_a + size });
                (key_a, key_b) = (if take_b { key_a } else { next_a }, if take_b { next_b } else { key_b });
                (next_a, next_b) = (if take_b { next_a } else { next }, if take_b { next } else { next_b });
            } else {
                let next = tile.at_byte(if take_b { after_b } else { after_a });
                (key_a, key_b) = (if take_b { key_a } else { next }, if take_b { next } else { key_b });
            }
            (at_a, at_b) = (if take_b { at_a } else { after_a }, if take_b { after_b } else { at_b });
        }
    });
    let of_b = (from_b & (u32::MAX >> (32 - count))).count_ones();
    Part { keys, first, end: first + count - of_b }
}

/// One level of merging: each thread its part of its pair, in place; the result descends if `down`. All threads of the
/// block make the call after a barrier, and see the result after another.
#[simt::device]
pub(crate) fn merge_level<K: Scalar, C: Order<K>, const N: usize, const AHEAD: bool>(
    tile: Tile<K>,
    pair: Pair,
    down: bool,
    order: C,
) {
    let (t, total) = (thread::thread_idx_x(), pair.a + pair.b);
    let left = total.saturating_sub(pair.diagonal);
    let count = if left < N as u32 { left } else { N as u32 };
    let mut part = Part { keys: [K::default(); N], first: 0, end: 0 };
    if left > 0 {
        part = merge::<K, C, N, AHEAD>(tile, pair, count, order);
    }
    if !C::TOTAL {
        tile.starts.set(t, part.first);
    }
    thread::sync_threads(); // all keys of the level are in registers before others take their slots
    if !C::TOTAL {
        let next = if left > N as u32 { tile.starts.get(t + 1) } else { pair.a };
        // Also keeps the starts until all have read them.
        if thread::sync_threads_or(left > 0 && part.end != next) {
            return;
        }
    }
    if left > 0 {
        let first = if down { pair.base + total - 1 - pair.diagonal } else { pair.base + pair.diagonal };
        tile.put(&part.keys, first, count, down);
    }
}

/// Sorts the first `count` slots of the tile, at least one and at most `N` per thread. All threads of the block, a
/// power of two, make the call after a barrier, and see the result after another.
#[simt::device]
pub(crate) fn sort_in_block<K: Scalar, C: Order<K>, const N: usize, const STABLE: bool, const AHEAD: bool>(
    tile: Tile<K>,
    count: u32,
    order: C,
) {
    let (t, n) = (thread::thread_idx_x(), N as u32);
    let mine = t * n;
    if mine < count {
        let mut keys = [K::default(); N];
        // Not by way of the clamped number of keys: ptxas 13.0 compiles that test wrongly.
        let whole = mine + n <= count;
        if !whole {
            unroll::<N>(|i| keys[i] = tile.get(if mine + (i as u32) < count { mine + i as u32 } else { count - 1 }));
        } else {
            unroll::<N>(|i| keys[i] = tile.get(mine + i as u32));
        }
        if !whole {
            network::sort_stable(&mut keys, count - mine, order);
        } else if STABLE {
            network::sort_stable(&mut keys, n, order);
        } else {
            network::sort(&mut keys, order);
        }
        let own = if whole { n } else { count - mine };
        let down = t & 1 != 0;
        tile.put(&keys, if down { mine + own - 1 } else { mine }, own, down);
    }
    let mut half = 1;
    while half * n < count {
        thread::sync_threads(); // the runs are whole before other threads read them
        let group = t & !(2 * half - 1);
        let (base, own) = (group * n, (t - group) * n);
        let left = count.saturating_sub(base);
        let total = if left < 2 * half * n { left } else { 2 * half * n };
        let a = if half * n < total { half * n } else { total };
        let diagonal = if own < total { own } else { total };
        // The last level has one run, which ascends.
        let down = t & (2 * half) != 0 && 2 * half * n < count;
        merge_level::<K, C, N, AHEAD>(tile, Pair { base, a, b: total - a, diagonal }, down, order);
        half *= 2;
    }
}

/// The tile of a block: loaded, sorted, written. The first block also clears `state`.
#[simt::device]
pub(crate) fn sort_tile<K: Scalar, C: Order<K>, const N: usize, const STABLE: bool, const AHEAD: bool>(
    input: Global<K>,
    output: Global<K>,
    state: Global<u32>,
    order: C,
) {
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let slots = threads * N as u32;
    let first = thread::block_idx_x() * slots;
    grid::wait_for_previous();
    grid::let_next_start();
    if first + t == 0 {
        state.set(0, 0);
    }
    let left = input.len() - first;
    let count = if left < slots { left } else { slots };
    let tile = Tile::new(threads, slots);
    tile.surround(count);
    let slot = |i: usize| i as u32 * threads + t;
    let mut keys = [K::default(); N];
    // All loads before the first store. A whole tile needs no test for each key.
    if count == slots {
        unroll::<N>(|i| keys[i] = input.get(first + slot(i)));
        unroll::<N>(|i| tile.set(slot(i), keys[i]));
    } else {
        // Those behind the end load the last key again.
        unroll::<N>(|i| keys[i] = input.get(first + if slot(i) < count { slot(i) } else { count - 1 }));
        unroll::<N>(|i| {
            if slot(i) < count {
                tile.set(slot(i), keys[i]);
            }
        });
    }
    thread::sync_threads(); // the tile is whole before each thread takes its neighbouring keys
    sort_in_block::<K, C, N, STABLE, AHEAD>(tile, count, order);
    thread::sync_threads(); // the tile is sorted before it is read in another order
    if count == slots {
        unroll::<N>(|i| output.set(first + slot(i), tile.get(slot(i))));
    } else {
        unroll::<N>(|i| {
            if slot(i) < count {
                output.set(first + slot(i), tile.get(slot(i)));
            }
        });
    }
}
