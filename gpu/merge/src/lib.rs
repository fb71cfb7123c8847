//! # Merge sort and sample sort
//!
//! Sorts that only compare and move keys. The course compares them by `<`; any other total order would do. All rungs
//! share this file: a tile of keys in shared memory, and how a block sorts or merges it.
//!
//! Before a merge, the two runs A and B are next to each other, A ascending and B descending, so that each ends at the
//! other's largest key. A thread at the end of one run then compares with that key, which loses or is equal. So it
//! needs no test for the end. A thread merges `N` neighbouring keys of the result. It finds where they begin in A and B
//! by a binary search (the *merge path*).
//!
//! The library has the same sorts by any comparator, and stable: `gpu/library/sorts`.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(asm_experimental_arch))]
#![cfg_attr(all(target_os = "cuda", not(feature = "rust-cuda")), feature(abi_ptx))]

#[cfg(not(target_os = "cuda"))]
extern crate std;

pub mod r1_merge_path;
pub mod r2_multi_way;
pub mod r3_all_runs;
pub mod r4_sample;
pub mod runs;

#[cfg(not(target_os = "cuda"))]
pub mod host;

#[cfg(not(target_os = "cuda"))]
pub use host::LADDER;

pub use rungs_common::block::block_scan_exclusive;
pub use rungs_common::keys::Key;
use rungs_common::operator::{Sum, warp_scan_inclusive};
use simt::{Global, Shared, async_copy, grid, thread, unroll};

/// The sum of `value` over the lanes up to the caller's.
#[simt::device]
#[track_caller]
pub fn warp_scan(value: u32) -> u32 {
    warp_scan_inclusive::<Sum, u32>(value)
}

/// Slots before the tile and behind its keys. A thread reads up to `N + 1` keys beyond either end, and does not use
/// them.
const PAD: u32 = 32;

/// The keys in the block's dynamic shared memory.
#[derive(Clone, Copy)]
pub struct Tile<K>(Shared<K>);

/// Bytes of dynamic shared memory for a tile of `keys` keys of type `K`.
pub const fn tile_shared<K>(keys: u32) -> u32 {
    (2 * PAD + keys) * size_of::<K>() as u32
}

impl<K: Key> Tile<K> {
    /// The tile of `keys` keys.
    #[simt::device]
    pub fn new(keys: u32) -> Self {
        Self(Shared::dynamic(0, 2 * PAD + keys))
    }

    /// The key in slot `i`. Slots up to 32 before the tile, as wrapped numbers, and behind it can be read.
    #[simt::device]
    #[track_caller]
    pub fn get(self, i: u32) -> K {
        self.0.get(i.wrapping_add(PAD))
    }

    /// The key this many bytes behind slot 0, or, as a wrapped number, before it.
    #[simt::device]
    #[track_caller]
    fn at_byte(self, offset: u32) -> K {
        at_byte(self.0, offset.wrapping_add(PAD * size_of::<K>() as u32))
    }

    /// Puts a key in slot `i`.
    #[simt::device]
    #[track_caller]
    pub fn set(self, i: u32, key: K) {
        self.0.set(i.wrapping_add(PAD), key);
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
        (self.0, PAD)
    }

    /// Loads all of a view into the tile. All threads see it.
    #[simt::device]
    #[track_caller]
    pub fn load(self, keys: Global<K>) {
        self.surround(keys.len());
        let mut i = thread::thread_idx_x();
        while i < keys.len() {
            async_copy::element(self.0, PAD + i, keys, i, true);
            i += thread::block_dim_x();
        }
        async_copy::commit();
        async_copy::wait::<0>();
        thread::sync_threads(); // the tile is whole before each thread takes its neighbouring keys
    }

