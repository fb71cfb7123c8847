//! What happens before the product: operands that the copy engine cannot take are copied to tiles, and tiles of C that
//! several blocks add to are multiplied by beta.

use super::work::Work;
use super::{COLUMNS, ROWS};
use crate::matmul::{Output, Shape};
use simt::{Global, grid, kernel, shared, thread, unroll};

/// Threads per block of both kernels.
pub(super) const PACK: u32 = 256;
/// Side of the square that a block copies, and packs along it.
const SIDE: u32 = 64;
const PACKS: u32 = SIDE / 4;
/// Packs of the square that a thread copies, and elements.
const EACH: usize = (SIDE * PACKS / PACK) as usize;

shared!(
    /// The square: an element of k after the other for each row of A, or column of B. Packs are permuted by bits of the
    /// row, so that neither rows nor columns crowd in banks.
    SQUARE: [f32; SIDE * SIDE]
);

/// An operand, and the form that it is copied to: tiles of `width` × `depth` elements, in each of which `width`
/// neighbours are those of one k. Element i of k is `step`·i + `step_deep`·k elements behind the first.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Panel {
    /// Rows of A, or columns of B.
    pub along: u32,
    /// Elements along k.
    pub deep: u32,
    /// Elements from one row of A, or column of B, to the next.
    pub step: u32,
    /// Elements from one k to the next.
    pub step_deep: u32,
    /// Elements of a tile for one k; a multiple of [`SIDE`].
    pub width: u32,
    /// Elements of a tile along k, at least `deep`.
    pub depth: u32,
}

impl Panel {
    /// Blocks that copy the panel, one per square.
    #[inline(always)]
    pub(super) fn blocks(&self) -> u32 {
        self.along.next_multiple_of(self.width) / SIDE * self.depth.div_ceil(SIDE)
    }
}

/// A part of the operand that a block copies: the square from row `first` of A, or column of B, and `first_k` on.
#[derive(Clone, Copy)]
struct Part {
    from: Global<f32>,
    panel: Panel,
    first: u32,
    first_k: u32,
}

/// Where in the square element `k` of a row is.
#[inline(always)]
fn place(row: u32, k: u32) -> u32 {
    row * SIDE + ((k / 4) ^ (row / 4)) * 4 + k % 4
}

impl Part {
    /// An element of the square, zero outside of the operand.
    #[inline(always)]
    fn get(self, row: u32, k: u32) -> f32 {
        let (row, k) = (self.first + row, self.first_k + k);
        let Panel { along, deep, step, step_deep, .. } = self.panel;
        if row < along && k < deep { self.from.get(row * step + k * step_deep) } else { 0.0 }
    }

    /// Four elements along k.
    #[inline(always)]
    fn get_4(self, row: u32, k: u32) -> [f32; 4] {
        if self.first + row < self.panel.along && self.first_k + k + 4 <= self.panel.deep {
            self.from.get_pack(((self.first + row) * self.panel.step + self.first_k + k) / 4)
        } else {
            [0, 1, 2, 3].map(|e| self.get(row, k + e))
        }
    }

    /// Whether all four elements along k from a multiple of 4 on are one access.
    #[inline(always)]
    fn has_packs(self) -> bool {
        let aligned = (self.from.as_ptr() as usize).is_multiple_of(16);
        aligned && self.panel.step_deep == 1 && self.panel.step.is_multiple_of(4)
    }

    /// Fills the square. All loads come before the first store, and neighbouring threads read neighbouring elements.
    #[inline(always)]
    fn load(self) {
        let (square, thread) = (SQUARE::view(), thread::thread_idx_x());
        let mut values = [[0.0; 4]; EACH];
        if self.has_packs() {
            let (x, y) = (thread % PACKS, thread / PACKS);
            let row = |i: usize| i as u32 * (PACK / PACKS) + y;
            unroll::<EACH>(|i| values[i] = self.get_4(row(i), x * 4));
            unroll::<EACH>(|i| square.set_pack(place(row(i), x * 4) / 4, values[i]));
        } else {
            let along_k = self.panel.step_deep == 1;
            let (x, y) = (thread % SIDE, thread / SIDE);
            let at = |i: usize, e: usize| {
                let y = (4 * i + e) as u32 * (PACK / SIDE) + y;
                if along_k { (y, x) } else { (x, y) }
            };
            unroll::<EACH>(|i| {
                unroll::<4>(|e| values[i][e] = self.get(at(i, e).0, at(i, e).1));
            });
            unroll::<EACH>(|i| {
                unroll::<4>(|e| square.set(place(at(i, e).0, at(i, e).1), values[i][e]));
            });
        }
    }

    /// Writes what of the square is in the tile.
    #[inline(always)]
    fn store(self, to: Global<f32>) {
        let Self { panel: Panel { width, depth, .. }, first, first_k, .. } = self;
        let (square, warp, lane) = (SQUARE::view(), thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
        let tile = first / width * width * depth + first % width;
        // A warp has eight packs of four k: it reads all banks, and writes whole lines of the second-level cache.
        let row = (warp % 2 * 8 + lane % 8) * 4;
        unroll::<EACH>(|i| {
            let k = (i as u32 * (PACKS / EACH as u32) + warp / 2) * 4 + lane / 8;
            if first_k + k < depth {
                let four = [0, 1, 2, 3].map(|e| square.get(place(row + e, k)));
                to.set_pack((tile + (first_k + k) * width + row) / 4, four);
            }
        });
    }
}

/// Copies A and B to tiles, or one of them if the other has no rows; what lies outside of them becomes zero.
#[kernel(max_threads = PACK)]
pub fn matmul_producer_consumer_pack(
    from_a: Global<f32>,
    to_a: Global<f32>,
    a: Panel,
    from_b: Global<f32>,
    to_b: Global<f32>,
    b: Panel,
) {
    // The product that follows may begin as soon as all blocks are here: it waits for them where it needs the copies.
    grid::let_next_start();
    grid::wait_for_previous(); // it may write the operands, or read the copies of the product before
    let block = thread::block_idx_x();
    let (from, to, panel, number) =
        if block < a.blocks() { (from_a, to_a, a, block) } else { (from_b, to_b, b, block - a.blocks()) };
    let squares = panel.depth.div_ceil(SIDE);
    let part = Part { from, panel, first: number / squares * SIDE, first_k: number % squares * SIDE };
    part.load();
    thread::sync_threads(); // the square is complete before any thread reads it
    part.store(to);
}

/// Multiplies the tiles of C by beta that several blocks will add to, one tile per block.
#[kernel(max_threads = PACK)]
pub fn matmul_producer_consumer_scale(c: Global<f32>, shape: Shape, product: u32, work: Work) {
    let (_, _, c) = shape.matrices(product, c, c, c);
    let (row, column) = work.place(work.shared + thread::block_idx_x());
    let mut i = thread::thread_idx_x();
    while i < ROWS * COLUMNS {
        // With alpha = 0 the element becomes what the products are added to.
        Output { alpha: 0.0, ..c }.set(row + i / COLUMNS, column + i % COLUMNS, 0.0);
        i += PACK;
    }
}
