//! Launches 9 and 10: sorts each bucket in shared memory, and those that do not fit through global memory.

use super::{BLOCK, LARGE, LARGE_MAX_SPILLS, LIST, MAX_SPILLS};
use crate::{Tile, sort_in_block};
use rungs_common::keys::Key;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, grid, kernel, thread};

/// Keys per thread.
const KEYS: usize = 17;
/// Keys per thread, of 64 bits.
const WIDE_KEYS: usize = 15;

/// Keys that fit a block.
pub const fn bucket_keys<K>() -> u32 {
    BLOCK * if size_of::<K>() == 8 { WIDE_KEYS } else { KEYS } as u32
}

/// Fewest blocks per multiprocessor: tiles of all of them fit its shared memory.
pub const fn buckets_min_blocks<K>() -> u32 {
    if size_of::<K>() == 8 { 2 } else { 4 }
}

/// Sorts a bucket, a block for each, unless it is final. Those that do not fit are put on the list `large`, see
/// [`LARGE`].
#[kernel(max_threads = BLOCK, min_blocks = buckets_min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_sample_buckets: <u32>, merge_sample_buckets_u64: <u64>,
))]
pub fn merge_sample_buckets<K: Key>(keys: Global<K>, starts: Global<u32>, finals: Global<u8>, large: Global<u32>) {
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
            let place = LIST + 2 * large.fetch_add(LARGE, 1, Relaxed, Scope::Device);
            large.set(place, start);
            large.set(place + 1, end);
        }
        return;
    }
    sort(keys.slice(start, n));
}

/// Sorts the buckets on the list, one block at a time each.
///
/// A bucket is cut into halves of what fits a block. Neighbouring halves are sorted together, first those from an even
/// half on, then those from an odd one, in as many rounds as there are halves and one: odd-even transposition. A bucket
/// of many halves takes long, but the splitters have to be far from even for one.
#[kernel(max_threads = BLOCK, max_spills = LARGE_MAX_SPILLS, instances(
    merge_sample_large: <u32>, merge_sample_large_u64: <u64>,
))]
pub fn merge_sample_large<K: Key>(keys: Global<K>, large: Global<u32>) {
    grid::wait_for_previous();
    grid::let_next_start();
    let (mut i, half) = (thread::block_idx_x(), bucket_keys::<K>() / 2);
    while i < large.get(LARGE) {
        let (start, end) = (large.get(LIST + 2 * i), large.get(LIST + 2 * i + 1));
        let (keys, n) = (keys.slice(start, end - start), end - start);
        let mut round = 0;
        while round <= n.div_ceil(half) {
            let mut first = round % 2 * half;
            while first < n {
                sort(keys.slice(first, if n - first < 2 * half { n - first } else { 2 * half }));
                thread::sync_threads(); // the tile has been read before the next, and what is written is seen
                first += 2 * half;
            }
            round += 1;
        }
        i += thread::grid_dim_x();
    }
}

/// Sorts keys that fit the block's tile.
#[inline(always)]
#[track_caller]
fn sort<K: Key>(keys: Global<K>) {
    let tile = Tile::new(bucket_keys::<K>());
    tile.load(keys);
    if size_of::<K>() == 8 {
        sort_in_block::<K, WIDE_KEYS, true, false>(tile, keys.len());
    } else {
        sort_in_block::<K, KEYS, true, false>(tile, keys.len());
    }
    thread::sync_threads(); // the tile is sorted before it is read in another order
    tile.store(keys);
}
