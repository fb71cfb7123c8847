//! # Reduction, the last warp unrolled
//!
//! **Idea.** When 32 values are left, one warp finishes alone: its five levels are written out, with warp barriers
//! between them.
//!
//! **Changed from the rung before.** Three block barriers instead of eight, and no loop for the last levels. Textbooks
//! leave out all barriers between these levels, on the assumption that the lanes of a warp run in lockstep. Since
//! compute capability 7.0 lanes run independently, so each level waits at a warp barrier.
//!
//! **Bottleneck.** Every level still uses shared memory: write, wait, read. The next rung passes values directly from
//! lane to lane.
//!
//! **Cost.** n - 1 useful combinations; one read of each element and of each block's value; ⌈log₅₁₂ n⌉ launches, at
//! least one; 3 barriers per block, and 10 warp barriers in its first warp.
//!
//! **Threads.** Thread t of a block loads the block's elements t and t + 256.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** M. Harris, "Optimizing parallel reduction in CUDA" (2007), kernel 5, and Moscow Aviation Institute,
//! "Parallel data processing", lab 3 (2020). Changed: warp barriers, any n, other types and operators.

use super::blocks_for;
use super::r3_first_add::load_two;
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::warp::{FULL, WARP, sync_warp};
use simt::{Global, Scalar, Shared, kernel, shared, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = super::r3_first_add::BLOCK;

/// Elements per block.
const PER_BLOCK: u32 = 2 * BLOCK;

// Words wide enough for every type.
shared!(VALUES: [u64; BLOCK]);

/// Blocks for `n` elements: also the number of values that a launch leaves.
pub const fn grid(n: u32) -> u32 {
    blocks_for(n, PER_BLOCK)
}

/// Combines the elements of each block and writes the result to the block's element of `output`.
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
    // The first warp did the last level above alone, so no block barrier is needed here.
    if t < WARP {
        let all = finish_in_warp::<T, O>(values, t);
        if t == 0 {
            output.set(block, all);
        }
    }
}

/// Combines the first 32 values; lane 0 of the first warp gets the result.
#[simt::device]
fn finish_in_warp<T: Scalar, O: Operator<T>>(values: Shared<T>, t: u32) -> T {
    let mut mine = values.get(t);
    unroll::<5>(|level| {
        sync_warp(FULL); // the partner has written at the level below
        mine = O::combine(mine, values.get(t + ((WARP / 2) >> level)));
        sync_warp(FULL); // all lanes have read before any lane writes
        values.set(t, mine);
    });
    mine
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over the elements, then over the values that it leaves, until one is left.

    use super::*;
    use crate::Levels;
    use rungs_common::ladder::reduce::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r4_unrolled_warp.rs", [reduce_unrolled_warp]).run_by(&UnrolledWarp);

    struct UnrolledWarp;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for UnrolledWarp
    where
        reduce_unrolled_warp<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        type Memory = Levels<T>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Levels<T>> {
            Levels::new(on, n, grid)
        }

        fn run(on: &dyn Launcher, elements: Elements<T>, levels: &mut Levels<T>) -> Result {
            levels.launch(on, reduce_unrolled_warp::<T, O>::default(), elements, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
