//! The product of elements of 8 bits as they are, both operands K-major: the ring and the boxes of C are those of
//! [`Mapped`]. A type says who adds up the products: the tensor cores, or the threads every 128 k.

use super::super::{Output, Shape};
#[cfg(not(target_os = "cuda"))]
use super::mapped::STORED;
use super::mapped::{Role, Written};
#[cfg(not(target_os = "cuda"))]
use super::mapped_host::Tiling;
use super::ring::full;
use super::tiles::{At, NARROW, Tiles};
use super::{GROUP, ROWS};
use core::marker::PhantomData;
use rungs_common::ring::Place;
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{Sums, Tile, multiply_add_scaled};
use simt::{Eight, Global, bulk, thread};

use super::eight_put::Loads;
pub use super::eight_put::OfC;

/// K of a step: a factor belongs to the sums of this number of products.
pub const DEPTH: u32 = Tile::<simt::F8E4M3>::DEPTH;
/// Columns of B that have one factor per K step.
pub const COLUMNS_SCALED: u32 = 128;

/// How products are added up.
pub trait Adds: Copy {
    /// Whether the tensor cores add up all of them, without factors.
    const ON_TENSOR_CORES: bool;

    /// The factors of a K step as [`multiply_add_scaled`] takes them: for the thread's first row, counted from that of
    /// the tile's group, and the one 8 further down; for the tile's first columns and for its last.
    fn factors(self, row: u32, column: u32, step: u32) -> [[f32; 2]; 2];
}

/// All on the tensor cores, which keep about 14 bits of a sum.
#[derive(Clone, Copy)]
pub struct OnTensorCores;

/// Sums of 128 k on the tensor cores, those of these sums in `f32`.
#[derive(Clone, Copy)]
pub struct Promoted;

/// As [`Promoted`], each sum times the factors of its blocks of A and of B. Of A each row has its own.
#[derive(Clone, Copy)]
pub struct Scaled {
    /// Row-major: rows of A, and K steps.
    pub a: Global<f32>,
    /// Row-major: blocks of columns of B, and K steps.
    pub b: Global<f32>,
    /// K steps.
    pub steps: u32,
}

/// A way that needs no factors.
pub trait Unscaled: Adds {
    /// The way's only value.
    const HERE: Self;
}

impl Unscaled for OnTensorCores {
    const HERE: Self = Self;
}

impl Unscaled for Promoted {
    const HERE: Self = Self;
}

impl Adds for OnTensorCores {
    const ON_TENSOR_CORES: bool = true;

    #[simt::device]
    fn factors(self, _: u32, _: u32, _: u32) -> [[f32; 2]; 2] {
        [[1.0; 2]; 2]
    }
}

impl Adds for Promoted {
    const ON_TENSOR_CORES: bool = false;

    #[simt::device]
    fn factors(self, _: u32, _: u32, _: u32) -> [[f32; 2]; 2] {
        [[1.0; 2]; 2]
    }
}

impl Adds for Scaled {
    const ON_TENSOR_CORES: bool = false;

    #[simt::device]
    fn factors(self, row: u32, column: u32, step: u32) -> [[f32; 2]; 2] {
        // Rows and columns outside of the matrix are multiplied too, and go nowhere: they take the last factor.
        let of = |all: Global<f32>, line: u32| all.get((line * self.steps + step).min(all.len() - 1));
        let row = row + thread::thread_idx_x() / 32 % 4 * 16 + warp::lane_id() / 4;
        let a = [of(self.a, row), of(self.a, row + 8)];
        let b = [of(self.b, column / COLUMNS_SCALED), of(self.b, column / COLUMNS_SCALED + 1)];
        [[a[0] * b[0], a[1] * b[0]], [a[0] * b[1], a[1] * b[1]]]
    }
}

/// What the launch of a kernel depends on.
#[cfg(not(target_os = "cuda"))]
#[derive(Clone, Copy)]
pub struct Sizing {
    /// How C is divided.
    pub tiling: Tiling,
    /// Bytes of dynamic shared memory: the ring, and the boxes of C.
    pub shared: u32,
    /// Rows of a box of A, of B and of C.
    pub box_rows: [u32; 3],
}

/// Blocks with tiles of C of 2·`SUMS` columns, `BLOCKS` of them to a cluster. The two groups have half of the rows
/// each.
pub struct Eights<A, const SUMS: usize, const STAGES: u32, const BLOCKS: u32>(PhantomData<A>);

impl<L: Eight, R: Eight, C: OfC, A: Adds, const SUMS: usize, const STAGES: u32, const BLOCKS: u32>
    Role<(PhantomData<(L, R)>, Written<C>, A)> for Eights<A, SUMS, STAGES, BLOCKS>
{
    #[simt::device]
    fn multiply_all((_, (of_c, c, shape, boxes), adds): (PhantomData<(L, R)>, Written<C>, A)) {
        Self::multiply::<L, R, C>(of_c, c, shape, boxes, adds);
    }
}

