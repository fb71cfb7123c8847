//! Every thread computes the first element.
//!
//! **Finding.** global-race

use simt::{Global, kernel, thread};

/// y = a·x + y
#[kernel]
pub fn saxpy(a: u32, x: Global<u32>, y: Global<u32>) {
    let i = 0;
    y.set(i, a * x.get(i) + y.get(i));
}
