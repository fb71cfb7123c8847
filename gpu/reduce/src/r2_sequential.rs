//! # Reduction, halves of the block
//!
//! **Idea.** The same tree with other partners: at each level, each element of the lower half of the remaining ones is
//! combined with its partner in the upper half.
//!
//! **Changed from the rung before.** The working threads are the first ones of the block. So whole warps become idle
//! and the SM can run others, and neighbouring threads use neighbouring words.
//!
//! **Bottleneck.** Each thread loads one element, and half of the threads do nothing more. The next rung gives each
//! thread two elements.
//!
//! **Cost.** n - 1 useful combinations; one read of each element and of each block's value; ⌈log₂₅₆ n⌉ launches, at
//! least one; 8 barriers per block.
//!
//! **Threads.** One thread per element; thread t holds element t of its block.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** M. Harris, "Optimizing parallel reduction in CUDA" (2007), kernel 3, and Moscow Aviation Institute,
//! "Parallel data processing", lab 3 (2020). Changed: any n, other types and operators.

use super::blocks_for;
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, kernel, shared, thread};

/// Threads, and elements, per block.
pub const BLOCK: u32 = 256;

// Words wide enough for every type.
shared!(VALUES: [u64; BLOCK]);

/// Blocks for `n` elements: also the number of values that a launch leaves.
pub const fn grid(n: u32) -> u32 {
    blocks_for(n, BLOCK)
}

/// Combines the elements of each block and writes the result to the block's element of `output`.
#[kernel(
    max_threads = BLOCK,
    instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max])
)]
pub fn reduce_sequential<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let values = VALUES::view().cast::<T>();
    let start = block * BLOCK;
    values.set(t, if t < input.len() - start { input.get(start + t) } else { O::IDENTITY });
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

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over the elements, then over the values that it leaves, until one is left.

    use super::*;
    use crate::Levels;
    use rungs_common::ladder::reduce::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r2_sequential.rs", [reduce_sequential]).run_by(&Sequential);

    struct Sequential;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for Sequential
    where
        reduce_sequential<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        type Memory = Levels<T>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Levels<T>> {
            Levels::new(on, n, grid)
        }

        fn run(on: &dyn Launcher, elements: Elements<T>, levels: &mut Levels<T>) -> Result {
            levels.launch(on, reduce_sequential::<T, O>::default(), elements, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