impl<A: Adds, const SUMS: usize, const STAGES: u32, const BLOCKS: u32> Eights<A, SUMS, STAGES, BLOCKS> {
    /// Columns of a tile of C.
    pub const COLUMNS: u32 = 2 * SUMS as u32;
    /// Whether there are narrow tiles.
    const NARROW: bool = Loads::<f32, SUMS, STAGES, BLOCKS>::HAS_NARROW;
    /// What the host must know.
    #[cfg(not(target_os = "cuda"))]
    pub const SIZING: Sizing = Sizing {
        tiling: Tiling { blocks: BLOCKS, rows: ROWS, columns: Self::COLUMNS, narrow: Self::NARROW },
        shared: Loads::<f32, SUMS, STAGES, BLOCKS>::RING.bytes() + Loads::<f32, SUMS, STAGES, BLOCKS>::BOXES_BYTES,
        box_rows: [ROWS, Loads::<f32, SUMS, STAGES, BLOCKS>::SHARE, STORED],
    };

    /// C = alpha·A·B + beta·C, where k is not 0. The map of C is used if `boxes`, and beta is 0 then.
    #[simt::device]
    pub fn product<L: Eight, R: Eight, C: OfC>(
        (a, b, of_c): (TensorMap<L>, TensorMap<R>, TensorMap<C>),
        c: Output<C>,
        shape: Shape,
        boxes: bool,
        adds: A,
    ) {
        let args = (PhantomData::<(L, R)>, (of_c, c, shape, boxes), adds);
        Loads::<C, SUMS, STAGES, BLOCKS>::by_roles::<Self, _, _, _>(a, b, shape, args);
    }

    /// Multiplies what is in the ring, for all tiles of the block.
    #[simt::device]
    fn multiply<L: Eight, R: Eight, C: OfC>(map: TensorMap<C>, c: Output<C>, shape: Shape, boxes: bool, adds: A) {
        let (steps, mut place) = (Loads::<C, SUMS, STAGES, BLOCKS>::steps::<L>(&shape), Place::FIRST);
        // As lane 0 has it, for the reason given at `Tiles::next_alike`.
        let down = warp::shuffle(FULL, thread::thread_idx_x() / 128 * GROUP, 0);
        let whole = Loads::<C, SUMS, STAGES, BLOCKS>::RING.whole();
        let mut tiles = Tiles::of_cluster::<BLOCKS>(&shape, ROWS, Self::COLUMNS, Self::NARROW);
        if boxes && thread::thread_idx_x() == 32 {
            map.prefetch();
        }
        while let Some(At { row, column, narrow }) = tiles.next_alike() {
            let at = (row + down, column);
            // No wide tile follows a narrow one, as `Mapped::store` demands.
            if Self::NARROW && narrow {
                let (sums, next) =
                    Self::sums::<L, R, C, { NARROW as usize / 2 }>(place, steps, (whole, down), at, adds);
                place = next;
                C::put::<SUMS, STAGES, BLOCKS, { NARROW as usize / 2 }>(map, c, at, &sums, boxes);
                continue;
            }
            let (sums, next) = Self::sums::<L, R, C, SUMS>(place, steps, (whole, down), at, adds);
            place = next;
            C::put::<SUMS, STAGES, BLOCKS, SUMS>(map, c, at, &sums, boxes);
        }
        if warp::lane_id() == 0 {
            bulk::wait_read::<0>(); // the block's shared memory is another's when it ends
        }
    }

    /// Multiplies a tile of `N` sums per thread, from `place` on. Returns the sums, and the place after it.
    #[simt::device]
    fn sums<L: Eight, R: Eight, C: OfC, const N: usize>(
        mut place: Place,
        steps: u32,
        (whole, down): (Tile<L>, u32),
        (row, column): (u32, u32),
        adds: A,
    ) -> ([f32; N], Place) {
        let ring = Loads::<C, SUMS, STAGES, BLOCKS>::RING;
        let tiles = |stage: u32| {
            let (a, b) = ring.stage_of(whole, stage);
            (a.rows(down, GROUP), b.cast::<R>().rows(0, 2 * N as u32))
        };
        let lane = warp::lane_id();
        let (mut step, mut before) = (0, place.stage);
        if A::ON_TENSOR_CORES {
            let mut sums = Sums::<N>::ZERO;
            // There is a first step, as in `Mapped::sums`.
            loop {
                full(place.stage).wait(place.parity);
                // The lanes saw the end of the phase one by one; what follows they do together.
                warp::sync_warp(FULL);
                let (a, b) = tiles(place.stage);
                sums = sums.add_eight(a, b);
                // All lanes have the products of the stage before, which may be filled again. Those of this stage are
                // being made meanwhile.
                warp::sync_warp(FULL);
                if step > 0 {
                    Loads::<C, SUMS, STAGES, BLOCKS>::give_back(before, lane);
                }
                before = place.stage;
                place = place.next(STAGES);
                step += 1;
                if step >= steps {
                    break;
                }
            }
            let sums = sums.finish();
            // The same for the last stage.
            warp::sync_warp(FULL);
            Loads::<C, SUMS, STAGES, BLOCKS>::give_back(before, lane);
            return (sums, place);
        }
        let mut sums = [0.0; N];
        loop {
            // Loaded before the wait, so that the products need not wait for them.
            let factors = adds.factors(row, column, step);
            full(place.stage).wait(place.parity);
            warp::sync_warp(FULL); // as above
            let (a, b) = tiles(place.stage);
            sums = multiply_add_scaled(a, b, factors, sums);
            // All lanes have the products of this stage. Meanwhile the other group's are made.
            warp::sync_warp(FULL);
            Loads::<C, SUMS, STAGES, BLOCKS>::give_back(place.stage, lane);
            place = place.next(STAGES);
            step += 1;
            if step >= steps {
                break;
            }
        }
        (sums, place)
    }
}
