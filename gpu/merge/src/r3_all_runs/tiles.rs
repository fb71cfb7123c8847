//! The first launch: sorts each tile.

use super::{TILE_BLOCK, TILE_KEYS, TILE_MIN_BLOCKS};
use crate::r1_merge_path::sort_tile;
use rungs_common::order::{Greater, Less, LowHalfDown, Order};
use simt::{Global, Scalar, kernel};

/// Sorts each tile of `input` and writes it to `output`, which may be `input`.
#[kernel(max_threads = TILE_BLOCK, min_blocks = TILE_MIN_BLOCKS, instances(
    merge_all_runs_tile: <u32, Less>, merge_all_runs_tile_u64: <u64, Less>,
    merge_all_runs_tile_greater: <u32, Greater>, merge_all_runs_tile_low: <u32, LowHalfDown>,
))]
pub fn merge_all_runs_tile<K: Scalar, C: Order<K>>(input: Global<K>, output: Global<K>, state: Global<u32>, order: C) {
    tile::<K, C, false>(input, output, state, order);
}

/// What the kernels of tiles do.
#[inline(always)]
#[rustfmt::skip]
pub fn tile<K: Scalar, C: Order<K>, const STABLE: bool>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    sort_tile::<K, C, { TILE_KEYS as usize }, STABLE, false>(input, output, state, order);
}
