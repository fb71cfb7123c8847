//! The last launch: sorts each bucket in shared memory, in several rounds if it does not fit.

use super::{BLOCK, MAX_SPILLS};
use crate::Key;
use crate::{Tile, sort_in_block};
use simt::{Global, grid, kernel, thread};

/// Keys per thread.
const KEYS: usize = 17;
/// Keys per thread, of 64 bits.
const WIDE_KEYS: usize = 15;

/// Keys that fit a block.
pub const fn bucket_keys<K>() -> u32 {
    BLOCK * if size_of::<K>() == 8 { WIDE_KEYS } else { KEYS } as u32
}

/// Fewest blocks per SM: tiles of all of them fit its shared memory.
pub const fn buckets_min_blocks<K>() -> u32 {
    if size_of::<K>() == 8 { 2 } else { 4 }
}

/// Sorts a bucket, a block for each, unless it is final.
///
/// A bucket that does not fit the block's tile is cut into halves of one. Neighbouring halves are sorted together,
/// first those from an even half on, then those from an odd one, in one round more than there are halves: odd-even
/// transposition. A bucket of many halves takes long, but only splitters that are far from even make one.
#[kernel(max_threads = BLOCK, min_blocks = buckets_min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_sample_buckets: <u32>, merge_sample_buckets_u64: <u64>,
))]
pub fn merge_sample_buckets<K: Key>(keys: Global<K>, starts: Global<u32>, finals: Global<u8>) {
    let bucket = thread::block_idx_x();
    grid::wait_for_previous();
    grid::let_next_start();
    let (start, end) = (starts.get(bucket), starts.get(bucket + 1));
    let (keys, n) = (keys.slice(start, end - start), end - start);
    if n < 2 || finals.get(bucket) != 0 {
        return; // the whole block
    }
    let (whole, half) = (bucket_keys::<K>(), bucket_keys::<K>() / 2);
    let rounds = if n <= whole { 1 } else { n.div_ceil(half) + 1 };
    let mut round = 0;
    while round < rounds {
        let mut first = round % 2 * half;
        while first < n {
            sort(keys.slice(first, if n - first < whole { n - first } else { whole }));
            thread::sync_threads(); // the tile has been read before the next, and what is written is seen
            first += whole;
        }
        round += 1;
    }
}

/// Sorts keys that fit the block's tile.
#[simt::device]
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
