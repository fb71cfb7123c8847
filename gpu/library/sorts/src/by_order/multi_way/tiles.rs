//! The first launch: sorts each tile.

use super::{keys, small_keys};
use crate::by_order::tile::sort_tile;
use rungs_common::order::Order;
use simt::{Global, Scalar};

/// Sorts each tile of `input` and writes it to `output`, which may be `input`.
#[simt::device]
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

/// [`tile`] of small tiles. `STABLE`: equivalent keys keep their order.
#[simt::device]
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
