//! Shared by the rungs on the tensor cores: the order of tiles, copies to shared memory by `cp.async`, and the store of
//! a tile of C by TMA.

use super::Matrix;
use simt::math::to_bf16_pair;
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{ROW, Tile, store_fragments};
use simt::{Scalar, Shared, async_copy, bf16, bulk, thread, unroll};

/// Row and column of tile `number`, if C is a grid of `tile_rows` × `tile_columns` tiles.
///
/// Tiles with neighbouring numbers are computed at the same time. They are numbered in groups of eight rows of tiles,
/// and in a group column by column. So tiles of the same time read few different rows of A and columns of B, which stay
/// in L2.
#[simt::device]
pub fn tile_in_groups(number: u32, tile_rows: u32, tile_columns: u32) -> (u32, u32) {
    const GROUP: u32 = 8;
    let per_group = (GROUP * tile_columns).max(1);
    let (group, within) = (number / per_group, number % per_group);
    let rows = (tile_rows - group * GROUP).clamp(1, GROUP);
    (group * GROUP + within % rows, within / rows)
}

impl<T: Scalar> Matrix<T> {
    /// Starts to copy the 16 bytes from (`row`, `column`) on to pack `i` of `to`; outside the matrix they are zero. The
    /// matrix has packs, so these bytes are all inside or all outside.
    #[simt::device]
    pub(super) fn start_pack(self, row: u32, column: u32, to: Shared<T>, i: u32) {
        let inside = if row < self.rows && column < self.columns { T::PACK } else { 0 };
        // The place of what is outside may not fit 32 bits; nothing is read there.
        let place = row.wrapping_mul(self.columns).wrapping_add(column);
        async_copy::pack(to, i, self.data, place / T::PACK, inside);
    }

    /// Starts to copy one element to element `i` of `to`; outside the matrix it is zero.
    #[simt::device]
    pub(super) fn start_element(self, row: u32, column: u32, to: Shared<T>, i: u32) {
        let inside = row < self.rows && column < self.columns;
        async_copy::element(to, i, self.data, row.wrapping_mul(self.columns).wrapping_add(column), inside);
    }
}

/// Rows of a box by which TMA writes C: those that a warp has of its warpgroup's 64.
pub const BOX_ROWS: u32 = 16;
/// Columns of a box.
const BOX_COLUMNS: u32 = Tile::<bf16>::DEPTH;
/// Boxes per warp: TMA reads one while the warp writes the other.
const BOXES: u32 = 2;
/// Bytes of shared memory per warp.
pub const BOX_BYTES: u32 = BOXES * BOX_ROWS * ROW;

/// Rounds a warpgroup's sums of 64 × 256 elements to `bf16`, and has TMA write them to C from (`row`, `column`) on;
/// what is outside C is left out. `boxes` is the offset of the warps' boxes in the dynamic shared memory.
///
/// Before the block ends, lane 0 of each warp waits until TMA has read the boxes (`bulk::wait_read::<0>`).
#[simt::device]
pub fn store_tile(c: TensorMap<bf16>, row: u32, column: u32, sums: &[f32; 128], boxes: u32) {
    let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
    unroll::<4>(|i| {
        let which = i as u32 % BOXES;
        let tile = Tile::<bf16>::dynamic(boxes + warp * BOX_BYTES + which * BOX_ROWS * ROW, BOX_ROWS);
        if lane == 0 {
            bulk::wait_read::<{ BOXES - 1 }>(); // TMA has read what was in this box before …
        }
        warp::sync_warp(FULL); // … so all lanes may write to it
        unroll::<4>(|q| {
            // Sixteen columns at a time: the lane's pairs of neighbours of both rows, and again 8 columns further.
            let first = 32 * i + 8 * q;
            let pair = |e: usize| to_bf16_pair(sums[first + e], sums[first + e + 1]);
            let at = Tile::<bf16>::place(lane % 16, 16 * q as u32 + lane / 16 * 8);
            store_fragments(tile.elements().slice(at, 8), [pair(0), pair(2), pair(4), pair(6)]);
        });
        bulk::fence(); // what the lane wrote comes before TMA's reads …
        warp::sync_warp(FULL); // … and so does what the other lanes wrote
        if lane == 0 {
            c.store(row + warp % 4 * BOX_ROWS, column + i as u32 * BOX_COLUMNS, tile);
            bulk::commit();
        }
    });
}

#[cfg(not(target_os = "cuda"))]
pub use host::refuses_but_hopper;

#[cfg(not(target_os = "cuda"))]
mod host {
    use crate::ladder::*;

    /// Why a device cannot run a rung that needs compute capability 9.0 and `shared` bytes of shared memory per block.
    pub fn refuses_but_hopper(name: &str, ask: &Ask, shared: u32) -> Option<String> {
        let Device { compute_capability: (major, minor), shared_per_block, .. } = ask.device;
        if (major, minor) != (9, 0) {
            return Some(format!("{name} needs compute capability 9.0, not {major}.{minor}"));
        }
        let short = shared_per_block < shared;
        short.then(|| format!("{name} needs {shared} bytes of shared memory per block, not {shared_per_block}"))
    }
}
