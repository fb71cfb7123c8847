//! # Reduction, halves of the block
//!
//! **Idea.** The same tree with other partners: at each level the lower half of what is left takes in the upper half,
//! element by element.
//!
//! **Changed from the rung before.** The threads that work are the first ones, so whole warps fall idle and leave the
//! machine to others; and neighbouring threads touch neighbouring words.
//!
//! **Bottleneck.** Half of the threads do nothing but load one element. The next rung gives each thread two.
//!
//! **Cost.** n - 1 combinations; one read of each element; a launch for each factor of 256 in n; eight barriers a
//! launch.
//!
//! **Threads.** One thread an element; thread t holds element t of its block.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** M. Harris, "Optimizing parallel reduction in CUDA" (2007), and lab 3, Moscow Aviation Institute
//! (2020).

use super::blocks_for;
use crate::operator::{Max, Min, Operator, Sum};
use simt::{Global, Scalar, kernel, shared, thread};

/// Threads a block, and elements.
pub const BLOCK: u32 = 256;

// Words wide enough for every type.
shared!(VALUES: [u64; BLOCK]);

/// Blocks for `n` elements, and so values left by a launch.
pub const fn grid(n: u32) -> u32 {
    blocks_for(n, BLOCK)
}

/// Writes what the elements of each block make together to the block's element of `output`.
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
        output.set(block, values.get(0)); // written by this thread itself
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over what it leaves, until one value is left.

    use super::*;
    use crate::ladder::reduce::*;
    use crate::reduce::levels;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r2_sequential.rs", [reduce_sequential]).run_by(&Sequential);

    struct Sequential;

    impl<T: Scalar, O: Operator<T>> ReducesWith<T, O> for Sequential
    where
        reduce_sequential<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Elements<T>>> {
            levels(reduce_sequential::<T, O>::default(), on, n, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
