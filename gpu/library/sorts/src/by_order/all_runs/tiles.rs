//! The first launch: sorts each tile.

use super::TILE_KEYS;
use crate::by_order::tile::sort_tile;
use rungs_common::order::Order;
use simt::{Global, Scalar};

/// Sorts each tile of `input` and writes it to `output`, which may be `input`. `STABLE`: equivalent keys keep their
/// order.
#[simt::device]
#[rustfmt::skip]
pub fn tile<K: Scalar, C: Order<K>, const STABLE: bool>(
    input: Global<K>, output: Global<K>, state: Global<u32>, order: C,
) {
    sort_tile::<K, C, { TILE_KEYS as usize }, STABLE, false>(input, output, state, order);
}
