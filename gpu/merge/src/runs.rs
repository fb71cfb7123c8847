//! The passes of a merge sort over global memory: which runs a block merges, and how.
//!
//! Runs of `run` keys are merged in groups of `WAYS` neighbouring runs. A *part* is as many keys of a group's result as
//! a block merges. Where a part begins in each run is its split.

use crate::Key;
use crate::{Pair, Tile, merge_level};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Shared, async_copy, opaque_to_rust_cuda, thread, unroll};

/// A group of runs: its first key, and how many keys it has.
#[allow(missing_docs, reason = "see above")]
#[derive(Clone, Copy)]
pub struct Group {
    pub first: u32,
    pub len: u32,
    run: u32,
}

impl Group {
    /// Group number `number` of `n` keys.
    #[simt::device]
    pub fn new(number: u32, n: u32, run: u32, ways: u32) -> Self {
        let most = run.saturating_mul(ways);
        let first = number * most;
        let left = n - first;
        Self { first, len: if left < most { left } else { most }, run }
    }

    /// Where run `i` begins in the group; its end for a run that the group does not have.
    #[simt::device]
    pub fn start(&self, i: u32) -> u32 {
        let start = i.saturating_mul(self.run);
        if start < self.len { start } else { self.len }
    }

    /// How many keys run `i` has.
    #[simt::device]
    pub fn len_of(&self, i: u32) -> u32 {
        self.start(i + 1) - self.start(i)
    }
}

/// The geometry of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Keys of a run before the pass.
    pub run: u32,
    /// Runs that become one.
    pub ways: u32,
    /// Parts of a whole group.
    pub parts: u32,
    /// Parts of all groups.
    pub blocks: u32,
}

impl Pass {
    /// The pass over `n` keys, at least one, whose runs have `run` keys (or all of them).
    pub fn new(n: u32, run: u64, ways: u32, part: u32) -> Self {
        let run = run.min(n.into());
        let group = (run * u64::from(ways)).min(n.into()) as u32;
        let parts = group.div_ceil(part);
        let blocks = n / group * parts + (n % group).div_ceil(part);
        Self { run: run as u32, ways, parts, blocks }
    }
}

/// Words of the array of splits for `ways` runs.
pub const fn split_words(ways: u32) -> u32 {
    3 * ways + 1
}

/// Merges the part `from..to` of a group and writes it. `splits`: in shared memory, for each run how many of its keys
/// are before the part, then how many are before its end; all threads see them. `load` loads the keys into the tile; it
/// gets the first slot of each run.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn merge_part<K: Key, const WAYS: usize, const N: usize, const AHEAD: bool>(
    output: Global<K>, group: Group, [from, to]: [u32; 2], splits: Shared<u32>, tile: Tile<K>,
    load: impl Fn(Shared<u32>),
) {
    let (t, ways, len) = (thread::thread_idx_x(), WAYS as u32, to - from);
    let places = splits.slice(2 * ways, ways + 1);
    if t < WARP {
        // Lane i has run i; the others have an empty one. The sum of the lengths before is the first slot of a run.
        let mut place = if t < ways { splits.get(ways + t) - splits.get(t) } else { 0 };
        unroll::<3>(|i| {
            let before = warp::shuffle_up(FULL, place, 1 << i);
            place += if t >= 1 << i { before } else { 0 };
        });
        // The condition is that of above, where LLVM 7 would put a copy of the shuffles on each arm.
        if opaque_to_rust_cuda(t) < ways {
            places.set(t + 1, place);
        }
        if t == 0 {
            places.set(0, 0);
        }
    }
    thread::sync_threads(); // the places are known
    tile.surround(len);
    load(places);
    thread::sync_threads(); // the tile is whole
    let mut half = 1;
    while half < ways {
        // The threads are dealt out to the pairs of runs, each pair as many as its keys need.
        let (mut dealt, mut i) = (0, 0);
        let (mut pair, mut down) = (Pair { base: 0, a: 0, b: 0, diagonal: 0 }, false);
        while i < ways {
            let [base, middle, end] = [places.get(i), places.get(i + half), places.get(i + 2 * half)];
            let threads = (end - base).div_ceil(N as u32);
            if t >= dealt && t < dealt + threads {
                pair = Pair { base, a: middle - base, b: end - middle, diagonal: (t - dealt) * N as u32 };
                down = i & (2 * half) != 0;
            }
            dealt += threads;
            i += 2 * half;
        }
        merge_level::<K, N, AHEAD>(tile, pair, down);
        thread::sync_threads(); // the runs are whole before other threads read them
        half *= 2;
    }
    let mut i = t;
    while i < len {
        output.set(group.first + from + i, tile.get(i));
        i += thread::block_dim_x();
    }
}

/// Loads the runs of a part into the tile: every second run descends.
#[simt::device]
#[rustfmt::skip]
pub fn load_runs<K: Key>(
    tile: Tile<K>, input: Global<K>, group: Group, splits: Shared<u32>, places: Shared<u32>, ways: u32,
) {
    let (slots, pad) = tile.slots();
    let mut i = 0;
    while i < ways {
        let (place, len) = (places.get(i), places.get(i + 1) - places.get(i));
        let first = group.first + group.start(i) + splits.get(i);
        let mut j = thread::thread_idx_x();
        while j < len {
            let slot = if i % 2 == 0 { place + j } else { place + len - 1 - j };
            async_copy::element(slots, pad + slot, input, first + j, true);
            j += thread::block_dim_x();
        }
        i += 1;
    }
    async_copy::commit();
    async_copy::wait::<0>();
}
