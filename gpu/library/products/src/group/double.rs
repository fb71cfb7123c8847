//! The product in `f64` by warps, from boxes that TMA copies: the ring, and the walk through tiles of C, are those of
//! [`Mapped`](super::mapped::Mapped). To TMA an element is two of `f32`, of which it copies the bytes.

use super::super::{Output, Shape};
use super::ring::{Ring, empty, full};
use super::tiles::{At, Tiles};
use rungs_common::ring::Place;
use simt::mma::{self, FragmentA64, FragmentB64, FragmentC64};
use simt::tensor_map::TensorMap;
use simt::warp::{self, FULL};
use simt::warpgroup::{self, Tile};
use simt::{Shared, bulk, cluster, grid, thread, unroll};

/// K of a stage: the elements in a row of a box.
pub const DEPTH: u32 = Tile::<f32>::DEPTH / 2;
/// Columns of a box of B.
const SIDE: u32 = DEPTH;
/// Pieces of sixteen columns in a warp's tile of C.
const ALONG: usize = 2;
/// Registers of a thread that copies, and of one that multiplies, where they move. Together they have what the block
/// begins with.
const FEW: u32 = 24;
const MANY: u32 = 240;
/// Pieces of eight rows whose elements of A a lane has at the same time.
const HELD: usize = 4;

/// A lane's sums: for each eight rows of the warp's tile, fragments of sixteen columns.
type Sums<const DOWN: usize> = [[FragmentC64; ALONG]; DOWN];

/// The work of a kernel's blocks: tiles of C of `HIGH` × `WIDE` warps, each with 8·`DOWN` rows, 32 or 64, and 32
/// columns. The blocks of a cluster have tiles below each other, and share the boxes of B.
pub struct Doubles<const DOWN: usize, const HIGH: u32, const WIDE: u32, const STAGES: u32, const BLOCKS: u32>;

/// What a lane multiplies next: elements of A of four pieces of eight rows, and of B of both of sixteen columns.
struct Held {
    rows: [FragmentB64; HELD],
    columns: [FragmentA64; ALONG],
}

/// Where in a stage a lane finds its elements, in packs from the start of the tile.
#[derive(Clone, Copy)]
struct Lane {
    /// K 2t and 2t + 1 of its row of A.
    row: u32,
    /// Row 2t of its two columns of B, and row 2t + 1.
    columns: [u32; 2],
}

