//! A thread's place in its block and grid, and barriers of its block.

use crate::Backend;
use crate::machine::{Machine, Register, Vote};

macro_rules! registers {
    ($($(#[$doc:meta])* $name:ident = $register:ident;)*) => {$(
        $(#[$doc])*
        #[inline(always)]
        pub fn $name() -> u32 {
            Backend::register(Register::$register)
        }
    )*};
}

registers! {
    /// The thread's index in its block along x, from 0.
    thread_idx_x = ThreadX;
    /// The thread's index in its block along y.
    thread_idx_y = ThreadY;
    /// The thread's index in its block along z.
    thread_idx_z = ThreadZ;
    /// The block's index in the grid along x, from 0.
    block_idx_x = BlockX;
    /// The block's index in the grid along y.
    block_idx_y = BlockY;
    /// The block's index in the grid along z.
    block_idx_z = BlockZ;
    /// Threads per block along x.
    block_dim_x = BlockDimX;
    /// Threads per block along y.
    block_dim_y = BlockDimY;
    /// Threads per block along z.
    block_dim_z = BlockDimZ;
    /// Blocks of the grid along x.
    grid_dim_x = GridDimX;
    /// Blocks of the grid along y.
    grid_dim_y = GridDimY;
    /// Blocks of the grid along z.
    grid_dim_z = GridDimZ;
    /// The SM that the thread runs on; the simulator has one and says 0.
    multiprocessor = Multiprocessor;
}

/// The thread's index in a one-dimensional grid. It wraps like any `u32`: a kernel for more than 2³² threads counts
/// for itself.
#[inline(always)]
pub fn index_1d() -> u32 {
    block_idx_x().wrapping_mul(block_dim_x()).wrapping_add(thread_idx_x())
}

/// Threads of a one-dimensional grid, the stride of a grid-stride loop.
#[inline(always)]
pub fn grid_threads_1d() -> u32 {
    grid_dim_x().wrapping_mul(block_dim_x())
}

/// Waits until every thread of the block arrives. After it, all threads see the writes that any of them made before it.
///
/// Every thread of the block must reach the same call, even those without work.
#[inline(always)]
#[track_caller]
pub fn sync_threads() {
    Backend::sync_threads()
}

/// [`sync_threads`], and returns the number of threads whose `predicate` is true.
#[inline(always)]
#[track_caller]
pub fn sync_threads_count(predicate: bool) -> u32 {
    Backend::sync_threads_vote(Vote::Count, predicate)
}

/// [`sync_threads`], and returns whether `predicate` is true for all threads.
#[inline(always)]
#[track_caller]
pub fn sync_threads_and(predicate: bool) -> bool {
    Backend::sync_threads_vote(Vote::And, predicate) != 0
}

/// [`sync_threads`], and returns whether `predicate` is true for any thread.
#[inline(always)]
#[track_caller]
pub fn sync_threads_or(predicate: bool) -> bool {
    Backend::sync_threads_vote(Vote::Or, predicate) != 0
}

/// Waits at the block's named barrier `id` (1 to 15; 0 is [`sync_threads`]'s) for `threads` threads, a multiple of
/// the warp size. For blocks whose warps have different roles.
#[inline(always)]
#[track_caller]
pub fn barrier(id: u32, threads: u32) {
    Backend::barrier(id, threads)
}
