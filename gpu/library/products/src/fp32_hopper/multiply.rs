//! The warps that multiply, and write whole tiles to C, or their sums for a part of a tile to scratch memory.

use super::ring::{empty, full, of_a, of_b};
use super::work::{Unit, Units};
use super::{COLUMNS, DEPTH, MULTIPLIERS, ROWS, STAGES, WARPS};
use crate::Output;
use crate::registers::add_outer;
use rungs_common::ring::Place;
use simt::warp::{self, FULL};
use simt::{Global, bulk, thread, unroll};

/// Rows and columns of C per thread.
pub(super) const DOWN: usize = 8;
pub(super) const ALONG: usize = 16;
/// Distance of a thread's fours of rows, and of columns.
pub(super) const APART_DOWN: u32 = 32;
pub(super) const APART_ALONG: u32 = 16;
/// Side of a warp's tile.
const WARP_TILE: u32 = 64;
/// Packs of a row of a thread's sums, and of all.
pub(super) const ACROSS: u32 = ALONG as u32 / 4;
pub(super) const PACKS: u32 = ACROSS * DOWN as u32;
/// Elements of a part: the sums of all threads, the packs of one number next to each other.
#[cfg(not(target_os = "cuda"))]
pub(super) const PART: u32 = PACKS * MULTIPLIERS * 4;

/// A thread's elements of a column of A and of a row of B.
type Pair = ([f32; DOWN], [f32; ALONG]);
/// A thread's sums.
pub(super) type Sums = [[f32; ALONG]; DOWN];

/// Multiplies all units of the block.
#[simt::device]
pub(super) fn run(c: Output, parts: Global<f32>, mut units: Units) {
    let mut walk = Walk::<1>::new();
    let mut unit = units.next();
    if unit.is_some() {
        walk.begin();
    }
    while let Some(now) = unit {
        let mut sums = Sums::default();
        walk.add(now.steps, &mut sums);
        store(c, parts, now, (walk.row, walk.column), &sums);
        unit = units.next();
    }
}

/// A thread's position in the stages, which `GROUPS` warp groups use in turn.
pub(super) struct Walk<const GROUPS: u32> {
    /// First row and column of the thread in the block's tile.
    pub(super) row: u32,
    pub(super) column: u32,
    place: Place,
    /// The first elements of the stage.
    pair: Pair,
}

impl<const GROUPS: u32> Walk<GROUPS> {
    /// Rows of a tile.
    const ROWS: u32 = ROWS / GROUPS;

    #[simt::device]
    pub(super) fn new() -> Self {
        let warp = thread::thread_idx_x() / 32;
        let (row, column) = place(warp % (WARPS / GROUPS), warp::lane_id());
        let first = if warp < WARPS / GROUPS { Place::FIRST } else { Place::FIRST.next(STAGES) };
        Self { row, column, place: first, pair: Pair::default() }
    }

    /// The group's next stage after this one.
    #[simt::device]
    fn next(place: Place) -> Place {
        let next = place.next(STAGES);
        if GROUPS > 1 { next.next(STAGES) } else { next }
    }

    /// Waits for the first stage.
    #[simt::device]
    pub(super) fn begin(&mut self) {
        full(self.place.stage).wait(self.place.parity);
        self.pair = Self::load(self.place.stage, 0, self.row, self.column);
    }

    /// Adds the products of the next `steps` stages to `sums`.
    #[simt::device]
    pub(super) fn add(&mut self, steps: u32, sums: &mut Sums) {
        let &mut Self { row, column, mut place, mut pair } = self;
        let mut left = steps;
        while left > 0 {
            let next = Self::next(place);
            full(next.stage).wait(next.parity);
            unroll::<{ DEPTH as usize - 1 }>(|e| pair = Self::step(place.stage, e as u32 + 1, row, column, pair, sums));
            pair = Self::step(next.stage, 0, row, column, pair, sums);
            // All lanes have loaded what they need of the stage before it is filled again. TMA fills it, by another
            // proxy: an arrival alone would not wait for loads in flight.
            bulk::fence();
            warp::sync_warp(FULL);
            if warp::lane_id() == 0 {
                empty(place.stage).arrive();
            }
            (place, left) = (next, left - 1);
        }
        (self.place, self.pair) = (place, pair);
    }

    /// Multiplies the elements of one k, while those of the next, `k` of `stage`, are on their way.
    #[simt::device]
    fn step(stage: u32, k: u32, row: u32, column: u32, (a, b): Pair, sums: &mut Sums) -> Pair {
        let next = Self::load(stage, k, row, column);
        add_outer(sums, &a, &b);
        next
    }

