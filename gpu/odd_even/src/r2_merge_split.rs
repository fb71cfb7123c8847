//! # Odd-even sort, long runs made by many blocks
//!
//! **Idea.** A run is as long as one SM can sort: 32,768 keys. In a round each run is merged with a neighbour, in turn
//! the one above and the one below. The lower of the two keeps the smaller keys, the upper the others. p runs are
//! sorted after p rounds. Many blocks make each run, a chunk each, so all SMs work on a few long runs.
//!
//! **Changed from the rung before.** Runs are eight times as long as the halves of a block, so there are an eighth of
//! the rounds. A block finds the keys of its chunk by a search. Then each thread merges nine keys one by one; the
//! network took 13 steps for all keys.
//!
//! **Bottleneck.** The latency of a round more than its bytes: a launch, the dependent loads of the search, then load,
//! merge and store. The next rung has no launches between rounds.
//!
//! **Cost.** p = ⌈n/32,768⌉ runs (half as long for keys of 8 bytes, and where a block has less than 132 KiB of shared
//! memory). 1 launch sorts them, and each of p rounds is a launch (1 round for two runs, none for one). A round reads
//! and writes every key once, and its blocks have 4 barriers, or 1 where a chunk is a copy. A second array of n keys.
//!
//! **Threads.** Runs: 1024 per block, 32 keys each, as in [`super::runs`]. Rounds: 256 per block, nine keys each in one
//! chunk.
//!
//! **Limits.** Any n, and keys of any order: the first launch maps them to unsigned words, the last one maps them back.
//!
//! **Source.** Moscow Aviation Institute, "Parallel data processing", lab 3 (2020), for sorted blocks that merge with
//! their neighbours, and G. Baudet and D. Stevenson, "Optimal sorting algorithms for parallel computers" (1978), for
//! the rule that each keeps its half. Our own: runs in chunks. The forum course "CUDA 程式設計 (9): 泡泡龍 part 2" (2008) has
//! the same passes: after its first one a window is two sorted halves, which the next one merges.

use super::runs::{self, Run, Size, sort_run, threads};
use super::split::{BLOCK, Round, fill_pads, min_blocks};
use rungs_common::keys::{Key, Word};
use simt::{Global, grid, kernel, thread};

/// Sorts every run of `keys` into `runs`, which may be the same; the keys are mapped by `encode` before and by the
/// inverse of `decode` after.
#[kernel(max_threads = threads::<N>(), min_blocks = runs::min_blocks::<T, N>(), instances(
    odd_even_merge_split_sort: <u32, Run<15>>,
    odd_even_merge_split_sort_small: <u32, Run<14>>,
    odd_even_merge_split_sort_u64: <u64, Run<14>>,
    odd_even_merge_split_sort_u64_small: <u64, Run<13>>,
))]
pub fn odd_even_merge_split_sort<T: Key + Word, N: Size>(keys: Global<T>, runs: Global<T>, encode: u32, decode: u32) {
    grid::let_next_start();
    grid::wait_for_previous(); // the launch before may use both
    let first = thread::block_idx_x() << N::BITS;
    let len = (keys.len() - first).min(1 << N::BITS);
    sort_run::<T, N>(keys.slice(first, len), runs.slice(first, len), encode, decode);
}

