//! # Beat a histogram
//!
//! Your own counts of the 256 values of a byte. What stands here is right and slow: every thread adds 1 to the count of
//! its key, in global memory. `cargo learn beat histogram/bank-private` compiles this file for the GPU, checks it on
//! the simulator and on the GPU, and lets it compete with that rung, each time on new input.
//!
//! Kernels have names of their own, and none of the project's.

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Sets all counts to 0.
#[kernel(max_threads = BLOCK)]
pub fn own_histogram_clear(counts: Global<u32>) {
    let i = thread::index_1d();
    if i < counts.len() {
        counts.set(i, 0);
    }
}

/// Counts each key that has a bin.
#[kernel(max_threads = BLOCK)]
pub fn own_histogram(keys: Global<u8>, counts: Global<u32>) {
    let i = thread::index_1d();
    if i < keys.len() {
        let bin = keys.get(i) as u32;
        if bin < counts.len() {
            counts.fetch_add(bin, 1, Relaxed, Scope::Device);
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches.

    use super::*;
    use rungs_kernels::ladder::Answer;
    use rungs_kernels::ladder::histogram::*;

    /// What competes.
    pub static ANSWER: Answer = Answer::Histogram(&Functions { scratch: no_scratch, run: count });

    /// Counts `keys`; this is what is timed. Other memory is taken once, by a function in place of [`no_scratch`],
    /// which is told the number of bins, and whose result `count` then gets.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn count(on: &dyn Launcher, Keys { keys, counts }: Keys<u8>, (): &mut ()) -> Result {
        let all = |n: u32| Geometry::linear(n.div_ceil(BLOCK), BLOCK);
        on.launch(own_histogram_clear, all(counts.len()), (counts,))?;
        on.launch(own_histogram, all(keys.len()), (keys, counts))
    }
}
