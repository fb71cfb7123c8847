//! # Beat a sort
//!
//! Your own sort of words of 32 bits, in place. What stands here is right and slow: a bitonic network, one step for
//! each launch, as in exercise 31. `cargo learn beat radix/msd-buckets` compiles this file for the GPU, checks it on
//! the simulator and on the GPU, and lets it compete with that rung, each time on new keys. Any rung that sorts will
//! do: of bubble, bitonic, odd-even, merge or radix.
//!
//! Kernels have names of their own, and none of the project's.

use simt::{Global, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// One step. `distance` is a power of two; a run has `2 * distance` keys. A partner behind the last key counts as
/// larger than all keys.
#[kernel(max_threads = BLOCK)]
pub fn own_sort_step(keys: Global<u32>, distance: u32, mirrored: u32) {
    let t = thread::index_1d();
    let (run, w) = (t / distance * 2 * distance, t % distance);
    let partner = if mirrored != 0 { run + (2 * distance - 1 - w) } else { run + w + distance };
    if partner < keys.len() {
        let (a, b) = (keys.get(run + w), keys.get(partner));
        if a > b {
            keys.set(run + w, b);
            keys.set(partner, a);
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches.

    use super::*;
    use rungs_kernels::ladder::Answer;
    use rungs_kernels::ladder::sort::*;

    /// What competes.
    pub static ANSWER: Answer = Answer::Sort(&Words { scratch: no_scratch, sort });

    /// Sorts `keys` in place; this is what is timed. Other memory is taken once, by a function in place of
    /// [`no_scratch`], whose result `sort` then gets.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort(on: &dyn Launcher, keys: Global<u32>, (): &mut ()) -> Result {
        let n = keys.len();
        let geometry = Geometry::linear((n.next_power_of_two() / 2).div_ceil(BLOCK), BLOCK);
        for stage in 0..n.next_power_of_two().ilog2() {
            for step in (0..=stage).rev() {
                on.launch(own_sort_step, geometry, (keys, 1 << step, (step == stage) as u32))?;
            }
        }
        Ok(())
    }
}
