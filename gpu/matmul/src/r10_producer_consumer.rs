//! # Matrix product, producer warps and consumer warps
//!
//! **Idea.** *Warp specialisation*: four warps of a block, the producers, only copy parts of A and B to a ring of
//! stages in shared memory; eight warps, the consumers, only multiply these parts. Each stage has two *mbarriers*:
//! `full`, at which all producers arrive when they have written, and `empty`, at which all consumers arrive when they
//! have read. The kernel is *persistent*: a block computes tile after tile, so the producers fill the ring for the next
//! tile while the consumers write this one.
//!
//! **Changed from the rung before.** The consumers' loop over k has neither copies nor a barrier of the whole block.
//! The producers use ordinary loads and stores, as in `warp-tile`, because only they wait for global memory. They give
//! most of their registers to the consumers, so a consumer computes 8 × 16 elements of C: six shared loads of 16 bytes
//! for 128 multiply-adds, where `async-copy` needs four for 64.
//!
//! **Bottleneck.** The issue of multiply-adds: one whose three operands all come from the register file takes longer
//! than a cycle. For more than this the next rungs use the tensor cores.
//!
//! **Cost.** 2·m·n·k operations, with m and n rounded up to tiles and k to DEPTH; 4·k·(m·⌈n/COLUMNS⌉ + n·⌈m/ROWS⌉)
//! bytes of global loads; one barrier per block; one launch.
//!
//! **Threads.** 384 threads compute a tile of 256 × 128. Eight warps multiply, each a tile of 64 × 64. A lane has two
//! fours of rows, 32 apart, and four fours of columns, 16 apart. Four warps copy: registers move between groups of four
//! warps (*warpgroups*).
//!
//! **Limits.** Any m, n and k. A matrix whose address is no multiple of 16 bytes, or whose rows are no multiple of four
//! elements, is copied element by element. Compute capability 9.0 alone: later ones lack the instruction that moves
//! registers. Tiles are not divided, so small products leave SMs idle.
//!
//! **Source.** M. Bauer, H. Cook, B. Khailany, "CudaDMA: optimizing GPU memory bandwidth via warp specialization"
//! (2011); A. Kerr et al., "CUTLASS: fast linear algebra in CUDA C++" (2017), for the shape of the tiles.

use super::Matrix;
use simt::math::fma;
use simt::mbarrier::Mbarrier;
use simt::warp::{self, FULL};
use simt::{Global, Shared, kernel, shared, thread, unroll, warpgroup};

/// Rows of a tile of C.
pub const ROWS: u32 = 256;
/// Columns of a tile of C.
pub const COLUMNS: u32 = 128;
/// Columns of A, and rows of B, in a stage.
pub const DEPTH: u32 = 8;
/// Stages of the ring.
const STAGES: u32 = 8;
/// Elements from one row of the transposed tile of A to the next, padded against bank conflicts.
const STRIDE_A: u32 = ROWS + 4;
/// Elements of A in a stage, and of A and B together.
const STAGE_A: u32 = DEPTH * STRIDE_A;
const STAGE: u32 = STAGE_A + DEPTH * COLUMNS;

/// Threads that multiply, and threads that copy.
const CONSUMERS: u32 = 256;
const PRODUCERS: u32 = 128;
/// Threads per block.
const BLOCK: u32 = CONSUMERS + PRODUCERS;
/// Registers of a thread that copies, and of one that multiplies: together as many as the block starts with.
const FEW: u32 = 56;
const MANY: u32 = 224;
/// Fours of A, and of B, that a producer copies per stage.
const COPIES_A: usize = (ROWS * DEPTH / 4 / PRODUCERS) as usize;
const COPIES_B: usize = (COLUMNS * DEPTH / 4 / PRODUCERS) as usize;
/// Rows and columns of C per consumer: two and four fours.
const DOWN: usize = 8;
const ALONG: usize = 16;
/// Distance of a thread's fours of rows, and of columns.
const APART_DOWN: u32 = 32;
const APART_ALONG: u32 = 16;
/// Side of a warp's tile.
const WARP_TILE: u32 = 64;

