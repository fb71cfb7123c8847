//! # Bitonic sort, several steps in registers
//!
//! **Idea.** A thread holds 16 keys whose places differ in four bits. It does four steps on them without any other
//! thread. Then the block exchanges the keys through shared memory and does four other steps. The 8192 keys of a block
//! need not be neighbours: if they come from up to 256 rows of 32 keys, eight long steps are one pass over global
//! memory.
//!
//! **Changed from the rung before.** `shared-step` uses shared memory for every step and global memory for every long
//! step. Here four steps cost one read and one write of shared memory, and up to eight long steps are one pass.
//!
//! **Bottleneck.** The passes over global memory: in each stage longer than a tile, one pass per eight long steps and
//! one for the rest. Then the comparisons: a network of n keys compares about n·log₂²n/4 pairs whatever the keys are.
//! Only a sort that compares less is faster: see `radix`.
//!
//! **Cost.** 26 launches for 2²⁴ keys; each reads and writes every key once; the rung before has 91. A
//! compare-exchange is a minimum and a maximum, without a branch.
//!
//! **Threads.** 512 per block, 16 keys each in the windows of [`super::tile`]. Neighbouring lanes access neighbouring
//! keys in global memory.
//!
//! **Limits.** Any n: keys past the end count as the largest and are not stored.
//!
//! **Source.** K. E. Batcher, "Sorting networks and their applications" (1968); step by step in V. A. Antonyuk, "GPGPU
//! programming" (2015). Our own: several steps at a time, and rows of several keys.

use super::tile::{BLOCK, KEYS, Registers, TILE, TILE_BITS, TOP, WINDOW};
use super::tile::{keys_of_tile, merge_tile, min_blocks, place, shared, sort_tile, upper_place};
use rungs_common::keys::{Key, key_or_last, set_if_inside};
use simt::{Global, kernel, thread, unroll};

pub use super::tile::{BLOCK as THREADS, shared_bytes};

/// Long steps in one pass: two windows. Rows are then 32 keys, one per lane of a warp.
pub const MAX_STRIDES: u32 = 2 * WINDOW;
const _: () = assert!(TILE_BITS - MAX_STRIDES == 5);

/// One pass over the keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Sorts every tile.
    Sort,
    /// `strides` long steps, those of the bits from `low` on; `mirrored`: they begin a stage. A window has no fewer
    /// than four steps. If fewer are left it takes some that [`Pass::Merge`] repeats, which then changes nothing.
    Strides {
        /// The lowest bit.
        low: u32,
        /// How many bits.
        strides: u32,
        /// Whether the highest bit is its stage's first, which compares mirror images.
        mirrored: bool,
    },
    /// The steps inside tiles that end a longer stage.
    Merge,
}

/// The passes that sort `n` keys, in order.
pub fn passes(n: u32) -> impl Iterator<Item = Pass> {
    let stages = u32::BITS - n.saturating_sub(1).leading_zeros();
    let long = (TILE_BITS..stages).flat_map(|stage| {
        let parts = long_steps(stage, TILE_BITS, MAX_STRIDES);
        let strides =
            parts.map(move |(low, strides)| Pass::Strides { low, strides, mirrored: low + strides == stage + 1 });
        strides.chain([Pass::Merge])
    });
    (n > 1).then_some(Pass::Sort).into_iter().chain(long)
}

/// The long steps of a stage, those of the bits from `tile_bits` to the stage's, from the top: the lowest bit and the
/// number of bits of each pass, at most `most` and as equal as possible. A pass has no fewer than four bits; the lowest
/// of them may be bits of the tile.
pub fn long_steps(stage: u32, tile_bits: u32, most: u32) -> impl Iterator<Item = (u32, u32)> {
    let bits = stage + 1 - tile_bits;
    let passes = bits.div_ceil(most);
    let cut = move |pass: u32| tile_bits + bits * (passes - pass) / passes;
    (0..passes).map(move |pass| {
        let strides = (cut(pass) - cut(pass + 1)).max(WINDOW);
        (cut(pass) - strides, strides)
    })
}

/// Blocks of a pass over `n` keys.
pub const fn grid(n: u32, pass: Pass) -> u32 {
    match pass {
        Pass::Sort | Pass::Merge => n.div_ceil(TILE),
        // A block's keys lie in one run of 2^(low + strides) keys, and such a run has whole blocks.
        Pass::Strides { low, strides, .. } => {
            ((n as u64).div_ceil(1 << (low + strides)) << (low + strides - TILE_BITS)) as u32
        }
    }
}

/// Sorts every tile.
#[kernel(
    max_threads = BLOCK, min_blocks = min_blocks::<T>(),
    instances(bitonic_register_step_sort: <u32>, bitonic_register_step_sort_u64: <u64>)
)]
pub fn bitonic_register_step_sort<T: Key>(keys: Global<T>) {
    sort_tile(keys_of_tile(keys, thread::block_idx_x() * TILE));
}

/// The steps inside tiles that end a longer stage.
#[kernel(
    max_threads = BLOCK, min_blocks = min_blocks::<T>(),
    instances(bitonic_register_step_merge: <u32>, bitonic_register_step_merge_u64: <u64>)
)]
pub fn bitonic_register_step_merge<T: Key>(keys: Global<T>) {
    merge_tile(keys_of_tile(keys, thread::block_idx_x() * TILE), false);
}

