//! The warps that multiply, and write whole tiles or add parts of them to C.

use super::ring::{empty, full, of_a, of_b};
use super::work::{Unit, Units};
use super::{COLUMNS, DEPTH, ROWS, STAGES, WARPS};
use crate::Output;
use crate::registers::add_outer;
use rungs_common::ring::Place;
use simt::atomic::{Order, Scope};
use simt::warp::{self, FULL};
use simt::{bulk, thread, unroll};

/// Rows and columns of C per thread.
pub(super) const DOWN: usize = 8;
pub(super) const ALONG: usize = 16;
/// Distance of a thread's fours of rows, and of columns.
pub(super) const APART_DOWN: u32 = 32;
pub(super) const APART_ALONG: u32 = 16;
/// Side of a warp's tile.
const WARP_TILE: u32 = 64;

/// A thread's elements of a column of A and of a row of B.
type Pair = ([f32; DOWN], [f32; ALONG]);
/// A thread's sums.
pub(super) type Sums = [[f32; ALONG]; DOWN];

/// Multiplies all units of the block.
#[inline(always)]
pub(super) fn run(c: Output, mut units: Units) {
    let mut walk = Walk::<1>::new();
    let mut unit = units.next();
    if unit.is_some() {
        walk.begin();
    }
    while let Some(now) = unit {
        let mut sums = Sums::default();
        walk.add(now.steps, &mut sums);
        store(c, now, walk.row, walk.column, &sums);
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

    #[inline(always)]
    pub(super) fn new() -> Self {
        let warp = thread::thread_idx_x() / 32;
        let (row, column) = place(warp % (WARPS / GROUPS), warp::lane_id());
        let first = if warp < WARPS / GROUPS { Place::FIRST } else { Place::FIRST.next(STAGES) };
        Self { row, column, place: first, pair: Pair::default() }
    }

    /// The group's next stage after this one.
    #[inline(always)]
    fn next(place: Place) -> Place {
        let next = place.next(STAGES);
        if GROUPS > 1 { next.next(STAGES) } else { next }
    }

    /// Waits for the first stage.
    #[inline(always)]
    pub(super) fn begin(&mut self) {
        full(self.place.stage).wait(self.place.parity);
        self.pair = Self::load(self.place.stage, 0, self.row, self.column);
    }

    /// Adds the products of the next `steps` stages to `sums`.
    #[inline(always)]
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
    #[inline(always)]
    fn step(stage: u32, k: u32, row: u32, column: u32, (a, b): Pair, sums: &mut Sums) -> Pair {
        let next = Self::load(stage, k, row, column);
        add_outer(sums, &a, &b);
        next
    }

    /// The thread's elements for one k of a stage.
    #[inline(always)]
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

/// First row and column of a thread in the block's tile.
#[inline(always)]
fn place(number: u32, lane: u32) -> (u32, u32) {
    let (down, along) = (lane >> 1 & 7, lane & 1 | lane >> 4 << 1);
    let across = COLUMNS / WARP_TILE;
    (number / across * WARP_TILE + down * 4, number % across * WARP_TILE + along * 4)
}

/// Writes the thread's elements of C, or adds them to it. Row by row and not in a closure: that would be too long for
/// the compiler to inline, and the sums would leave the registers.
#[inline(always)]
fn store(c: Output, unit: Unit, row: u32, column: u32, sums: &Sums) {
    let (row, column, apart) = (unit.row + row, unit.column + column, APART_DOWN);
    let how = (unit.adds, c.matrix.has_packs());
    store_row(c, row, column, how, &sums[0]);
    store_row(c, row + 1, column, how, &sums[1]);
    store_row(c, row + 2, column, how, &sums[2]);
    store_row(c, row + 3, column, how, &sums[3]);
    store_row(c, row + apart, column, how, &sums[4]);
    store_row(c, row + apart + 1, column, how, &sums[5]);
    store_row(c, row + apart + 2, column, how, &sums[6]);
    store_row(c, row + apart + 3, column, how, &sums[7]);
}

/// [`store`] for one row: whether the sums are added to C, and whether C has packs.
#[inline(always)]
fn store_row(c: Output, row: u32, column: u32, (adds, has_packs): (bool, bool), sums: &[f32; ALONG]) {
    unroll::<{ ALONG / 4 }>(|j| {
        let (column, j) = (column + j as u32 * APART_ALONG, 4 * j);
        if adds {
            unroll::<4>(|e| add(c, row, column + e as u32, sums[j + e]));
        } else {
            c.set_4(row, column, [sums[j], sums[j + 1], sums[j + 2], sums[j + 3]], has_packs);
        }
    });
}

/// Adds the sum of some of the products to element (`row`, `column`), to which other blocks add others; does nothing
/// outside the matrix.
#[inline(always)]
fn add(output: Output, row: u32, column: u32, sum: f32) {
    let c = output.matrix;
    if row < c.rows && column < c.columns {
        // Sums of floats may come in any order: nothing else is read or written by it.
        c.data.fetch_add(c.place(row, column), output.alpha * sum, Order::Relaxed, Scope::Device);
    }
}
