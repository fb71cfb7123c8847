//! The first launch: sorts each tile.

use super::{BLOCK, KEYS, MAX_SPILLS, SMALL_BLOCK, SMALL_KEYS, SMALL_MIN_BLOCKS, WIDE_KEYS, min_blocks};
use crate::Key;
use crate::sort_tile;
use simt::{Global, kernel};

/// Sorts each tile of `input` and writes it to `output`, which may be `input`.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_multi_way_tile: <u32>, merge_multi_way_tile_u64: <u64>,
))]
pub fn merge_multi_way_tile<K: Key>(input: Global<K>, output: Global<K>) {
    if size_of::<K>() == 8 {
        sort_tile::<K, WIDE_KEYS, true, false>(input, output);
    } else {
        sort_tile::<K, KEYS, true, false>(input, output);
    }
}

/// [`merge_multi_way_tile`] of small tiles.
#[kernel(max_threads = SMALL_BLOCK, min_blocks = SMALL_MIN_BLOCKS, instances(
    merge_multi_way_small_tile: <u32>, merge_multi_way_small_tile_u64: <u64>,
))]
pub fn merge_multi_way_small_tile<K: Key>(input: Global<K>, output: Global<K>) {
    if size_of::<K>() == 8 {
        sort_tile::<K, WIDE_KEYS, true, true>(input, output);
    } else {
        sort_tile::<K, SMALL_KEYS, true, true>(input, output);
    }
}
