//! The old value of y is left out.
//!
//! **Finding.** different

use simt::{Global, kernel, thread};

/// y = a·x + y
#[kernel]
pub fn saxpy(a: u32, x: Global<u32>, y: Global<u32>) {
    let i = thread::thread_idx_x();
    y.set(i, a * x.get(i));
}
