//! Launches 4 and 8: the move of the keys to their buckets, in their order.

use crate::by_order::distribute::{BLOCK, Column, ITEMS, MOST_BUCKETS, Part, TILE, WARP_ROWS, part_of_block};
use crate::by_order::sample::{COPY, MAX_SPILLS, TICKET};
use crate::digits::{AGGREGATE, DIGITS, PREFIX, look_back, state};
use rungs_common::block::block_scan_exclusive;
use rungs_radix::r7_onesweep::ranks::rank_rows;
use rungs_radix::{count_of_digit, place_digit};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Scalar, Shared, grid, kernel, shared, thread, unroll, warp};

const WARPS: u32 = BLOCK / warp::WARP;
const _: () = assert!(MOST_BUCKETS == DIGITS, "the bucket of a key is ranked as a digit");

shared!(TAKEN: [u32; 1]);
shared!(FOUND: [u32; 3]);
shared!(SUMS: [u32; MOST_BUCKETS / warp::WARP]);
shared!(OFFSETS: [u32; MOST_BUCKETS]);

/// Bytes of a counter per warp and bucket.
const COUNTERS: u32 = WARPS * MOST_BUCKETS * 4;

/// Bytes of dynamic shared memory: the counters, then the tile in the order of the buckets, with the bucket of each
/// key. Before that, the tile's bytes hold the sets of lanes.
pub const fn stable_scatter_shared<W>() -> u32 {
    let tile = TILE * (size_of::<W>() as u32 + 1);
    COUNTERS + if tile > COUNTERS { tile } else { COUNTERS }
}

/// Bytes per thread of spilled registers that two resident blocks per SM may cost. Keys of 64 bits need
/// most for compute capability 8.0; for 9.0 they need 24.
pub const fn stable_scatter_max_spills<W>() -> u32 {
    if size_of::<W>() == 8 { 80 } else { MAX_SPILLS }
}

