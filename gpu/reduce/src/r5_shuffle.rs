//! # Reduction, warp shuffles
//!
//! **Idea.** The lanes of a warp read each other's registers. Each warp combines its 32 values in five shuffles and
//! stores one value in shared memory. The first warp combines these values in the same way.
//!
//! **Changed from the rung before.** One block barrier instead of three, and 64 bytes of shared memory instead of 2048.
//!
//! **Bottleneck.** A thread loads two elements of four or eight bytes and ends. These are too few bytes in flight to
//! keep memory busy, and blocks start and end all the time. The next rung has several loads of 16 bytes in flight.
//!
//! **Cost.** n - 1 useful combinations; one read of each element and of each block's value; ⌈log₅₁₂ n⌉ launches, at
//! least one; 1 barrier per block.
//!
//! **Threads.** Thread t of a block loads the block's elements t and t + 256.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** J. Luitjens, "Faster parallel reductions on Kepler" (2014). Changed: shuffles that name the lanes taking
//! part, any n, other types and operators.

use super::blocks_for;
use super::r3_first_add::load_two;
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::warp::{FULL, WARP, lane_id, shuffle_down};
use simt::{Global, Scalar, kernel, shared, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = super::r3_first_add::BLOCK;

/// Elements per block.
const PER_BLOCK: u32 = 2 * BLOCK;

/// Warps of a block.
const WARPS: u32 = BLOCK / WARP;

// A value for each warp, in words wide enough for every type.
shared!(VALUES: [u64; WARPS]);

/// Blocks for `n` elements: also the number of values that a launch leaves.
pub const fn grid(n: u32) -> u32 {
    blocks_for(n, PER_BLOCK)
}

/// Combines the elements of each block and writes the result to the block's element of `output`.
#[kernel(
    max_threads = BLOCK,
    instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max])
)]
pub fn reduce_shuffle<T: Scalar, O: Operator<T>>(input: Global<T>, output: Global<T>) {
    let (t, block) = (thread::thread_idx_x(), thread::block_idx_x());
    let values = VALUES::view().cast::<T>();
    let of_warp = combine_lanes::<T, O>(load_two::<T, O>(input, block * PER_BLOCK, t));
    if lane_id() == 0 {
        values.set(t / WARP, of_warp);
    }
    thread::sync_threads(); // every warp's value is there before the first warp reads them
    if t < WARP {
        let all = combine_lanes::<T, O>(if t < WARPS { values.get(t) } else { O::IDENTITY });
        if t == 0 {
            output.set(block, all);
        }
    }
}

/// Combines the values of all lanes; lane 0 gets the result. All lanes call it.
#[simt::device]
fn combine_lanes<T: Scalar, O: Operator<T>>(value: T) -> T {
    let mut all = value;
    // Lanes without a partner get their own value back; their results are not used.
    unroll::<5>(|level| all = O::combine(all, shuffle_down(FULL, all, (WARP / 2) >> level)));
    all
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over the elements, then over the values that it leaves, until one is left.

    use super::*;
    use crate::Levels;
    use rungs_common::ladder::reduce::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r5_shuffle.rs", [reduce_shuffle]).run_by(&Shuffle);

    struct Shuffle;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for Shuffle
    where
        reduce_shuffle<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        type Memory = Levels<T>;

        fn scratch(&self, on: &dyn Launcher, n: u32) -> Result<Levels<T>> {
            Levels::new(on, n, grid)
        }

        fn run(on: &dyn Launcher, elements: Elements<T>, levels: &mut Levels<T>) -> Result {
            levels.launch(on, reduce_shuffle::<T, O>::default(), elements, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
