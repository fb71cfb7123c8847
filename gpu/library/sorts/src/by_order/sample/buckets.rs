//! Launches 9 and 10: sorts each bucket in shared memory, and those that do not fit through global memory.

use super::{BLOCK, LARGE, LIST};
use crate::by_order::passes::{Group, merge_part, split_words, tile_keys};
use crate::by_order::split::split;
use crate::by_order::tile::{Tile, sort_in_block, tile_shared};
use rungs_common::order::Order;
use simt::atomic::{Order as Memory, Scope};
use simt::{Global, Scalar, async_copy, grid, shared, thread, warp};

/// Keys per thread.
const KEYS: usize = 17;
/// Keys per thread, of 64 bits.
const WIDE_KEYS: usize = 15;

/// Keys that fit a block.
pub const fn bucket_keys<K>() -> u32 {
    BLOCK * if size_of::<K>() == 8 { WIDE_KEYS } else { KEYS } as u32
}

/// Bytes of dynamic shared memory, of both kernels.
pub const fn buckets_shared<K>() -> u32 {
    tile_shared::<K>(BLOCK, bucket_keys::<K>())
}

/// Fewest blocks per SM: tiles of all of them fit its shared memory.
pub const fn buckets_min_blocks<K>() -> u32 {
    if size_of::<K>() == 8 { 2 } else { 4 }
}

/// Sorts a bucket, a block for each, unless it is final. Those that do not fit are put on the list `large`, see
/// [`LARGE`].
/// `STABLE`: equivalent keys keep their order.
#[simt::device]
#[rustfmt::skip]
pub fn buckets<K: Scalar, C: Order<K>, const STABLE: bool>(
    keys: Global<K>, starts: Global<u32>, finals: Global<u8>, large: Global<u32>, order: C,
) {
    let (t, bucket) = (thread::thread_idx_x(), thread::block_idx_x());
    grid::wait_for_previous();
    grid::let_next_start();
    let (start, end) = (starts.get(bucket), starts.get(bucket + 1));
    let n = end - start;
    if n < 2 || finals.get(bucket) != 0 {
        return; // the whole block, here and below
    }
    if n > bucket_keys::<K>() {
        if t == 0 {
            let place = LIST + 2 * large.fetch_add(LARGE, 1, Memory::Relaxed, Scope::Device);
            large.set(place, start);
            large.set(place + 1, end);
        }
        return;
    }
    let (tile, keys) = (Tile::new(BLOCK, bucket_keys::<K>()), keys.slice(start, n));
    load(tile, keys);
    if size_of::<K>() == 8 {
        sort::<K, C, WIDE_KEYS, STABLE>(tile, n, order);
    } else {
        sort::<K, C, KEYS, STABLE>(tile, n, order);
    }
    store(tile, keys);
}

/// Loads all of a view into the tile. All threads see it.
#[simt::device]
fn load<K: Scalar>(tile: Tile<K>, keys: Global<K>) {
    let (slots, pad) = tile.slots();
    tile.surround(keys.len());
    let mut i = thread::thread_idx_x();
    while i < keys.len() {
        async_copy::element(slots, pad + i, keys, i, true);
        i += BLOCK;
    }
    async_copy::commit();
    async_copy::wait::<0>();
    thread::sync_threads(); // the tile is whole before each thread takes its neighbouring keys
}

/// Sorts the first `n` keys of the tile. All threads see the result.
#[simt::device]
fn sort<K: Scalar, C: Order<K>, const N: usize, const STABLE: bool>(tile: Tile<K>, n: u32, order: C) {
    sort_in_block::<K, C, N, STABLE, false>(tile, n, order);
    thread::sync_threads(); // the tile is sorted before it is read in another order
}

/// Fills a view from the tile.
#[simt::device]
fn store<K: Scalar>(tile: Tile<K>, keys: Global<K>) {
    let mut i = thread::thread_idx_x();
    while i < keys.len() {
        keys.set(i, tile.get(i));
        i += BLOCK;
    }
}

