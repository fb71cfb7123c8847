//! # Reduction, first combination on load
//!
//! **Idea.** A thread loads two elements and combines them in registers before the tree begins.
//!
//! **Changed from the rung before.** A block combines twice the elements with the same tree, so there are half as many
//! blocks, and half as many barriers per element.
//!
//! **Bottleneck.** In the last levels only one warp works, yet at each level the whole block waits at a barrier. The
//! next rung runs them without block barriers.
//!
//! **Cost.** n - 1 useful combinations; one read of each element and of each block's value; ⌈log₅₁₂ n⌉ launches, at
//! least one; 8 barriers per block.
//!
//! **Threads.** Thread t of a block loads the block's elements t and t + 256.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** M. Harris, "Optimizing parallel reduction in CUDA" (2007), kernel 4, and Moscow Aviation Institute,
//! "Parallel data processing", lab 3 (2020). Changed: any n, other types and operators.

use super::blocks_for;
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, kernel, shared, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

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
        output.set(block, values.get(0)); // thread 0 itself wrote it
    }
}

/// Combines the thread's two elements of those from `start` on.
#[simt::device]
pub(super) fn load_two<T: Scalar, O: Operator<T>>(input: Global<T>, start: u32, t: u32) -> T {
    let left = input.len() - start;
    let first = if t < left { input.get(start + t) } else { O::IDENTITY };
    if t + BLOCK < left { O::combine(first, input.get(start + t + BLOCK)) } else { first }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over the elements, then over the values that it leaves, until one is left.

    use super::*;
    use crate::Levels;
    use rungs_common::ladder::reduce::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r3_first_add.rs", [reduce_first_add]).run_by(&FirstAdd);

    struct FirstAdd;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for FirstAdd
    where
        reduce_first_add<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        type Memory = Levels<T>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Levels<T>> {
            Levels::new(on, n, grid)
        }

        fn run(on: &dyn Launcher, elements: Elements<T>, levels: &mut Levels<T>) -> Result {
            levels.launch(on, reduce_first_add::<T, O>::default(), elements, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
