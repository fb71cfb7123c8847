//! The last element is left out.
//!
//! **Finding.** different

use simt::{Global, kernel, thread};

/// Threads of the block.
pub const BLOCK: u32 = 128;

/// Doubles each element.
#[kernel]
pub fn double(data: Global<u32>) {
    let i = thread::thread_idx_x();
    if i + 1 < data.len() {
        data.set(i, 2 * data.get(i));
    }
}
