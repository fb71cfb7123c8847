//! # Matrix product, 8 × 8 elements per thread
//!
//! **Idea.** A thread computes 8 × 8 elements of C. For each k it loads eight elements of A and eight of B into
//! registers and multiplies all pairs.
//!
//! **Changed from the rung before.** Sixteen shared loads for 64 multiply-adds, where `thread-column` needs nine for
//! eight; a tile has a side of 128.
//!
//! **Bottleneck.** One load in every five instructions, each of four bytes. The next rung loads four elements at once.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; 2·⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 256 threads, as 16 × 16, have a tile of 128 × 128; thread (x, y) has the rows y + 16·i and the columns
//! x + 16·j, so that neighbouring threads use neighbouring banks, and store neighbouring elements of C.
//!
//! **Limits.** Any m, n, k and strides: elements outside the matrices are read as zero and not written; transposed
//! operands (copied to shared memory without coalescing), factors and batches.
//!
//! **Source.** S. Boehm, "How to optimize a CUDA matmul kernel for cuBLAS-like performance" (2022), kernel 5. Changed:
//! any sizes and strides; the elements of a thread are 16 apart, for the banks.

use super::registers::add_outer;
use super::{Shape, Task};
use simt::{Global, kernel, shared, thread, unroll};

/// Side of a tile of C.
pub const TILE: u32 = 128;
/// Elements along k of the tiles in shared memory.
pub const DEPTH: u32 = 8;
/// Rows and columns of C per thread.
const SIDE: usize = 8;
/// Threads along a side of the tile: the distance of a thread's elements.
const APART: u32 = TILE / SIDE as u32;
/// Threads per block.
const BLOCK: u32 = APART * APART;
/// Elements of each tile that a thread copies.
const COPIES: usize = (TILE * DEPTH / BLOCK) as usize;

shared!(TILE_A: [f32; TILE * DEPTH]);
shared!(TILE_B: [f32; DEPTH * TILE]);

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn product_thread_tile(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
    let (task, thread) = (shape.task(TILE, TILE, a, b, c), thread::thread_idx_x());
    let (x, y) = (thread % APART, thread / APART);
    let mut sums = [[0.0; SIDE]; SIDE];
    let mut t = 0;
    while t < shape.k {
        copy(task, t, thread);
        thread::sync_threads(); // the tiles are complete before any thread reads them
        multiply(x, y, &mut sums);
        thread::sync_threads(); // all threads are done with the tiles before they are overwritten
        t += DEPTH;
    }
    let (row, column) = (task.row + y, task.column + x);
    unroll::<SIDE>(|i| {
        unroll::<SIDE>(|j| task.c.set(row + APART * i as u32, column + APART * j as u32, sums[i][j]));
    });
}

/// Copies the tiles from `t` on along k to shared memory. All loads come before the first store, so that a thread waits
/// once.
#[inline(always)]
fn copy(task: Task, t: u32, thread: u32) {
    let place = |i: usize| i as u32 * BLOCK + thread;
    let (mut a, mut b) = ([0.0; COPIES], [0.0; COPIES]);
    unroll::<COPIES>(|i| {
        a[i] = task.a.get(task.row + place(i) / DEPTH, t + place(i) % DEPTH);
        b[i] = task.b.get(t + place(i) / TILE, task.column + place(i) % TILE);
    });
    unroll::<COPIES>(|i| {
        TILE_A::view().set(place(i), a[i]);
        TILE_B::view().set(place(i), b[i]);
    });
}

/// Adds the products of the tiles.
#[inline(always)]
fn multiply(x: u32, y: u32, sums: &mut [[f32; SIDE]; SIDE]) {
    let (tile_a, tile_b) = (TILE_A::view(), TILE_B::view());
    let mut e = 0;
    while e < DEPTH {
        let (mut a, mut b) = ([0.0; SIDE], [0.0; SIDE]);
        unroll::<SIDE>(|i| a[i] = tile_a.get((y + APART * i as u32) * DEPTH + e));
        unroll::<SIDE>(|j| b[j] = tile_b.get(e * TILE + x + APART * j as u32));
        add_outer(sums, &a, &b);
        e += 1;
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("r6_thread_tile.rs", [product_thread_tile]).run_by(&ThreadTile);

    struct ThreadTile;

    impl Multiplies for ThreadTile {
        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            by_tiles(product_thread_tile, TILE, TILE, [BLOCK, 1, 1])
        }
    }
}
