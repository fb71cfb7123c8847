//! # 1 · One thread, one element
//!
//! A kernel is a function that many threads run at the same time, all with the same arguments. They differ only in the
//! thread's number: in a launch of one block, `thread::thread_idx_x()` is 0 in the first thread, 1 in the second and
//! so on. A thread uses its number to find its own work.
//!
//! `x` and `y` are views of arrays in the GPU's memory: `x.get(i)` reads element i, and `y.set(i, value)` writes it.
//!
//! The kernel is launched with one block, of as many threads as there are elements. Let each thread compute one
//! element of y = a·x + y.
//!
//! **Rung.** gpu/saxpy/src/r1_kernel.rs

use simt::{Global, kernel, thread};

/// y = a·x + y
#[kernel]
pub fn saxpy(a: u32, x: Global<u32>, y: Global<u32>) {
    // Write this part.
}
