//! Before the product: copies operands to tiles in the tensor cores' layout, split into their parts.

use super::packed::Packed;
use super::parts::Parts;
use crate::panel::Panel;
use simt::warpgroup::{ROW, Tile};
use simt::{Global, Shared, four, grid, shared, thread, unroll};

/// Threads per block.
pub const PACK: u32 = 256;
/// Rows of a tile that a block copies.
const SIDE: u32 = 32;
/// Rows of the square that all threads have at once, and how often.
const APART: u32 = PACK / SIDE;
const ROUNDS: usize = (SIDE / APART) as usize;
/// Words of 4 bytes in a row of a tile.
const WORDS: u32 = ROW / 4;
/// Words from one row of the square to the next in shared memory: rows and columns are in different banks.
const STRIDE: u32 = WORDS + 1;

const _: () = assert!(SIDE == WORDS, "a block copies a square of words");

shared!(SQUARE: [f32; SIDE * STRIDE]);

/// Blocks that copy an operand of `T`, whose copy has a whole number of tiles along K.
#[simt::device]
pub(super) const fn blocks<T: Packed>(panel: &Panel) -> u32 {
    panel.blocks(SIDE, Tile::<T>::DEPTH)
}

/// The square as words.
#[simt::device]
fn square<T: Packed>() -> Shared<T::Word> {
    SQUARE::view().cast()
}

/// Row and word of thread (`x`, `y`) in round `i`. Neighbouring threads read neighbouring elements. A function: LLVM 7
/// would leave in memory what a closure captures.
#[simt::device]
fn place(i: usize, x: u32, y: u32, is_along: bool) -> (u32, u32) {
    let other = i as u32 * APART + y;
    if is_along { (other, x) } else { (x, other) }
}

/// Copies A and B to tiles, elements in the parts `P`; what lies outside of them becomes zero.
#[simt::device]
pub(in super::super) fn pack<T: Packed, P: Parts<T>>(
    (from_a, to_a, a): (Global<T>, Global<T>, Panel),
    (from_b, to_b, b): (Global<T>, Global<T>, Panel),
) {
    // The product that follows may begin as soon as all blocks are here: it waits for them where it needs the copies.
    grid::let_next_start();
    grid::wait_for_previous(); // for a launch that writes the operands, or reads the copies of a product before
    let (block, depth) = (thread::block_idx_x(), Tile::<T>::DEPTH);
    let of_b = block >= blocks::<T>(&a);
    let (from, to, panel, number) =
        if of_b { (from_b, to_b, b, block - blocks::<T>(&a)) } else { (from_a, to_a, a, block) };
    let Panel { along, deep, step, step_deep, width, .. } = panel;
    let steps = panel.depth / depth;
    let (first, number_k) = (number / steps * SIDE, number % steps);
    let (x, y) = (thread::thread_idx_x() % SIDE, thread::thread_idx_x() / SIDE);
    let mut values = [T::NOTHING; ROUNDS];
    // All loads come before the first store.
    unroll::<ROUNDS>(|i| {
        let (of, word) = place(i, x, y, step_deep == 1);
        if first + of < along && number_k * depth + word * T::PER_WORD < deep {
            let k = number_k * depth + word * T::PER_WORD;
            values[i] = T::word(from, (first + of) * step + k * step_deep, step_deep, deep - k);
        }
    });
    unroll::<ROUNDS>(|i| {
        let (of, word) = place(i, x, y, step_deep == 1);
        square::<T>().set(of * STRIDE + word, values[i]);
    });
    thread::sync_threads(); // the square is complete before any thread reads it
    // Four words of consecutive k per thread.
    let (of, across) = (thread::thread_idx_x() / (WORDS / 4), thread::thread_idx_x() % (WORDS / 4));
    let four = four(|i| square::<T>().get(of * STRIDE + across * 4 + i as u32));
    let (row, part) = (first % width + of, width * depth);
    let tile = (first / width * steps + number_k) * (P::COUNT * part);
    let large = T::large(four);
    to.set_pack((tile + Tile::<T>::place(row, across * T::PACK)) / T::PACK, large);
    if let Some(second) = P::second(four, large, of_b) {
        to.set_pack((tile + part + Tile::<T>::place(row, across * T::PACK)) / T::PACK, second);
    }
}
