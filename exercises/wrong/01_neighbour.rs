//! The index is counted from 1.
//!
//! **Finding.** out-of-bounds

use simt::{Global, kernel, thread};

/// y = a·x + y
#[kernel]
pub fn saxpy(a: u32, x: Global<u32>, y: Global<u32>) {
    let i = thread::thread_idx_x() + 1;
    y.set(i, a * x.get(i) + y.get(i));
}
