//! # Reduction, first combination on load
//!
//! **Idea.** A thread loads two elements and combines them in registers before the tree begins.
//!
//! **Changed from the rung before.** A block takes in twice the elements with the same tree, so there are half as many
//! blocks, barriers and levels to an element.
//!
//! **Bottleneck.** The last levels belong to a single warp, and each still stops the whole block at a barrier. The next
//! rung takes the block's barriers out of them.
//!
//! **Cost.** n - 1 combinations; one read of each element; a launch for each factor of 512 in n; eight barriers a
//! launch.
//!
//! **Threads.** Thread t of a block loads the block's elements t and t + 256.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** M. Harris, "Optimizing parallel reduction in CUDA" (2007), and lab 3, Moscow Aviation Institute
//! (2020).

use super::blocks_for;
use crate::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, kernel, shared, thread};

/// Threads a block.
pub const BLOCK: u32 = 256;

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
pub fn reduce_first_add<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let values = VALUES::view().cast::<T>();
    values.set(t, load_two::<T, O>(input, block * PER_BLOCK, t));
    let mut distance = BLOCK / 2;
    while distance > 0 {
        thread::sync_threads(); // the level below is complete before this one reads it
        if t < distance {
            values.set(t, O::combine(values.get(t), values.get(t + distance)));
        }
        distance /= 2;
    }
    if t == 0 {
        output.set(block, values.get(0)); // written by this thread itself
    }
}

/// The thread's two elements of those from `start` on, together.
#[inline(always)]
pub(super) fn load_two<T: Scalar, O: Operator<T>>(input: Global<T>, start: u32, t: u32) -> T {
    let left = input.len() - start;
    let first = if t < left { input.get(start + t) } else { O::IDENTITY };
    if t + BLOCK < left { O::combine(first, input.get(start + t + BLOCK)) } else { first }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over what it leaves, until one value is left.

    use super::*;
    use crate::ladder::reduce::*;
    use crate::reduce::levels;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r3_first_add.rs", [reduce_first_add]).run_by(&FirstAdd);

    struct FirstAdd;

    impl<T: Scalar, O: Operator<T>> ReducesWith<T, O> for FirstAdd
    where
        reduce_first_add<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Elements<T>>> {
            levels(reduce_first_add::<T, O>::default(), on, n, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
