//! # Matrix product, warp tiles with asynchronous copies, for f32
//!
//! **Idea.** A block has a tile of 128 × 128, a warp one of 64 × 32, a thread one of 8 × 8. Two pairs of tiles of A
//! and B are in shared memory: while the block multiplies one pair, `cp.async` fills the other. This is the product of
//! `f32` on the CUDA cores of GPUs before Hopper.
//!
//! **Bottleneck.** All threads both copy and multiply: each K step costs a dozen instructions that start copies,
//! and one barrier.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; ⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 256 per block. A is transposed on its way by copies of four bytes; B is copied by 16 bytes.
//!
//! **Limits.** Any m, n, k and strides, transposed operands, factors and batches. Compute capability 8.0.
//!
//! **Source.** A. Kerr et al., "CUTLASS: fast linear algebra in CUDA C++" (2017), for the double buffer; NVIDIA, "CUDA
//! C++ programming guide", asynchronous data copies.

use super::registers::add_outer;
use super::{Matrix, Shape, Task};
use simt::{Global, Shared, async_copy, kernel, shared, thread, unroll, warp};

/// Side of a tile of C.
pub const TILE: u32 = 128;
/// Depth in K of the tiles in shared memory.
pub const DEPTH: u32 = 16;
/// Elements from one row of the transposed tile of A to the next.
const STRIDE_A: u32 = TILE + 4;
/// Rows and columns of C per thread, in two fours.
const SIDE: usize = 8;
/// Threads of a warp along x and y.
const WARP: (u32, u32) = (4, 8);
/// Rows and columns of a warp's tile.
const WARP_TILE: (u32, u32) = (WARP.1 * SIDE as u32, WARP.0 * SIDE as u32);
/// Threads per block.
const BLOCK: u32 = TILE / WARP_TILE.0 * (TILE / WARP_TILE.1) * 32;
/// The sums of a thread.
type Sums = [[f32; SIDE]; SIDE];

/// Pairs of tiles in shared memory.
const STAGES: u32 = 2;
/// Elements of a tile of A, and of B, in shared memory.
const SIZE_A: u32 = DEPTH * STRIDE_A;
const SIZE_B: u32 = DEPTH * TILE;
/// Elements of A, and fours of B, that a thread copies.
const COPIES_A: usize = (TILE * DEPTH / BLOCK) as usize;
const COPIES_B: usize = COPIES_A / 4;

shared!(TILES_A: [f32; STAGES * SIZE_A]);
shared!(TILES_B: [f32; STAGES * SIZE_B]);

/// Bytes per thread of spilled registers that two blocks per SM may cost: for compute capability 8.0 ptxas
/// finds no room for six addresses.
const MAX_SPILLS: u32 = 24;

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2, max_spills = MAX_SPILLS)]
pub fn product_fp32(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    let (task, thread) = (shape.task(TILE, TILE, a, b, c), thread::thread_idx_x());
    let packs = task.b.has_packs();
    let (row, column) = place(thread);
    let mut sums = Sums::default();
    let (mut t, mut stage) = (0, 0);
    copy(task, 0, 0, thread, packs);
    while t < shape.k {
        async_copy::wait::<0>();
        // This pair of tiles is complete, of all threads' copies; and all threads are done with the other pair.
        thread::sync_threads();
        copy(task, stage ^ 1, t + DEPTH, thread, packs);
        let tile_a = TILES_A::view().slice(stage * SIZE_A + row, SIZE_A - row);
        let tile_b = TILES_B::view().slice(stage * SIZE_B + column, SIZE_B - column);
        multiply(tile_a, tile_b, &mut sums);
        (t, stage) = (t + DEPTH, stage ^ 1);
    }
    async_copy::wait::<0>(); // the empty copies past the last tile have ended before the block frees its shared memory
    store(task, row, column, &sums);
}

/// Starts to copy the tiles from k = `t` on to a stage. Elements outside the matrices become zero; past the last tile
/// all of them do.
#[simt::device]
fn copy(task: Task, stage: u32, t: u32, thread: u32, packs: bool) {
    let tile_a = TILES_A::view().slice(stage * SIZE_A, SIZE_A);
    let tile_b = TILES_B::view().slice(stage * SIZE_B, SIZE_B);
    unroll::<COPIES_A>(|i| {
        let place = i as u32 * BLOCK + thread;
        let (row, e) = (place / DEPTH, place % DEPTH);
        copy_one(task.a, task.row + row, t + e, tile_a, e * STRIDE_A + row);
    });
    unroll::<COPIES_B>(|i| {
        let place = i as u32 * BLOCK + thread;
        let (row, column) = (t + place / (TILE / 4), task.column + place % (TILE / 4) * 4);
        if packs {
            let inside = if row < task.b.rows { task.b.columns.saturating_sub(column).min(4) } else { 0 };
            async_copy::pack(tile_b, place, task.b.data, task.b.place(row, column) / 4, inside);
        } else {
            unroll::<4>(|j| copy_one(task.b, row, column + j as u32, tile_b, place * 4 + j as u32));
        }
    });
    async_copy::commit();
}

/// Starts to copy one element.
#[simt::device]
fn copy_one(from: Matrix, row: u32, column: u32, to: Shared<f32>, i: u32) {
    let inside = row < from.rows && column < from.columns;
    async_copy::element(to, i, from.data, from.place(row, column), inside);
}

/// The first row and column of a thread in the block's tile.
#[simt::device]
fn place(thread: u32) -> (u32, u32) {
    let (lane, number) = (warp::lane_id(), thread / 32);
    let (row, column) = (number / (TILE / WARP_TILE.1) * WARP_TILE.0, number % (TILE / WARP_TILE.1) * WARP_TILE.1);
    (row + lane / WARP.0 * 4, column + lane % WARP.0 * 4)
}

/// Adds the products of the tiles, which begin with the thread's first row of A and its first column of B.
#[simt::device]
fn multiply(tile_a: Shared<f32>, tile_b: Shared<f32>, sums: &mut Sums) {
    unroll::<{ DEPTH as usize }>(|e| {
        let a = two_fours(tile_a, e as u32 * STRIDE_A, WARP_TILE.0 / 2);
        let b = two_fours(tile_b, e as u32 * TILE, WARP_TILE.1 / 2);
        add_outer(sums, &a, &b);
    });
}

/// The four elements at `from`, and the four that lie `apart` after them.
#[simt::device]
fn two_fours(tile: Shared<f32>, from: u32, apart: u32) -> [f32; SIDE] {
    let ([a, b, c, d], [e, f, g, h]) = (tile.get_pack(from / 4), tile.get_pack((from + apart) / 4));
    [a, b, c, d, e, f, g, h]
}

/// Writes the thread's elements of C.
#[simt::device]
fn store(task: Task, row: u32, column: u32, sums: &Sums) {
    let (packs, column) = (task.c.matrix.has_packs(), task.column + column);
    unroll::<SIDE>(|i| {
        let row = task.row + row + i as u32 % 4 + i as u32 / 4 * (WARP_TILE.0 / 2);
        let [a, b, c, d, e, f, g, h] = sums[i];
        task.c.set_4(row, column, [a, b, c, d], packs);
        task.c.set_4(row, column + WARP_TILE.1 / 2, [e, f, g, h], packs);
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("fp32.rs", [product_fp32]).run_by(&AsyncCopy);

    struct AsyncCopy;

    impl Multiplies for AsyncCopy {
        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            by_tiles(product_fp32, TILE, TILE, [BLOCK, 1, 1])
        }
    }
}
