//! # Matrix product, tensor cores in TF32 by warp MMA
//!
//! **Idea.** A *tensor core* multiplies small matrices as a whole. By one instruction, `mma.sync`, a warp adds the
//! product of a 16 × 8 and an 8 × 8 matrix to 16 × 8 sums: 1024 multiply-adds. No lane holds a whole matrix; each holds
//! a *fragment*, a few elements in registers. The factors are TF32, `f32` rounded to 10 mantissa bits; sums are `f32`.
//!
//! **Changed from the rung before.** In `producer-consumer` multiply-adds fill the issue slots of the warps that
//! multiply, so others copy. An `mma.sync` does the work of 32 multiply-adds of a whole warp. Slots are free again: all
//! warps copy and multiply, as in `async-copy`, with three pairs of tiles instead of two.
//!
//! **Bottleneck.** The instructions next to the MMAs: each warp loads its fragments from shared memory into registers
//! and rounds every element. The next rung's instruction reads shared memory itself.
//!
//! **Cost.** 2·m·n·k operations; 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global loads; ⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 128 threads compute a tile of 128 × 128: four warps of 64 × 64, 4 × 8 MMAs for every eight elements
//! along K. Packs of 16 bytes are permuted in shared memory by bits of their row, so that no load of a fragment has
//! bank conflicts. The sum does not depend on the order of its terms, nor C on the numbers of its columns inside a
//! fragment. So a lane takes neighbours: pairs of consecutive k from A, and four columns from B and for C.
//!
//! **Limits.** Any m, n and k. If rows do not begin on multiples of 16 bytes, elements are copied one by one. Rounding
//! the factors costs up to 2⁻¹⁰ of each product. Compute capability 8.0, with 96 KiB of shared memory per block.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", `mma.sync` for TF32; A. Kerr et al., "CUTLASS: fast linear
//! algebra in CUDA C++" (2017), for the permuted shared memory.

use super::Matrix;
use super::tensor::tile_in_groups;
use simt::mma::{self, FragmentA, FragmentB, FragmentC, Tf32};
use simt::{Global, Shared, async_copy, kernel, thread, unroll, warp};

/// Rows of a tile of C.
pub const ROWS: u32 = 128;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 128;
/// Columns of the tile of A, rows of the tile of B.
pub const DEPTH: u32 = 32;
/// Pairs of tiles in shared memory.
const STAGES: u32 = 3;
/// Rows and columns of a warp's tile.
const WARP_TILE: u32 = 64;
/// Threads per block.
const BLOCK: u32 = ROWS / WARP_TILE * (COLUMNS / WARP_TILE) * 32;
/// Elements of a tile of A, and of B.
const SIZE_A: u32 = ROWS * DEPTH;
const SIZE_B: u32 = DEPTH * COLUMNS;
/// Bytes of a stage.
const STAGE_BYTES: u32 = (SIZE_A + SIZE_B) * 4;
/// Packs of four elements in a row of each tile.
const PACKS_A: u32 = DEPTH / 4;
const PACKS_B: u32 = COLUMNS / 4;
/// Packs of each tile that a thread copies.
const COPIES_A: usize = (SIZE_A / 4 / BLOCK) as usize;
const COPIES_B: usize = (SIZE_B / 4 / BLOCK) as usize;

/// A lane's sums: 4 × 8 fragments of 16 × 8.
type Sums = [[FragmentC; 8]; 4];

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn matmul_tensor_mma(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let (row, column) = tile_in_groups(thread::block_idx_x(), m.div_ceil(ROWS), n.div_ceil(COLUMNS));
    let (row, column) = (row * ROWS, column * COLUMNS);
    let mut sums: Sums = [[[0.0; 4]; 8]; 4];
    let steps = k.div_ceil(DEPTH);
    start_copy(a, row, b, column, 0, steps);
    start_copy(a, row, b, column, 1, steps);
    let mut step = 0;
    while step < steps {
        async_copy::wait::<{ STAGES - 2 }>();
        // The copies of all threads to this stage are complete; and all threads have multiplied the stage before, which
        // is filled again next.
        thread::sync_threads();
        start_copy(a, row, b, column, step + STAGES - 1, steps);
        multiply(step % STAGES, &mut sums);
        step += 1;
    }
    store(c, row, column, &sums);
}

/// The tiles of A and B in a stage.
#[simt::device]
fn tiles(stage: u32) -> (Shared<f32>, Shared<f32>) {
    let first = stage * STAGE_BYTES;
    (Shared::dynamic(first, SIZE_A), Shared::dynamic(first + SIZE_A * 4, SIZE_B))
}

/// Where in the tile of A pack `pack` of a row is. The sixteen lanes that load together read from four rows, and find
/// their packs in different banks.
#[simt::device]
fn place_a(row: u32, pack: u32) -> u32 {
    row * PACKS_A + (pack ^ (row % 4 * 2))
}

/// The same for B. The eight lanes that load together read two packs each from every second of eight rows.
#[simt::device]
fn place_b(row: u32, pack: u32) -> u32 {
    row * PACKS_B + (pack ^ (row & 6))
}