impl<const DOWN: usize, const HIGH: u32, const WIDE: u32, const STAGES: u32, const BLOCKS: u32>
    Doubles<DOWN, HIGH, WIDE, STAGES, BLOCKS>
{
    /// Rows of a tile of C.
    pub const ROWS: u32 = HIGH * 8 * DOWN as u32;
    /// Columns of a tile of C.
    pub const COLUMNS: u32 = WIDE * 16 * ALONG as u32;
    /// Warps that multiply.
    const WARPS: u32 = HIGH * WIDE;
    /// Whether registers move to the warps that multiply from those that copy: a quarter of an SM has a quarter of its
    /// registers, and has two warps that multiply here.
    const CLAIMS: bool = Self::WARPS > 4 && DOWN > HELD;
    /// Threads per block: a warp copies, or four do not but give up their registers.
    pub const BLOCK: u32 = (Self::WARPS + if Self::CLAIMS { 4 } else { 1 }) * 32;
    /// The last three MMAs of a stage, numbered from 0, begin with this one.
    const LAST: usize = DOWN * ALONG - 3;
    /// A stage: rows of A with its elements of K, and boxes of B with the columns of each.
    const RING: Ring = Ring { rows: Self::ROWS, columns: Self::COLUMNS, parts_a: 1, parts_b: 1, stages: STAGES };
    /// Boxes of B that a block has copied, to all blocks of its cluster.
    const SHARE: u32 = Self::COLUMNS / SIDE / BLOCKS;
    /// Bytes of dynamic shared memory.
    #[cfg(not(target_os = "cuda"))]
    pub const SHARED_BYTES: u32 = Self::RING.bytes();
    /// Rows of a box of A, and of B.
    #[cfg(not(target_os = "cuda"))]
    pub const BOX_ROWS: [u32; 2] = [Self::ROWS, DEPTH];

    /// C = alpha·A·B + beta·C, where k is not 0.
    #[simt::device]
    pub fn product(a: TensorMap<f32>, b: TensorMap<f32>, c: Output<f64>, shape: Shape<f64>) {
        const { assert!(DOWN.is_multiple_of(HELD) && (Self::COLUMNS / SIDE).is_multiple_of(BLOCKS)) };
        let (thread, copies) = (thread::thread_idx_x(), Self::WARPS * 32);
        if thread == 0 {
            Self::RING.init_barriers(BLOCKS * Self::WARPS);
        } else if thread == copies {
            a.prefetch();
            b.prefetch();
        }
        // The barriers are known before any thread uses them, and any of the other block.
        if BLOCKS > 1 {
            cluster::sync()
        } else {
            thread::sync_threads()
        }
        // The next launch may begin; it waits where it needs what this one writes.
        grid::let_next_start();
        if thread < copies {
            if Self::CLAIMS {
                warpgroup::claim_registers::<MANY>();
            }
            Self::multiply(c, shape);
        } else {
            if Self::CLAIMS {
                warpgroup::release_registers::<FEW>();
            }
            if thread == copies {
                // For A and B. C is written after boxes of them have come, so after the launch before, too.
                grid::wait_for_previous();
                Self::produce(a, b, shape);
            }
        }
        if BLOCKS > 1 {
            cluster::sync(); // the other block's last arrivals, at stages that nobody fills again, have found this one
        }
    }

    /// The block's tiles of C.
    #[simt::device]
    fn tiles(shape: &Shape<f64>) -> Tiles {
        Tiles::of_cluster::<BLOCKS>(shape, Self::ROWS, Self::COLUMNS, false)
    }

    /// Fills stage after stage, for all tiles of the block.
    #[simt::device]
    fn produce(a: TensorMap<f32>, b: TensorMap<f32>, shape: Shape<f64>) {
        let (mut tiles, mut place) = (Self::tiles(&shape), Place::FIRST);
        while let Some(tile) = tiles.next() {
            let mut k = 0;
            while k < shape.k {
                Self::fill(place, (a, b), tile, k);
                place = place.next(STAGES);
                k += DEPTH;
            }
        }
    }

    /// Waits until a stage is empty, and has the boxes from `k` on copied to it. In a cluster each block copies its
    /// share of B to all.
    #[simt::device]
    fn fill(
        Place { stage, parity }: Place,
        (a, b): (TensorMap<f32>, TensorMap<f32>),
        At { row, column, .. }: At,
        k: u32,
    ) {
        let (empty, full) = (empty(stage, STAGES), full(stage));
        // The phase before the first counts as ended. Warps of all blocks arrive: what is copied goes to all of them.
        if BLOCKS > 1 {
            empty.wait_cluster(parity ^ 1)
        } else {
            empty.wait(parity ^ 1)
        }
        // What the others copy to this block is announced here, too; it may come before the announcement.
        full.arrive_expecting(Self::RING.stage());
        let to_b = Self::RING.b(stage, 0);
        a.load(Self::RING.a(stage, 0), row, 2 * k, full);
        let first = if BLOCKS > 1 { cluster::rank() * Self::SHARE } else { 0 };
        unroll::<8>(|i| {
            let number = first + i as u32;
            if (i as u32) < Self::SHARE {
                let (to, column) = (to_b.rows(number * DEPTH, DEPTH), 2 * (column + number * SIDE));
                if BLOCKS > 1 {
                    b.load_multicast(to, k, column, full, (1 << BLOCKS) - 1)
                } else {
                    b.load(to, k, column, full)
                }
            }
        });
    }

    /// Multiplies what is in the ring, for all tiles of the block.
    #[simt::device]
    fn multiply(c: Output<f64>, shape: Shape<f64>) {
        let (steps, mut place) = (shape.k.div_ceil(DEPTH), Place::FIRST);
        let (ring, pairs) = (Self::RING.whole(), c.matrix.has_pairs());
        let mut tiles = Self::tiles(&shape);
        while let Some(At { row, column, .. }) = tiles.next() {
            let (sums, next) = Self::sums(ring, place, steps);
            place = next;
            Self::store(c, (row, column), &sums, pairs);
        }
    }

    /// Multiplies a tile, from `place` on. Returns the sums, and the place after it.
    ///
    /// The four pieces of eight rows that a lane holds meet the first sixteen columns, then the second; then other four
    /// do. Elements are loaded to the registers of those that the MMA before the last was the last to read, three
    /// MMAs before they are needed: so neither waits for the other.
    #[simt::device]
    fn sums(ring: Tile<f32>, mut place: Place, mut steps: u32) -> (Sums<DOWN>, Place) {
        let (lane, mut sums) = (Self::lane(), [[[0.0; 4]; ALONG]; DOWN]);
        let mut stage = Self::arrived(ring, place);
        let mut held = Held { rows: [[0.0; 4]; HELD], columns: [[0.0; 8]; ALONG] };
        held.columns[0] = lane.columns(stage, 0);
        unroll::<3>(|i| held.rows[i] = lane.row(stage, i));
        let multiply = |number: usize, held: &Held, sums: &mut Sums<DOWN>| {
            let (half, side, i) = (number / 8, number / 4 % 2, number % 4);
            let sum = &mut sums[half * HELD + i][side];
            *sum = mma::multiply_add_f64(held.columns[side], held.rows[i], *sum);
        };
        loop {
            unroll::<13>(|number| {
                if number >= Self::LAST {
                    return;
                }
                multiply(number, &held, &mut sums);
                match number {
                    0 => {
                        held.rows[3] = lane.row(stage, 3);
                        held.columns[1] = lane.columns(stage, 1);
                    }
                    5..=8 => held.rows[number - 5] = lane.row(stage, number - 1),
                    _ => (),
                }
            });
            Self::give_back(place.stage);
            place = place.next(STAGES);
            steps -= 1;
            if steps == 0 {
                break;
            }
            stage = Self::arrived(ring, place);
            held.columns[0] = lane.columns(stage, 0);
            unroll::<3>(|i| {
                multiply(Self::LAST + i, &held, &mut sums);
                held.rows[i] = lane.row(stage, i);
            });
        }
        unroll::<3>(|i| multiply(Self::LAST + i, &held, &mut sums));
        (sums, place)
    }

    /// The tiles of A and B in a stage, once they are there.
    #[simt::device]
    fn arrived(ring: Tile<f32>, place: Place) -> (Shared<f64>, Shared<f64>) {
        full(place.stage).wait(place.parity);
        // The lanes saw the end of the phase one by one; what follows they do together.
        warp::sync_warp(FULL);
        let (a, b) = Self::RING.stage_of(ring, place.stage);
        (a.elements().cast(), b.elements().cast())
    }

    /// The blocks that fill a stage may do so again: all lanes have what they load from it. An arrival alone does not
    /// wait for loads in flight, and TMA writes by another proxy, which could overtake them: so each lane fences its
    /// loads before one of them arrives. Lanes see it alike.
    #[simt::device]
    fn give_back(stage: u32) {
        bulk::fence();
        warp::sync_warp(FULL);
        let (empty, lane) = (empty(stage, STAGES), warp::lane_id());
        match BLOCKS {
            1 if lane == 0 => empty.arrive(),
            2.. if lane < BLOCKS => empty.arrive_at(lane),
            _ => (),
        }
    }

    /// First row and column of the warp's tile within the block's.
    #[simt::device]
    fn place_of_warp() -> (u32, u32) {
        let warp = thread::thread_idx_x() / 32;
        (warp / WIDE * 8 * DOWN as u32, warp % WIDE * 16 * ALONG as u32)
    }

    /// Where the lane finds its elements. With g = lane / 4 and t = lane % 4, row g of a fragment of Aᵀ is row
    /// g / 2 + g % 2 · 4 of the piece: the eight lanes that load together read four packs each of two rows, four apart,
    /// and find them in different banks. Of B they read two packs of every second of eight rows.
    #[simt::device]
    fn lane() -> Lane {
        let ((down, across), lane) = (Self::place_of_warp(), warp::lane_id());
        let (g, t) = (lane / 4, lane % 4);
        let pack = |row: u32, pack: u32| Tile::<f32>::place(row, pack * 4) / 4;
        Lane { row: pack(down + g / 2 + g % 2 * 4, t), columns: [pack(across + 2 * t, g), pack(across + 2 * t + 1, g)] }
    }

    /// Writes the lane's elements of C. A fragment's columns 2t and 2t + 1 are rows t and t + 4 of eight of C, its rows
    /// g and g + 8 are neighboring columns.
    #[simt::device]
    fn store(c: Output<f64>, (row, column): (u32, u32), sums: &Sums<DOWN>, pairs: bool) {
        let inside = row + Self::ROWS <= c.matrix.rows && column + Self::COLUMNS <= c.matrix.columns;
        let ((down, across), lane) = (Self::place_of_warp(), warp::lane_id());
        let (row, column) = (row + down + lane % 4, column + across + lane / 4 * 2);
        if inside && pairs && c.beta == 0.0 {
            let (first, four) = (c.matrix.place(row, column) / 2, c.matrix.row_step * 2);
            let set = |place: u32, sums: [f64; 2]| c.matrix.data.set_pack(place, sums.map(|sum| c.alpha * sum));
            unroll::<DOWN>(|i| {
                unroll::<ALONG>(|j| {
                    let (place, sums) = (first + i as u32 * 2 * four + j as u32 * 8, sums[i][j]);
                    set(place, [sums[0], sums[2]]);
                    set(place + four, [sums[1], sums[3]]);
                });
            });
            return;
        }
        unroll::<DOWN>(|i| {
            unroll::<ALONG>(|j| {
                let (row, column, sums) = (row + i as u32 * 8, column + j as u32 * 16, sums[i][j]);
                c.set_2(row, column, [sums[0], sums[2]], pairs);
                c.set_2(row + 4, column, [sums[1], sums[3]], pairs);
            });
        });
    }
}

impl Lane {
    /// The lane's part of a fragment of Aᵀ: K 2t, 2t + 1, 8 + 2t and 9 + 2t of a row of piece `i`.
    #[simt::device]
    fn row(self, (a, _): (Shared<f64>, Shared<f64>), i: usize) -> FragmentB64 {
        // Packs are permuted by bits of the row; that four packs further on is in the place whose bit 2 differs.
        let at = |pack: u32| a.get_pack(pack + i as u32 * 64);
        let ([a, b], [c, d]) = (at(self.row), at(self.row ^ 4));
        [a, b, c, d]
    }

    /// The lane's part of a fragment of Bᵀ, in the same order of K. Its rows g and g + 8 are neighboring columns, which
    /// are one load.
    #[simt::device]
    fn columns(self, (_, b): (Shared<f64>, Shared<f64>), j: usize) -> FragmentA64 {
        let at = |of: usize, down: u32| b.get_pack(self.columns[of] + down * 64 + j as u32 * 128);
        let ([a, b], [c, d], [e, f], [g, h]) = (at(0, 0), at(1, 0), at(0, 1), at(1, 1));
        [a, b, c, d, e, f, g, h]
    }
}
