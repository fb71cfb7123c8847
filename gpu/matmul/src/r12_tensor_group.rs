//! # Matrix product, warpgroup MMA from swizzled shared memory
//!
//! **Idea.** Four warps together, a *warpgroup*, multiply 64 rows by 256 columns and sixteen elements in K with one
//! instruction, `wgmma`. It reads both factors from shared memory, and it is asynchronous: the threads go on while the
//! tensor cores work. Elements are `bf16`, half the bytes of TF32 at twice the rate; sums are `f32`.
//!
//! **Changed from the rung before.** No fragment of A or B is in registers: threads copy tiles and start products.
//! Tiles lie in the 128-byte *swizzle* that `wgmma` reads without bank conflicts: a row has eight packs of 16 bytes,
//! and pack i of row r is in place i ^ r % 8. `wgmma` can read B by columns, so its tile has B's rows as they are.
//!
//! **Bottleneck.** All threads copy, 12 times 16 bytes per step, and all meet at a barrier per step. While a block
//! writes C, its tensor cores wait. TMA, a producer and a persistent grid remove this in the next rung.
//!
//! **Cost.** 2·m·n·k operations, with m, n and k rounded up to tiles; 2·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global
//! loads; ⌈k/DEPTH⌉ barriers per block; one launch.
//!
//! **Threads.** 256 threads compute a tile of 128 × 256; each of the two warpgroups has 64 of the rows. A thread has
//! 128 sums: two neighbours in each eight columns, of two rows.
//!
//! **Limits.** Any m, n and k. If rows do not begin on multiples of 16 bytes, elements are copied one by one. Each
//! element of C is rounded to `bf16` once. Compute capability 9.0 only.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", chapter on `wgmma`; P. Shah, "Outperforming cuBLAS on H100: a
//! worklog" (2024), for the shape of the tile.

use super::Matrix;
use super::tensor::tile_in_groups;
use simt::math::to_bf16_pair;
use simt::warpgroup::{KMajor, MnMajor, ROW, Sums, Tile};
use simt::{Global, async_copy, bf16, bulk, kernel, thread, unroll, warp};

/// Rows of a tile of C.
pub const ROWS: u32 = 128;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 256;
/// Columns of the tile of A, rows of the tile of B: 128 bytes of `bf16`.
pub const DEPTH: u32 = Tile::<bf16>::DEPTH;
/// Pairs of tiles in shared memory: one is multiplied, one waits to be, one is being filled, and one may still be read
/// by the other warpgroup's products.
const STAGES: u32 = 4;
/// K steps that copies are ahead of products.
const AHEAD: u32 = STAGES - 2;
/// Rows of C that a warpgroup has.
const GROUP_ROWS: u32 = 64;
/// Threads per block.
const BLOCK: u32 = ROWS / GROUP_ROWS * 128;
/// Bytes of a stage.
const STAGE_BYTES: u32 = (ROWS + COLUMNS) * ROW;
/// Packs of eight elements in a row of each tile, and packs of each tile that a thread copies.
const PACKS_A: u32 = DEPTH / 8;
const PACKS_B: u32 = COLUMNS / 8;
const COPIES_A: usize = (ROWS * PACKS_A / BLOCK) as usize;
const COPIES_B: usize = (DEPTH * PACKS_B / BLOCK) as usize;

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn matmul_tensor_group(a: Global<bf16>, b: Global<bf16>, c: Global<bf16>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let (row, column) = tile_in_groups(thread::block_idx_x(), m.div_ceil(ROWS), n.div_ceil(COLUMNS));
    let (row, column) = (row * ROWS, column * COLUMNS);
    let group_row = thread::thread_idx_x() / 128 * GROUP_ROWS;
    // With k = 0 there is one step, of zeros: ptxas overlaps products only in a loop that runs at least once.
    let steps = k.div_ceil(DEPTH).max(1);
    start_copy(a, row, b, column, 0, steps);
    start_copy(a, row, b, column, 1, steps);
    let mut sums = Sums::<{ COLUMNS as usize / 2 }>::ZERO;
    let mut step = 0;
    loop {
        async_copy::wait::<{ AHEAD - 1 }>(); // the thread's copies of this step are complete …
        bulk::fence(); // … and `wgmma`, which reads by the async proxy, sees them …
        // … and the copies of all other threads. Also, both warpgroups have started the products of the step before, so
        // they have finished those of the step before that, whose stage is filled next.
        thread::sync_threads();
        let (of_a, of_b) = tiles(step % STAGES);
        // Returns when the products of the step before are made; those of this step go on during the copies.
        sums = sums.add::<bf16, KMajor, MnMajor>(of_a.rows(group_row, GROUP_ROWS), of_b);
        start_copy(a, row, b, column, step + AHEAD, steps);
        step += 1;
        if step == steps {
            break;
        }
    }
    store(c, row + group_row, column, &sums.finish());
}

