//! What happens before the product: operands are copied to tiles, and tiles of C that several blocks add to are
//! multiplied by beta.

use super::work::Work;
use super::{COLUMNS, ROWS};
use crate::matmul::{Output, Shape};
use simt::{Global, kernel, shared, thread, unroll};

/// Threads per block of both kernels.
pub(super) const PACK: u32 = 256;
/// Side of the square that a block copies.
const SIDE: u32 = 32;
/// Rows of the square that all threads have at once, and how often.
const APART: u32 = PACK / SIDE;
const ROUNDS: usize = (SIDE / APART) as usize;
/// Elements from one row of the square to the next in shared memory: rows and columns are in different banks.
const STRIDE: u32 = SIDE + 1;

shared!(SQUARE: [f32; SIDE * STRIDE]);

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

/// Copies A and B to tiles; what lies outside of them becomes zero.
#[kernel(max_threads = PACK)]
pub fn matmul_producer_consumer_pack(
    from_a: Global<f32>,
    to_a: Global<f32>,
    a: Panel,
    from_b: Global<f32>,
    to_b: Global<f32>,
    b: Panel,
) {
    let block = thread::block_idx_x();
    let (from, to, panel, number) =
        if block < a.blocks() { (from_a, to_a, a, block) } else { (from_b, to_b, b, block - a.blocks()) };
    let Panel { along, deep, step, step_deep, width, depth } = panel;
    let squares = depth.div_ceil(SIDE);
    let (first, first_k) = (number / squares * SIDE, number % squares * SIDE);
    let (x, y) = (thread::thread_idx_x() % SIDE, thread::thread_idx_x() / SIDE);
    let mut values = [0.0; ROUNDS];
    // Neighbouring threads read neighbouring elements. All loads come before the first store.
    let place = |i: usize| if step_deep == 1 { (i as u32 * APART + y, x) } else { (x, i as u32 * APART + y) };
    unroll::<ROUNDS>(|i| {
        let (of, k) = place(i);
        if first + of < along && first_k + k < deep {
            values[i] = from.get((first + of) * step + (first_k + k) * step_deep);
        }
    });
    unroll::<ROUNDS>(|i| {
        let (of, k) = place(i);
        SQUARE::view().set(k * STRIDE + of, values[i]);
    });
    thread::sync_threads(); // the square is complete before any thread reads it
    let tile = first / width * width * depth + first % width;
    unroll::<ROUNDS>(|i| {
        let k = i as u32 * APART + y;
        if first_k + k < depth {
            to.set(tile + (first_k + k) * width + x, SQUARE::view().get(k * STRIDE + x));
        }
    });
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
