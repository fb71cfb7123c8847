//! What happens before the product: operands are copied to tiles as the tensor cores take them, in their parts.

use simt::mma::Tf32;
use simt::warpgroup::{DEPTH, Tile};
use simt::{Global, shared, thread, unroll};

/// Threads per block.
pub const PACK: u32 = 256;
/// Rows of a tile that a block copies.
const SIDE: u32 = 32;
/// Rows of the square that all threads have at once, and how often.
const APART: u32 = PACK / SIDE;
const ROUNDS: usize = (SIDE / APART) as usize;
/// Elements from one row of the square to the next in shared memory: rows and columns are in different banks.
const STRIDE: u32 = DEPTH + 1;

const _: () = assert!(SIDE == DEPTH, "a block copies a square");

shared!(SQUARE: [f32; SIDE * STRIDE]);

/// An operand, and the form that it is copied to: for each tile of `width` rows of A, or columns of B, and each step
/// along k the tiles of its parts. Element i of k is `step`·i + `step_deep`·k elements behind the first.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Panel {
    /// Rows of A, columns of B.
    pub along: u32,
    /// Elements along k.
    pub deep: u32,
    /// Distance of two neighbours of one k.
    pub step: u32,
    /// Distance of two neighbours along k.
    pub step_deep: u32,
    /// Rows or columns of a tile.
    pub width: u32,
    /// Parts of an element.
    pub parts: u32,
}

impl Panel {
    /// Steps along k.
    const fn steps(&self) -> u32 {
        self.deep.div_ceil(DEPTH)
    }

    /// Elements of the copy.
    #[cfg(not(target_os = "cuda"))]
    pub(super) fn elements(&self) -> u64 {
        let tiles = u64::from(self.along.div_ceil(self.width)) * u64::from(self.steps());
        tiles * u64::from(self.width * DEPTH * self.parts)
    }

    /// Blocks that copy it.
    #[inline(always)]
    pub const fn blocks(&self) -> u32 {
        self.along.next_multiple_of(self.width) / SIDE * self.steps()
    }
}

/// Copies A and B to tiles; what lies outside of them becomes zero. `PARTS`: with one, elements become the nearest that
/// the tensor cores take; with two also the rest.
#[inline(always)]
pub(in super::super) fn pack<const PARTS: usize>(
    (from_a, to_a, a): (Global<f32>, Global<f32>, Panel),
    (from_b, to_b, b): (Global<f32>, Global<f32>, Panel),
) {
    let block = thread::block_idx_x();
    let (from, to, panel, number) =
        if block < a.blocks() { (from_a, to_a, a, block) } else { (from_b, to_b, b, block - a.blocks()) };
    let Panel { along, deep, step, step_deep, width, .. } = panel;
    let (first, number_k) = (number / panel.steps() * SIDE, number % panel.steps());
    let (x, y) = (thread::thread_idx_x() % SIDE, thread::thread_idx_x() / SIDE);
    let mut values = [0.0; ROUNDS];
    // Neighbouring threads read neighbouring elements. All loads come before the first store.
    let place = |i: usize| if step_deep == 1 { (i as u32 * APART + y, x) } else { (x, i as u32 * APART + y) };
    unroll::<ROUNDS>(|i| {
        let (of, k) = place(i);
        if first + of < along && number_k * DEPTH + k < deep {
            values[i] = from.get((first + of) * step + (number_k * DEPTH + k) * step_deep);
        }
    });
    unroll::<ROUNDS>(|i| {
        let (of, k) = place(i);
        SQUARE::view().set(of * STRIDE + k, values[i]);
    });
    thread::sync_threads(); // the square is complete before any thread reads it
    // Four elements along k per thread.
    let (of, across) = (thread::thread_idx_x() / (DEPTH / 4), thread::thread_idx_x() % (DEPTH / 4));
    let four = [0, 1, 2, 3].map(|i| SQUARE::view().get(of * STRIDE + across * 4 + i));
    let (row, part) = (first % width + of, width * DEPTH);
    let tile = (first / width * panel.steps() + number_k) * (PARTS as u32 * part);
    let large = four.map(|x| Tf32::nearest(x).value());
    to.set_pack((tile + Tile::place(row, across * 4)) / 4, large);
    if PARTS == 2 {
        let rest = [0, 1, 2, 3].map(|i| Tf32::nearest(four[i] - large[i]).value());
        to.set_pack((tile + part + Tile::place(row, across * 4)) / 4, rest);
    }
}
