//! # Matrix product, 16 bytes per load
//!
//! **Idea.** A thread's rows and columns come in fours. Four neighbouring elements are one access of 16 bytes: from
//! global memory, from shared memory and to C. The tile of A is transposed on its way to shared memory, where four rows
//! of one k are then neighbours.
//!
//! **Changed from the rung before.** Four shared loads for 64 multiply-adds, where `thread-tile` needs sixteen.
//!
//! **Bottleneck.** The threads of a warp lie in two rows of 16: for each k a warp loads 2 × 8 elements of A and 16 × 8
//! of B. A squarer warp would need fewer. That is the next rung.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; 2·⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 256 threads, as 16 × 16, have a tile of 128 × 128; thread (x, y) has the four rows from 4·y on and
//! those 64 below, and columns likewise. Rows of the transposed tile are four elements longer than needed, so that the
//! threads of a warp store to different banks.
//!
//! **Limits.** Any m, n, k and strides. Matrices that do not begin at 16 bytes, whose rows are no multiple of that
//! apart, or that are transposed, are copied element by element; so are the edges. Factors and batches.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 6. Changed:
//! any sizes and strides; no bank conflicts.

use super::registers::add_outer;
use super::{Shape, Task};
use simt::{Global, Shared, kernel, shared, thread, unroll};

/// Side of a tile of C.
pub const TILE: u32 = 128;
/// Elements along k of the tiles in shared memory: four elements of each tile per thread.
pub const DEPTH: u32 = 8;
/// Elements from one row of the transposed tile of A to the next.
const STRIDE_A: u32 = TILE + 4;
/// Rows and columns of C per thread, in two fours.
const SIDE: usize = 8;
/// Distance of a thread's fours.
const APART: u32 = TILE / 2;
/// Threads along a side of the tile.
const ACROSS: u32 = TILE / SIDE as u32;
/// Threads per block.
const BLOCK: u32 = ACROSS * ACROSS;

const _: () = assert!(TILE * DEPTH == 4 * BLOCK, "each thread copies four elements of A and of B");

shared!(TILE_A: [f32; DEPTH * STRIDE_A]);
shared!(TILE_B: [f32; DEPTH * TILE]);

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn product_vector_loads(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    let (task, thread) = (shape.task(TILE, TILE, a, b, c), thread::thread_idx_x());
    let packs = (task.a.has_packs(), task.b.has_packs());
    let (x, y) = (thread % ACROSS * 4, thread / ACROSS * 4);
    let mut sums = [[0.0; SIDE]; SIDE];
    let mut t = 0;
    while t < shape.k {
        copy(task, t, thread, packs);
        thread::sync_threads(); // the tiles are complete before any thread reads them
        multiply(x, y, &mut sums);
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += DEPTH;
    }
    store(task, x, y, &sums);
}

/// Copies the tiles from `t` on along k to shared memory.
#[inline(always)]
fn copy(task: Task, t: u32, thread: u32, (packs_a, packs_b): (bool, bool)) {
    let (row, from) = (thread / (DEPTH / 4), thread % (DEPTH / 4) * 4);
    let a = task.a.get_4(task.row + row, t + from, packs_a);
    let b = task.b.get_4(t + thread / (TILE / 4), task.column + thread % (TILE / 4) * 4, packs_b);
    unroll::<4>(|i| TILE_A::view().set((from + i as u32) * STRIDE_A + row, a[i]));
    TILE_B::view().set_pack(thread, b);
}

/// Adds the products of the tiles.
#[inline(always)]
fn multiply(x: u32, y: u32, sums: &mut [[f32; SIDE]; SIDE]) {
    let (tile_a, tile_b) = (TILE_A::view().slice(y, DEPTH * STRIDE_A - y), TILE_B::view().slice(x, DEPTH * TILE - x));
    unroll::<{ DEPTH as usize }>(|e| {
        let a = two_fours(tile_a, e as u32 * STRIDE_A);
        let b = two_fours(tile_b, e as u32 * TILE);
        add_outer(sums, &a, &b);
    });
}

/// The four elements at `from`, and those `APART` behind.
#[inline(always)]
fn two_fours(tile: Shared<f32>, from: u32) -> [f32; SIDE] {
    let ([a, b, c, d], [e, f, g, h]) = (tile.get_pack(from / 4), tile.get_pack((from + APART) / 4));
    [a, b, c, d, e, f, g, h]
}

/// Writes the thread's elements of C.
#[inline(always)]
fn store(task: Task, x: u32, y: u32, sums: &[[f32; SIDE]; SIDE]) {
    let packs = task.c.matrix.has_packs();
    unroll::<SIDE>(|i| {
        let row = task.row + y + i as u32 % 4 + i as u32 / 4 * APART;
        let [a, b, c, d, e, f, g, h] = sums[i];
        task.c.set_4(row, task.column + x, [a, b, c, d], packs);
        task.c.set_4(row, task.column + x + APART, [e, f, g, h], packs);
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("r7_vector_loads.rs", [product_vector_loads]).run_by(&VectorLoads);

    struct VectorLoads;

    impl Multiplies for VectorLoads {
        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            by_tiles(product_vector_loads, TILE, TILE, [BLOCK, 1, 1])
        }
    }
}
