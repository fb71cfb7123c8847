//! # Odd-even sort, merging bitonic-sorted blocks
//!
//! **Idea.** A bitonic network sorts blocks of 8192 keys. Then passes merge halves of blocks: first across the seams,
//! the upper half of a block with the lower half of the next one, then inside the blocks, and so on. Two sorted halves,
//! one of them read backwards, are a bitonic sequence, which one sweep of the network sorts. Halves behave like the
//! keys of a bubble sort: h halves are sorted after h passes.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** The number of passes: ⌈n/4096⌉ passes over all keys, so the work grows with n². The next rung merges
//! longer runs; the family `bitonic` exchanges keys over longer distances.
//!
//! **Cost.** ⌈n/4096⌉ launches. The first one sorts the blocks in 91 steps of the network and 26 barriers. Each of the
//! others merges in 13 steps and 4 barriers, and reads and writes every key once. A merge of halves that are already in
//! order reads two keys.
//!
//! **Threads.** 512 per block, 16 keys each in registers, as in [`rungs_bitonic::tile`].
//!
//! **Limits.** Any n; the last half may be short, and nothing outside the array is touched.
//!
//! **Source.** Moscow Aviation Institute, "Parallel data processing", lab 3 (2020). Its blocks have 1024 keys, one per
//! thread, with a launch for each step of their sort, and every step of its merges uses shared memory. Changed: blocks
//! are eight times as large, so there are an eighth of the passes; one launch sorts them; keys stay in registers for
//! four steps at a time.

use rungs_bitonic::tile::{BLOCK, TILE, keys_of_tile, merge_tile, min_blocks, sort_tile};
use rungs_common::keys::Key;
use simt::{Global, kernel, thread};

pub use rungs_bitonic::tile::{BLOCK as THREADS, shared_bytes};

/// Keys per block.
pub const KEYS: u32 = TILE;

/// Keys of half a block.
pub const HALF: u32 = KEYS / 2;

/// Blocks for `n` keys; the first block begins at `offset`, 0 or [`HALF`].
pub const fn grid(n: u32, offset: u32) -> u32 {
    n.saturating_sub(offset).div_ceil(KEYS)
}

/// The offsets of the merging passes that follow the sort of the blocks, in order.
pub fn merges(n: u32) -> impl Iterator<Item = u32> {
    // There are as many passes as halves; the sort of the blocks is the first.
    (1..n.div_ceil(HALF)).map(|pass| if pass % 2 == 1 { HALF } else { 0 })
}

/// Sorts every block.
#[kernel(
    max_threads = BLOCK, min_blocks = min_blocks::<T>(),
    instances(odd_even_bitonic_blocks_sort: <u32>, odd_even_bitonic_blocks_sort_u64: <u64>)
)]
pub fn odd_even_bitonic_blocks_sort<T: Key>(keys: Global<T>) {
    sort_tile(keys_of_tile(keys, thread::block_idx_x() * KEYS));
}

/// Merges the two sorted halves of every block; the first block begins at `offset`.
#[kernel(
    max_threads = BLOCK, min_blocks = min_blocks::<T>(),
    instances(odd_even_bitonic_blocks_merge: <u32>, odd_even_bitonic_blocks_merge_u64: <u64>)
)]
pub fn odd_even_bitonic_blocks_merge<T: Key>(keys: Global<T>, offset: u32) {
    let keys = keys_of_tile(keys, thread::block_idx_x() * KEYS + offset);
    // The halves are in order already if there is no upper half, or if its first key is not less than the last key of
    // the lower half. All threads of the block read the same two keys before any of them writes: the merge writes after
    // a barrier.
    if keys.len() > HALF && keys.get(HALF - 1) > keys.get(HALF) {
        merge_tile(keys, true);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: blocks sorted, then merged across their seams and inside, in turn.

    use super::*;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r1_bitonic_blocks.rs", [odd_even_bitonic_blocks_sort, odd_even_bitonic_blocks_merge])
            .with_tiles(&[HALF as u64, KEYS as u64])
            .run_by(Sort::both(&Words { scratch: no_scratch, sort }, &Words { scratch: no_scratch, sort }));

    /// Sorts `keys` in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, (): &mut ()) -> Result
    where
        odd_even_bitonic_blocks_sort<W>: Kernel<Args = (Global<W>,)>,
        odd_even_bitonic_blocks_merge<W>: Kernel<Args = (Global<W>, u32)>,
    {
        let (n, shared) = (keys.len(), shared_bytes(size_of::<W>() as u32));
        let geometry = |offset| Geometry::linear(grid(n, offset), THREADS).shared(shared);
        on.launch(odd_even_bitonic_blocks_sort::<W>::default(), geometry(0), (keys,))?;
        for offset in merges(n) {
            on.launch(odd_even_bitonic_blocks_merge::<W>::default(), geometry(offset), (keys, offset))?;
        }
        Ok(())
    }
}
