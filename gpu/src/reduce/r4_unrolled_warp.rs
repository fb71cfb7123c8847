//! # Reduction, the last warp unrolled
//!
//! **Idea.** When 32 values are left, one warp finishes alone: its five levels are written out, with warp barriers
//! between them.
//!
//! **Changed from the rung before.** Six block barriers fewer, and no loop around the last levels. Textbooks left the
//! barriers out altogether, on the assumption that a warp runs in lockstep; since 2017 lanes run independently, so each
//! level says what it waits for.
//!
//! **Bottleneck.** Every level still goes through shared memory: write, wait, read. The next rung passes values from lane
//! to lane.
//!
//! **Cost.** n - 1 combinations; one read of each element; a launch for each factor of 512 in n; three block barriers
//! and ten warp barriers a launch.
//!
//! **Threads.** Thread t of a block loads the block's elements t and t + 256.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** M. Harris, "Optimizing parallel reduction in CUDA" (2007), and lab 3, Moscow Aviation Institute
//! (2020).

use super::blocks_for;
use super::r3_first_add::load_two;
use crate::operator::{Max, Min, Operator, Sum};
use simt::warp::{FULL, WARP, sync_warp};
use simt::{Global, Scalar, Shared, kernel, shared, thread, unroll};

/// Threads a block.
pub const BLOCK: u32 = super::r3_first_add::BLOCK;

/// Elements a block.
const PER_BLOCK: u32 = 2 * BLOCK;

// Words wide enough for every type.
shared!(VALUES: [u64; BLOCK]);

/// Blocks for `n` elements, and so values left by a launch.
pub const fn grid(n: u32) -> u32 {
    blocks_for(n, PER_BLOCK)
}

/// Writes what the elements of each block make together to the block's element of `output`.
#[kernel(
    max_threads = BLOCK,
    instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max])
)]
pub fn reduce_unrolled_warp<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let values = VALUES::view().cast::<T>();
    values.set(t, load_two::<T, O>(input, block * PER_BLOCK, t));
    let mut distance = BLOCK / 2;
    while distance >= WARP {
        thread::sync_threads(); // the level below is complete before this one reads it
        if t < distance {
            values.set(t, O::combine(values.get(t), values.get(t + distance)));
        }
        distance /= 2;
    }
    // The last level above was done by the first warp alone.
    if t < WARP {
        let all = finish_in_warp::<T, O>(values, t);
        if t == 0 {
            output.set(block, all);
        }
    }
}

/// The first 32 values together, in lane 0 of the first warp.
#[inline(always)]
fn finish_in_warp<T: Scalar, O: Operator<T>>(values: Shared<T>, t: u32) -> T {
    let mut mine = values.get(t);
    unroll::<5>(|level| {
        sync_warp(FULL); // what the partner wrote at the level below is there
        mine = O::combine(mine, values.get(t + ((WARP / 2) >> level)));
        sync_warp(FULL); // everyone has read before anyone writes
        values.set(t, mine);
    });
    mine
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over what it leaves, until one value is left.

    use super::*;
    use crate::ladder::reduce::*;
    use crate::reduce::levels;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r4_unrolled_warp.rs", [reduce_unrolled_warp]).run_by(&UnrolledWarp);

    struct UnrolledWarp;

    impl<T: Scalar, O: Operator<T>> ReducesWith<T, O> for UnrolledWarp
    where
        reduce_unrolled_warp<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Elements<T>>> {
            levels(reduce_unrolled_warp::<T, O>::default(), on, n, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
