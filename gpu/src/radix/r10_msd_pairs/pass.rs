//! Launches 4, 5 and 7, and the passes over few pairs: every pair to its place by one digit.
//!
//! `tile.rs` says which pairs a block has and where they go, `ranks.rs` how they are ranked.

use super::ranks::Counters;
use super::shape::{Large, Shape, Small};
use super::tile::{By, Tile};
use super::{Buckets, MAX_BITS, TICKETS, by_buckets};
use crate::keys::Word;
use crate::radix::digits::{ALL_SO_FAR, BITS, DIGITS, OWN, look_back, state};
use crate::radix::from_last::{Arrays, PASSES, Passes, REST_BLOCKS, all_passes};
use crate::radix::r7_onesweep::{PASS_THREADS, Pairs};
use crate::radix::steps::block_scan;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, shared, thread, warp};

/// Bytes of dynamic shared memory: the tile in order, and the counters.
pub const fn pass_shared<S: Shape>() -> u32 {
    8 * S::TILE + Counters::<S>::BYTES
}

/// Warps of a block, whichever the shape.
const WARPS: u32 = Large::THREADS / warp::WARP;
const _: () = assert!(Large::THREADS == Small::THREADS && Large::THREADS == PASS_THREADS);

shared!(SUMS: [u32; WARPS]);

/// Where pairs come from.
pub trait Origin: 'static {
    /// Whether keys and values are in arrays of their own.
    const APART: bool;
}

/// Keys and values are in arrays of their own, before the first pass.
pub struct Apart;
/// A key and its value lie side by side.
pub struct Joined;

impl Origin for Apart {
    const APART: bool = true;
}
impl Origin for Joined {
    const APART: bool = false;
}

/// A pass.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Pass {
    /// 0 to 3.
    pub number: u32,
    /// The order (see [`crate::keys`]) that the first pass maps keys from, and the last one back to.
    pub order: u32,
    /// A number from 1 to [`LAST_EPOCH`](crate::radix::digits::LAST_EPOCH) that `states` has not seen.
    pub epoch: u32,
    /// Bits of the first partition by buckets.
    pub first_bits: u32,
    /// Bits of the second partition by buckets.
    pub second_bits: u32,
}

impl Pass {
    /// The epoch of the first pass.
    #[inline(always)]
    fn sort(self) -> u32 {
        self.epoch - self.number
    }
}

/// A pass by a digit over few pairs: from `keys` and `values` in the first pass, otherwise `from` one array of pairs `to`
/// another. The fourth pass moves them to `keys` and `values`.
///
/// `passes`: see [`Passes`]. `states`: 256 words per tile.
#[kernel(max_threads = Small::THREADS, min_blocks = Small::BLOCKS, instances(
    radix_msd_pairs_pass_apart: <Apart>,
    radix_msd_pairs_pass_joined: <Joined>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_pass<O: Origin>(
    keys: Global<u32>, values: Global<u32>, from: Global<u64>, to: Global<u64>, pass: Pass, control: Global<u32>,
    passes: Global<u32>, states: Global<u64>,
) {
    grid::let_next_start();
    Counters::<Small>::at(8 * Small::TILE).clear();
    grid::wait_for_previous(); // pairs, starts and tickets
    let by = By::Digits(Passes(passes));
    move_pairs::<Small, O>(keys, values, from, pass, by, control, states, |tile, sorted| {
        if !O::APART && pass.number == 3 {
            tile.store(sorted, |place, pair| {
                keys.set(place, (pair as u32).decode(pass.order));
                values.set(place, (pair >> 32) as u32);
            });
        } else {
            tile.store(sorted, |place, pair| to.set(place, pair));
        }
    });
}

/// The first partition, from `keys` and `values` to `pairs`, or the second, from there back. By digits it leaves.
///
/// `buckets`: see [`Buckets`]. `states`: 256 words per tile.
#[kernel(max_threads = Large::THREADS, min_blocks = Large::BLOCKS, instances(
    radix_msd_pairs_partition_apart: <Apart>,
    radix_msd_pairs_partition_joined: <Joined>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_partition<O: Origin>(
    keys: Global<u32>, values: Global<u32>, pairs: Global<u64>, pass: Pass, control: Global<u32>,
    buckets: Global<u32>, states: Global<u64>,
) {
    grid::let_next_start();
    Counters::<Large>::at(8 * Large::TILE).clear();
    grid::wait_for_previous(); // pairs, starts and tickets
    if !by_buckets(control, buckets, pass.sort()) {
        return;
    }
    let by = By::Buckets(Buckets::new(buckets));
    move_pairs::<Large, O>(keys, values, pairs, pass, by, control, states, |tile, sorted| {
        if O::APART {
            tile.store(sorted, |place, pair| pairs.set(place, pair));
        } else {
            tile.store(sorted, |place, pair| {
                keys.set(place, pair as u32);
                values.set(place, (pair >> 32) as u32);
            });
        }
    });
}

