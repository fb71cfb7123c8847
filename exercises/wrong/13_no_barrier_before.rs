//! Thread 0 adds parts that others may not have stored yet.
//!
//! **Finding.** shared-race

use simt::{Global, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 96;

shared!(PARTS: [u32; BLOCK]);
shared!(TOTAL: [u32; 1]);

/// Writes what part of its block's sum each element of `input` is, in thousandths. The length of `input` is a
/// multiple of `BLOCK`.
#[kernel]
pub fn shares(input: Global<u32>, output: Global<u32>) {
    let (i, t) = (thread::index_1d(), thread::thread_idx_x());
    let (parts, total) = (PARTS::view(), TOTAL::view());
    let x = input.get(i);
    parts.set(t, x);
    if t == 0 {
        let mut sum = 0;
        for k in 0..BLOCK {
            sum += parts.get(k);
        }
        total.set(0, sum);
    }
    // The sum is there before the others read it.
    thread::sync_threads();

    output.set(i, 1000 * x / total.get(0));
}