    /// Fills a view from the tile.
    #[simt::device]
    #[track_caller]
    pub fn store(self, keys: Global<K>) {
        let mut i = thread::thread_idx_x();
        while i < keys.len() {
            keys.set(i, self.get(i));
            i += thread::block_dim_x();
        }
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

/// Keys of the result that a block of `threads` threads with `items` keys each merges from `ways` runs: in the first
/// level each of `ways / 2` pairs but one may leave its last thread with a single key. A multiple of 32, so that parts
/// begin on a line of memory.
pub const fn part_keys(ways: u32, threads: u32, items: u32) -> u32 {
    (threads * items - (ways / 2 - 1) * (items - 1)) & !31
}

/// The element this many bytes from the start of a view.
#[simt::device]
#[track_caller]
pub fn at_byte<K: Key>(view: Shared<K>, offset: u32) -> K {
    view.cast::<u8>().slice(offset, size_of::<K>() as u32).cast::<K>().get(0)
}

/// What a thread merges: of run A, `a` slots from `base` on, and run B, `b` slots behind it, the keys of the result
/// from number `diagonal` on.
#[allow(missing_docs, reason = "see above")]
#[derive(Clone, Copy)]
pub struct Pair {
    pub base: u32,
    pub a: u32,
    pub b: u32,
    pub diagonal: u32,
}

/// The thread's keys of a merge. `AHEAD`: keys are loaded a step before they are needed, which takes more instructions
/// and less time where few warps share an SM.
#[simt::device]
fn merge<K: Key, const N: usize, const AHEAD: bool>(tile: Tile<K>, pair: Pair) -> [K; N] {
    let Pair { base, a, b, diagonal } = pair;
    // B from its smallest key on, downwards.
    let top = base + a + b - 1;
    let (mut low, mut high) = (diagonal.saturating_sub(b), if diagonal < a { diagonal } else { a });
    while low < high {
        let middle = (low + high) / 2;
        let b_first = tile.get(top + 1 + middle - diagonal) < tile.get(base + middle);
        (low, high) = (if b_first { low } else { middle + 1 }, if b_first { middle } else { high });
    }
    // Places are offsets in bytes, which an access takes as they are.
    let size = size_of::<K>() as u32;
    let (mut at_a, mut at_b) = ((base + low) * size, top.wrapping_sub(diagonal - low).wrapping_mul(size));
    let (mut key_a, mut key_b) = (tile.at_byte(at_a), tile.at_byte(at_b));
    let [mut next_a, mut next_b] = [K::default(); 2];
    if AHEAD {
        (next_a, next_b) = (tile.at_byte(at_a + size), tile.at_byte(at_b.wrapping_sub(size)));
    }
    let mut keys = [K::default(); N];
    unroll::<N>(|i| {
        let take_b = key_b < key_a;
        keys[i] = if take_b { key_b } else { key_a };
        if i + 1 < N {
            let (after_a, after_b) = (at_a + size, at_b.wrapping_sub(size));
            if AHEAD {
                // The key that is loaded now is compared in the step after the next at the earliest.
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
    keys
}

/// One level of merging: each thread its part of its pair, in place; the result descends if `down`. All threads of the
/// block make the call after a barrier, and see the result after another.
#[simt::device]
#[track_caller]
pub fn merge_level<K: Key, const N: usize, const AHEAD: bool>(tile: Tile<K>, pair: Pair, down: bool) {
    let total = pair.a + pair.b;
    let left = total.saturating_sub(pair.diagonal);
    let mut keys = [K::default(); N];
    if left > 0 {
        keys = merge::<K, N, AHEAD>(tile, pair);
    }
    thread::sync_threads(); // all keys of the level are in registers before others take their slots
    if left > 0 {
        let first = if down { pair.base + total - 1 - pair.diagonal } else { pair.base + pair.diagonal };
        tile.put(&keys, first, if left < N as u32 { left } else { N as u32 }, down);
    }
}

/// Sorts the first `count` slots of the tile, at least one and at most `N` per thread. All threads of the block, a
/// power of two, make the call after a barrier, and see the result after another. `BATCHER`: the keys of a thread are
/// sorted by Batcher's network, not by exchanges of neighbours.
#[simt::device]
#[track_caller]
pub fn sort_in_block<K: Key, const N: usize, const BATCHER: bool, const AHEAD: bool>(tile: Tile<K>, count: u32) {
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
            sort_by_neighbours(&mut keys, count - mine);
        } else if BATCHER {
            sort_by_batcher(&mut keys);
        } else {
            sort_by_neighbours(&mut keys, n);
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
        merge_level::<K, N, AHEAD>(tile, Pair { base, a, b: total - a, diagonal }, down);
        half *= 2;
    }
}

/// The tile of a block: loaded from `input`, sorted, written to `output`, which may be `input`.
#[simt::device]
#[track_caller]
pub fn sort_tile<K: Key, const N: usize, const BATCHER: bool, const AHEAD: bool>(input: Global<K>, output: Global<K>) {
    let (t, threads) = (thread::thread_idx_x(), thread::block_dim_x());
    let slots = threads * N as u32;
    let first = thread::block_idx_x() * slots;
    grid::wait_for_previous();
    grid::let_next_start();
    let left = input.len() - first;
    let count = if left < slots { left } else { slots };
    let tile = Tile::new(slots);
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
    sort_in_block::<K, N, BATCHER, AHEAD>(tile, count);
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

/// Puts keys `i` and `j` in order.
#[simt::device]
fn exchange<K: Key, const N: usize>(keys: &mut [K; N], i: usize, j: usize) {
    let (a, b) = (keys[i], keys[j]);
    let swap = b < a;
    (keys[i], keys[j]) = (if swap { b } else { a }, if swap { a } else { b });
}

/// Whether Batcher's network compares places `i` and `i + distance` in the step of that distance, where runs of `run`
/// keys are merged.
pub const fn compares(i: usize, distance: usize, run: usize) -> bool {
    let first = distance % run;
    i >= first && ((i - first) / distance).is_multiple_of(2) && i / (2 * run) == (i + distance) / (2 * run)
}

/// The step of Batcher's network that exchanges keys `DISTANCE` apart, where runs of `RUN` keys are merged.
#[simt::device]
fn step<const RUN: usize, const DISTANCE: usize, K: Key, const N: usize>(keys: &mut [K; N]) {
    if RUN < N {
        unroll::<N>(|i| {
            if i + DISTANCE < N && compares(i, DISTANCE, RUN) {
                exchange(keys, i, i + DISTANCE);
            }
        });
    }
}

/// Sorts by Batcher's odd-even merge network, which has fewest exchanges: 85 for 17 keys. All indices are constants, so
/// that the keys stay in registers.
#[simt::device]
pub fn sort_by_batcher<K: Key, const N: usize>(keys: &mut [K; N]) {
    const { assert!(N <= 32) };
    macro_rules! steps {
        ($($run:literal: $($distance:literal)*;)*) => {$($(
            step::<$run, $distance, K, N>(keys);
        )*)*};
    }
    steps! { 1: 1; 2: 2 1; 4: 4 2 1; 8: 8 4 2 1; 16: 16 8 4 2 1; }
}

/// Sorts the first `count` keys by exchanges of neighbours: 144 for 17 keys.
#[simt::device]
pub fn sort_by_neighbours<K: Key, const N: usize>(keys: &mut [K; N], count: u32) {
    // Not unrolled as a whole: the code would not fit the instruction cache.
    let mut round = 0;
    while round < N as u32 {
        unroll::<2>(|odd| {
            unroll::<N>(|i| {
                if i % 2 == odd && i + 1 < N {
                    let (a, b) = (keys[i], keys[i + 1]);
                    let swap = b < a && i as u32 + 1 < count;
                    (keys[i], keys[i + 1]) = (if swap { b } else { a }, if swap { a } else { b });
                }
            });
        });
        round += 2;
    }
}
