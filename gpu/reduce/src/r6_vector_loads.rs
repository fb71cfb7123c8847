//! # Reduction, 16 bytes per load
//!
//! **Idea.** A grid just large enough for the device walks over the input in steps of its own size. Each thread loads
//! 16 bytes at a time, has four such loads in flight, and keeps one running value for each element of a load.
//!
//! **Changed from the rung before.** A thread has 64 bytes in flight instead of two elements: eight times as many bytes
//! for types of 4 bytes, four times for types of 8. A block combines many elements, so it needs the tree once, and not
//! once per 512 elements.
//!
//! **Bottleneck.** For large inputs, memory: 93 % of its peak at 2²⁸ words (ncu, H200). For small inputs, the second
//! launch: it combines a few values, and starting it takes longer than that. The next rung needs one launch.
//!
//! **Cost.** n - 1 useful combinations; one read of each element and of each block's value; 1 launch if one block is
//! enough, else 2 (on up to 256 SMs); 1 barrier per block.
//!
//! **Threads.** Neighbouring threads load neighbouring packs of 16 bytes and step by the number of threads of the grid.
//!
//! **Limits.** Any n, 0 included; any alignment of the first element.
//!
//! **Source.** J. Luitjens, "CUDA pro tip: increase performance with vectorized memory access" (2013). Changed: a
//! reduction in place of the copy, and any alignment.

use super::combine_block;
use rungs_common::aligned::Aligned;
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::warp::WARP;
use simt::{Global, Scalar, kernel, shared, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Blocks that keep an SM of 2048 threads full.
const BLOCKS_PER_SM: u32 = 2048 / BLOCK;

/// Loads of 16 bytes that a thread has in flight.
const LOADS: usize = 4;

// A value for each warp, in words wide enough for every type.
shared!(VALUES: [u64; BLOCK / WARP]);

/// Blocks for `n` elements on a device with the given number of SMs: also the number of values that a launch leaves.
pub const fn grid<T: Scalar>(n: u32, sms: u32) -> u32 {
    let needed = super::blocks_for(n, BLOCK * LOADS as u32 * T::PACK);
    let most = sms * BLOCKS_PER_SM;
    if needed < most { needed } else { most }
}

/// Combines the elements of each block and writes the result to the block's element of `output`.
#[kernel(
    max_threads = BLOCK,
    instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max])
)]
pub fn reduce_vector_loads<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>) {
    let input = Aligned::new(input);
    let (packs, stride) = (input.packs(), thread::grid_threads_1d());
    let mut running = super::Running::<T, O>::new();
    let mut i = thread::index_1d();
    while i < packs {
        let mut loaded = [running.nothing(); LOADS];
        unroll::<LOADS>(|l| {
            let at = i + l as u32 * stride;
            if at < packs {
                loaded[l] = input.body().get_pack(at);
            }
        });
        unroll::<LOADS>(|l| running.take(loaded[l]));
        i += LOADS as u32 * stride;
    }
    // The elements outside the packs are fewer than the threads of the first block.
    let edge = if thread::block_idx_x() == 0 { input.edge(thread::thread_idx_x()) } else { None };
    let all = combine_block::<T, O>(running.finish(edge), VALUES::view().cast::<T>().slice(0, BLOCK / WARP));
    if thread::thread_idx_x() == 0 {
        output.set(thread::block_idx_x(), all);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over the elements, then over the values that it leaves, until one is left.

    use super::*;
    use crate::Levels;
    use rungs_common::ladder::reduce::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r6_vector_loads.rs", [reduce_vector_loads]).run_by(&VectorLoads);

    struct VectorLoads;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for VectorLoads
    where
        reduce_vector_loads<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        type Memory = Levels<T>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Levels<T>> {
            let sms = on.device().multiprocessors;
            Levels::new(on, n, |n| grid::<T>(n, sms))
        }

        fn run(on: &dyn Launcher, elements: Elements<T>, levels: &mut Levels<T>) -> Result {
            let sms = on.device().multiprocessors;
            let geometry = |n| Geometry::linear(grid::<T>(n, sms), BLOCK);
            levels.launch(on, reduce_vector_loads::<T, O>::default(), elements, geometry)
        }
    }
}
