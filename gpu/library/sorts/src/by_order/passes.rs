//! The passes of a merge sort over global memory: which runs a block merges, and what happens if the order is none.
//!
//! Runs of `run` keys are merged in groups of `WAYS` runs that are neighbours; a tile is `keys` keys of a group's
//! result, for one block. Where a tile begins in each run is its split.
//!
//! Splits are found by comparing keys. If the order is none, the splits of neighbouring tiles may contradict each
//! other, and then keys would be taken twice. A block that finds its own splits impossible writes the number of its
//! pass to `state`, once and for all: later passes do nothing, the input of that pass still has all keys, and
//! [`merge_restore`] puts them where the sort was to leave them.

use super::tile::{Pair, Tile, merge_level};
use rungs_common::order::Order;
use simt::atomic::{Order as Memory, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Geometry, Global, Scalar, Shared, async_copy, grid, kernel, thread, unroll};

/// A group of runs: its first key, and how many keys it has.
#[derive(Clone, Copy)]
pub(crate) struct Group {
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

    /// The keys of run `i` before its place `d` in the group; all of them for a large `d`.
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

/// Keys of the result that a block of `threads` threads with `items` keys each merges from `ways` runs: in the first
/// level each of `ways / 2` pairs but one may leave its last thread with a single key. A multiple of 32, so that parts
/// begin on a line of memory.
pub const fn tile_keys(ways: u32, threads: u32, items: u32) -> u32 {
    (threads * items - (ways / 2 - 1) * (items - 1)) & !31
}

/// The geometry of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pass {
    /// Keys of a run before the pass.
    pub run: u32,
    /// Runs that become one.
    pub ways: u32,
    /// Tiles of a whole group.
    pub tiles: u32,
    /// Tiles of all groups.
    pub blocks: u32,
}

impl Pass {
    /// The pass over `n` keys, at least one, whose runs have `run` keys (or all of them).
    pub fn new(n: u32, run: u64, ways: u32, tile: u32) -> Self {
        let run = run.min(n.into());
        let group = (run * u64::from(ways)).min(n.into()) as u32;
        let tiles = group.div_ceil(tile);
        let blocks = n / group * tiles + (n % group).div_ceil(tile);
        Self { run: run as u32, ways, tiles, blocks }
    }
}

/// Whether an earlier pass found that the order is none, as thread 0 of the block knows it. The load takes its time
/// while the block looks for its splits.
#[simt::device]
pub(crate) fn ended(state: Global<u32>) -> bool {
    // An atomic load: blocks of this pass may write meanwhile. Whether this block sees that does not matter.
    thread::thread_idx_x() == 0 && state.load(0, Memory::Relaxed, Scope::Device) != 0
}

/// Words of the array of splits for `ways` runs.
pub(crate) const fn split_words(ways: u32) -> u32 {
    3 * ways + 1
}

/// Merges the part `from..to` of a group and writes it. `splits`: in shared memory, for each run how many of its keys
/// are before the part, then how many are before its end; all threads see them. `load` loads the keys into the tile; it
/// gets the first slot of each run.
///
/// Whether the splits are possible; if not, or if the sort has `ended`, nothing is written.
#[simt::device]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
pub(crate) fn merge_part<K: Scalar, C: Order<K>, const WAYS: usize, const N: usize, const AHEAD: bool>(
    output: Global<K>, group: Group, [from, to]: [u32; 2], splits: Shared<u32>, tile: Tile<K>, ended: bool, order: C,
    load: impl Fn(Shared<u32>),
) -> bool {
    let (t, ways, len) = (thread::thread_idx_x(), WAYS as u32, to - from);
    let places = splits.slice(2 * ways, ways + 1);
    if t < WARP {
        // Lane i has run i; the others have an empty one.
        let of_run = t < ways;
        let (first, end) = if of_run { (splits.get(t), splits.get(ways + t)) } else { (0, 0) };
        let possible = !ended && (!of_run || first <= end && end <= group.len_of(t));
        let mut place = end.wrapping_sub(first);
        unroll::<3>(|i| {
            let before = warp::shuffle_up(FULL, place, 1 << i);
            place = place.wrapping_add(if t >= 1 << i { before } else { 0 });
        });
        let (first_place, before) = (warp::shuffle_up(FULL, place, 1), warp::reduce_add(FULL, first));
        let possible = warp::all(FULL, possible) && before == from && warp::shuffle(FULL, place, ways - 1) == len;
        if t < ways {
            places.set(t, if t == 0 { 0 } else { first_place });
        }
        if t == 0 {
            places.set(ways, if possible { len } else { u32::MAX });
        }
    }
    thread::sync_threads(); // the places are known
    if places.get(ways) != len {
        return false; // the whole block
    }
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
        merge_level::<K, C, N, AHEAD>(tile, pair, down, order);
        thread::sync_threads(); // the runs are whole before other threads read them
        half *= 2;
    }
    let mut i = t;
    while i < len {
        output.set(group.first + from + i, tile.get(i));
        i += thread::block_dim_x();
    }
    true
}

/// Notes that the splits of a pass are impossible, unless an earlier pass has `ended` the sort.
#[simt::device]
pub(crate) fn end(state: Global<u32>, pass: u32, ended: bool) {
    if thread::thread_idx_x() == 0 && !ended {
        state.store(0, pass + 1, Memory::Relaxed, Scope::Device);
    }
}

/// Starts to load the runs of a part into the tile, and waits for them: every second run descends.
#[simt::device]
#[rustfmt::skip]
pub(crate) fn load_runs<K: Scalar>(
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

/// Threads per block of [`merge_restore`].
const RESTORE: u32 = 256;

/// Puts the keys back in place after an order that is none: if `state` names a pass, `keys` and `other` take turns as
/// the passes' input; the first pass reads `other` if `first_from_other` is 1, else `keys`.
#[kernel(max_threads = RESTORE, instances(
    merge_restore_u8: <u8>, merge_restore_u16: <u16>, merge_restore_u32: <u32>, merge_restore_u64: <u64>,
))]
pub fn merge_restore<W: Scalar>(keys: Global<W>, other: Global<W>, state: Global<u32>, first_from_other: u32) {
    grid::wait_for_previous();
    grid::let_next_start();
    let pass = state.get(0);
    if pass == 0 || (pass - 1) % 2 == first_from_other {
        return; // the order is one, or the pass read from where the keys belong
    }
    let mut i = thread::index_1d();
    while i < keys.len() {
        keys.set(i, other.get(i));
        match i.checked_add(thread::grid_threads_1d()) {
            Some(next) => i = next,
            None => return,
        }
    }
}

/// The geometry of [`merge_restore`] for `n` keys.
pub const fn restore_geometry(n: u32) -> Geometry {
    let blocks = n.div_ceil(RESTORE);
    Geometry::linear(if blocks < 512 { blocks } else { 512 }, RESTORE)
}

/// The kernels here, for the list of kernels that belong to no rung.
#[cfg(not(target_os = "cuda"))]
pub const KERNELS: &[&[&str]] = &[<merge_restore as simt::Instances>::NAMES];
