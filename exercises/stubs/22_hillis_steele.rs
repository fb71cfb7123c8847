//! # 22 · Running sums, all at once
//!
//! A scan turns a, b, c, d into a, a+b, a+b+c, a+b+c+d. It looks like a loop that cannot run in parallel, but it can.
//! In the first step each element adds the one before it; then the one two places before, then four, then eight. After
//! a step with distance d each element is the sum of 2·d elements, so a few steps reach back to the start.
//!
//! A step reads what other threads wrote in the step before, and overwrites what other threads still read. Each needs
//! a barrier. The thread's own sum can stay in a variable.
//!
//! **Rung.** gpu/scan/src/r1_hillis_steele.rs

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
        // Write this part.
        distance *= 2;
    }
    if t < output.len() {
        output.set(t, sum);
    }
}
