//! # Matrix product, a tile per warp
//!
//! **Idea.** The 32 threads of a warp form a rectangle of 8 × 4, so that the warp has a tile of 64 × 32 of its own. For
//! each k it loads 64 + 32 elements; loads of the same element by several threads are one.
//!
//! **Changed from the rung before.** `vector-loads` has 2 × 16 threads in a warp, which load 16 + 128 elements for as
//! many products. The tiles in shared memory are 16 deep, for half as many barriers.
//!
//! **Bottleneck.** The loads from global memory: while the block copies, it does not multiply, and only the
//! multiprocessor's other block does. The next rung copies the next tile during the products of this one.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; 2·⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 256 threads have a tile of 128 × 128, their eight warps 2 × 4 tiles of 64 × 32. Lane (x, y) of a warp,
//! of 4 × 8, has the four rows from 4·y on and those 32 below, and the four columns from 4·x on and those 16 behind.
//!
//! **Limits.** As `vector-loads`.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 10; A. Kerr
//! et al., "CUTLASS: fast linear algebra in CUDA C++" (2017). Changed: any sizes and strides; the shape of the tiles.

use super::registers::add_outer;
use super::{Shape, Task};
use simt::{Global, Shared, kernel, shared, thread, unroll, warp};

/// Side of a tile of C.
pub const TILE: u32 = 128;
/// Elements along k of the tiles in shared memory.
pub const DEPTH: u32 = 16;
/// Elements from one row of the transposed tile of A to the next.
pub(super) const STRIDE_A: u32 = TILE + 4;
/// Rows and columns of C per thread, in two fours.
const SIDE: usize = 8;
/// Threads of a warp along x and y.
const WARP: (u32, u32) = (4, 8);
/// Rows and columns of a warp's tile.
const WARP_TILE: (u32, u32) = (WARP.1 * SIDE as u32, WARP.0 * SIDE as u32);
/// Threads per block.
pub(super) const BLOCK: u32 = TILE / WARP_TILE.0 * (TILE / WARP_TILE.1) * 32;
/// Fours of each tile that a thread copies.
const COPIES: usize = (TILE * DEPTH / 4 / BLOCK) as usize;

shared!(TILE_A: [f32; DEPTH * STRIDE_A]);
shared!(TILE_B: [f32; DEPTH * TILE]);

/// The sums of a thread.
pub(super) type Sums = [[f32; SIDE]; SIDE];

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn product_warp_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    let (task, thread) = (shape.task(TILE, TILE, a, b, c), thread::thread_idx_x());
    let packs = (task.a.has_packs(), task.b.has_packs());
    let (row, column) = place(thread);
    let mut sums = Sums::default();
    let mut t = 0;
    while t < shape.k {
        copy(task, t, thread, packs);
        thread::sync_threads(); // the tiles are complete before any thread reads them
        multiply(
            TILE_A::view().slice(row, DEPTH * STRIDE_A - row),
            TILE_B::view().slice(column, DEPTH * TILE - column),
            &mut sums,
        );
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += DEPTH;
    }
    store(task, row, column, &sums);
}

/// The first row and column of a thread in the block's tile.
#[inline(always)]
pub(super) fn place(thread: u32) -> (u32, u32) {
    let (lane, number) = (warp::lane_id(), thread / 32);
    let (row, column) = (number / (TILE / WARP_TILE.1) * WARP_TILE.0, number % (TILE / WARP_TILE.1) * WARP_TILE.1);
    (row + lane / WARP.0 * 4, column + lane % WARP.0 * 4)
}

/// Copies the tiles from `t` on along k to shared memory. All loads come before the first store, so that a thread waits
/// once.
#[inline(always)]
fn copy(task: Task, t: u32, thread: u32, (packs_a, packs_b): (bool, bool)) {
    // Of A, a thread has one row, and two threads have eight elements: whole sectors.
    let (row, from) = (thread / 2, |i: usize| (thread % 2 + 2 * i as u32) * 4);
    let place_b = |i: usize| i as u32 * BLOCK + thread;
    let (mut a, mut b) = ([[0.0; 4]; COPIES], [[0.0; 4]; COPIES]);
    unroll::<COPIES>(|i| {
        let (row_b, column_b) = (place_b(i) / (TILE / 4), place_b(i) % (TILE / 4) * 4);
        a[i] = task.a.get_4(task.row + row, t + from(i), packs_a);
        b[i] = task.b.get_4(t + row_b, task.column + column_b, packs_b);
    });
    unroll::<COPIES>(|i| {
        unroll::<4>(|j| TILE_A::view().set((from(i) + j as u32) * STRIDE_A + row, a[i][j]));
        TILE_B::view().set_pack(place_b(i), b[i]);
    });
}

/// Adds the products of the tiles, which begin with the thread's first row of A and its first column of B.
#[inline(always)]
pub(super) fn multiply(tile_a: Shared<f32>, tile_b: Shared<f32>, sums: &mut Sums) {
    unroll::<{ DEPTH as usize }>(|e| {
        let a = two_fours(tile_a, e as u32 * STRIDE_A, WARP_TILE.0 / 2);
        let b = two_fours(tile_b, e as u32 * TILE, WARP_TILE.1 / 2);
        add_outer(sums, &a, &b);
    });
}

/// The four elements at `from`, and those `apart` behind.
#[inline(always)]
fn two_fours(tile: Shared<f32>, from: u32, apart: u32) -> [f32; SIDE] {
    let ([a, b, c, d], [e, f, g, h]) = (tile.get_pack(from / 4), tile.get_pack((from + apart) / 4));
    [a, b, c, d, e, f, g, h]
}

/// Writes the thread's elements of C.
#[inline(always)]
pub(super) fn store(task: Task, row: u32, column: u32, sums: &Sums) {
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
    pub static RUNG: Entry<Matmul> = rung!("r8_warp_tile.rs", [product_warp_tile]).run_by(&WarpTile);

    struct WarpTile;

    impl Multiplies for WarpTile {
        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            by_tiles(product_warp_tile, TILE, TILE, [BLOCK, 1, 1])
        }
    }
}