/// All passes by digits. By buckets it leaves.
///
/// `pass`: the first one. `passes`: see [`Passes`]. `buckets`: see [`Buckets`]. `states`: 256 words per tile.
#[kernel(max_threads = PASS_THREADS, min_blocks = REST_BLOCKS)]
#[rustfmt::skip]
pub fn radix_msd_pairs_digits(
    keys: Global<u32>, values: Global<u32>, pairs: Global<u64>, pass: Pass, control: Global<u32>,
    passes: Global<u32>, buckets: Global<u32>, states: Global<u64>,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // pairs
    if by_buckets(control, buckets, pass.sort()) {
        return;
    }
    let phase = |number| (control.slice(TICKETS + number, 1), control.slice(TICKETS + PASSES + number, 1));
    // The memory that the partitions use for pairs has room for keys and values.
    let (n, other) = (keys.len(), pairs.cast::<u32>());
    let arrays = Arrays { keys: [keys, other.slice(0, n)], values: [values, other.slice(n, n)] };
    all_passes::<Pairs>(arrays, pass.order, Passes(passes), pass.number, phase, states, pass.sort());
}

/// Moves the pairs of the tile that the block takes, once its counters are cleared. `store` writes them out.
#[inline(always)]
#[track_caller]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
fn move_pairs<S: Shape, O: Origin>(
    keys: Global<u32>, values: Global<u32>, from: Global<u64>, pass: Pass, by: By, control: Global<u32>,
    states: Global<u64>, store: impl FnOnce(&Tile<S>, Shared<u64>),
) {
    let t = thread::thread_idx_x();
    let counters = Counters::<S>::at(8 * S::TILE);
    let Some(tile) = Tile::<S>::take(by, pass, control, keys.len()) else { return };
    let mut pair = tile.load::<O>(keys, from, pass);
    let ranks = counters.rank(tile.shift, |i, shift| pair.keys[i] >> shift & tile.mask);
    if O::APART {
        // Not before the ranks: so the keys alone take registers until then.
        tile.load_values(&mut pair, values);
    }
    thread::sync_threads(); // every half warp has counted its pairs before the counts are added up

    let (total, found) = publish_own(counters, &tile, states, pass.epoch);
    let place = if t < DIGITS { by.start(&tile, pass.number) } else { 0 };
    let (start, _) = block_scan::<WARPS>(total, SUMS::view());
    if t < DIGITS {
        counters.start(t, start);
    }
    thread::sync_threads(); // every half warp and digit knows its place in the tile
    let sorted = Shared::<u64>::dynamic(0, S::TILE);
    tile.scatter(&pair, &ranks, counters, sorted);
    if t < DIGITS {
        let before = look_back(states, tile.slot, tile.before, pass.epoch);
        if tile.before > 0 {
            let state = state(pass.epoch, ALL_SO_FAR, before + found);
            states.store(tile.slot * DIGITS + t, state, Relaxed, Scope::Device);
        }
        tile.set_offset(place + before, start);
    }
    thread::sync_threads(); // the tile is in order and the offsets are known before pairs are written out
    store(&tile, sorted);
}

/// Thread t adds up the pairs of digit t, and tells the tiles behind this one as early as it can. Returns how many have
/// it with those past the end, and without them.
#[inline(always)]
#[rustfmt::skip]
fn publish_own<S: Shape>(counters: Counters<S>, tile: &Tile<S>, states: Global<u64>, epoch: u32) -> (u32, u32) {
    let t = thread::thread_idx_x();
    if t >= DIGITS {
        return (0, 0);
    }
    let total = counters.total(t);
    let found = if t == tile.mask { total - (S::TILE - tile.count) } else { total };
    let kind = if tile.before == 0 { ALL_SO_FAR } else { OWN };
    states.store(tile.slot * DIGITS + t, state(epoch, kind, found), Relaxed, Scope::Device);
    (total, found)
}

const _: () = assert!(MAX_BITS <= BITS, "a partition has no more values than a digit");
