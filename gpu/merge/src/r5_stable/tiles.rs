//! The tiles of `all-runs`, sorted so that equivalent keys keep their order.

use crate::r2_multi_way::{SMALL_BLOCK, SMALL_MIN_BLOCKS, small_tile};
use crate::r3_all_runs::{self as all_runs, TILE_BLOCK, TILE_MIN_BLOCKS};
use rungs_common::order::{Greater, Less, LowHalfDown, Order};
use simt::{Global, Scalar, kernel};

/// Sorts each small tile of `input` and writes it to `output`, which may be `input`.
#[kernel(max_threads = SMALL_BLOCK, min_blocks = SMALL_MIN_BLOCKS, instances(
    merge_stable_small_tile: <u32, Less>, merge_stable_small_tile_u64: <u64, Less>,
    merge_stable_small_tile_greater: <u32, Greater>, merge_stable_small_tile_low: <u32, LowHalfDown>,
))]
#[rustfmt::skip]
pub fn merge_stable_small_tile<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    small_tile::<K, C, true>(input, output, state, order);
}

/// The same of the larger tiles.
#[kernel(max_threads = TILE_BLOCK, min_blocks = TILE_MIN_BLOCKS, instances(
    merge_stable_middle_tile: <u32, Less>, merge_stable_middle_tile_u64: <u64, Less>,
    merge_stable_middle_tile_greater: <u32, Greater>, merge_stable_middle_tile_low: <u32, LowHalfDown>,
))]
#[rustfmt::skip]
pub fn merge_stable_middle_tile<K: Scalar, C: Order<K>>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    all_runs::tile::<K, C, true>(input, output, state, order);
}
