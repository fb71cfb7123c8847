//! What happens before and after the product: operands that TMA cannot take are copied to tiles, and parts of tiles of
//! C that several blocks had are added up.

use super::MULTIPLIERS;
use super::multiply::{self, PACKS, in_parts, to_pack};
use super::work::Work;
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

/// Adds up the parts of the shared tiles that several blocks had, in the order of k, and writes those of C. A block has
/// one pack of each thread that multiplied. Of products without k all tiles are shared, and have no part.
#[kernel(max_threads = MULTIPLIERS)]
pub fn product_fp32_hopper_sum(parts: Global<f32>, c: Global<f32>, shape: Shape, product: u32, work: Work) {
    // The launch that follows may begin as soon as all blocks are here: it waits for them before it writes anything.
    grid::let_next_start();
    grid::wait_for_previous(); // for the parts
    let (tile, pack, thread) = (thread::block_idx_x() / PACKS, thread::block_idx_x() % PACKS, thread::thread_idx_x());
    let part = |number| parts.get_pack(in_parts(number, pack, thread));
    let mut sums = [0.0; 4];
    if work.steps > 0 {
        let Some((first, blocks)) = work.parts(tile) else { return };
        sums = part(first);
        let mut block = blocks.start;
        while block < blocks.end {
            let more = part(Work::part(block, 1));
            sums = [0, 1, 2, 3].map(|e| sums[e] + more[e]);
            block += 1;
        }
    }
    let (_, _, c) = shape.matrices(product, c, c, c);
    let (first_row, first_column) = work.place(work.shared + tile);
    let (row, column) = multiply::place(thread / 32, thread % 32);
    let (down, along) = to_pack(pack);
    c.set_4(first_row + row + down, first_column + column + along, sums, c.matrix.has_packs());
}
