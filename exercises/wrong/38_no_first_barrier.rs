//! Elements are used that other threads may not have copied yet.
//!
//! **Finding.** shared-race

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
        copy(tile_a, a, m, inner, top, step * SIDE);
        copy(tile_b, b, inner, n, step * SIDE, left);
        for k in 0..SIDE {
            let of_b = tile_b.get(k * SIDE + column);
            for (j, sum) in (0..).zip(&mut sums) {
                *sum += tile_a.get((row + j) * SIDE + k) * of_b;
            }
        }
        // All threads are done with the tiles before the next step overwrites them.
        thread::sync_threads();
    }
    for (j, sum) in (0..).zip(sums) {
        let (row, column) = (top + row + j, left + column);
        if row < m && column < n {
            c.set(row * n + column, sum);
        }
    }
}

/// Copies the tile whose first element is in that row and column; `from` has `rows` · `columns` elements.
#[inline(always)]
fn copy(tile: Shared<u32>, from: Global<u32>, rows: u32, columns: u32, row: u32, column: u32) {
    for j in 0..ROWS {
        let i = j * BLOCK + thread::thread_idx_x();
        let (row, column) = (row + i / SIDE, column + i % SIDE);
        tile.set(i, if row < rows && column < columns { from.get(row * columns + column) } else { 0 });
    }
}
