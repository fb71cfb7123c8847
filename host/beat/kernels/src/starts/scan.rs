//! # Beat a scan
//!
//! Your own running sums of all elements, modulo 2³². What stands here is right and slow: launch after launch adds to
//! each element the one at twice the distance, so each element is read and written as often as n has bits.
//! `cargo learn beat scan/look-ahead` compiles this file for the GPU, checks it on the simulator and on the GPU, and
//! lets it compete with that rung, each time on new input.
//!
//! Kernels have names of their own, and none of the project's.

use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Adds to each element the one that lies `distance` before it.
#[kernel(max_threads = BLOCK)]
pub fn own_scan_step(from: Global<u32>, to: Global<u32>, distance: u32) {
    let i = thread::index_1d();
    if i < from.len() {
        let before = if i >= distance { from.get(i - distance) } else { 0 };
        to.set(i, from.get(i).wrapping_add(before));
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches.

    use super::*;
    use rungs_kernels::ladder::Answer;
    use rungs_kernels::ladder::scan::*;

    /// What competes.
    pub static ANSWER: Answer = Answer::Scan(&Functions { scratch, run: scan });

    /// The scratch memory for `n` elements, which is taken once.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn scratch(on: &dyn Launcher, n: u32, _: &Options) -> Result<[Scratch<u32>; 2]> {
        Ok([on.scratch(n)?, on.scratch(n)?])
    }

    /// Makes the running sums of `input`; this is what is timed. Each includes its own element.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn scan(on: &dyn Launcher, elements: Elements<u32>, spare: &mut [Scratch<u32>; 2]) -> Result {
        let (Elements { input, output, .. }, n) = (elements, elements.input.len());
        // At least one, which copies a single element.
        let (mut from, steps) = (input, n.next_power_of_two().ilog2().max(1));
        for step in 0..steps {
            let to = if step + 1 == steps { output } else { spare[step as usize % 2].view() };
            on.launch(own_scan_step, Geometry::linear(n.div_ceil(BLOCK), BLOCK), (from, to, 1 << step))?;
            from = to;
        }
        Ok(())
    }
}
