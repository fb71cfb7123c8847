//! # Bitonic sort, one step per launch
//!
//! **Idea.** A sorting network of compare-exchanges. Stage `k` turns sorted runs of `k/2` keys into sorted runs of `k`;
//! its steps compare keys `j` apart, `j` from `k/2` down to 1. One launch does one step for all keys, because a launch
//! has no barrier for all of its blocks.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Every step reads all keys from global memory and writes those that move. The next rung does all
//! steps within a tile in shared memory.
//!
//! **Cost.** For 2^m keys, m·(m + 1)/2 launches; each does n/2 compare-exchanges, reads every key and writes those that
//! move.
//!
//! **Threads.** One thread per pair. The bits of its number from that of `j` on move up by one, which leaves a gap for
//! the bit in which the two partners differ.
//!
//! **Limits.** Any n: a key past the end counts as larger than all others. That holds because every stage begins by
//! mirroring (`flip`) and therefore sorts upwards everywhere.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015), and K. E. Batcher, "Sorting networks and their applications"
//! (1968). Changed: one thread per pair instead of one per key, any n, and the mirrored first step of a stage in place
//! of runs that sort downwards.

use simt::{Global, Scalar, kernel, thread};

/// Threads per block. The step does not use shared memory; 256 keeps every multiprocessor full.
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
    pub static RUNG: Entry<Sort> = rung!("r1_global_step.rs", [bitonic_global_step]).run_by(Sort::both(&GlobalStep));

    struct GlobalStep;

    impl<W: Width> Sorts<W> for GlobalStep
    where
        bitonic_global_step<W>: Kernel<Args = (Global<W>, u32, u32)>,
    {
        fn launches(&self, _: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<W>>> {
            let geometry = Geometry::linear(grid(n), BLOCK);
            Ok(unsigned(move |on, keys| {
                steps(n).try_for_each(|(j, flip)| {
                    on.launch(bitonic_global_step::<W>::default(), geometry, (keys, j, flip as u32))
                })
            }))
        }
    }
}
