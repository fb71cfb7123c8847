//! # 38 · Tiles of a product
//!
//! The product of exercise 6 reads each element of A and of B many times from global memory. A block can copy a tile of
//! each to shared memory, where all of its threads use it: a block has a tile of SIDE · SIDE elements of C, and moves
//! along the rows of A and down the columns of B in steps of SIDE.
//!
//! A step has two parts. All threads copy the two tiles, zeros where a tile reaches beyond its matrix. Then each thread
//! multiplies the elements that it needs. Other threads copied some of them, and the next step must not overwrite an
//! element that a thread still needs.
//!
//! The second idea is that registers are faster than shared memory. A thread has ROWS elements of a column of C, so one
//! element of B, loaded once, serves ROWS multiplications. `sums[j]` belongs to row `row + j` of the tile.
//!
//! `copy(tile, from, rows, columns, …)` copies a tile of a matrix, ROWS elements for each thread. Write the body of the
//! loop: the copies, the barriers, the sums. Threads without an element of C have to copy, too.
//!
//! **Rung.** gpu/matmul/src/r5_thread_column.rs

use simt::{Global, Shared, kernel, shared, thread};

/// Side of a tile.
pub const SIDE: u32 = 16;

/// Elements of C for each thread, one below the other.
pub const ROWS: u32 = 4;

/// Threads per block.
pub const BLOCK: u32 = SIDE * SIDE / ROWS;

shared!(TILE_A: [u32; SIDE * SIDE]);
shared!(TILE_B: [u32; SIDE * SIDE]);

/// C = A·B, where A has m · inner elements and B inner · n.
#[kernel]
pub fn multiply(a: Global<u32>, b: Global<u32>, c: Global<u32>, m: u32, n: u32, inner: u32) {
    let (t, tile_a, tile_b) = (thread::thread_idx_x(), TILE_A::view(), TILE_B::view());
    // The tile's first row and column, and the thread's place in the tile.
    let (top, left) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let (row, column) = (t / SIDE * ROWS, t % SIDE);
    let mut sums = [0; ROWS as usize];
    for step in 0..inner.div_ceil(SIDE) {
        // Write this part.
    }
    for (j, sum) in (0..).zip(sums) {
        let (row, column) = (top + row + j, left + column);
        if row < m && column < n {
            c.set(row * n + column, sum);
        }
    }
}

/// Copies the tile whose first element is in that row and column; `from` has `rows` · `columns` elements.
#[simt::device]
fn copy(tile: Shared<u32>, from: Global<u32>, rows: u32, columns: u32, row: u32, column: u32) {
    for j in 0..ROWS {
        let i = j * BLOCK + thread::thread_idx_x();
        let (row, column) = (row + i / SIDE, column + i % SIDE);
        tile.set(i, if row < rows && column < columns { from.get(row * columns + column) } else { 0 });
    }
}
