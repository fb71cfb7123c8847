//! The kernels of the program: here one, which transposes a matrix.
#![no_std]
#![cfg_attr(target_os = "cuda", feature(abi_ptx, asm_experimental_arch))]

use simt::{Global, kernel, shared, thread};

/// Side of a block in threads, and of the tile of the matrix that a block transposes.
pub const SIDE: u32 = 32;

/// Words per row of the tile in shared memory. The last one is unused: it puts the elements of a column into different
/// banks.
const PITCH: u32 = SIDE + 1;

shared! {
    /// A block's tile of the input.
    TILE: [f32; (SIDE * PITCH) as usize]
}

/// Writes the transpose of `input`, a row-major matrix of `rows` by `columns` elements, to `output`, which is row-major
/// too and must not overlap `input`.
#[kernel(max_threads = SIDE * SIDE)]
pub fn transpose(input: Global<f32>, output: Global<f32>, rows: u32, columns: u32) {
    let (x, y, tile) = (thread::thread_idx_x(), thread::thread_idx_y(), TILE::view());
    let (left, top) = (thread::block_idx_x() * SIDE, thread::block_idx_y() * SIDE);
    if top + y < rows && left + x < columns {
        tile.set(y * PITCH + x, input.get((top + y) * columns + left + x));
    }
    // Every thread arrives here, even one without an element: each reads what another thread has written.
    thread::sync_threads();
    // The lanes of a warp, which differ in x, now write neighbouring elements of a row of the output.
    if top + x < rows && left + y < columns {
        output.set((left + y) * rows + top + x, tile.get(x * PITCH + y));
    }
}
