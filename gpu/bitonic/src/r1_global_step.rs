//! # Bitonic sort, one step per launch
//!
//! **Idea.** The sort is a network of comparators. Stage `k` merges pairs of sorted runs of `k/2` keys into runs of
//! `k`. Its steps compare-exchange keys `j` apart, for `j` = `k/2`, `k/4`, …, 1. Each step needs the result of the
//! previous one, and only the end of a kernel synchronises all blocks, so every step is a separate launch.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Global memory: every step reads all keys and writes those that move. The next rung does all steps
//! within a tile in shared memory.
//!
//! **Cost.** For 2^m keys, m·(m + 1)/2 launches; each does n/2 compare-exchanges, reads every key and writes those that
//! move.
//!
//! **Threads.** One thread per comparator. The partners' indices differ in the bit of `j` alone: the thread inserts a
//! zero bit there into its own index to get the lower one.
//!
//! **Limits.** Any n: a key past the end counts as larger than all others. That works because the first step of every
//! stage compares mirror images (`flip`), so all runs ascend.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015), and K. E. Batcher, "Sorting networks and their applications"
//! (1968). Changed: one thread per pair instead of one per key, any n, and a mirrored first step of each stage instead
//! of descending runs.

use simt::{Global, Scalar, kernel, thread};

/// Threads per block. The step does not use shared memory; 256 keeps every SM full.
pub const BLOCK: u32 = 256;

/// Blocks for the steps of `n` keys, one thread per pair of the next power of two: the pairs that lack a partner differ
/// from step to step.
pub const fn grid(n: u32) -> u32 {
    if n < 2 {
        return 0;
    }
    // Half of the next power of two, which itself may be 2³².
    let pairs = 1u32 << (u32::BITS - 1 - (n - 1).leading_zeros());
    pairs.div_ceil(BLOCK)
}

/// The steps that sort `n` keys, in order: `j` and whether it is the first of its stage (`flip`).
pub fn steps(n: u32) -> impl Iterator<Item = (u32, bool)> {
    let stages = u32::BITS - n.saturating_sub(1).leading_zeros();
    (0..stages).flat_map(|stage| (0..=stage).rev().map(move |j| (1 << j, j == stage)))
}

/// One step: compares each key with its partner and leaves the smaller in front.
///
/// `keys`: n keys. `j`: the distance of the step, a power of two. `flip`: 1 in the first step of a stage, in which the
/// partner is the mirror image inside a run of `2j` keys, else 0.
#[kernel(max_threads = BLOCK, instances(bitonic_global_step: <u32>, bitonic_global_step_u64: <u64>))]
pub fn bitonic_global_step<T: Scalar>(keys: Global<T>, j: u32, flip: u32) {
    let t = thread::index_1d();
    let i = (t & !(j - 1)) << 1 | t & (j - 1);
    // 2j - 1 wraps to all ones for j = 2³¹, which is the right mirror then.
    let partner = if flip != 0 { i ^ j.wrapping_mul(2).wrapping_sub(1) } else { i ^ j };
    // A partner past the end is larger than any key and already in place.
    if partner < keys.len() {
        let (a, b) = (keys.get(i), keys.get(partner));
        if a > b {
            keys.set(i, b);
            keys.set(partner, a);
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: a kernel per step.

    use super::*;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r1_global_step.rs", [bitonic_global_step])
        .run_by(Sort::both(&Words { scratch: no_scratch, sort }, &Words { scratch: no_scratch, sort }));

    /// Sorts `keys` in place: a launch per step.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, (): &mut ()) -> Result
    where
        bitonic_global_step<W>: Kernel<Args = (Global<W>, u32, u32)>,
    {
        for (j, flip) in steps(keys.len()) {
            let geometry = Geometry::linear(grid(keys.len()), BLOCK);
            on.launch(bitonic_global_step::<W>::default(), geometry, (keys, j, flip as u32))?;
        }
        Ok(())
    }
}
