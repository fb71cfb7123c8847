//! # Matrix product, copies in the background
//!
//! **Idea.** There are two tiles of A and of B in shared memory. While the block multiplies one pair, the other pair is
//! on its way from global memory: by copies that need no register and that no thread waits for until it is needed.
//!
//! **Changed from the rung before.** `warp-tile` copies, then multiplies. Here both happen at once, and one barrier per
//! step is enough: it stands between the last use of a pair and its next copy, too.
//!
//! **Bottleneck.** All threads do both: each step costs a dozen instructions to start copies, and the warps meet at a
//! barrier. The next rung leaves the copies to a warp of its own.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/TILE⌉ + n·⌈m/TILE⌉) bytes of global loads; ⌈k/DEPTH⌉ barriers per block; one
//! launch.
//!
//! **Threads.** As `warp-tile`. A is transposed by copies of four bytes; B is copied by 16 bytes.
//!
//! **Limits.** As `vector-loads`. Compute capability 8.0, as everywhere here.
//!
//! **Source.** A. Kerr et al., "CUTLASS: fast linear algebra in CUDA C++" (2017), for the double buffer; NVIDIA, "CUDA
//! C++ programming guide", asynchronous data copies.

use super::r8_warp_tile::{BLOCK, STRIDE_A, Sums, multiply, place, store};
use super::{Matrix, Shape, Task};
use simt::{Global, Shared, async_copy, kernel, shared, thread, unroll};

pub use super::r8_warp_tile::{DEPTH, TILE};

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

/// Bytes per thread of spilled registers that two blocks per multiprocessor may cost: for compute capability 8.0 ptxas
/// finds no room for six addresses.
const MAX_SPILLS: u32 = 24;

/// C = alpha·A·B + beta·C: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2, max_spills = MAX_SPILLS)]
pub fn product_async_copy(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape) {
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
    async_copy::wait::<0>(); // the copies behind the last tile have ended, before the block's shared memory does
    store(task, row, column, &sums);
}

/// Starts to copy the tiles from `t` on along k to a stage. What lies outside the matrices, as all does behind the last
/// tile, becomes zero.
#[inline(always)]
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
#[inline(always)]
fn copy_one(from: Matrix, row: u32, column: u32, to: Shared<f32>, i: u32) {
    let inside = row < from.rows && column < from.columns;
    async_copy::element(to, i, from.data, from.place(row, column), inside);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::host::by_tiles;
    use crate::ladder::*;

    /// The rung.
    pub static RUNG: Entry<Matmul> = rung!("r9_async_copy.rs", [product_async_copy]).run_by(&AsyncCopy);

    struct AsyncCopy;

    impl Multiplies for AsyncCopy {
        fn launches(&self, _: &dyn Launcher, _: Sizes) -> Result<Launches<Product>> {
            by_tiles(product_async_copy, TILE, TILE, [BLOCK, 1, 1])
        }
    }
}
