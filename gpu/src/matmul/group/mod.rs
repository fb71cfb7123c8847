//! A product on the tensor cores by groups of four warps, from tiles in shared memory: what its rungs share. They
//! differ in the parts that an element of A or B has, and so in how many products one product takes.

pub(super) mod held;
#[cfg(not(target_os = "cuda"))]
pub(super) mod host;
pub(super) mod mapped;
#[cfg(not(target_os = "cuda"))]
pub(super) mod mapped_host;
mod mapped_load;
mod mapped_store;
pub(super) mod pack;
mod packed;
mod parts;
mod ring;
mod store;
pub(super) mod tiles;

use super::{Output, Shape};
use core::marker::PhantomData;
use simt::warp::{self, FULL};
use simt::warpgroup::Tile;
use simt::{Global, grid, thread, warpgroup};

use crate::ring::Place;
use parts::Operands;
use ring::{Ring, empty, full};
use tiles::{At, Tiles};

pub use packed::Packed;
pub use parts::{Mixed, Parts, Split, Whole};

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

/// The work of blocks for elements of `T`, with tiles of C of `ROWS` × 2·`SUMS`·`WIDE`: `SUMS` is the number of sums
/// that a thread gets by one call, `WIDE` how many calls there are side by side. Elements of A and B are in the parts
/// `P`. There are `STAGES` pairs of tiles of A and B, for each part, in shared memory.
pub(super) struct Groups<T, P, const SUMS: usize, const WIDE: usize, const STAGES: u32>(PhantomData<(T, P)>);

/// A thread's sums.
pub type Sums<const SUMS: usize, const WIDE: usize> = [[f32; SUMS]; WIDE];

impl<T: Packed, P: Parts<T>, const SUMS: usize, const WIDE: usize, const STAGES: u32> Groups<T, P, SUMS, WIDE, STAGES> {
    /// Columns of a tile of C.
    pub(super) const COLUMNS: u32 = 2 * SUMS as u32 * WIDE as u32;
    /// The tiles of a stage.
    const RING: Ring = Ring { rows: ROWS, columns: Self::COLUMNS, parts: P::COUNT, stages: STAGES };
    /// Bytes of dynamic shared memory.
    #[cfg(not(target_os = "cuda"))]
    pub(super) const SHARED_BYTES: u32 = Self::RING.bytes();

    /// C = alpha·A·B + beta·C for one product of the batch. `a` and `b` are copies in tiles, of `steps` steps along k.
    #[inline(always)]
    pub(super) fn product(a: Global<T>, b: Global<T>, c: Global<T>, shape: Shape, product: u32) {
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
    fn produce(a: Global<T>, b: Global<T>, shape: Shape) {
        let (steps, mut place) = (shape.k.div_ceil(Tile::<T>::DEPTH), Place::FIRST);
        let mut tiles = Tiles::of_block(&shape, Self::COLUMNS);
        while let Some(At { row, column, .. }) = tiles.next() {
            let (first_a, first_b) = (row / ROWS * steps, column / Self::COLUMNS * steps);
            let mut step = 0;
            while step < steps {
                Self::RING.fill(place, (a, first_a + step), (b, first_b + step));
                place = place.next(STAGES);
                step += 1;
            }
        }
    }

    /// Multiplies what is in the ring, for all tiles of the block.
    #[inline(always)]
    fn multiply(c: Output<T>, shape: Shape) {
        let (steps, mut place) = (shape.k.div_ceil(Tile::<T>::DEPTH), Place::FIRST);
        let group = thread::thread_idx_x() / 128;
        let mut tiles = Tiles::of_block(&shape, Self::COLUMNS);
        while let Some(At { row, column, .. }) = tiles.next() {
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
            T::store(c, row + group * GROUP, column, &sums);
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
        let (rows, columns) = ((group * GROUP, GROUP), (side as u32 * columns, columns));
        sums[side] = P::multiply_add(Operands { ring: Self::RING, stage, rows, columns }, sums[side]);
    }
}
