//! The next step overwrites sums that other threads still read.
//!
//! **Finding.** shared-race

use simt::{Global, kernel, shared, thread};

/// Threads of the block.
pub const BLOCK: u32 = 128;

shared!(SUMS: [u32; BLOCK]);

/// Writes the running sums of `input` to `output`. There is one block, and at most `BLOCK` elements.
#[kernel]
pub fn scan(input: Global<u32>, output: Global<u32>) {
    let (t, sums) = (thread::thread_idx_x(), SUMS::view());
    let mut sum = if t < input.len() { input.get(t) } else { 0 };
    let mut distance = 1;
    while distance < BLOCK {
        sums.set(t, sum);
        // All sums of this step are stored before a thread reads another's.
        thread::sync_threads();
        if t >= distance {
            sum += sums.get(t - distance);
        }

        distance *= 2;
    }
    if t < output.len() {
        output.set(t, sum);
    }
}
