//! Launches 4 and 5: every pair to its bucket; or passes that the host chose, every pair to its place by one digit.
//!
//! `tile.rs` says which pairs a block has and where they go, `ranks.rs` how they are ranked.

use super::ranks::{Counters, Ranks};
use super::shape::{Large, Learned, Partition, Shape, Small};
use super::tile::{DigitOf, Tile};
use super::{MAX_BITS, by_buckets};
use crate::digits::{AGGREGATE, BITS, DIGITS, PREFIX, look_back, state};
use crate::learned::{Map, NUMBER_BITS};
use crate::msd::Buckets as _;
use crate::ways::PASSES;
use rungs_common::keys::Word;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, thread, warp};

/// Bytes of dynamic shared memory: the tile in order, and the counters.
pub const fn pass_shared<S: Shape>() -> u32 {
    8 * S::TILE + Counters::<S>::BYTES
}

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

/// A pass, or a partition by buckets.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Pass {
    /// The first bit of its digit, in the key, in the number that a learned map gives the key, or in the number of the
    /// bucket by a linear map.
    pub shift: u32,
    /// Number of bits of its digit.
    pub bits: u32,
    /// 0 to 3, of a partition 0 or 1.
    pub number: u32,
    /// The order (see [`rungs_common::keys`]) that keys are mapped from as they come in.
    pub encode: u32,
    /// The order that they are mapped to as they go out.
    pub decode: u32,
    /// A number from 1 to [`LAST_EPOCH`](crate::digits::LAST_EPOCH) that `states` has not seen.
    pub epoch: u32,
    /// Which of two tables of counts this sort uses, 0 or 1.
    pub table: u32,
}

/// Counts of all digits in one table.
pub const TABLE_WORDS: u32 = PASSES * DIGITS;

/// Moves each pair to its place by a digit: from `keys` and `values` in the first pass, otherwise `from` one array of
/// pairs `to` another, and in the last pass to `keys` and `values`. A partition moves each pair to its bucket the same
/// way (the second of two is the last), or returns at once if the pairs are sorted by digits.
///
/// `counts`: two tables, see [`Pass::table`]; or the map. `buckets`: see `Buckets`. `states`: 256 words per tile.
#[kernel(max_threads = S::THREADS, min_blocks = S::BLOCKS, max_spills = S::SPILLS, instances(
    radix_msd_pairs_partition_apart: <Partition, Apart>,
    radix_msd_pairs_partition_joined: <Partition, Joined>,
    radix_msd_pairs_partition_learned_apart: <Learned, Apart>,
    radix_msd_pairs_partition_learned_joined: <Learned, Joined>,
    radix_msd_pairs_pass_apart: <Large, Apart>,
    radix_msd_pairs_pass_joined: <Large, Joined>,
    radix_msd_pairs_pass_apart_small: <Small, Apart>,
    radix_msd_pairs_pass_joined_small: <Small, Joined>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_pass<S: Shape, O: Origin>(
    keys: Global<u32>, values: Global<u32>, from: Global<u64>, to: Global<u64>, pass: Pass, control: Global<u32>,
    counts: Global<u32>, buckets: Global<u32>, states: Global<u64>,
) {
    let (t, counters) = (thread::thread_idx_x(), Counters::<S>::at(8 * S::TILE));
    grid::let_next_start();
    grid::wait_for_previous(); // pairs, tables, map and tickets
    if S::BUCKETS && !by_buckets(control, buckets, pass.epoch - pass.number) {
        return;
    }
    // Known to the compiler where it can be, which then finds tiles in one way.
    let pass = if S::BUCKETS { Pass { number: !O::APART as u32, ..pass } } else { pass };
    counters.clear(); // not before: a block that leaves would have cleared for nothing
    let plan = DigitOf { pass, counts, buckets };
    let map = || Map::<u32, _>::read(counts, NUMBER_BITS - pass.shift);
    // Keys of the input meet all over the table: it lies where the tile will, until its pairs are put in order. Behind
    // the first partition those of a tile have few words of it, which are read through the L1 cache.
    let staged = (S::MAPPED && O::APART).then(|| map().staged(0, S::THREADS));
    let Some(tile) = Tile::<S>::take(&plan, control, keys.len()) else { return };

    let mut pair = tile.load::<O>(keys, from, pass);
    let mut ranks = Ranks::default();
    if let Some(map) = staged {
        // The tile was taken behind a barrier, so the table is there.
        tile.note(&pair, &mut ranks, |key| map.bucket(key) & tile.mask);
    } else if S::MAPPED {
        let map = map();
        tile.note(&pair, &mut ranks, |key| map.bucket(key) & tile.mask);
    }
    let ranks = counters.rank(tile.shift, ranks, |ranks, i, shift| tile.digit(&pair, ranks, i, shift));
    if O::APART {
        // Not before the ranks: so the keys alone take registers until then.
        tile.read(values, |i, value| pair.values[i] = value);
    }
    thread::sync_threads(); // every half warp has counted its pairs before the counts are added up

    let (total, found) = publish_own(counters, &tile, states, pass.epoch);
    let (start, place) = tile.scan(total, plan.place(&tile));
    if t < DIGITS {
        counters.start(t, start);
    }
    thread::sync_threads(); // every half warp and digit knows its place in the tile
    let sorted = Shared::<u64>::dynamic(0, S::TILE);
    tile.scatter(&pair, &ranks, counters, sorted);
    if t < DIGITS {
        let before = look_back(states, tile.slot, tile.before, pass.epoch);
        if tile.before > 0 {
            let state = state(pass.epoch, PREFIX, before + found);
            states.store(tile.slot * DIGITS + t, state, Relaxed, Scope::Device);
        }
        warp::sync_warp(warp::FULL); // all lanes have read their places before words of the counters become offsets
        counters.offset(t).set(0, (place + before).wrapping_sub(start)); // it may be below zero, and wraps
    }
    thread::sync_threads(); // the tile is in order and the offsets are known before pairs are written out
    // Neighbours have nearly the same key now, and read the same word of the table.
    let map = S::MAPPED.then(map);
    let digit = |key: u32| map.map_or_else(|| tile.digit_of(key, tile.shift), |map| map.bucket(key) & tile.mask);
    if !O::APART && (S::BUCKETS || pass.number == PASSES - 1) {
        tile.store(sorted, counters, digit, |place, pair| {
            keys.set(place, (pair as u32).decode(pass.decode));
            values.set(place, (pair >> 32) as u32);
        });
    } else {
        tile.store(sorted, counters, digit, |place, pair| to.set(place, pair));
    }
}

/// Thread t adds up the pairs of digit t, and tells the tiles behind this one as early as it can. Returns how many have
/// it with those past the end, and without them.
#[simt::device]
#[rustfmt::skip]
fn publish_own<S: Shape>(counters: Counters<S>, tile: &Tile<S>, states: Global<u64>, epoch: u32) -> (u32, u32) {
    let t = thread::thread_idx_x();
    if t >= DIGITS {
        return (0, 0);
    }
    let total = counters.total(t);
    let found = if t == tile.mask { total - (S::TILE - tile.count) } else { total };
    let kind = if tile.before == 0 { PREFIX } else { AGGREGATE };
    states.store(tile.slot * DIGITS + t, state(epoch, kind, found), Relaxed, Scope::Device);
    (total, found)
}

const _: () = assert!(MAX_BITS <= BITS, "a partition has no more values than a digit");
