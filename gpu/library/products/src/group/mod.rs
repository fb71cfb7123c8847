//! A product on the tensor cores by warpgroups, from tiles in shared memory: what its rungs share. They
//! differ in the parts that an element of A or B has, and so in how many products one product takes.

pub(super) mod double;
pub(super) mod eight;
mod eight_put;
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
use simt::cluster::{self, Remote};
use simt::warp::{self, FULL};
use simt::warpgroup::Tile;
use simt::{Global, four, grid, thread, unroll, warpgroup};

use parts::Operands;
use ring::{Filled, Ring, empty, full};
use rungs_common::ring::Place;
use tiles::{At, Tiles};

pub use packed::Packed;
pub use parts::{HeldSplit, Mixed, Parts, Split, Whole};

/// Rows of C that a warpgroup has.
const GROUP: u32 = 64;
/// Rows of a tile of C.
pub const ROWS: u32 = 2 * GROUP;
/// Threads that multiply.
const MULTIPLIERS: u32 = 256;
/// Threads per block: a warpgroup copies.
pub(super) const BLOCK: u32 = MULTIPLIERS + 128;
/// Registers of a thread that copies, and of one that multiplies. Together they have what the block begins with.
const FEW: u32 = 40;
const MANY: u32 = 232;
/// The named barrier of the warps that multiply.
const MULTIPLIED: u32 = 1;
/// Sums of a thread that the other block of a cluster adds to its own.
const HALF: usize = 32;

/// Blocks that multiply: what a kernel does.
pub(super) trait Blocks<T: Packed> {
    /// Blocks of a cluster, as a kernel says it: 0 for no cluster.
    const CLUSTER: u32;

    /// C = alpha·A·B + beta·C for one product of the batch. `b` and, if it is one, `a` are copies in tiles.
    fn product(a: impl Filled<T>, b: Global<T>, c: Global<T>, shape: Shape, product: u32);
}

/// The work of blocks for elements of `T`, with tiles of C of `ROWS` × 2·`SUMS`·`WIDE`: `SUMS` is the number of sums
/// that a thread gets by one call, `WIDE` how many calls there are side by side. Elements of A and B are in the parts
/// `P`. There are `STAGES` pairs of tiles of A and B, for each part, in shared memory. With `BLOCKS` = 2 a cluster has
/// one tile, and each of its blocks a half of the K steps.
pub(super) struct Groups<T, P, const SUMS: usize, const WIDE: usize, const STAGES: u32, const BLOCKS: u32 = 1>(
    PhantomData<(T, P)>,
);

/// A thread's sums.
pub type Sums<const SUMS: usize, const WIDE: usize> = [[f32; SUMS]; WIDE];

impl<T: Packed, P: Parts<T>, const SUMS: usize, const WIDE: usize, const STAGES: u32, const BLOCKS: u32> Blocks<T>
    for Groups<T, P, SUMS, WIDE, STAGES, BLOCKS>
{
    const CLUSTER: u32 = if BLOCKS > 1 { BLOCKS } else { 0 };

    #[simt::device]
    fn product(a: impl Filled<T>, b: Global<T>, c: Global<T>, shape: Shape, product: u32) {
        let thread = thread::thread_idx_x();
        if thread == 0 {
            Self::RING.init_barriers(MULTIPLIERS / 32);
        }
        thread::sync_threads(); // the barriers exist before any thread uses them
        grid::let_next_start(); // it waits where it needs what this launch writes
        if thread >= MULTIPLIERS {
            warpgroup::release_registers::<FEW>();
            if thread == MULTIPLIERS {
                a.prefetch();
                grid::wait_for_previous(); // for the copies in tiles. C is written after some of them have come
                Self::produce(a, b, shape);
            }
            if BLOCKS > 1 {
                cluster::sync(); // all sums are there
                cluster::sync(); // no block ends before the other has read its sums
            }
        } else {
            warpgroup::claim_registers::<MANY>();
            let (_, _, c) = shape.matrices(product, c, c, c);
            Self::multiply(c, shape);
        }
    }
}

