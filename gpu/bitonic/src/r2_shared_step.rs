//! # Bitonic sort, short steps in shared memory
//!
//! **Idea.** A block keeps a tile of 4096 keys in shared memory. Steps whose pairs lie in one tile need no other block.
//! So one launch does all stages up to the size of the tile, and in each longer stage one launch does the last steps.
//!
//! **Changed from the rung before.** In `global-step` every step reads and writes global memory. Here the 78 steps
//! of the first 12 stages are one launch, and so are the last 12 steps of each longer stage.
//!
//! **Bottleneck.** Each long step is still one launch. Inside a tile every step ends at a barrier, and one
//! compare-exchange takes two reads and up to two writes of shared memory. The next rung does several steps, also long
//! ones, on keys that it holds in registers.
//!
//! **Cost.** For 2^m keys, m > 12: (m - 12)·(m - 11)/2 launches of one step and m - 11 launches of tiles. Each launch
//! reads every key once; those of tiles also write every key once. A launch of tiles has one barrier per step and one
//! more: 79 barriers, later 13.
//!
//! **Threads.** 512 per block, four pairs each: no thread is idle. Neighbouring threads have neighbouring pairs, so for
//! keys of 4 bytes there is no bank conflict down to a distance of 32.
//!
//! **Limits.** Any n: past the end a tile is filled with the largest key.
//!
//! **Source.** V. A. Antonyuk, "GPGPU programming" (2015), and K. E. Batcher, "Sorting networks and their applications"
//! (1968). Changed: as in `global-step`, and tiles in shared memory.

use rungs_common::keys::{Key, key_or_last, set_if_inside};
use simt::{Global, Shared, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 512;

/// log₂ of the keys of a tile.
pub const TILE_BITS: u32 = 12;

/// Keys of a tile. Keys of 8 bytes fill 32 KiB, which every device gives a block.
pub const TILE: u32 = 1 << TILE_BITS;
const _: () = assert!(TILE.is_multiple_of(2 * BLOCK));

/// Blocks for `n` keys.
pub const fn grid(n: u32) -> u32 {
    n.div_ceil(TILE)
}

/// Bytes of dynamic shared memory per block, for keys of `key_bytes` bytes.
pub const fn shared_bytes(key_bytes: u32) -> u32 {
    TILE * key_bytes
}

/// What one launch does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// This rung's kernel: the steps inside tiles, from the first to the last of these stages.
    Tile(u32, u32),
    /// A step across tiles, by the kernel of the rung before: its distance, and whether it begins a stage.
    Across(u32, bool),
}

/// The launches that sort `n` keys, in order.
pub fn steps(n: u32) -> impl Iterator<Item = Step> {
    let stages = u32::BITS - n.saturating_sub(1).leading_zeros();
    let short = (stages > 0).then(|| Step::Tile(0, stages.min(TILE_BITS) - 1));
    let long = (TILE_BITS..stages).flat_map(|stage| {
        let steps = (TILE_BITS..=stage).rev().map(move |j| Step::Across(1 << j, j == stage));
        steps.chain([Step::Tile(stage, stage)])
    });
    short.into_iter().chain(long)
}

/// The steps inside tiles of the stages `first` to `last`: stage s merges runs of 2^s keys into runs of twice that.
#[kernel(max_threads = BLOCK, instances(bitonic_shared_step: <u32>, bitonic_shared_step_u64: <u64>))]
pub fn bitonic_shared_step<T: Key>(keys: Global<T>, first: u32, last: u32) {
    let (tile, t) = (Shared::<T>::dynamic(0, TILE), thread::thread_idx_x());
    let begin = thread::block_idx_x() * TILE;
    let mut i = t;
    while i < TILE {
        tile.set(i, key_or_last(keys, begin + i));
        i += BLOCK;
    }
    thread::sync_threads(); // the tile is whole before a thread compares keys that others loaded
    let mut stage = first;
    while stage <= last {
        // The first steps of a stage longer than the tile, the mirrored one among them, were done across tiles.
        let mut bit = if stage < TILE_BITS { stage } else { TILE_BITS - 1 };
        compare_all(tile, t, bit, bit == stage);
        thread::sync_threads(); // the next step compares keys that other threads have just placed
        while bit > 0 {
            bit -= 1;
            compare_all(tile, t, bit, false);
            thread::sync_threads(); // as above; after the last step, before the tile is stored
        }
        stage += 1;
    }
    let mut i = t;
    while i < TILE {
        set_if_inside(keys, begin + i, tile.get(i));
        i += BLOCK;
    }
}

/// One step of the whole tile: keys whose places differ in `bit`, or, mirrored, in it and all bits below.
#[simt::device]
fn compare_all<T: Key>(tile: Shared<T>, t: u32, bit: u32, mirrored: bool) {
    let j = 1 << bit;
    let mask = if mirrored { 2 * j - 1 } else { j };
    let mut pair = t;
    while pair < TILE / 2 {
        // The pair's number with a zero put in at `bit`: the lower place.
        let low = ((pair & !(j - 1)) << 1) | (pair & (j - 1));
        let (a, b) = (tile.get(low), tile.get(low ^ mask));
        if a > b {
            tile.set(low, b);
            tile.set(low ^ mask, a);
        }
        pair += BLOCK;
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: steps inside tiles together, each longer step alone.

    use super::*;
    use crate::r1_global_step::{self, bitonic_global_step};
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r2_shared_step.rs", [bitonic_shared_step])
        .with_tiles(&[TILE as u64])
        .run_by(Sort::both(&Words { scratch: no_scratch, sort }, &Words { scratch: no_scratch, sort }));

    /// Sorts `keys` in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, (): &mut ()) -> Result
    where
        bitonic_shared_step<W>: Kernel<Args = (Global<W>, u32, u32)>,
        bitonic_global_step<W>: Kernel<Args = (Global<W>, u32, u32)>,
    {
        let n = keys.len();
        let tiles = Geometry::linear(grid(n), BLOCK).shared(shared_bytes(size_of::<W>() as u32));
        let pairs = Geometry::linear(r1_global_step::grid(n), r1_global_step::BLOCK);
        for step in steps(n) {
            match step {
                Step::Tile(first, last) => {
                    on.launch(bitonic_shared_step::<W>::default(), tiles, (keys, first, last))?;
                }
                Step::Across(j, flip) => {
                    on.launch(bitonic_global_step::<W>::default(), pairs, (keys, j, flip as u32))?;
                }
            }
        }
        Ok(())
    }
}
