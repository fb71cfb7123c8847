//! A product on the tensor cores by groups of four warps, from tiles in shared memory: what its rungs share. They
//! differ in the parts that an element of A or B has, and so in how many products one product takes.

#[cfg(not(target_os = "cuda"))]
pub(super) mod host;
pub(super) mod pack;
mod ring;

use super::{Output, Shape, in_groups};
use simt::warp::{self, FULL};
use simt::{Global, grid, opaque, thread, unroll, warpgroup};

pub use simt::warpgroup::DEPTH;

use crate::ring::Place;
use ring::{Ring, empty, full};

/// Rows of C that a group of four warps has.
const GROUP: u32 = 64;
/// Rows of a tile of C.
pub const ROWS: u32 = 2 * GROUP;
/// Threads that multiply.
const MULTIPLIERS: u32 = 256;
/// Threads per block: a group of four warps copies.
pub(super) const BLOCK: u32 = MULTIPLIERS + 128;
/// Registers of a thread that copies, and of one that multiplies. Together they have what the block begins with.
const FEW: u32 = 40;
const MANY: u32 = 232;

/// The work of blocks with tiles of C of `ROWS` × 2·`SUMS`·`WIDE`: `SUMS` is the number of sums that a thread gets by
/// one call, `WIDE` how many calls there are side by side. Elements of A and B have `PARTS` parts, one or two. There
/// are `STAGES` pairs of tiles of A and B in shared memory.
pub(super) struct Groups<const SUMS: usize, const WIDE: usize, const PARTS: u32, const STAGES: u32>;

/// A thread's sums.
type Sums<const SUMS: usize, const WIDE: usize> = [[f32; SUMS]; WIDE];

impl<const SUMS: usize, const WIDE: usize, const PARTS: u32, const STAGES: u32> Groups<SUMS, WIDE, PARTS, STAGES> {
    /// Columns of a tile of C.
    pub(super) const COLUMNS: u32 = 2 * SUMS as u32 * WIDE as u32;
    /// The tiles of a stage.
    const RING: Ring = Ring { rows: ROWS, columns: Self::COLUMNS, parts: PARTS, stages: STAGES };
    /// Bytes of dynamic shared memory.
    pub(super) const SHARED_BYTES: u32 = Self::RING.bytes();

    /// C = alpha·A·B + beta·C for one product of the batch. `a` and `b` are copies in tiles, of `steps` steps along k.
    #[inline(always)]
    pub(super) fn product(a: Global<f32>, b: Global<f32>, c: Global<f32>, shape: Shape, product: u32) {
        let thread = thread::thread_idx_x();
        if thread == 0 {
            Self::RING.init_barriers(MULTIPLIERS / 32);
        }
        thread::sync_threads(); // the barriers exist before any thread uses them
        if thread >= MULTIPLIERS {
            warpgroup::release_registers::<FEW>();
            if thread == MULTIPLIERS {
                grid::wait_for_previous(); // for the copies in tiles; C is as it was before them
                Self::produce(a, b, shape);
            }
        } else {
            warpgroup::claim_registers::<MANY>();
            let (_, _, c) = shape.matrices(product, a, b, c);
            Self::multiply(c, shape);
        }
    }

    /// Fills stage after stage, for all tiles of the block.
    #[inline(always)]
    fn produce(a: Global<f32>, b: Global<f32>, shape: Shape) {
        let (steps, mut place) = (shape.k.div_ceil(DEPTH), Place::FIRST);
        let mut tiles = Tiles::of_block(&shape, Self::COLUMNS);
        while let Some((row, column)) = tiles.next() {
            let (first_a, first_b) = (row / ROWS * steps, column / Self::COLUMNS * steps);
            let mut step = 0;
            while step < steps {
                Self::RING.fill(place, a, first_a + step, b, first_b + step);
                place = place.next(STAGES);
                step += 1;
            }
        }
    }

    /// Multiplies what is in the ring, for all tiles of the block.
    #[inline(always)]
    fn multiply(c: Output, shape: Shape) {
        let (steps, mut place) = (shape.k.div_ceil(DEPTH), Place::FIRST);
        let group = thread::thread_idx_x() / 128;
        let mut tiles = Tiles::of_block(&shape, Self::COLUMNS);
        while let Some((row, column)) = tiles.next() {
            let mut sums: Sums<SUMS, WIDE> = [[0.0; SUMS]; WIDE];
            let mut step = 0;
            while step < steps {
                full(place.stage).wait(place.parity);
                // The lanes saw the end of the phase one by one; what follows they do together.
                warp::sync_warp(FULL);
                Self::stage(place.stage, group, &mut sums);
                // The products of all lanes have been made from the stage before it is filled again.
                warp::sync_warp(FULL);
                if warp::lane_id() == 0 {
                    empty(place.stage, STAGES).arrive();
                }
                place = place.next(STAGES);
                step += 1;
            }
            Self::store(c, row + group * GROUP, column, &sums);
        }
    }