impl<T: Packed, P: Parts<T>, const SUMS: usize, const WIDE: usize, const STAGES: u32, const BLOCKS: u32>
    Groups<T, P, SUMS, WIDE, STAGES, BLOCKS>
{
    /// Columns of a tile of C.
    pub(super) const COLUMNS: u32 = 2 * SUMS as u32 * WIDE as u32;
    /// The tiles of a stage.
    const RING: Ring = Ring { rows: ROWS, columns: Self::COLUMNS, parts_a: P::OF_A, parts_b: P::COUNT, stages: STAGES };
    /// Bytes of dynamic shared memory.
    #[cfg(not(target_os = "cuda"))]
    pub(super) const SHARED_BYTES: u32 = Self::RING.bytes();

    /// The number of K steps, and the block's range of them: its first, and the one after its last.
    #[simt::device]
    fn steps(shape: &Shape) -> (u32, u32, u32) {
        let steps = shape.k.div_ceil(Tile::<T>::DEPTH);
        if BLOCKS == 1 {
            return (steps, 0, steps);
        }
        let rank = cluster::rank();
        (steps, rank * steps / BLOCKS, (rank + 1) * steps / BLOCKS)
    }

    /// Fills stage after stage, for all tiles of the block.
    #[simt::device]
    fn produce(a: impl Filled<T>, b: Global<T>, shape: Shape) {
        let ((steps, first, end), mut place) = (Self::steps(&shape), Place::FIRST);
        let mut tiles = Tiles::of_parts::<BLOCKS>(&shape, Self::COLUMNS);
        while let Some(At { row, column, .. }) = tiles.next() {
            let mut step = first;
            while step < end {
                Self::RING.fill(place, (a, b), (row, column), (step, steps));
                place = place.next(STAGES);
                step += 1;
            }
        }
    }

    /// Multiplies what is in the ring, for all tiles of the block.
    #[simt::device]
    fn multiply(c: Output<T>, shape: Shape) {
        let ((_, first, end), mut place) = (Self::steps(&shape), Place::FIRST);
        let group = thread::thread_idx_x() / 128;
        let mut tiles = Tiles::of_parts::<BLOCKS>(&shape, Self::COLUMNS);
        while let Some(At { row, column, .. }) = tiles.next() {
            let mut sums: Sums<SUMS, WIDE> = [[0.0; SUMS]; WIDE];
            let mut step = first;
            while step < end {
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
            if BLOCKS > 1 {
                Self::add_up(c, row + group * GROUP, column, &sums[0]);
            } else {
                T::store(c, row + group * GROUP, column, &sums);
            }
        }
    }

    /// Writes the block's half of the columns of a tile: the sums of both blocks, in the order of their rank. The block
    /// has no other tile.
    #[simt::device]
    fn add_up(c: Output<T>, row: u32, column: u32, sums: &[f32; SUMS]) {
        let (rank, thread) = (cluster::rank(), thread::thread_idx_x());
        // Packs of the half that the other block writes: neighbouring threads have neighbouring places.
        let place = |pack: u32| pack * MULTIPLIERS + thread;
        let given = Tile::<f32>::dynamic(0, MULTIPLIERS * SUMS as u32 / 2 / Tile::<f32>::DEPTH).elements();
        // All warps have multiplied what is in the ring. The sums are written over it.
        thread::barrier(MULTIPLIED, MULTIPLIERS);
        let mut own = [0.0; HALF];
        unroll::<{ HALF / 4 }>(|j| {
            let [first, second] = [4 * j, 4 * j + SUMS / 2].map(|i| four(|e| sums[i + e]));
            // One by one: LLVM 7 leaves arrays in memory of which one is chosen.
            let chosen = |of_0: f32, of_1: f32| if rank == 0 { of_0 } else { of_1 };
            let [w, x, y, z] = second;
            let pack = [chosen(w, first[0]), chosen(x, first[1]), chosen(y, first[2]), chosen(z, first[3])];
            given.set_pack(place(j as u32), pack);
            own[4 * j] = chosen(first[0], w);
            own[4 * j + 1] = chosen(first[1], x);
            own[4 * j + 2] = chosen(first[2], y);
            own[4 * j + 3] = chosen(first[3], z);
        });
        cluster::sync(); // all sums are there
        let other = Remote::of(given, 1 - rank);
        unroll::<{ HALF / 4 }>(|j| {
            let four = other.get_pack(place(j as u32));
            // The sum of two numbers is the same in either order.
            unroll::<4>(|e| own[4 * j + e] += four[e]);
        });
        cluster::sync(); // no block ends before the other has read its sums
        T::store(c, row, column + rank * SUMS as u32, &[own]);
    }

    /// Adds the products of a stage.
    #[simt::device]
    fn stage(stage: u32, group: u32, sums: &mut Sums<SUMS, WIDE>) {
        let held = P::hold(Self::RING.a::<f32>(stage, 0).rows(group * GROUP, GROUP));
        Self::side(held, stage, group, 0, sums);
        if WIDE == 2 {
            Self::side(held, stage, group, 1, sums);
        }
    }

    /// [`Groups::stage`] for the columns of one call.
    #[simt::device]
    fn side(held: P::Held, stage: u32, group: u32, side: usize, sums: &mut Sums<SUMS, WIDE>) {
        let columns = 2 * SUMS as u32;
        let (rows, columns) = ((group * GROUP, GROUP), (side as u32 * columns, columns));
        sums[side] = P::multiply_add(held, Operands { ring: Self::RING, stage, rows, columns }, sums[side]);
    }
}