/// Starts to copy the tiles of a K step to their stage, and closes the group of these copies; the group is empty
/// after the last step.
#[simt::device]
fn start_copy(a: Matrix, row: u32, b: Matrix, column: u32, step: u32, steps: u32) {
    if step < steps {
        let ((tile_a, tile_b), t) = (tiles(step % STAGES), step * DEPTH);
        let thread = thread::thread_idx_x();
        if a.has_packs() {
            unroll::<COPIES_A>(|i| {
                let (y, pack) = (thread / PACKS_A + i as u32 * (BLOCK / PACKS_A), thread % PACKS_A);
                a.start_pack(row + y, t + pack * 4, tile_a, place_a(y, pack));
            });
        } else {
            let mut i = thread;
            while i < SIZE_A {
                let (y, x) = (i / DEPTH, i % DEPTH);
                a.start_element(row + y, t + x, tile_a, place_a(y, x / 4) * 4 + x % 4);
                i += BLOCK;
            }
        }
        if b.has_packs() {
            unroll::<COPIES_B>(|i| {
                let (y, pack) = (thread / PACKS_B + i as u32 * (BLOCK / PACKS_B), thread % PACKS_B);
                b.start_pack(t + y, column + pack * 4, tile_b, place_b(y, pack));
            });
        } else {
            let mut i = thread;
            while i < SIZE_B {
                let (y, x) = (i / COLUMNS, i % COLUMNS);
                b.start_element(t + y, column + x, tile_b, place_b(y, x / 4) * 4 + x % 4);
                i += BLOCK;
            }
        }
    }
    async_copy::commit();
}

/// First row and column of the warp's tile within the block's, and the lane's numbers g = lane / 4 and t = lane % 4, by
/// which `simt::mma` says what a fragment holds.
#[simt::device]
fn place_of_lane() -> (u32, u32, u32, u32) {
    let (number, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
    (number / 2 * WARP_TILE, number % 2 * WARP_TILE, lane / 4, lane % 4)
}

/// Adds the products of a stage to the lane's sums.
#[simt::device]
fn multiply(stage: u32, sums: &mut Sums) {
    let ((tile_a, tile_b), (row, column, g, t)) = (tiles(stage), place_of_lane());
    unroll::<{ DEPTH as usize / 8 }>(|e| {
        let e = e as u32;
        let (mut of_a, mut of_b) = ([[Tf32::default(); 4]; 4], [[Tf32::default(); 2]; 8]);
        unroll::<4>(|i| of_a[i] = load_a(tile_a, row + i as u32 * 16 + g, e, t));
        unroll::<2>(|half| {
            let four = load_b(tile_b, e * 8 + t * 2, (column + half as u32 * 32) / 4 + g);
            unroll::<4>(|j| of_b[half * 4 + j] = four[j]);
        });
        unroll::<4>(|i| unroll::<8>(|j| sums[i][j] = mma::multiply_add(of_a[i], of_b[j], sums[i][j])));
    });
}

/// The lane's part of a fragment of A, of rows `row` and `row` + 8 and eight k. Elements t and t + 4 of the fragment's
/// rows are elements 2t and 2t + 1 of the tile's, which are one load.
#[simt::device]
fn load_a(tile: Shared<f32>, row: u32, e: u32, t: u32) -> FragmentA {
    let pair = place_a(row, e * 2 + t / 2) * 2 + t % 2;
    // The row 8 further on has its packs in the same order.
    let [first, second] = [pair, pair + 8 * PACKS_A * 2].map(|at| tile.cast::<u64>().get(at));
    [first, second, first >> 32, second >> 32].map(|bits| Tf32::nearest(f32::from_bits(bits as u32)))
}

/// The lane's parts of four fragments of B, of rows `k` and `k` + 1, which are rows t and t + 4 of the fragments.
/// Column g of fragment j is column 4g + j of the tile: four columns are one load.
#[simt::device]
fn load_b(tile: Shared<f32>, k: u32, pack: u32) -> [FragmentB; 4] {
    let (first, second) = (tile.get_pack(place_b(k, pack)), tile.get_pack(place_b(k + 1, pack)));
    [0, 1, 2, 3].map(|j| [Tf32::nearest(first[j]), Tf32::nearest(second[j])])
}

/// Writes the lane's elements of C; the block's tile begins at (`row`, `column`).
#[simt::device]
fn store(c: Matrix, row: u32, column: u32, sums: &Sums) {
    let ((down, across, g, t), packs) = (place_of_lane(), c.has_packs());
    unroll::<4>(|i| {
        unroll::<2>(|half| {
            let (row, column) = (row + down + i as u32 * 16 + g, column + across + half as u32 * 32 + t * 8);
            let four = |e: usize| [0, 1, 2, 3].map(|j| sums[i][half * 4 + j][e]);
            c.set_pack(row, column, four(0), packs);
            c.set_pack(row, column + 4, four(1), packs);
            c.set_pack(row + 8, column, four(2), packs);
            c.set_pack(row + 8, column + 4, four(3), packs);
        });
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use crate::ladder::*;

    /// Bytes of dynamic shared memory.
    const SHARED_BYTES: u32 = STAGES * STAGE_BYTES;

    /// The rung.
    pub static RUNG: Entry<Multiply> =
        rung!("r11_tensor_mma.rs", [matmul_tensor_mma]).refusing(refuses).run_by(Multiply::Tf32(multiply));

    fn refuses(ask: &Ask) -> Option<String> {
        let have = ask.device.shared_per_block;
        let short = have < SHARED_BYTES;
        short.then(|| format!("tensor-mma needs {SHARED_BYTES} bytes of shared memory per block, not {have}"))
    }

    /// C = A·B, with factors rounded to TF32.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        let geometry = Geometry::linear(m.div_ceil(ROWS) * n.div_ceil(COLUMNS), BLOCK).shared(SHARED_BYTES);
        on.launch(matmul_tensor_mma, geometry, (a, b, c, m, n, k))
    }
}
