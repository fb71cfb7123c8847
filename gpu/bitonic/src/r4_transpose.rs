//! # Bitonic sort, transposing in shared memory
//!
//! **Idea.** A thread holds 32 keys of a tile of 16,384 and does five steps on them. Then the tile is transposed in
//! shared memory: bits of a key's place that numbered the threads then number the registers. Three windows of five bits
//! cover the tile.
//!
//! **Changed from the rung before.** Twice the keys per thread and per tile: one step more per exchange, and one stage
//! more inside a tile. Every other run inside a tile descends, by negated keys, so windows never move and no step
//! compares mirror images. One of the three exchanges of a stage stays within a warp, and in short stages two do: they
//! need a barrier of the warp instead of the block.
//!
//! **Bottleneck.** The long steps, which are those of the rung before: up to eight in one pass, but through shared
//! memory, with barriers between load and store.
//!
//! **Cost.** 23 launches for 2²⁴ keys; each reads and writes every key once. The first sorts tiles in 105 steps of the
//! network and 9 barriers; those that merge tiles do 14 steps and have 2 barriers.
//!
//! **Threads.** 512 per block, 32 keys each, as in [`super::transposed`]. Tiles of 8192 keys and blocks of 256 threads
//! if there are fewer tiles than SMs, and for keys of 8 bytes.
//!
//! **Limits.** Any n: keys past the end count as the largest and are not stored. Keys of any order: the first launch
//! maps them to unsigned words, the last one maps them back.
//!
//! **Source.** K. E. Batcher, "Sorting networks and their applications" (1968); step by step in V. A. Antonyuk, "GPGPU
//! programming" (2015). Our own: the transpositions, and negated keys.

use super::transposed::{Size, Tile, merge_tile, min_blocks, sort_tile, threads};
use rungs_common::keys::{Key, Word};
use simt::{Global, grid, kernel, thread};

/// log₂ of the keys of a tile, for `n` keys of type `T`: small tiles if large ones would leave SMs idle.
/// Keys of 8 bytes fill the registers of a thread with small tiles already.
pub const fn tile_bits<T>(n: u32, multiprocessors: u32) -> u32 {
    if size_of::<T>() > 4 || n.div_ceil(1 << 14) < multiprocessors { 13 } else { 14 }
}

/// Sorts every tile upwards; the keys are mapped by `encode` before and by the inverse of `decode` after.
#[kernel(max_threads = threads::<N>(), min_blocks = min_blocks::<T, N>(), instances(
    bitonic_transpose_sort: <u32, Tile<14>>,
    bitonic_transpose_sort_small: <u32, Tile<13>>,
    bitonic_transpose_sort_u64: <u64, Tile<13>>,
))]
pub fn bitonic_transpose_sort<T: Key + Word, N: Size>(keys: Global<T>, encode: u32, decode: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before may write the keys
    sort_tile::<T, N>(keys, thread::block_idx_x(), encode, decode, false);
}

/// The steps inside tiles that end a longer stage; then the inverse of `decode`.
#[kernel(max_threads = threads::<N>(), min_blocks = min_blocks::<T, N>(), instances(
    bitonic_transpose_merge: <u32, Tile<14>>,
    bitonic_transpose_merge_small: <u32, Tile<13>>,
    bitonic_transpose_merge_u64: <u64, Tile<13>>,
))]
pub fn bitonic_transpose_merge<T: Key + Word, N: Size>(keys: Global<T>, decode: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the long steps write the keys
    merge_tile::<T, N>(keys, thread::block_idx_x(), decode, false);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: tiles sorted, then for each longer stage the long steps by the kernel of the rung before
    //! and the rest inside tiles.

    use super::*;
    use crate::r3_register_step::{self as r3, MAX_STRIDES, Pass, THREADS, bitonic_register_step_strides};
    use crate::transposed::shared_bytes;
    use rungs_common::keys::UNSIGNED;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r4_transpose.rs", [bitonic_transpose_sort, bitonic_transpose_merge])
        .with_tiles(&[1 << 13, 1 << 14])
        .run_by(Sort::both(
            &Functions { scratch: no_scratch, run: sort },
            &Functions { scratch: no_scratch, run: sort_wide },
        ));

    /// Sorts keys of 32 bits in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort(on: &dyn Launcher, keys: Keys<u32>, (): &mut ()) -> Result {
        let small = tile_bits::<u32>(keys.keys.len(), on.device().multiprocessors) == 13;
        if small { in_tiles::<u32, Tile<13>>(on, keys) } else { in_tiles::<u32, Tile<14>>(on, keys) }
    }

    /// Sorts keys of 64 bits in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort_wide(on: &dyn Launcher, keys: Keys<u64>, (): &mut ()) -> Result {
        in_tiles::<u64, Tile<13>>(on, keys)
    }

    fn in_tiles<W: Width, N: Size>(on: &dyn Launcher, Keys { keys, order }: Keys<W>) -> Result
    where
        bitonic_transpose_sort<W, N>: Kernel<Args = (Global<W>, u32, u32)>,
        bitonic_transpose_merge<W, N>: Kernel<Args = (Global<W>, u32)>,
        bitonic_register_step_strides<W>: Kernel<Args = (Global<W>, u32, u32, u32)>,
    {
        let (n, key_bytes) = (keys.len(), size_of::<W>() as u32);
        let tiles = Geometry::linear(n.div_ceil(1 << N::BITS), threads::<N>());
        let tiles = tiles.shared(shared_bytes::<W, N>()).overlapping();
        let stages = u32::BITS - n.saturating_sub(1).leading_zeros();
        let only = if stages <= N::BITS { order } else { UNSIGNED };
        on.launch(bitonic_transpose_sort::<W, N>::default(), tiles, (keys, order, only))?;
        for stage in N::BITS..stages {
            for (low, strides) in r3::long_steps(stage, N::BITS, MAX_STRIDES) {
                let mirrored = low + strides == stage + 1;
                let blocks = r3::grid(n, Pass::Strides { low, strides, mirrored });
                let geometry = Geometry::linear(blocks, THREADS).shared(r3::shared_bytes(key_bytes));
                let kernel = bitonic_register_step_strides::<W>::default();
                on.launch(kernel, geometry, (keys, low, strides, mirrored as u32))?;
            }
            let last = if stage + 1 == stages { order } else { UNSIGNED };
            on.launch(bitonic_transpose_merge::<W, N>::default(), tiles, (keys, last))?;
        }
        Ok(())
    }
}