/// A consumer's sums, and its elements for one k: of a column of A and of a row of B.
type Sums = [[f32; ALONG]; DOWN];
type Pair = ([f32; DOWN], [f32; ALONG]);

// The barriers `full` of all stages, then `empty` of all.
shared!(BARRIERS: [u64; 2 * STAGES]);

/// Completes a phase when all producer warps have filled the stage of step number `step`.
#[simt::device]
fn full(step: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), step % STAGES)
}

/// Completes a phase when all consumer warps have read the stage of step number `step`.
#[simt::device]
fn empty(step: u32) -> Mbarrier {
    Mbarrier::at(BARRIERS::view(), STAGES + step % STAGES)
}

/// The parity of the barriers' phase in that step: a stage's barriers complete one phase per round of the ring.
#[simt::device]
fn parity(step: u32) -> u32 {
    step / STAGES % 2
}

/// The tiles of A and B in the stage of step number `step`.
#[simt::device]
fn tiles_of(step: u32) -> (Shared<f32>, Shared<f32>) {
    let start = step % STAGES * STAGE;
    (Shared::dynamic(start * 4, STAGE_A), Shared::dynamic((start + STAGE_A) * 4, STAGE - STAGE_A))
}

/// C = A·B: `a` is m × k, `b` is k × n, `c` is m × n. Block i computes the tiles i, i + blocks, i + 2·blocks …
#[kernel(sm_90a, max_threads = BLOCK, min_blocks = 1)]
pub fn matmul_producer_consumer(a: Global<f32>, b: Global<f32>, c: Global<f32>, m: u32, n: u32, k: u32) {
    let (a, b, c) = (Matrix::new(a, m, k), Matrix::new(b, k, n), Matrix::new(c, m, n));
    if thread::thread_idx_x() == 0 {
        unroll::<{ STAGES as usize }>(|stage| {
            full(stage as u32).init(PRODUCERS / 32);
            empty(stage as u32).init(CONSUMERS / 32);
        });
    }
    thread::sync_threads(); // the barriers are initialised before any thread uses them
    if thread::thread_idx_x() >= CONSUMERS {
        warpgroup::release_registers::<FEW>();
        produce(a, b);
    } else {
        warpgroup::claim_registers::<MANY>();
        consume(c, k.div_ceil(DEPTH));
    }
}

/// First row and first column of tile `tile`. Tiles are numbered column by column within groups of eight rows of tiles,
/// so that blocks that run at the same time share rows of A and columns of B in L2.
#[simt::device]
fn place_of_tile(tile: u32, m: u32, n: u32) -> (u32, u32) {
    const GROUP: u32 = 8;
    // There is a tile, so both are at least 1. The compiler does not know: a division by zero would be a trap, and with
    // an exit on the way ptxas ignores the calls that move registers.
    let (down, along) = (m.div_ceil(ROWS), n.div_ceil(COLUMNS).max(1));
    let (group, within) = (tile / (GROUP * along), tile % (GROUP * along));
    let rows = (down - group * GROUP).clamp(1, GROUP);
    ((group * GROUP + within % rows) * ROWS, within / rows * COLUMNS)
}

/// What the producer warps do: they fill stage after stage, for all tiles of the block.
#[simt::device]
fn produce(a: Matrix, b: Matrix) {
    let (mut step, mut tile) = (0, thread::block_idx_x());
    while tile < super::tiles(a.rows, b.columns, ROWS, COLUMNS) {
        let (row, column) = place_of_tile(tile, a.rows, b.columns);
        let mut t = 0;
        while t < a.columns {
            fill(step, a, row, b, column, t);
            (t, step) = (t + DEPTH, step + 1);
        }
        tile += thread::grid_dim_x();
    }
}

