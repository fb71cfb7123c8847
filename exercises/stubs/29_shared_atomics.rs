//! # 29 · A table for each block
//!
//! Atomic additions to one word of global memory are done one at a time, for all blocks. In shared memory only
//! the threads of one block meet. So each block counts its keys in its own table, and at the end adds the table to
//! the counts.
//!
//! Three phases: clear the table (shared memory is uninitialised), count into it, add it to `counts`. In each,
//! a thread may use words that another thread used in the phase before. An atomic addition orders no other
//! accesses, so the phases need barriers between them.
//!
//! **Rung.** gpu/histogram/src/r2_shared_atomics.rs

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 64;

/// Blocks of the grid, for any number of keys.
pub const GRID: u32 = 3;

/// Counters. All keys are smaller.
pub const BINS: u32 = 40;

shared!(TABLE: [u32; BINS]);

/// Adds the number of each key in `keys` to its counter in `counts`.
#[kernel]
pub fn histogram(keys: Global<u32>, counts: Global<u32>) {
    let (t, table) = (thread::thread_idx_x(), TABLE::view());
    // Clear the table.

    let mut i = thread::index_1d();
    while i < keys.len() {
        // Count this key in the table.
        i += thread::grid_threads_1d();
    }

    // Add the table to the counts.
}