    /// The thread's elements for one k of a stage.
    #[simt::device]
    fn load(stage: u32, k: u32, row: u32, column: u32) -> Pair {
        let (a, b) = (of_a(stage, Self::ROWS), of_b(stage));
        let (a, b) = (a.slice(row, Self::ROWS * DEPTH - row), b.slice(column, COLUMNS * DEPTH - column));
        let down = |i: u32| a.get_pack((k * Self::ROWS + i * APART_DOWN) / 4);
        let along = |j: u32| b.get_pack((k * COLUMNS + j * APART_ALONG) / 4);
        let ([a0, a1, a2, a3], [a4, a5, a6, a7]) = (down(0), down(1));
        let ([b0, b1, b2, b3], [b4, b5, b6, b7]) = (along(0), along(1));
        let ([b8, b9, b10, b11], [b12, b13, b14, b15]) = (along(2), along(3));
        ([a0, a1, a2, a3, a4, a5, a6, a7], [b0, b1, b2, b3, b4, b5, b6, b7, b8, b9, b10, b11, b12, b13, b14, b15])
    }
}

/// Rows and columns from a thread's first element to one of its packs.
#[simt::device]
pub(super) fn to_pack(pack: u32) -> (u32, u32) {
    let (down, along) = (pack / ACROSS, pack % ACROSS);
    (down % 4 + down / 4 * APART_DOWN, along * APART_ALONG)
}

/// The place of a thread's pack among the packs of all parts. Neighbouring threads have neighbouring places.
#[simt::device]
pub(super) fn in_parts(part: u32, pack: u32, thread: u32) -> u32 {
    (part * PACKS + pack) * MULTIPLIERS + thread
}

/// First row and column of a thread in the block's tile, by the number of its warp and its lane.
#[simt::device]
pub(super) fn place(number: u32, lane: u32) -> (u32, u32) {
    let (down, along) = (lane >> 1 & 7, lane & 1 | lane >> 4 << 1);
    let across = COLUMNS / WARP_TILE;
    (number / across * WARP_TILE + down * 4, number % across * WARP_TILE + along * 4)
}

/// Writes the thread's elements of C, or its sums for a part. Row by row and not in a closure: that would be too long
/// for the compiler to inline, and the sums would leave the registers.
#[simt::device]
fn store(c: Output, parts: Global<f32>, unit: Unit, (row, column): (u32, u32), sums: &Sums) {
    let (row, column, has_packs) = (unit.row + row, unit.column + column, c.matrix.has_packs());
    if let Some(part) = unit.part {
        leave_row(parts, part, 0, &sums[0]);
        leave_row(parts, part, 1, &sums[1]);
        leave_row(parts, part, 2, &sums[2]);
        leave_row(parts, part, 3, &sums[3]);
        leave_row(parts, part, 4, &sums[4]);
        leave_row(parts, part, 5, &sums[5]);
        leave_row(parts, part, 6, &sums[6]);
        leave_row(parts, part, 7, &sums[7]);
    } else {
        store_row(c, row, column, has_packs, &sums[0]);
        store_row(c, row + 1, column, has_packs, &sums[1]);
        store_row(c, row + 2, column, has_packs, &sums[2]);
        store_row(c, row + 3, column, has_packs, &sums[3]);
        store_row(c, row + APART_DOWN, column, has_packs, &sums[4]);
        store_row(c, row + APART_DOWN + 1, column, has_packs, &sums[5]);
        store_row(c, row + APART_DOWN + 2, column, has_packs, &sums[6]);
        store_row(c, row + APART_DOWN + 3, column, has_packs, &sums[7]);
    }
}

/// [`store`] for one row of C, from (`row`, `column`) on.
#[simt::device]
fn store_row(c: Output, row: u32, column: u32, has_packs: bool, sums: &[f32; ALONG]) {
    unroll::<{ ACROSS as usize }>(|j| {
        c.set_4(row, column + j as u32 * APART_ALONG, pack_of(sums, j), has_packs);
    });
}

/// [`store`] for one row of the thread's sums for a part.
#[simt::device]
fn leave_row(parts: Global<f32>, part: u32, row: u32, sums: &[f32; ALONG]) {
    unroll::<{ ACROSS as usize }>(|j| {
        parts.set_pack(in_parts(part, row * ACROSS + j as u32, thread::thread_idx_x()), pack_of(sums, j));
    });
}

/// A pack of a row of sums.
#[simt::device]
pub(super) fn pack_of(sums: &[f32; ALONG], pack: usize) -> [f32; 4] {
    [sums[4 * pack], sums[4 * pack + 1], sums[4 * pack + 2], sums[4 * pack + 3]]
}
