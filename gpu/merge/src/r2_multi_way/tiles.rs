//! The first launch: sorts each tile.

use super::{BLOCK, MAX_SPILLS, SMALL_BLOCK, SMALL_MIN_BLOCKS, keys, min_blocks, small_keys};
use crate::r1_merge_path::sort_tile;
use rungs_common::order::{Greater, Less, LowHalfDown, Order};
use simt::{Global, Scalar, kernel};

/// Sorts each tile of `input` and writes it to `output`, which may be `input`.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<K>(), max_spills = MAX_SPILLS, instances(
    merge_multi_way_tile: <u32, Less>, merge_multi_way_tile_u64: <u64, Less>,
    merge_multi_way_tile_greater: <u32, Greater>, merge_multi_way_tile_low: <u32, LowHalfDown>,
))]
pub fn merge_multi_way_tile<K: Scalar, C: Order<K>>(input: Global<K>, output: Global<K>, state: Global<u32>, order: C) {
    tile::<K, C>(input, output, state, order);
}

/// [`merge_multi_way_tile`] of small tiles.
#[kernel(max_threads = SMALL_BLOCK, min_blocks = SMALL_MIN_BLOCKS, instances(
    merge_multi_way_small_tile: <u32, Less>, merge_multi_way_small_tile_u64: <u64, Less>,
    merge_multi_way_small_tile_greater: <u32, Greater>, merge_multi_way_small_tile_low: <u32, LowHalfDown>,
))]
#[rustfmt::skip]
pub fn merge_multi_way_small_tile<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    small_tile::<K, C, false>(input, output, state, order);
}

/// What the kernels of tiles do.
#[inline(always)]
#[rustfmt::skip]
pub fn tile<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    if size_of::<K>() == 8 {
        sort_tile::<K, C, { keys::<u64>() as usize }, false, false>(input, output, state, order);
    } else {
        sort_tile::<K, C, { keys::<u32>() as usize }, false, false>(input, output, state, order);
    }
}

/// What the kernels of small tiles do.
#[inline(always)]
#[rustfmt::skip]
pub fn small_tile<K: Scalar, C: Order<K>, const STABLE: bool>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    if size_of::<K>() == 8 {
        sort_tile::<K, C, { small_keys::<u64>() as usize }, STABLE, true>(input, output, state, order);
    } else {
        sort_tile::<K, C, { small_keys::<u32>() as usize }, STABLE, true>(input, output, state, order);
    }
}
