//! # 2 · More threads than elements
//!
//! A block has a fixed number of threads, here `BLOCK`, and an array rarely has exactly that number of elements. The
//! extra threads must not access memory: an index past the end of a view ends the kernel here, and on a GPU it reads or
//! writes some other array.
//!
//! The kernel is launched with one block of `BLOCK` threads, and n is any number up to `BLOCK`. `view.len()` is the
//! number of a view's elements. Let the threads that have an element double it.
//!
//! **Rung.** gpu/saxpy/src/r1_kernel.rs

use simt::{Global, kernel, thread};

/// Threads of the block.
pub const BLOCK: u32 = 128;

/// Doubles each element.
#[kernel]
pub fn double(data: Global<u32>) {
    let i = thread::thread_idx_x();
    data.set(i, 2 * data.get(i));
}
