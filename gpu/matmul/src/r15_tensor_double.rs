//! # Matrix product, tensor cores in f64 by warp MMA
//!
//! **Idea.** The tensor cores of data-center GPUs also multiply `f64`, without rounding the factors: one `mma.sync`
//! adds the product of a 16 × 16 and a 16 × 8 matrix to 16 × 8 sums: 2048 multiply-adds, each rounded as by `fma`. That
//! is twice the rate of the CUDA cores.
//!
//! **Changed from the rung before.** The three rungs before need `wgmma`, which has no `f64`; this one continues from
//! `tensor-mma`, with the same ring of copies. An element has 8 bytes, so 16-byte loads bring two: two of a row of A,
//! which are one lane's neighbours in K, and two of a row of B. An MMA keeps the operand with 16 rows in 16 registers
//! in the order row g, row g + 8. If that operand were A, its pairs of consecutive k would have to be moved between
//! registers. So each MMA computes a piece of Cᵀ = Bᵀ·Aᵀ: its 16 rows are columns of C, and every pair is loaded into
//! its place.
//!
//! **Bottleneck.** The tensor cores, and the power limit for large matrices. What is left is at the barriers, where the
//! warps of a block wait for one another; the second block of the SM fills part of that time.
//!
//! **Cost.** 2·m·n·k operations; 8·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉) bytes of global loads; ⌈k/DEPTH⌉ barriers per block;
//! one launch.
//!
//! **Threads.** 128 threads compute a tile of 128 × 64: four warps of 64 × 32, 8 × 2 MMAs for every sixteen elements
//! along K. Packs of 16 bytes are permuted in shared memory by bits of their row, so that no load of a fragment has
//! bank conflicts.
//!
//! **Limits.** Any m, n and k. If rows do not begin on multiples of 16 bytes, elements are copied one by one. Compute
//! capability 8.0, with 96 KiB of shared memory per block.
//!
//! **Source.** NVIDIA, "Parallel Thread Execution ISA", `mma.sync` for f64. The transposed pieces are our own.

use super::Matrix;
use super::tensor::tile_in_groups;
use simt::mma::{self, FragmentA64, FragmentB64, FragmentC64};
use simt::{Global, Shared, async_copy, kernel, thread, unroll, warp};

/// Rows of a tile of C.
pub const ROWS: u32 = 128;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 64;
/// Columns of the tile of A, rows of the tile of B.
pub const DEPTH: u32 = 16;
/// Pairs of tiles in shared memory.
const STAGES: u32 = 4;
/// Rows and columns of a warp's tile.
const WARP_ROWS: u32 = 64;
const WARP_COLUMNS: u32 = 32;
/// Threads per block.
const BLOCK: u32 = ROWS / WARP_ROWS * (COLUMNS / WARP_COLUMNS) * 32;
/// Elements of a tile of A, and of B.
const SIZE_A: u32 = ROWS * DEPTH;
const SIZE_B: u32 = DEPTH * COLUMNS;
/// Bytes of a stage.
const STAGE_BYTES: u32 = (SIZE_A + SIZE_B) * 8;
/// Packs of two elements in a row of each tile.
const PACKS_A: u32 = DEPTH / 2;
const PACKS_B: u32 = COLUMNS / 2;
/// Packs of each tile that a thread copies.
const COPIES_A: usize = (SIZE_A / 2 / BLOCK) as usize;
const COPIES_B: usize = (SIZE_B / 2 / BLOCK) as usize;

