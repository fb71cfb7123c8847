//! Threads without an element access memory.
//!
//! **Finding.** out-of-bounds

use simt::{Global, kernel, thread};

/// Threads of the block.
pub const BLOCK: u32 = 128;

/// Doubles each element.
#[kernel]
pub fn double(data: Global<u32>) {
    let i = thread::thread_idx_x();
    {
        data.set(i, 2 * data.get(i));
    }
}