/// The tiles of a stage: of A 128 rows; of B four boxes of 64 columns, in sequence, each of 64 rows, one per k.
#[simt::device]
fn tiles(stage: u32) -> (Tile<bf16>, Tile<bf16>) {
    let first = stage * STAGE_BYTES;
    (Tile::dynamic(first, ROWS), Tile::dynamic(first + ROWS * ROW, COLUMNS))
}

/// Where in the tile of B an element is.
#[simt::device]
fn place_b(row: u32, column: u32) -> u32 {
    Tile::<bf16>::place(column / 64 * DEPTH + row, column % 64)
}

/// Starts to copy the tiles of a K step to their stage, and closes the group of these copies; the group is empty
/// after the last step.
#[simt::device]
fn start_copy(a: Matrix<bf16>, row: u32, b: Matrix<bf16>, column: u32, step: u32, steps: u32) {
    if step < steps {
        let ((tile_a, tile_b), t) = (tiles(step % STAGES), step * DEPTH);
        let (tile_a, tile_b, thread) = (tile_a.elements(), tile_b.elements(), thread::thread_idx_x());
        if a.has_packs() {
            unroll::<COPIES_A>(|i| {
                let (y, x) = (thread / PACKS_A + i as u32 * (BLOCK / PACKS_A), thread % PACKS_A * 8);
                a.start_pack(row + y, t + x, tile_a, Tile::<bf16>::place(y, x) / 8);
            });
        } else {
            let mut i = thread;
            while i < ROWS * DEPTH {
                let (y, x) = (i / DEPTH, i % DEPTH);
                a.start_element(row + y, t + x, tile_a, Tile::<bf16>::place(y, x));
                i += BLOCK;
            }
        }
        if b.has_packs() {
            unroll::<COPIES_B>(|i| {
                let (y, x) = (thread / PACKS_B + i as u32 * (BLOCK / PACKS_B), thread % PACKS_B * 8);
                b.start_pack(t + y, column + x, tile_b, place_b(y, x) / 8);
            });
        } else {
            let mut i = thread;
            while i < DEPTH * COLUMNS {
                let (y, x) = (i / COLUMNS, i % COLUMNS);
                b.start_element(t + y, column + x, tile_b, place_b(y, x));
                i += BLOCK;
            }
        }
    }
    async_copy::commit();
}

/// Writes the thread's elements of C; the warpgroup's rows begin at (`row`, `column`).
#[simt::device]
fn store(c: Matrix<bf16>, row: u32, column: u32, sums: &[f32; COLUMNS as usize / 2]) {
    let (warp, lane) = (thread::thread_idx_x() / 32 % 4, warp::lane_id());
    let (row, column) = (row + warp * 16 + lane / 4, column + lane % 4 * 2);
    unroll::<{ COLUMNS as usize / 8 }>(|j| {
        let column = column + 8 * j as u32;
        set_2(c, row, column, to_bf16_pair(sums[4 * j], sums[4 * j + 1]));
        set_2(c, row + 8, column, to_bf16_pair(sums[4 * j + 2], sums[4 * j + 3]));
    });
}

/// Writes two neighbours, given as bits, from an even column on, those that are inside C: by one access if rows begin
/// on multiples of 16 bytes.
#[simt::device]
fn set_2(c: Matrix<bf16>, row: u32, column: u32, pair: u32) {
    if !c.has_packs() {
        c.set(row, column, bf16::from_bits(pair as u16));
        c.set(row, column + 1, bf16::from_bits((pair >> 16) as u16));
    } else if row < c.rows && column < c.columns {
        c.data.cast::<u32>().set((row * c.columns + column) / 2, pair);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;
    use crate::tensor::refuses_but_hopper;
    use simt::warpgroup::MORE;

    /// Bytes of dynamic shared memory.
    const SHARED_BYTES: u32 = STAGES * STAGE_BYTES + MORE;

    /// The rung.
    pub static RUNG: Entry<Multiply> = rung!("r12_tensor_group.rs", [matmul_tensor_group])
        .refusing(|ask| refuses_but_hopper("tensor-group", ask, SHARED_BYTES))
        .run_by(Multiply::Bf16(multiply));

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<bf16>) -> Result {
        let geometry = Geometry::linear(m.div_ceil(ROWS) * n.div_ceil(COLUMNS), BLOCK).shared(SHARED_BYTES);
        on.launch(matmul_tensor_group, geometry, (a, b, c, m, n, k))
    }
}