/// Moves the keys of `input` to their buckets in `output`, those of a bucket in their order. `next_starts`: where the
/// buckets start, and the end. `large`: its word [`TICKET`] is 0. `states`: 256 words per tile, which have not seen the
/// number `epoch`. The other arguments are those of [`crate::by_order::sample::count`].
#[kernel(max_threads = BLOCK, min_blocks = 2, max_spills = stable_scatter_max_spills::<W>(), instances(
    merge_stable_scatter_u8: <u8>, merge_stable_scatter_u16: <u16>, merge_stable_scatter_u32: <u32>,
    merge_stable_scatter_u64: <u64>,
))]
#[rustfmt::skip]
pub fn merge_stable_scatter<W: Scalar>(
    input: Global<W>, output: Global<W>, starts: Global<u32>, bits: u32, modes: Global<u32>, ids: Global<u32>,
    next_starts: Global<u32>, large: Global<u32>, states: Global<u64>, epoch: u32,
) {
    let (t, lane, w) = (thread::thread_idx_x(), warp::lane_id(), thread::thread_idx_x() / warp::WARP);
    let counters = Shared::<u32>::dynamic(0, WARPS * MOST_BUCKETS);
    let lanes = Shared::<u32>::dynamic(COUNTERS + w * MOST_BUCKETS * 4, MOST_BUCKETS);
    let own = counters.slice(w * MOST_BUCKETS, MOST_BUCKETS);
    unroll::<{ (MOST_BUCKETS / warp::WARP) as usize }>(|i| {
        own.set(i as u32 * warp::WARP + lane, 0);
        lanes.set(i as u32 * warp::WARP + lane, 0);
    });
    grid::wait_for_previous();
    grid::let_next_start();
    if t == 0 {
        TAKEN::view().set(0, large.fetch_add(TICKET, 1, Relaxed, Scope::Device));
    }
    thread::sync_threads(); // the tile is known, and the warp's counters and sets are zero
    // Tiles are taken in order, so that those which a block waits for have been taken by running blocks: from the last
    // tile on, because what the count read last is still in the L2 cache.
    let taken = TAKEN::view().get(0);
    let block = thread::grid_dim_x() - 1 - taken;
    let Some(part) = part_of_block(input.len(), starts, block, FOUND::view()) else { return };
    let (column, mut keys) = (Column::of(WARP_ROWS), [W::default(); ITEMS]);
    let load = |i: usize| input.get(part.place(column.slot(i)));
    if modes.get(part.bucket) == COPY {
        unroll::<ITEMS>(|i| keys[i] = load(i));
        part.copy(&keys, column, output);
        return; // the whole block
    }
    let mut packed = ids.get_pack(block * BLOCK + t);
    if part.len < TILE {
        // What is behind the end counts as the last of the last bucket.
        unroll::<ITEMS>(|i| if column.slot(i) >= part.len {
            packed[i / 4] |= 0xff << (i % 4 * 8);
        });
    }
    let id = |i: usize| packed[i / 4] >> (i % 4 * 8) & 0xff;
    let mut digits = [0; ITEMS];
    unroll::<ITEMS>(|i| digits[i] = id(i));
    let ranked = rank_rows::<u32, ITEMS>(&digits, ITEMS as u32, 0, own, lanes);
    // Two per word: there are few registers.
    let mut pairs = [0; ITEMS / 2];
    unroll::<ITEMS>(|i| pairs[i / 2] |= ranked[i] << (i % 2 * 16));
    // The keys are on their way while the ranks become places; those of 64 bits would take too many registers.
    if size_of::<W>() < 8 {
        unroll::<ITEMS>(|i| keys[i] = load(i));
    }
    thread::sync_threads(); // every warp has counted its keys before the counts are added up

    let after = tiles_after(part, starts, input.len());
    let (mut total, mut found) = (0, 0);
    if t < MOST_BUCKETS {
        total = count_of_digit::<{ WARPS as usize }>(counters, t);
        found = if t == MOST_BUCKETS - 1 { total - (TILE - part.len) } else { total };
        let kind = if after == 0 { PREFIX } else { AGGREGATE };
        states.store(taken * MOST_BUCKETS + t, state(epoch, kind, found), Relaxed, Scope::Device);
    }
    let start = block_scan_exclusive(total, SUMS::view());
    if t < MOST_BUCKETS {
        place_digit::<{ WARPS as usize }>(counters, t, start);
    }
    if size_of::<W>() == 8 {
        unroll::<ITEMS>(|i| keys[i] = load(i));
    }
    thread::sync_threads(); // every warp and bucket knows its place in the tile
    let staged = Shared::<W>::dynamic(COUNTERS, TILE);
    let staged_ids = Shared::<u8>::dynamic(COUNTERS + TILE * size_of::<W>() as u32, TILE);
    unroll::<ITEMS>(|i| {
        let place = own.get(id(i)) + (pairs[i / 2] >> (i % 2 * 16) & 0xffff);
        staged.set(place, keys[i]);
        staged_ids.set(place, id(i) as u8);
    });
    if t < 1 << bits {
        // The end of the bucket is on its way while the block looks back: at tiles that come after this one.
        let end = next_starts.get((part.bucket << bits) + t + 1);
        let behind = look_back(states, taken, after, epoch);
        if after > 0 {
            let state = state(epoch, PREFIX, behind + found);
            states.store(taken * MOST_BUCKETS + t, state, Relaxed, Scope::Device);
        }
        // The difference between the places in the output and in the tile; it may be below zero, and wraps.
        OFFSETS::view().set(t, (end - behind - found).wrapping_sub(start));
    }
    thread::sync_threads(); // the tile is in the order of the buckets, so that neighbours are written together
    part.store(staged, staged_ids, OFFSETS::view(), output);
}

/// How many tiles of the same bucket come after this one.
#[simt::device]
fn tiles_after(part: Part, starts: Global<u32>, n: u32) -> u32 {
    let end = if starts.is_empty() { n } else { starts.get(part.bucket + 1) };
    (end - part.first - 1) / TILE
}
