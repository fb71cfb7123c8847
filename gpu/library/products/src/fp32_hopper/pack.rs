//! What happens before the product: operands that TMA cannot take are copied to tiles, and tiles of C that
//! several blocks add to are multiplied by beta.

use super::work::Work;
use super::{COLUMNS, ROWS};
use crate::Shape;
use crate::operand::{self, PACK, blocks};
use crate::panel::Panel;
use simt::{Global, grid, kernel, thread};

/// Copies A and B to tiles, or one of them if the other has no rows; what lies outside of them becomes zero.
#[kernel(max_threads = PACK)]
pub fn product_fp32_hopper_pack(
    from_a: Global<f32>,
    to_a: Global<f32>,
    a: Panel,
    from_b: Global<f32>,
    to_b: Global<f32>,
    b: Panel,
) {
    // The product that follows may begin as soon as all blocks are here: it waits for them where it needs the copies.
    grid::let_next_start();
    grid::wait_for_previous(); // for a launch that writes the operands, or reads the copies of a product before
    let block = thread::block_idx_x();
    let (from, to, panel, number) =
        if block < blocks(&a) { (from_a, to_a, a, block) } else { (from_b, to_b, b, block - blocks(&a)) };
    operand::pack(from, to, panel, number);
}

/// Multiplies the tiles of C by beta that several blocks will add to, one tile per block.
#[kernel(max_threads = PACK)]
pub fn product_fp32_hopper_scale(c: Global<f32>, shape: Shape, product: u32, work: Work) {
    let (_, _, c) = shape.matrices(product, c, c, c);
    let (row, column) = work.place(work.shared + thread::block_idx_x());
    let mut i = thread::thread_idx_x();
    while i < ROWS * COLUMNS {
        c.set(row + i / COLUMNS, column + i % COLUMNS, 0.0);
        i += PACK;
    }
}