shared!(SPLITS: [u32; split_words(8)]);

/// Sorts the buckets on the list, one block at a time each: tiles, then merges of eight runs through `other`.
/// `STABLE`: equivalent keys keep their order.
#[simt::device]
#[rustfmt::skip]
pub fn sort_large<K: Scalar, C: Order<K>, const STABLE: bool>(
    keys: Global<K>, other: Global<K>, large: Global<u32>, order: C,
) {
    grid::wait_for_previous();
    grid::let_next_start();
    let (mut i, number) = (thread::block_idx_x(), large.get(LARGE));
    while i < number {
        let (start, end) = (large.get(LIST + 2 * i), large.get(LIST + 2 * i + 1));
        let (keys, other) = (keys.slice(start, end - start), other.slice(start, end - start));
        if size_of::<K>() == 8 {
            sort_one::<K, C, WIDE_KEYS, STABLE>(keys, other, order);
        } else {
            sort_one::<K, C, KEYS, STABLE>(keys, other, order);
        }
        i += thread::grid_dim_x();
    }
}

#[simt::device]
#[rustfmt::skip]
fn sort_one<K: Scalar, C: Order<K>, const N: usize, const STABLE: bool>(
    keys: Global<K>, other: Global<K>, order: C,
) {
    const WAYS: u32 = 8;
    let (tile, slots, n) = (Tile::new(BLOCK, bucket_keys::<K>()), bucket_keys::<K>(), keys.len());
    let mut first = 0;
    while first < n {
        let part = keys.slice(first, if n - first < slots { n - first } else { slots });
        load(tile, part);
        sort::<K, C, N, STABLE>(tile, part.len(), order);
        store(tile, part);
        thread::sync_threads(); // the tile has been read before it is loaded again, and what is written is seen
        first += part.len();
    }
    let (mut from, mut to, mut swapped, mut run) = (keys, other, false, slots);
    while run < n {
        let (mut group, mut possible) = (0, true);
        while possible && group as u64 * (run as u64 * WAYS as u64) < n as u64 {
            possible = merge_group::<K, C, N>(tile, from, to, Group::new(group, n, run, WAYS), order);
            group += 1;
        }
        if !possible {
            break; // the order is none: what was to be merged still has all keys
        }
        (from, to, swapped) = (to, from, !swapped);
        run = run.saturating_mul(WAYS);
    }
    if swapped {
        let mut i = thread::thread_idx_x();
        while i < n {
            keys.set(i, other.get(i));
            i += BLOCK;
        }
    }
    thread::sync_threads(); // the bucket is done before the tile is used for the next
}

/// Merges a group of eight runs, part by part. Whether its splits were possible.
#[simt::device]
fn merge_group<K: Scalar, C: Order<K>, const N: usize>(
    tile: Tile<K>,
    from: Global<K>,
    to: Global<K>,
    group: Group,
    order: C,
) -> bool {
    let (t, shared, keys) = (thread::thread_idx_x(), SPLITS::view(), tile_keys(8, BLOCK, N as u32));
    let mut first = 0;
    while first < group.len {
        let end = if group.len - first < keys { group.len } else { first + keys };
        let (w, lane) = (t / warp::WARP, warp::lane_id());
        if w < 2 {
            let found = split::<K, C, 8, 4>(from, group, if w == 0 { first } else { end }, order);
            if lane % 4 == 0 {
                shared.set(w * 8 + lane / 4, found);
            }
        }
        thread::sync_threads(); // all threads see the splits
        let load = |places| crate::by_order::passes::load_runs(tile, from, group, shared, places, 8);
        if !merge_part::<K, C, 8, N, false>(to, group, [first, end], shared, tile, false, order, load) {
            return false;
        }
        thread::sync_threads(); // the part is written, and seen by the searches in the next pass
        first = end;
    }
    true
}