/// Fills one stage: copies the tiles from k = `t` on.
#[simt::device]
fn fill(step: u32, a: Matrix, first_row: u32, b: Matrix, first_column: u32, t: u32) {
    let ((tile_a, tile_b), thread) = (tiles_of(step), thread::thread_idx_x() - CONSUMERS);
    // The thread's fours, one below the other: neighbouring threads have neighbours in a row.
    let (row_a, e, below_a) = (thread / (DEPTH / 4), thread % (DEPTH / 4) * 4, 4 * PRODUCERS / DEPTH);
    let (row_b, column_b, below_b) = (thread / (COLUMNS / 4), thread % (COLUMNS / 4) * 4, 4 * PRODUCERS / COLUMNS);
    let (mut of_a, mut of_b) = ([[0.0; 4]; COPIES_A], [[0.0; 4]; COPIES_B]);
    let (packs_a, packs_b) = (a.has_packs(), b.has_packs());
    let inside = first_row + ROWS <= a.rows && first_column + COLUMNS <= b.columns && t + DEPTH <= b.rows;
    if inside && packs_a && packs_b {
        // One test for all loads: each instruction of a producer takes an issue slot from the consumers.
        let at_a = ((first_row + row_a) * a.columns + t + e) / 4;
        let at_b = ((t + row_b) * b.columns + first_column + column_b) / 4;
        unroll::<COPIES_A>(|i| of_a[i] = a.data.get_pack(at_a + i as u32 * (below_a / 4 * a.columns)));
        unroll::<COPIES_B>(|i| of_b[i] = b.data.get_pack(at_b + i as u32 * (below_b / 4 * b.columns)));
    } else {
        unroll::<COPIES_A>(|i| of_a[i] = a.get_4(first_row + row_a + i as u32 * below_a, t + e, packs_a));
        unroll::<COPIES_B>(|i| of_b[i] = b.get_4(t + row_b + i as u32 * below_b, first_column + column_b, packs_b));
    }
    // While the loads are in flight: the consumers have read what was in the stage. In the first round there was
    // nothing; waiting for the parity of the phase before the first returns at once.
    empty(step).wait(parity(step) ^ 1);
    unroll::<COPIES_A>(|i| {
        unroll::<4>(|j| tile_a.set((e + j as u32) * STRIDE_A + row_a + i as u32 * below_a, of_a[i][j]))
    });
    unroll::<COPIES_B>(|i| tile_b.set_pack(thread + i as u32 * PRODUCERS, of_b[i]));
    warp::sync_warp(FULL); // all lanes have written before one of them arrives for the warp
    if warp::lane_id() == 0 {
        full(step).arrive();
    }
}

/// What the consumer warps do: for each tile of the block they multiply `steps` stages and write the sums to C.
#[simt::device]
fn consume(c: Matrix, steps: u32) {
    let (tiles, blocks) = (super::tiles(c.rows, c.columns, ROWS, COLUMNS), thread::grid_dim_x().max(1));
    let (mut step, mut tile) = (0, thread::block_idx_x());
    let all = tiles.saturating_sub(tile).div_ceil(blocks) * steps; // steps of all tiles of the block
    let (row, column) = place_of_thread();
    let mut pair = Pair::default();
    if all > 0 {
        full(0).wait(0); // the first stage is filled before any of it is read
        pair = load(0, 0, row, column);
    }
    while tile < tiles {
        let mut sums = Sums::default();
        let end = step + steps;
        while step < end {
            // Each load is one k ahead of its products, also from one stage to the next. After the block's last step,
            // that step again: it is still there, and nobody uses what is loaded.
            let next = (step + 1).min(all - 1);
            full(next).wait(parity(next)); // the next stage is filled before any of it is read
            unroll::<{ DEPTH as usize }>(|e| {
                let (from, e) = if e + 1 < DEPTH as usize { (step, e as u32 + 1) } else { (next, 0) };
                let ahead = load(from, e, row, column);
                outer_product(&mut sums, &pair.0, &pair.1);
                pair = ahead;
            });
            warp::sync_warp(FULL); // all lanes have read the stage before one of them gives it back for the warp
            if warp::lane_id() == 0 {
                empty(step).arrive();
            }
            step += 1;
        }
        let (first_row, first_column) = place_of_tile(tile, c.rows, c.columns);
        store(c, first_row + row, first_column + column, &sums);
        tile += blocks;
    }
}

