//! # 4 · A walk of the whole grid
//!
//! Starting a thread costs time, and the sums of all threads have to be added up afterwards. So a grid often has fewer
//! threads than elements, and each thread processes several: the element at its own index, then the one a whole grid
//! further, and so on. This is a *grid-stride loop*. `thread::grid_threads_1d()` is the number of threads of the grid.
//! In each round, neighbouring threads still have neighbouring elements.
//!
//! The grid is fixed; n is any number. Let each thread add up the cubes of its elements and write its sum to `sums`,
//! one element per thread. A thread without an element writes 0.
//!
//! **Rung.** gpu/cubes/src/r4_many_blocks.rs

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
    //[
    let mut i = t;
    while i < values.len() {
        let x = values.get(i);
        sum = sum.wrapping_add(x.wrapping_mul(x).wrapping_mul(x));
        i += thread::grid_threads_1d();
    }
    //| // Write this part. Sums wrap: `sum.wrapping_add(x.wrapping_mul(x).wrapping_mul(x))`.
    //]
    sums.set(t, sum);
}

//? If the grid has 256 threads and there are 1000 elements, which elements should thread 3 take so that none is taken
//?   twice?
//? Thread t takes the elements t, t + threads, t + 2 · threads …, as long as they are below `values.len()`. The step is
//?   all threads of the grid: with a step of one block, blocks would take each other's elements.
//? `let mut i = t;`, then `while i < values.len() { … i += thread::grid_threads_1d(); }`; in the loop,
//?   `let x = values.get(i);` and the sum of the cubes.
