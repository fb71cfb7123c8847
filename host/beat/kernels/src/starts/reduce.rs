//! # Beat a reduction
//!
//! Your own sum of all elements, modulo 2³². What stands here is right and slow: every thread adds its element to the
//! result. `cargo learn beat reduce/single-launch` compiles this file for the GPU, checks it on the simulator and on
//! the GPU, and lets it compete with that rung, each time on new input.
//!
//! Kernels have names of their own, and none of the project's.

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Sets the result to 0. One thread.
#[kernel]
pub fn own_reduce_clear(output: Global<u32>) {
    output.set(0, 0);
}

/// Adds all elements to the result.
#[kernel(max_threads = BLOCK)]
pub fn own_reduce(input: Global<u32>, output: Global<u32>) {
    let i = thread::index_1d();
    if i < input.len() {
        output.fetch_add(0, input.get(i), Relaxed, Scope::Device);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches.

    use super::*;
    use rungs_kernels::ladder::Answer;
    use rungs_kernels::ladder::reduce::*;

    /// What competes.
    pub static ANSWER: Answer = Answer::Reduce(&Functions { scratch: no_scratch, run: reduce });

    /// Adds up `input`; this is what is timed. Other memory is taken once, by a function in place of [`no_scratch`],
    /// whose result `reduce` then gets.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn reduce(on: &dyn Launcher, Elements { input, output }: Elements<u32>, (): &mut ()) -> Result {
        on.launch(own_reduce_clear, Geometry::linear(1, 1), (output,))?;
        on.launch(own_reduce, Geometry::linear(input.len().div_ceil(BLOCK), BLOCK), (input, output))
    }
}
