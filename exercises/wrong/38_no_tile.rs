//! Every element comes from global memory each time.
//!
//! **Finding.** reads of global memory, per multiplication

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
        for k in step * SIDE..(step * SIDE + SIDE).min(inner) {
            for (j, sum) in (0..).zip(&mut sums) {
                if top + row + j < m && left + column < n {
                    *sum += a.get((top + row + j) * inner + k) * b.get(k * n + left + column);
                }
            }
        }
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