/// One round, from `from` to `to`; then the inverse of `decode`. `backwards`: 1 for blocks counted from the end.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<T>(), instances(
    odd_even_merge_split_round: <u32>,
    odd_even_merge_split_round_u64: <u64>,
))]
pub fn odd_even_merge_split_round<T: Key + Word>(
    from: Global<T>,
    to: Global<T>,
    round: Round,
    decode: u32,
    backwards: u32,
) {
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
    //! What the host launches: runs sorted, then a kernel per round, between two arrays.

    use super::*;
    use crate::split::launches::{TILES, run_bits};
    use rungs_common::keys::UNSIGNED;
    use rungs_common::ladder::sort::*;

    /// The rung.
    pub static RUNG: Entry<Sort> = rung!("r2_merge_split.rs", [odd_even_merge_split_sort, odd_even_merge_split_round])
        .with_tiles(TILES)
        .run_by(Sort::both(
            &Functions { scratch: scratch::<u32>, run: sort },
            &Functions { scratch: scratch::<u64>, run: sort },
        ));

    /// The rounds of a sort, and the second array.
    pub struct Memory<W> {
        run: u32,
        rounds: Box<[Round]>,
        spare: Scratch<W>,
    }

    impl<W: RunWidth> Memory<W> {
        /// For `n` keys of which runs of `run` keys are sorted, and then merged by these rounds.
        ///
        /// # Errors
        /// [`Failed::Machine`] if there is no memory for the second array.
        pub fn new(on: &dyn Launcher, n: u32, run: u32, rounds: Box<[Round]>) -> Result<Self> {
            Ok(Self { run, spare: on.scratch(if rounds.is_empty() { 0 } else { n })?, rounds })
        }
    }

    /// The scratch memory to sort `n` keys.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn scratch<W: RunWidth>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<W>> {
        let round = Round::first(1 << run_bits(size_of::<W>() as u32, on.device().shared_per_block));
        let rounds = (0..Round::rounds(round.runs(n))).map(|number| Round { parity: number % 2, ..round });
        Memory::new(on, n, round.run, rounds.collect())
    }

    /// Sorts keys in place.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: RunWidth>(on: &dyn Launcher, keys: Keys<W>, memory: &mut Memory<W>) -> Result
    where
        odd_even_merge_split_round<W>: Kernel<Args = RoundArgs<W>>,
    {
        sort_by(odd_even_merge_split_round::<W>::default(), on, keys, memory)
    }

    /// The arguments of a round's kernel.
    pub type RoundArgs<W> = (Global<W>, Global<W>, Round, u32, u32);

    /// Sorts runs, and then does the rounds, each by a launch of `kernel`.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort_by<W: RunWidth, K: Kernel<Args = RoundArgs<W>>>(
        kernel: K,
        on: &dyn Launcher,
        Keys { keys, order }: Keys<W>,
        memory: &mut Memory<W>,
    ) -> Result {
        let Memory { run, rounds, spare } = memory;
        // The last round writes to the keys' own array.
        let (mut from, mut to) =
            if rounds.len().is_multiple_of(2) { (keys, spare.view()) } else { (spare.view(), keys) };
        sort_runs(on, *run, (keys, from, order, if rounds.is_empty() { order } else { UNSIGNED }))?;
        for (number, &round) in rounds.iter().enumerate() {
            let decode = if number + 1 == rounds.len() { order } else { UNSIGNED };
            let geometry = Geometry::linear(round.runs(keys.len()) * round.chunks, BLOCK).overlapping();
            on.launch(kernel, geometry, (from, to, round, decode, number as u32 % 2))?;
            (from, to) = (to, from);
        }
        Ok(())
    }

    /// A width of keys whose runs can be sorted.
    pub trait RunWidth: Width {
        /// Long runs, of which a block holds one.
        type Large: Size;
        /// Short runs, for few keys.
        type Small: Size;
        /// The kernel that sorts long runs.
        type SortLarge: Kernel<Args = RunArgs<Self>> + Default;
        /// The kernel that sorts short runs.
        type SortSmall: Kernel<Args = RunArgs<Self>> + Default;
    }

    impl RunWidth for u32 {
        type Large = Run<15>;
        type Small = Run<14>;
        type SortLarge = odd_even_merge_split_sort<u32, Run<15>>;
        type SortSmall = odd_even_merge_split_sort<u32, Run<14>>;
    }

    impl RunWidth for u64 {
        type Large = Run<14>;
        type Small = Run<13>;
        type SortLarge = odd_even_merge_split_sort<u64, Run<14>>;
        type SortSmall = odd_even_merge_split_sort<u64, Run<13>>;
    }

    /// What the sort of runs takes: keys, runs, the keys' order before and after.
    pub type RunArgs<W> = (Global<W>, Global<W>, u32, u32);

    /// Sorts runs of `run` keys.
    ///
    /// # Errors
    /// Those of the launch.
    pub fn sort_runs<W: RunWidth>(on: &dyn Launcher, run: u32, args: RunArgs<W>) -> Result {
        fn geometry<W, N: Size>(n: u32) -> Geometry {
            let shared = runs::padded(1 << N::BITS) * size_of::<W>() as u32;
            Geometry::linear(n.div_ceil(1 << N::BITS), threads::<N>()).shared(shared).overlapping()
        }
        let n = args.0.len();
        if run == 1 << W::Large::BITS {
            on.launch(W::SortLarge::default(), geometry::<W, W::Large>(n), args)
        } else {
            on.launch(W::SortSmall::default(), geometry::<W, W::Small>(n), args)
        }
    }
}