/// The steps of `strides` bits from `low` on, from 4 to [`MAX_STRIDES`] steps; `mirrored`: 1 if they begin a stage,
/// else 0.
#[kernel(
    max_threads = BLOCK, min_blocks = min_blocks::<T>(),
    instances(bitonic_register_step_strides: <u32>, bitonic_register_step_strides_u64: <u64>)
)]
pub fn bitonic_register_step_strides<T: Key>(keys: Global<T>, low: u32, strides: u32, mirrored: u32) {
    let (t, mirrored) = (thread::thread_idx_x(), mirrored != 0);
    let rows = Rows::of_block(thread::block_idx_x(), low, strides, mirrored);
    if rows.lower >= keys.len() {
        return; // the whole block ends, so no thread waits; its other keys lie further on
    }
    let bases = [rows.at(place(t, TOP)), rows.upper_at(upper_place(t, TOP, mirrored))];
    // All bits of the window are bits of row numbers.
    let distance = TOP - rows.columns + low;
    let mut own = Registers::from_fn(|r, upper| key_or_last(keys, bases[upper as usize] + (r << distance)));
    own.steps(highest(WINDOW), mirrored);
    if strides == WINDOW {
        unroll::<KEYS>(|r| set_if_inside(keys, bases[r / (KEYS / 2)] + ((r as u32) << distance), own.0[r]));
        return;
    }
    // A mirrored key goes to the place of its row and column, so that only the row's number tells the halves apart.
    const NEXT: u32 = TOP - WINDOW;
    let tile = shared::<T>();
    own.store(tile, TOP, mirrored);
    thread::sync_threads(); // all rows are stored before they are read in another order
    let mut own = Registers::load(tile, NEXT);
    own.steps(highest(strides - WINDOW), false);
    let first = place(t, NEXT);
    let base = if first < TILE / 2 { rows.at(first) } else { rows.upper_at(first) };
    unroll::<KEYS>(|r| set_if_inside(keys, base + rows.spread((r as u32) << NEXT), own.0[r]));
}

/// The mask of a window's highest `strides` bits.
#[simt::device]
const fn highest(strides: u32) -> u32 {
    KEYS as u32 - (KEYS as u32 >> strides)
}

/// Where the places of a block's tile are among the keys. The low bits of a place are the column, the others the row;
/// rows are 2^`low` keys apart.
struct Rows {
    /// log₂ of the columns.
    columns: u32,
    low: u32,
    /// Where the rows of the lower and of the upper half are counted from.
    lower: u32,
    upper: u32,
}

impl Rows {
    #[simt::device]
    fn of_block(block: u32, low: u32, strides: u32, mirrored: bool) -> Self {
        let columns = TILE_BITS - strides;
        // Bits of the keys' places that are the same for the whole block: those between column and row, and those
        // above.
        let between = (1 << (low - columns)) - 1;
        // In two shifts: a shift by 32 at once is undefined, and then there is nothing above.
        let above = (block >> (low - columns)) << (low + strides - 1) << 1;
        let middle = block & between;
        // Mirror images have these bits inverted too.
        let opposite = if mirrored { middle ^ between } else { middle };
        Self { columns, low, lower: above | (middle << columns), upper: above | (opposite << columns) }
    }

    /// The distance of place `i` from the first key. For `a` and `b` without common bits, `spread(a | b)` is
    /// `spread(a) + spread(b)`.
    #[simt::device]
    fn spread(&self, i: u32) -> u32 {
        ((i >> self.columns) << self.low) | (i & ((1 << self.columns) - 1))
    }

    #[simt::device]
    fn at(&self, i: u32) -> u32 {
        self.lower + self.spread(i)
    }

    #[simt::device]
    fn upper_at(&self, i: u32) -> u32 {
        self.upper + self.spread(i)
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: a kernel per pass.

    use super::*;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!(
        "r3_register_step.rs",
        [bitonic_register_step_sort, bitonic_register_step_strides, bitonic_register_step_merge]
    )
    .with_tiles(&[TILE as u64])
    .run_by(Sort::both(&Words { scratch: no_scratch, sort }, &Words { scratch: no_scratch, sort }));

    /// Sorts `keys` in place: a launch per pass.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, (): &mut ()) -> Result
    where
        bitonic_register_step_sort<W>: Kernel<Args = (Global<W>,)>,
        bitonic_register_step_strides<W>: Kernel<Args = (Global<W>, u32, u32, u32)>,
        bitonic_register_step_merge<W>: Kernel<Args = (Global<W>,)>,
    {
        for pass in passes(keys.len()) {
            let geometry = Geometry::linear(grid(keys.len(), pass), THREADS);
            let geometry = geometry.shared(shared_bytes(size_of::<W>() as u32));
            match pass {
                Pass::Sort => on.launch(bitonic_register_step_sort::<W>::default(), geometry, (keys,))?,
                Pass::Strides { low, strides, mirrored } => {
                    let kernel = bitonic_register_step_strides::<W>::default();
                    on.launch(kernel, geometry, (keys, low, strides, mirrored as u32))?;
                }
                Pass::Merge => on.launch(bitonic_register_step_merge::<W>::default(), geometry, (keys,))?,
            }
        }
        Ok(())
    }
}
