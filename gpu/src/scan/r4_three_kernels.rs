//! # Scan of any length, three kernels
//!
//! **Idea.** Cut the input into tiles. The first kernel scans each tile by itself and notes its sum. The sums are
//! scanned in the same way: by one tile, or by tiles of their own where there are too many. The last kernel adds to
//! each element what is before its tile.
//!
//! **Changed from the rung before.** Many blocks, one for each tile, instead of one; any length.
//!
//! **Bottleneck.** Every element is read twice and written twice. The next rung reads and writes it once.
//!
//! **Cost.** About 3·n additions, 16 bytes a word of global memory; 2·k - 1 launches for k levels of tiles (n ≤ 1024:
//! k = 1; n ≤ 2²⁰: 2; n ≤ 2³⁰: 3).
//!
//! **Threads.** A block a tile, two elements a thread, as in the rung before.
//!
//! **Limits and source.** Any n. Floats are added in the order of the tree, then tile by tile of 1024, in the same
//! order in every run. After M. Harris, S. Sengupta and J. D. Owens (GPU Gems 3, 2007), as in S2.

use super::r3_blelloch_padded as tile;
use crate::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, kernel, thread};

/// Threads of a block.
pub const BLOCK: u32 = tile::BLOCK;

/// Elements of a tile.
pub const TILE: u32 = tile::CAPACITY;

/// Blocks for `n` elements, one a tile; also the number of their sums.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Elements of scratch memory for a scan of `n`: the sums of all levels, one level after the other.
pub const fn scratch(n: u32) -> u32 {
    let (mut level, mut total) = (grid(n), 0);
    while level > 1 {
        total += level;
        level = grid(level);
    }
    // The top level has one tile and one sum, which nobody needs.
    total + 1
}

/// The first kernel: scans each tile of `input` into `output` and writes its sum to `sums`. Also scans the sums of a
/// level, in place and exclusively.
#[kernel(max_threads = BLOCK, instances(
    scan_three_kernels_tiles_sum_u32: <u32, Sum>,
    scan_three_kernels_tiles_min_u32: <u32, Min>,
    scan_three_kernels_tiles_max_u32: <u32, Max>,
    scan_three_kernels_tiles_sum_f32: <f32, Sum>,
    scan_three_kernels_tiles_min_f32: <f32, Min>,
    scan_three_kernels_tiles_max_f32: <f32, Max>,
))]
pub fn scan_three_kernels_tiles<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    output: Global<T>,
    sums: Global<T>,
    exclusive: u32,
) {
    let block = thread::block_idx_x();
    let (start, len) = tile_of(block, input.len());
    let sum = tile::scan_block::<T, O>(input.slice(start, len), output.slice(start, len), exclusive);
    if thread::thread_idx_x() == 0 {
        sums.set(block, sum);
    }
}

/// The last kernel: combines each element of `output` with what is before its tile, `sums` scanned exclusively.
#[kernel(max_threads = BLOCK, instances(
    scan_three_kernels_add_sum_u32: <u32, Sum>,
    scan_three_kernels_add_min_u32: <u32, Min>,
    scan_three_kernels_add_max_u32: <u32, Max>,
    scan_three_kernels_add_sum_f32: <f32, Sum>,
    scan_three_kernels_add_min_f32: <f32, Min>,
    scan_three_kernels_add_max_f32: <f32, Max>,
))]
pub fn scan_three_kernels_add<T: Scalar, O: Operator<T>>(output: Global<T>, sums: Global<T>) {
    let block = thread::block_idx_x();
    let (start, len) = tile_of(block, output.len());
    let (output, before) = (output.slice(start, len), sums.get(block));
    let mut i = thread::thread_idx_x();
    while i < len {
        output.set(i, O::combine(before, output.get(i)));
        i += BLOCK;
    }
}

/// First element and length of a block's tile; the last tile may be short.
#[inline(always)]
fn tile_of(block: u32, n: u32) -> (u32, u32) {
    let start = block * TILE;
    (start, (n - start).min(TILE))
}
