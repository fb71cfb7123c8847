//! # Odd-even sort, rounds in levels
//!
//! **Idea.** The first rounds sort the runs inside each group. Each group is then one long run, and the next rounds
//! sort the groups. p runs in groups of g are sorted after g + p/g rounds instead of p: 12 instead of 32. With three
//! levels it is 24 instead of 512.
//!
//! **Changed from the rung before.** There are fewer rounds, each one launch of the kernel of `merge-split`. Runs are
//! still merged only with neighbours, and each neighbour keeps its half. But the runs of the upper levels are long, so
//! keys move far in one round. With groups of two on every level this is a merge sort.
//!
//! **Bottleneck.** Every round reads and writes every key, and moves a key by at most one run of the level. A sort that
//! merges more runs at once, or does not compare (`radix`), needs fewer passes.
//!
//! **Cost.** 1 launch sorts p = ⌈n/32,768⌉ runs (half as long for keys of 8 bytes, and where a block has less than 132
//! KiB of shared memory). Two levels up to 64 runs, three beyond: 13 launches for 2²⁰ keys of 4 bytes, 25 for 2²⁴. A
//! round reads and writes every key once. A second array of n keys.
//!
//! **Threads.** As in `merge-split`.
//!
//! **Limits.** Any n, and keys of any order, as in `merge-split`.
//!
//! **Source.** As for `merge-split`: Moscow Aviation Institute, "Parallel data processing", lab 3 (2020); G. Baudet and
//! D. Stevenson, "Optimal sorting algorithms for parallel computers" (1978). Our own: the levels.

use super::split::{BLOCK, Round, fill_pads, min_blocks};
use rungs_common::keys::{Key, Word};
use simt::{Global, grid, kernel, thread};

/// One round of a level, from `from` to `to`; then the inverse of `decode`. `backwards`: 1 for blocks counted from the
/// end.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<T>(), instances(
    odd_even_levels_round: <u32>,
    odd_even_levels_round_u64: <u64>,
))]
pub fn odd_even_levels_round<T: Key + Word>(from: Global<T>, to: Global<T>, round: Round, decode: u32, backwards: u32) {
    grid::let_next_start();
    fill_pads::<T>();
    grid::wait_for_previous(); // the round before writes what this one reads
    let block = thread::block_idx_x();
    // Every other round from the end: it begins with keys that the round before has left in the L2.
    let number = if backwards != 0 { thread::grid_dim_x() - 1 - block } else { block };
    let chunk = round.chunk(number, from.len());
    // All threads of the block take the same branch.
    if chunk.len > 0 {
        chunk.merge(from, to, decode);
    }
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: runs sorted, then a kernel per round of each level, between two arrays.

    use super::*;
    use crate::r2_merge_split::launches::{Memory, RoundArgs, RunWidth, sort_by};
    use crate::split::launches::{TILES, run_bits};
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r4_levels.rs", [odd_even_levels_round]).with_tiles(TILES).run_by(Sort::both(
        &Functions { scratch: scratch::<u32>, run: sort },
        &Functions { scratch: scratch::<u64>, run: sort },
    ));

    /// Runs up to which two levels are enough.
    const TWO_LEVELS: u32 = 64;

    /// The rounds that sort `n` keys of which runs of `run` keys are sorted, in order.
    pub fn rounds(n: u32, run: u32) -> impl Iterator<Item = Round> {
        let first = Round::first(run);
        let runs = first.runs(n);
        let levels = if runs <= TWO_LEVELS { 2 } else { 3 };
        // The smallest number whose power is no less than the number of runs.
        let group = (1u32..).find(|&group| group.saturating_pow(levels) >= runs).unwrap_or(1).max(2);
        let mut level = first;
        core::iter::from_fn(move || {
            let runs = level.runs(n);
            if runs < 2 {
                return None;
            }
            let this = Round { group: group.min(runs), ..level };
            level.run = level.run.saturating_mul(group);
            level.chunks = level.run.div_ceil(level.chunk);
            Some(this)
        })
        .flat_map(|round| (0..Round::rounds(round.group)).map(move |number| Round { parity: number % 2, ..round }))
    }

    /// The scratch memory to sort `n` keys.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn scratch<W: RunWidth>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<W>> {
        let run = 1 << run_bits(size_of::<W>() as u32, on.device().shared_per_block);
        Memory::new(on, n, run, rounds(n, run).collect())
    }

    /// Sorts keys in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: RunWidth>(on: &dyn Launcher, keys: Keys<W>, memory: &mut Memory<W>) -> Result
    where
        odd_even_levels_round<W>: Kernel<Args = RoundArgs<W>>,
    {
        sort_by(odd_even_levels_round::<W>::default(), on, keys, memory)
    }
}
