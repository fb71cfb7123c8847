//! # Reduction, warp shuffles
//!
//! **Idea.** Lanes of a warp read each other's registers. Each warp combines its 32 values in five shuffles; the warps leave
//! one value each in shared memory, and the first warp combines those the same way.
//!
//! **Changed from the rung before.** One barrier instead of three, and eight words of shared memory instead of 256.
//!
//! **Bottleneck.** A thread loads two elements of four or eight bytes and ends: too few bytes are under way to fill the
//! memory's pipes, and blocks come and go all the time. The next rung loads 16 bytes at a time, several at once.
//!
//! **Cost.** n - 1 useful combinations; one read of each element; a launch for each factor of 512 in n; one barrier a
//! launch.
//!
//! **Threads.** Thread t of a block loads the block's elements t and t + 256.
//!
//! **Limits.** Any n, 0 included.
//!
//! **Source.** J. Luitjens, "Faster parallel reductions on Kepler" (2014).

use super::blocks_for;
use super::r3_first_add::load_two;
use crate::operator::{Max, Min, Operator, Sum};
use simt::warp::{FULL, WARP, lane_id, shuffle_down};
use simt::{Global, Scalar, kernel, shared, thread, unroll};

/// Threads a block.
pub const BLOCK: u32 = super::r3_first_add::BLOCK;

/// Elements a block.
const PER_BLOCK: u32 = 2 * BLOCK;

/// Warps of a block.
const WARPS: u32 = BLOCK / WARP;

// A value for each warp, in words wide enough for every type.
shared!(VALUES: [u64; WARPS]);

/// Blocks for `n` elements, and so values left by a launch.
pub const fn grid(n: u32) -> u32 {
    blocks_for(n, PER_BLOCK)
}

/// Writes what the elements of each block make together to the block's element of `output`.
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

/// The values of all lanes together, in lane 0; all lanes call it.
#[inline(always)]
fn combine_lanes<T: Scalar, O: Operator<T>>(value: T) -> T {
    let mut all = value;
    // Lanes without a partner get their own value back; what they make of it is not used.
    unroll::<5>(|level| all = O::combine(all, shuffle_down(FULL, all, (WARP / 2) >> level)));
    all
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel over what it leaves, until one value is left.

    use super::*;
    use crate::ladder::reduce::*;
    use crate::reduce::levels;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r5_shuffle.rs", [reduce_shuffle]).run_by(&Shuffle);

    struct Shuffle;

    impl<T: Scalar, O: Operator<T>> ReducesWith<T, O> for Shuffle
    where
        reduce_shuffle<T, O>: Kernel<Args = (Global<T>, Global<T>)>,
    {
        fn launches(&self, on: &dyn Launcher, n: u32) -> Result<Launches<Elements<T>>> {
            levels(reduce_shuffle::<T, O>::default(), on, n, |n| Geometry::linear(grid(n), BLOCK))
        }
    }
}