/// A lane's sums: for each eight rows of the warp's tile, two fragments of sixteen columns.
type Sums = [[FragmentC64; 2]; 8];

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n.
#[kernel(max_threads = BLOCK, min_blocks = 2)]
pub fn matmul_tensor_double(a: Global<f64>, b: Global<f64>, c: Global<f64>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    let (row, column) = tile_in_groups(thread::block_idx_x(), m.div_ceil(ROWS), n.div_ceil(COLUMNS));
    let (row, column) = (row * ROWS, column * COLUMNS);
    let mut sums: Sums = [[[0.0; 4]; 2]; 8];
    let steps = k.div_ceil(DEPTH);
    unroll::<{ STAGES as usize - 1 }>(|step| start_copy(a, row, b, column, step as u32, steps));
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
fn tiles(stage: u32) -> (Shared<f64>, Shared<f64>) {
    let first = stage * STAGE_BYTES;
    (Shared::dynamic(first, SIZE_A), Shared::dynamic(first + SIZE_A * 8, SIZE_B))
}

/// Where in the tile of A pack `pack` of a row is. The eight lanes that load together read four packs each of two rows,
/// and find them in different banks.
#[simt::device]
fn place_a(row: u32, pack: u32) -> u32 {
    row * PACKS_A + (pack ^ (row % 2 * 4))
}

/// The same for B. The eight lanes that load together read two packs each from every second of eight rows.
#[simt::device]
fn place_b(row: u32, pack: u32) -> u32 {
    row * PACKS_B + (pack ^ (row & 6))
}

/// Starts to copy the tiles of a K step to their stage, and closes the group of these copies; the group is empty
/// after the last step.
#[simt::device]
fn start_copy(a: Matrix<f64>, row: u32, b: Matrix<f64>, column: u32, step: u32, steps: u32) {
    if step < steps {
        let ((tile_a, tile_b), t) = (tiles(step % STAGES), step * DEPTH);
        let thread = thread::thread_idx_x();
        if a.has_packs() {
            unroll::<COPIES_A>(|i| {
                let (y, pack) = (thread / PACKS_A + i as u32 * (BLOCK / PACKS_A), thread % PACKS_A);
                a.start_pack(row + y, t + pack * 2, tile_a, place_a(y, pack));
            });
        } else {
            let mut i = thread;
            while i < SIZE_A {
                let (y, x) = (i / DEPTH, i % DEPTH);
                a.start_element(row + y, t + x, tile_a, place_a(y, x / 2) * 2 + x % 2);
                i += BLOCK;
            }
        }
        if b.has_packs() {
            unroll::<COPIES_B>(|i| {
                let (y, pack) = (thread / PACKS_B + i as u32 * (BLOCK / PACKS_B), thread % PACKS_B);
                b.start_pack(t + y, column + pack * 2, tile_b, place_b(y, pack));
            });
        } else {
            let mut i = thread;
            while i < SIZE_B {
                let (y, x) = (i / COLUMNS, i % COLUMNS);
                b.start_element(t + y, column + x, tile_b, place_b(y, x / 2) * 2 + x % 2);
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
    (number / 2 * WARP_ROWS, number % 2 * WARP_COLUMNS, lane / 4, lane % 4)
}

/// Adds the products of a stage to the lane's sums.
#[simt::device]
fn multiply(stage: u32, sums: &mut Sums) {
    let ((tile_a, tile_b), (row, column, g, t)) = (tiles(stage), place_of_lane());
    let mut of_b = [[0.0; 8]; 2];
    unroll::<2>(|j| of_b[j] = load_b(tile_b, t, column / 2 + j as u32 * 8 + g));
    unroll::<8>(|i| {
        let of_a = load_a(tile_a, row + i as u32 * 8 + g, t);
        unroll::<2>(|j| sums[i][j] = mma::multiply_add_f64(of_b[j], of_a, sums[i][j]));
    });
}

/// The lane's part of a fragment of Bᵀ. Its rows g and g + 8 are neighboring columns of the tile, which are one load;
/// its columns t, t + 4, t + 8, t + 12 are rows 2t, 2t + 1, 8 + 2t and 9 + 2t of the tile.
#[simt::device]
fn load_b(tile: Shared<f64>, t: u32, pack: u32) -> FragmentA64 {
    let [first, second, third, fourth] =
        [2 * t, 2 * t + 1, 8 + 2 * t, 9 + 2 * t].map(|k| tile.get_pack(place_b(k, pack)));
    [first[0], first[1], second[0], second[1], third[0], third[1], fourth[0], fourth[1]]
}

/// The lane's part of a fragment of Aᵀ, of one row of the tile, with the same order in K.
#[simt::device]
fn load_a(tile: Shared<f64>, row: u32, t: u32) -> FragmentB64 {
    let [first, second] = [t, 4 + t].map(|pack| tile.get_pack(place_a(row, pack)));
    [first[0], first[1], second[0], second[1]]
}

/// Writes the lane's elements of C; the block's tile begins at (`row`, `column`). A fragment's columns 2t and 2t + 1
/// are rows of C, its rows g and g + 8 neighboring columns.
#[simt::device]
fn store(c: Matrix<f64>, row: u32, column: u32, sums: &Sums) {
    let ((down, across, g, t), packs) = (place_of_lane(), c.has_packs());
    unroll::<8>(|i| {
        unroll::<2>(|j| {
            let (row, column) = (row + down + i as u32 * 8 + 2 * t, column + across + j as u32 * 16 + 2 * g);
            let [first, second, next_first, next_second] = [0, 2, 1, 3].map(|e| sums[i][j][e]);
            c.set_pack(row, column, [first, second], packs);
            c.set_pack(row + 1, column, [next_first, next_second], packs);
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
        rung!("r15_tensor_double.rs", [matmul_tensor_double]).refusing(refuses).run_by(Multiply::F64(multiply));

    fn refuses(ask: &Ask) -> Option<String> {
        let have = ask.device.shared_per_block;
        let short = have < SHARED_BYTES;
        short.then(|| format!("tensor-double needs {SHARED_BYTES} bytes of shared memory per block, not {have}"))
    }

    /// C = A·B in `f64`.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f64>) -> Result {
        let geometry = Geometry::linear(m.div_ceil(ROWS) * n.div_ceil(COLUMNS), BLOCK).shared(SHARED_BYTES);
        on.launch(matmul_tensor_double, geometry, (a, b, c, m, n, k))
    }
}
