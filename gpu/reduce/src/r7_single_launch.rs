//! # Reduction, one launch
//!
//! **Idea.** Each block writes its value to memory and takes a ticket. The block with the last ticket knows that all
//! values are there, combines them in the order of the blocks, and writes the result.
//!
//! **Changed from the rung before.** There is no second launch. The last block sets the ticket counter back to zero, so
//! nothing is cleared before the launch. A thread has 16 loads in flight instead of four. As before, the order of the
//! combinations does not depend on the order in which blocks run, so sums of floats are the same in every run.
//!
//! **Bottleneck.** For large inputs, memory: 93 % of its peak at 2²⁸ words (ncu, H200). For small inputs, latency: the
//! launch, one access to memory for the elements, and two or three for the ticket and the values.
//!
//! **Cost.** n - 1 useful combinations; one read of each element and of each block's value; 1 launch; one atomic and 2
//! barriers per block, 3 barriers in the last one. If there is only one block, it takes no ticket and has 1 barrier.
//!
//! **Threads.** Neighbouring threads load neighbouring packs of 16 bytes and step by the number of threads of the grid.
//!
//! **Limits.** Any n, 0 included; any alignment of the first element.
//!
//! **Source.** NVIDIA, "threadFenceReduction", CUDA Samples (2022). Changed: acquire and release order in the atomic in
//! place of fences, 16 bytes per load, other types and operators.

use super::{Running, combine_block};
use rungs_common::aligned::Aligned;
use rungs_common::operator::{Max, Min, Operator, Sum};
use simt::atomic::{Order, Scope};
use simt::warp::WARP;
use simt::{Global, Scalar, kernel, shared, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Loads of 16 bytes that a thread has in flight: 64 registers.
const LOADS: usize = 16;

/// Blocks that an SM holds at once, which leaves 128 registers per thread.
const RESIDENT: u32 = 2;

/// Blocks of a large input for each block that can run at once: a block that ends early makes room for a waiting one.
const WAVES: u32 = 4;

/// Packs that a block loads per turn.
const TILE: u32 = BLOCK * LOADS as u32;

/// Turns that a block should have before the grid has more blocks than can run at once.
const TURNS: u32 = 4;

/// Packs that one block loads in less time than it takes to get a value from a second block.
const SMALL: u32 = TILE / 2;

// A value for each warp, in words wide enough for every type.
shared!(VALUES: [u64; BLOCK / WARP]);

/// Most blocks on a device with the given number of SMs: the elements that `values` needs.
pub const fn max_grid(sms: u32) -> u32 {
    sms * RESIDENT * WAVES
}

/// Blocks for `n` elements on a device with the given number of SMs.
pub const fn grid<T: Scalar>(n: u32, sms: u32) -> u32 {
    let packs = n.div_ceil(T::PACK);
    if packs <= SMALL {
        return 1;
    }
    // One load per thread is enough to give every SM something to do.
    let (one_load, long) = (packs.div_ceil(BLOCK), packs / (TILE * TURNS));
    let (resident, most) = (sms * RESIDENT, max_grid(sms));
    let few = if one_load < resident { one_load } else { resident };
    let many = if long < most { long } else { most };
    if many > few { many } else { few }
}

/// Combines all elements and writes the result to `output[0]`.
///
/// `values` (one element per block) is scratch; `ticket` (one word) is zero when the launch begins, and again when it
/// ends.
#[kernel(
    max_threads = BLOCK, min_blocks = RESIDENT,
    instances([u32, i32, f32, u64, i64, f64] * [Sum, Min, Max])
)]
pub fn reduce_single_launch<T: Scalar, O: Operator<T>>(
    input: Global<T>,
    output: Global<T>,
    values: Global<T>,
    ticket: Global<u32>,
) {
    let (t, block, blocks) = (thread::thread_idx_x(), thread::block_idx_x(), thread::grid_dim_x());
    let warps = VALUES::view().cast::<T>().slice(0, BLOCK / WARP);
    let all = combine_block::<T, O>(combine_input::<T, O>(input), warps);
    if blocks == 1 {
        if t == 0 {
            output.set(0, all);
        }
        return;
    }
    // The `or` gives thread 0's answer to all threads. The barrier lets all of them see what thread 0 acquired, and
    // frees `warps`.
    if thread::sync_threads_or(t == 0 && is_last(values, block, all, ticket)) {
        let all = combine_block::<T, O>(combine_values::<T, O>(values.slice(0, blocks)), warps);
        if t == 0 {
            output.set(0, all);
            ticket.set(0, 0); // for the next launch
        }
    }
}

/// Combines the thread's share of the input.
#[simt::device]
fn combine_input<T: Scalar, O: Operator<T>>(input: Global<T>) -> T {
    let input = Aligned::new(input);
    let (packs, stride) = (input.packs(), thread::grid_threads_1d());
    let mut running = Running::<T, O>::new();
    let mut i = thread::index_1d();
    while i < packs {
        let mut loaded = [running.nothing(); LOADS];
        unroll::<LOADS>(|l| {
            let at = i + l as u32 * stride;
            loaded[l] = input.body().get_pack_read_only_or(at, at < packs, running.nothing());
        });
        unroll::<LOADS>(|l| running.take(loaded[l]));
        i += LOADS as u32 * stride;
    }
    // The elements outside the packs are fewer than the threads of the first block.
    running.finish(if thread::block_idx_x() == 0 { input.edge(thread::thread_idx_x()) } else { None })
}

/// Hands in the block's value; returns whether all other blocks of the grid have handed in theirs.
#[simt::device]
fn is_last<T: Scalar>(values: Global<T>, block: u32, value: T, ticket: Global<u32>) -> bool {
    values.set(block, value);
    // Release: a block that sees this ticket taken also sees the value. Acquire: the last block sees all values.
    ticket.fetch_add(0, 1, Order::AcqRel, Scope::Device) == thread::grid_dim_x() - 1
}

/// Combines the thread's share of the blocks' values.
#[simt::device]
fn combine_values<T: Scalar, O: Operator<T>>(values: Global<T>) -> T {
    let (mut all, mut i) = (O::IDENTITY, thread::thread_idx_x());
    while i < values.len() {
        all = O::combine(all, values.get(i));
        i += BLOCK;
    }
    all
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the kernel, once.

    use super::*;
    use rungs_common::ladder::reduce::*;

    /// The rung.
    pub static RUNG: Entry<&dyn Reduce> = rung!("r7_single_launch.rs", [reduce_single_launch]).run_by(&SingleLaunch);

    struct SingleLaunch;

    impl<T: Scalar, O: Operator<T>> Serves<Elements<T>, O> for SingleLaunch
    where
        reduce_single_launch<T, O>: Kernel<Args = (Global<T>, Global<T>, Global<T>, Global<u32>)>,
    {
        /// The values of the blocks, and the ticket.
        type Memory = (Scratch<T>, Scratch<u32>);

        fn scratch(&self, on: &dyn Launcher, _: u32) -> Result<Self::Memory> {
            // Cleared once: every launch sets the ticket back to zero.
            Ok((on.scratch(max_grid(on.device().multiprocessors))?, on.zeros(1)?))
        }

        fn run(on: &dyn Launcher, Elements { input, output }: Elements<T>, memory: &mut Self::Memory) -> Result {
            let geometry = Geometry::linear(grid::<T>(input.len(), on.device().multiprocessors), BLOCK);
            let args = (input, output, memory.0.view(), memory.1.view());
            on.launch(reduce_single_launch::<T, O>::default(), geometry, args)
        }
    }
}
