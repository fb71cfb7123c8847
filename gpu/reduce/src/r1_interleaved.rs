//! # Reduction, neighbours first
//!
//! **Idea.** A tree in shared memory. First each element at an even place is combined with its right neighbour, then
//! each element at a multiple of four with the one two places further, and so on. In the end the block's first element
//! holds the result of all.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** Divergence: at distance d only every 2d-th thread works. In the first five of the eight levels every
//! warp has such a thread, so every warp runs these levels, with fewer and fewer working lanes. The next rung keeps the
//! working threads together.
//!
//! **Cost.** n - 1 useful combinations; one read of each element and of each block's value; ⌈log₂₅₆ n⌉ launches, at
//! least one; 8 barriers per block.
//!
//! **Threads.** One thread per element; thread t holds element t of its block.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** M. Harris, "Optimizing parallel reduction in CUDA" (2007), kernel 1, and Moscow Aviation Institute,
//! "Parallel data processing", lab 3 (2020). Changed: any n, other types and operators, and a mask in place of the
//! remainder.

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
pub fn reduce_interleaved<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let values = VALUES::view().cast::<T>();
    let start = block * BLOCK;
    values.set(t, if t < input.len() - start { input.get(start + t) } else { O::IDENTITY });
    let mut distance = 1;
    while distance < BLOCK {
        thread::sync_threads(); // the level below is complete before this one reads it
        // Multiples of 2 * distance: the mask gives the remainder by a power of two.
        if t & (2 * distance - 1) == 0 {
            values.set(t, O::combine(values.get(t), values.get(t + distance)));
        }
        distance *= 2;
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
    pub static RUNG: Entry<&dyn Reduce> = rung!("r1_interleaved.rs", [reduce_interleaved]).run_by(&Interleaved);

    struct Interleaved;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for Interleaved
    where
        reduce_interleaved<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        type Memory = Levels<T>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Levels<T>> {
            Levels::new(on, n, grid)
        }

        fn run(on: &dyn Launcher, elements: Elements<T>, levels: &mut Levels<T>) -> Result {
            levels.launch(on, reduce_interleaved::<T, O>::default(), elements, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