    /// Adds the products of a stage.
    #[inline(always)]
    fn stage(stage: u32, group: u32, sums: &mut Sums<SUMS, WIDE>) {
        Self::side(stage, group, 0, sums);
        if WIDE == 2 {
            Self::side(stage, group, 1, sums);
        }
    }

    /// [`Groups::stage`] for the columns of one call.
    #[inline(always)]
    fn side(stage: u32, group: u32, side: usize, sums: &mut Sums<SUMS, WIDE>) {
        let columns = 2 * SUMS as u32;
        let of_a = |part: u32| Self::RING.a(stage, part).rows(group * GROUP, GROUP);
        let of_b = |part: u32| Self::RING.b(stage, part).rows(side as u32 * columns, columns);
        if PARTS == 1 {
            sums[side] = warpgroup::multiply_add(of_a(0), of_b(0), sums[side]);
        } else {
            sums[side] = warpgroup::multiply_add_split([of_a(0), of_a(1)], [of_b(0), of_b(1)], sums[side]);
        }
    }

    /// Writes the thread's elements of C; (`row`, `column`) is the first of the group's.
    #[inline(always)]
    fn store(c: Output, row: u32, column: u32, sums: &Sums<SUMS, WIDE>) {
        let lane = warp::lane_id();
        let (g, t) = (lane / 4, lane % 4);
        // Of two lanes side by side the even one has four columns of row g, the odd one four of row g + 8.
        let row = row + thread::thread_idx_x() / 32 % 4 * 16 + g + t % 2 * 8;
        let column = column + t / 2 * 4;
        let packs = c.matrix.has_packs();
        let odd = t % 2 == 1;
        store_side(c, row, column, &sums[0], odd, packs);
        if WIDE == 2 {
            store_side(c, row, column + 2 * SUMS as u32, &sums[1], odd, packs);
        }
    }
}

/// [`Groups::store`] for the columns of one call.
#[inline(always)]
fn store_side<const SUMS: usize>(c: Output, row: u32, column: u32, sums: &[f32; SUMS], odd: bool, packs: bool) {
    let whole = packs && column + 2 * SUMS as u32 <= c.columns() + column % 8;
    if warp::all(FULL, whole && c.beta == 0.0) {
        unroll::<32>(|j| {
            if 4 * j < SUMS {
                c.set_4_inside(row, column + 8 * j as u32, exchange(sums, j, odd));
            }
        });
    } else {
        unroll::<32>(|j| {
            if 4 * j < SUMS {
                c.set_4(row, opaque(column) + 8 * j as u32, exchange(sums, j, odd), packs);
            }
        });
    }
}

/// Sums of group `j` of eight columns: a lane and its neighbour have two of row g and two of row g + 8 each, and give
/// each other what makes four of a row.
#[inline(always)]
fn exchange<const SUMS: usize>(sums: &[f32; SUMS], j: usize, odd: bool) -> [f32; 4] {
    let [a0, a1, b0, b1] = [0, 1, 2, 3].map(|i| sums[4 * j + i]);
    let give = if odd { [a0, a1] } else { [b0, b1] };
    let [x0, x1] = give.map(|sum| warp::shuffle_xor(FULL, sum, 1));
    if odd { [x0, x1, b0, b1] } else { [a0, a1, x0, x1] }
}

/// The tiles of C of a block, one after the other: first row and column.
struct Tiles {
    down: u32,
    along: u32,
    columns: u32,
    next: u32,
}

impl Tiles {
    #[inline(always)]
    fn of_block(shape: &Shape, columns: u32) -> Self {
        let (down, along) = (shape.m.div_ceil(ROWS), shape.n.div_ceil(columns));
        Self { down, along, columns, next: thread::block_idx_x() }
    }

    #[inline(always)]
    fn next(&mut self) -> Option<(u32, u32)> {
        let Self { down, along, columns, next } = *self;
        if next >= down * along {
            return None;
        }
        self.next = next + thread::grid_dim_x();
        let (row, column) = in_groups(next, down, along);
        Some((row * ROWS, column * columns))
    }
}
