//! # Merge sort, merge two runs at a time along the merge path
//!
//! **Idea.** Many threads merge two sorted runs at once. The first d keys of the result are i keys of the first run and
//! d - i of the second. A binary search finds this i, where the path of the merge crosses diagonal d. So a thread, or a
//! block, can begin anywhere in the result. Blocks sort tiles in this way, starting with the keys of a thread. Then
//! each pass over the keys merges neighbouring runs, until there is one. Keys are only compared and moved.
//!
//! **Changed from the rung before.** First rung.
//!
//! **Bottleneck.** The passes: each halves the number of runs, so 2²⁸ keys need 16 of them, and each reads and writes
//! every key. In a pass a separate launch searches for the diagonals, in which the loads of a thread from global memory
//! depend on each other.
//!
//! **Cost.** For n keys, p = ⌈log₂⌈n/4352⌉⌉ passes of two launches each, after the launch that sorts tiles. Each pass
//! reads every key, for the searches some twice, and writes it.
//!
//! **Threads.** 256 per block, 17 keys each: an odd number, so that the threads of a warp, each at its own keys, use
//! different banks.
//!
//! **Limits.** Any n; as much memory again as the keys have.
//!
//! **Source.** O. Green, R. McColl, D. A. Bader, "GPU merge path: a GPU merging algorithm" (2012); S. Odeh and others,
//! "Merge path - parallel merging made simple" (2012). The layout of two runs back to back is that of bitonic
//! sequences, K. E. Batcher (1968).

