//! Threads behind the last column write into the next row.
//!
//! **Finding.** out-of-bounds

use simt::{Global, kernel, thread};

/// Threads of a block along x and along y.
pub const SIDE: u32 = 16;

/// C = A·B
#[kernel]
pub fn multiply(a: Global<u32>, b: Global<u32>, c: Global<u32>, m: u32, n: u32, inner: u32) {
    let row = thread::block_idx_y() * SIDE + thread::thread_idx_y();
    let column = thread::block_idx_x() * SIDE + thread::thread_idx_x();
    if row < m {
        let mut sum = 0;
        for k in 0..inner {
            sum += a.get(row * inner + k) * b.get(k * n + column);
        }
        c.set(row * n + column, sum);
    }
}
