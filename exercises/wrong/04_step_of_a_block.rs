//! The step is one block, so blocks take each other's elements.
//!
//! **Finding.** different

use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

/// Blocks of the grid, for any number of elements.
pub const GRID: u32 = 3;

/// Writes the sum of cubes of each thread's elements of `values` to `sums`.
#[kernel]
pub fn cubes(values: Global<u32>, sums: Global<u32>) {
    let t = thread::index_1d(); // block_idx_x() * block_dim_x() + thread_idx_x()
    let mut sum = 0u32;
    let mut i = t;
    while i < values.len() {
        let x = values.get(i);
        sum = sum.wrapping_add(x.wrapping_mul(x).wrapping_mul(x));
        i += thread::block_dim_x();
    }
    sums.set(t, sum);
}
