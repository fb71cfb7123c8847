//! The first launch: sorts each tile.

use super::{TILE_BLOCK, TILE_KEYS, TILE_MIN_BLOCKS};
use crate::Key;
use crate::sort_tile;
use simt::{Global, kernel};

/// Sorts each tile of `input` and writes it to `output`, which may be `input`.
#[kernel(max_threads = TILE_BLOCK, min_blocks = TILE_MIN_BLOCKS, instances(
    merge_all_runs_tile: <u32>, merge_all_runs_tile_u64: <u64>,
))]
pub fn merge_all_runs_tile<K: Key>(input: Global<K>, output: Global<K>) {
    sort_tile::<K, { TILE_KEYS as usize }, true, false>(input, output);
}