use super::runs::{Group, merge_part, split_words};
use super::{Tile, part_keys, sort_tile, tile_shared};
use crate::Key;
use simt::{Global, Shared, grid, kernel, shared, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Keys per thread.
const KEYS: usize = 17;

/// Keys of a tile that a block sorts.
pub const TILE: u32 = BLOCK * KEYS as u32;

/// Keys of a tile that a block merges.
pub const PART: u32 = part_keys(2, BLOCK, KEYS as u32);

/// Bytes of dynamic shared memory.
pub const fn shared_bytes<K>() -> u32 {
    tile_shared::<K>(TILE)
}

shared!(SPLITS: [u32; split_words(2)]);

/// Sorts each tile of `input` and writes it to `output`, which may be `input`.
#[kernel(max_threads = BLOCK, instances(merge_merge_path_tile: <u32>, merge_merge_path_tile_u64: <u64>))]
pub fn merge_merge_path_tile<K: Key>(input: Global<K>, output: Global<K>) {
    sort_tile::<K, KEYS, false, false>(input, output);
}

/// Where each part begins in the first of its two runs: a thread per part.
#[kernel(max_threads = BLOCK, instances(
    merge_merge_path_split: <u32>, merge_merge_path_split_u64: <u64>,
))]
pub fn merge_merge_path_split<K: Key>(input: Global<K>, run: u32, parts: u32, splits: Global<u32>) {
    grid::wait_for_previous();
    grid::let_next_start();
    let part = thread::index_1d();
    if part >= splits.len() {
        return;
    }
    let group = Group::new(part / parts, input.len(), run, 2);
    let (keys, d) = (input.slice(group.first, group.len), part % parts * PART);
    let (a, b) = (group.len_of(0), group.len_of(1));
    let (mut low, mut high) = (d.saturating_sub(b), if d < a { d } else { a });
    while low < high {
        let middle = low + (high - low) / 2;
        if keys.get(a + d - 1 - middle) < keys.get(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    splits.set(part, low);
}

/// Fewest blocks per SM that merge. By itself ptxas may aim at more, and has no registers then for all keys that a
/// thread loads at once.
const fn merge_blocks<K>() -> u32 {
    if size_of::<K>() > 4 { 4 } else { 5 }
}

/// Merges one part of a pair of runs of `run` keys. `parts`: those of a whole pair.
#[kernel(max_threads = BLOCK, min_blocks = merge_blocks::<K>(), instances(
    merge_merge_path_merge: <u32>, merge_merge_path_merge_u64: <u64>,
))]
#[rustfmt::skip]
pub fn merge_merge_path_merge<K: Key>(
    input: Global<K>, output: Global<K>, run: u32, parts: u32, splits: Global<u32>,
) {
    let (t, part, shared) = (thread::thread_idx_x(), thread::block_idx_x(), SPLITS::view());
    grid::wait_for_previous();
    grid::let_next_start();
    let group = Group::new(part / parts, input.len(), run, 2);
    let from = part % parts * PART;
    let to = if group.len - from < PART { group.len } else { from + PART };
    if t < 2 {
        let first = splits.get(part);
        let end = if to < group.len { splits.get(part + 1) } else { group.len_of(0) };
        shared.set(t, if t == 0 { first } else { from - first });
        shared.set(2 + t, if t == 0 { end } else { to - end });
    }
    // `merge_part` has a barrier before other threads read the splits than those that wrote them.
    let tile = Tile::new(TILE);
    let load = |places: Shared<u32>| {
        let (a, len) = (places.get(1), to - from);
        let (first_a, first_b) = (group.first + shared.get(0), group.first + group.start(1) + shared.get(1));
        let mut keys = [K::default(); KEYS];
        // All loads before the first store; those behind the end load the last key again.
        let slot = |i: usize| i as u32 * BLOCK + t;
        unroll::<KEYS>(|i| {
            let slot = if slot(i) < len { slot(i) } else { len - 1 };
            keys[i] = input.get(if slot < a { first_a + slot } else { first_b + (slot - a) });
        });
        // The second run descends.
        unroll::<KEYS>(|i| {
            if slot(i) < len {
                tile.set(if slot(i) < a { slot(i) } else { a + len - 1 - slot(i) }, keys[i]);
            }
        });
    };
    merge_part::<K, 2, KEYS, false>(output, group, [from, to], shared, tile, load);
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: the tiles, then a search and a merge per pass.

    use super::*;
    use crate::host::{passes_of, sort_by_passes};
    use crate::runs::Pass;
    use rungs_common::ladder::sort::*;
    use std::vec::Vec;

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r1_merge_path.rs", [merge_merge_path_tile, merge_merge_path_split, merge_merge_path_merge])
            .with_tiles(&[TILE as u64])
            .run_by(Sort::both(&Words { scratch: scratch::<u32>, sort }, &Words { scratch: scratch::<u64>, sort }));

    /// The passes of a sort, and the memory that it needs in addition to the keys.
    pub struct Memory<W> {
        passes: Vec<Pass>,
        /// Where the parts of a pass begin.
        splits: Scratch<u32>,
        /// As many keys as there are.
        other: Scratch<W>,
    }

    /// The scratch memory to sort `n` keys.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn scratch<W: Scalar>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<W>> {
        let levels = std::vec![1; n.div_ceil(TILE).next_power_of_two().ilog2() as usize];
        let passes = passes_of(n, TILE, &levels, |_| PART);
        let splits = on.scratch(passes.iter().map(|pass| pass.blocks).max().unwrap_or(0))?;
        Ok(Memory { passes, splits, other: on.scratch(n)? })
    }

    /// Sorts `keys` in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: Width>(on: &dyn Launcher, keys: Global<W>, memory: &mut Memory<W>) -> Result
    where
        merge_merge_path_tile<W>: Kernel<Args = (Global<W>, Global<W>)>,
        merge_merge_path_split<W>: Kernel<Args = (Global<W>, u32, u32, Global<u32>)>,
        merge_merge_path_merge<W>: Kernel<Args = (Global<W>, Global<W>, u32, u32, Global<u32>)>,
    {
        let Memory { passes, splits, other } = memory;
        let tile = |on: &dyn Launcher, from, to| {
            let geometry = Geometry::linear(keys.len().div_ceil(TILE), BLOCK).shared(shared_bytes::<W>());
            on.launch(merge_merge_path_tile::<W>::default(), geometry.overlapping(), (from, to))
        };
        let merge = |on: &dyn Launcher, pass: &Pass, from, to| merge_pass(on, pass, [from, to], splits.view());
        sort_by_passes(on, [keys, other.view()], passes, tile, merge)
    }

    /// Launches a pass from one array to another.
    fn merge_pass<W: Width>(on: &dyn Launcher, pass: &Pass, [from, to]: [Global<W>; 2], splits: Global<u32>) -> Result
    where
        merge_merge_path_split<W>: Kernel<Args = (Global<W>, u32, u32, Global<u32>)>,
        merge_merge_path_merge<W>: Kernel<Args = (Global<W>, Global<W>, u32, u32, Global<u32>)>,
    {
        let splits = splits.slice(0, pass.blocks);
        let geometry = Geometry::linear(pass.blocks.div_ceil(BLOCK), BLOCK).overlapping();
        let args = (from, pass.run, pass.parts, splits);
        on.launch(merge_merge_path_split::<W>::default(), geometry, args)?;
        let geometry = Geometry::linear(pass.blocks, BLOCK).shared(shared_bytes::<W>()).overlapping();
        on.launch(merge_merge_path_merge::<W>::default(), geometry, (from, to, pass.run, pass.parts, splits))
    }

    /// Words of scratch memory for [`merge_two`] of `n` words.
    pub const fn two_words(n: u32) -> u32 {
        n.div_ceil(PART)
    }

    /// Merges two sorted runs that lie one behind the other in `arrays[0]`, into `arrays[1]`, which has as many words.
    /// The first run has `first` words, at least one, and the second no more. `splits`: see [`two_words`].
    ///
    /// # Errors
    /// Those of a launch.
    pub fn merge_two<W: Width>(on: &dyn Launcher, arrays: [Global<W>; 2], first: u32, splits: Global<u32>) -> Result
    where
        merge_merge_path_split<W>: Kernel<Args = (Global<W>, u32, u32, Global<u32>)>,
        merge_merge_path_merge<W>: Kernel<Args = (Global<W>, Global<W>, u32, u32, Global<u32>)>,
    {
        let n = arrays[0].len();
        assert!(n == arrays[1].len() && first > 0 && first <= n && n - first <= first, "{first} words of {n}");
        merge_pass(on, &Pass::new(n, first.into(), 2, PART), arrays, splits)
    }
}
