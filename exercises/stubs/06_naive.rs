//! # 6 · Rows and columns
//!
//! Blocks and grids can have two dimensions: `thread::thread_idx_x()` and `thread::thread_idx_y()` are a thread's
//! place in its block, and there are `block_idx_y()` and `block_dim_y()` too. This suits a matrix, which is stored
//! row by row: with `columns` elements in a row, the element in row r and column c is number r · columns + c.
//!
//! One thread computes one element of C = A·B: the sum over k of A[row, k] · B[k, column]. A has `m` rows and `inner`
//! columns, B has `inner` rows and `n` columns; m and n are any numbers, so there are threads without an element.
//! Threads that are neighbours along x access memory together. This is cheapest if their elements are neighbours in
//! memory.
//!
//! Write the row and column of a thread's element, and the condition that it exists.
//!
//! **Rung.** gpu/matmul/src/r2_coalesced.rs

use simt::{Global, kernel, thread};

/// Threads of a block along x and along y.
pub const SIDE: u32 = 16;

/// C = A·B
#[kernel]
pub fn multiply(a: Global<u32>, b: Global<u32>, c: Global<u32>, m: u32, n: u32, inner: u32) {
    // Write this part.
    let (row, column) = (0, 0);
    if false {
        let mut sum = 0;
        for k in 0..inner {
            sum += a.get(row * inner + k) * b.get(k * n + column);
        }
        c.set(row * n + column, sum);
    }
}