/// The consumer's first row and column within the tile: by its warp, then by its lane. Lanes are numbered so that each
/// load of a warp is of four or of eight different fours, which are in different banks.
#[simt::device]
fn place_of_thread() -> (u32, u32) {
    let (number, lane, across) = (thread::thread_idx_x() / 32, warp::lane_id(), COLUMNS / WARP_TILE);
    let (row, column) = (number / across * WARP_TILE, number % across * WARP_TILE);
    (row + (lane >> 1 & 7) * 4, column + (lane & 1 | lane >> 4 << 1) * 4)
}

/// The thread's elements for one k: `e` of the stage of step number `step`.
#[simt::device]
fn load(step: u32, e: u32, row: u32, column: u32) -> Pair {
    let (a, b) = tiles_of(step);
    // Views that begin at the thread's first element: the places of all others are then constants.
    let (a, b) = (a.slice(row, a.len() - row), b.slice(column, b.len() - column));
    let (mut of_a, mut of_b) = Pair::default();
    unroll::<{ DOWN / 4 }>(|i| {
        of_a[4 * i..][..4].copy_from_slice(&a.get_pack((e * STRIDE_A + i as u32 * APART_DOWN) / 4))
    });
    unroll::<{ ALONG / 4 }>(|j| {
        of_b[4 * j..][..4].copy_from_slice(&b.get_pack((e * COLUMNS + j as u32 * APART_ALONG) / 4))
    });
    (of_a, of_b)
}

/// Adds the products of all pairs of a column of A and a row of B, to and fro along the rows, so that neighbouring
/// instructions share an operand.
#[simt::device]
fn outer_product(sums: &mut Sums, a: &[f32; DOWN], b: &[f32; ALONG]) {
    unroll::<ALONG>(|j| {
        unroll::<DOWN>(|i| {
            let i = if j % 2 == 0 { i } else { DOWN - 1 - i };
            sums[i][j] = fma(a[i], b[j], sums[i][j]);
        });
    });
}

/// Writes the thread's elements of C, from (`row`, `column`) on.
#[simt::device]
fn store(c: Matrix, row: u32, column: u32, sums: &Sums) {
    let packs = c.has_packs();
    unroll::<DOWN>(|i| {
        let row = row + i as u32 % 4 + i as u32 / 4 * APART_DOWN;
        unroll::<{ ALONG / 4 }>(|j| {
            let four = [sums[i][4 * j], sums[i][4 * j + 1], sums[i][4 * j + 2], sums[i][4 * j + 3]];
            c.set_pack(row, column + j as u32 * APART_ALONG, four, packs);
        });
    });
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once, with as many blocks as run at the same time.

    use super::*;
    use crate::ladder::*;
    use crate::tiles;

    /// The rung.
    pub static RUNG: Entry<Multiply> =
        rung!("r10_producer_consumer.rs", [matmul_producer_consumer]).refusing(refuses).run_by(Multiply::F32(multiply));

    fn refuses(ask: &Ask) -> Option<String> {
        let (major, minor) = ask.device.compute_capability;
        let why = || format!("producer-consumer needs compute capability 9.0, not {major}.{minor}");
        ((major, minor) != (9, 0)).then(why)
    }

    /// C = A·B.
    ///
    /// # Errors
    /// Fails if the launch fails.
    pub fn multiply(on: &dyn Launcher, Product { a, b, c, m, n, k }: Product<f32>) -> Result {
        let blocks = tiles(m, n, ROWS, COLUMNS).min(on.device().multiprocessors);
        let geometry = Geometry::linear(blocks, BLOCK).shared(4 * STAGES * STAGE);
        on.launch(matmul_producer_consumer, geometry, (a, b, c, m, n, k))
    }
}
