//! # Odd-even sort, all rounds in one launch
//!
//! **Idea.** A persistent kernel does all rounds. Each run has a counter of its finished chunks. A block that makes a
//! chunk waits only for the two runs that it reads, its own and its neighbour's. No barrier separates the rounds, so
//! runs far from each other may be rounds apart.
//!
//! **Changed from the rung before.** One launch for all rounds. Blocks draw the numbers of chunks from a counter, round
//! after round, and draw the next number while they merge a chunk. Counters keep their values from launch to launch, so
//! nothing is cleared. There are three arrays in place of two, because a run may be written while a neighbour still
//! reads its keys of two rounds ago.
//!
//! **Bottleneck.** The latency of a chunk: the counters, the dependent loads of the search, then load, merge and store.
//! Only fewer rounds help; the next rung has fewer.
//!
//! **Cost.** 2 launches; each of p rounds reads and writes every key once, as in the rung before. For each chunk two
//! atomics, and 5 barriers, or 2 where a chunk is a copy. Two more arrays of n keys.
//!
//! **Threads.** 256 per block, nine keys each in one chunk; at most 6 blocks per SM, 4 for keys of 8 bytes.
//!
//! **Limits.** Any n, and keys of any order. A block waits only for chunks with smaller numbers, which running blocks
//! have drawn, so any number of resident blocks is enough. If a block waits for some seconds, the kernel ends with an
//! error.
//!
//! **Source.** As the rung before: Moscow Aviation Institute, "Parallel data processing", lab 3 (2020); G. Baudet and
//! D. Stevenson, "Optimal sorting algorithms for parallel computers" (1978). Our own: rounds without launches.

use super::split::{BLOCK, Round, fill_pads, min_blocks};
use rungs_common::keys::{Key, UNSIGNED, Word};
use simt::atomic::{Order, Scope::Device};
use simt::warp::{self, FULL, WARP};
use simt::{Global, grid, kernel, shared, thread};

/// The thread that draws: of a warp that searches nothing.
const DRAWER: u32 = 2 * WARP;

/// Words from one counter to the next: a line of 128 bytes each.
const STRIDE: u32 = 16;

/// Polls after which a wait is given up: some seconds on a GPU.
const POLLS: u32 = 1 << 23;

shared!(
    /// Two numbers that were drawn, in turn: of each the round, and the chunk in it.
    DRAWN: [u32; 4]
);

/// Words of the counters for `runs` runs: the next number, then the chunks of each run that are done.
pub const fn counters(runs: u32) -> u32 {
    (1 + runs) * STRIDE
}

/// Blocks for `chunks` chunks per round.
pub const fn blocks<T>(chunks: u32, multiprocessors: u32) -> u32 {
    let most = multiprocessors * min_blocks::<T>();
    if chunks < most { chunks } else { most }
}

/// All rounds. The sorted runs are in `first`; round r reads array r modulo 3 and writes the next. The last round
/// applies the inverse of `decode`.
///
/// `counters` were zero before the first launch and belong to launches of the same number of keys and blocks; `launch`
/// counts those.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<T>(), instances(
    odd_even_persistent: <u32>,
    odd_even_persistent_u64: <u64>,
))]
#[rustfmt::skip]
pub fn odd_even_persistent<T: Key + Word>(
    first: Global<T>, second: Global<T>, third: Global<T>, counters: Global<u64>, launch: u64, round: Round,
    rounds: u32, decode: u32,
) {
    let (t, n) = (thread::thread_idx_x(), first.len());
    let numbers = Numbers { counters, launch, rounds, chunks: round.runs(n) * round.chunks };
    fill_pads::<T>();
    grid::wait_for_previous(); // the sorted runs, and the counters of the launch before
    if t == DRAWER {
        numbers.draw(0);
    }
    thread::sync_threads(); // the first number is there before all threads read it
    let mut turn = 0;
    loop {
        let (number, in_round) = (DRAWN::view().get(turn), DRAWN::view().get(turn + 1));
        if number >= rounds {
            return; // the whole block
        }
        turn ^= 2;
        if t == DRAWER {
            // While other warps wait and search. A number that is drawn early keeps no block from its chunk: all
            // smaller numbers have been drawn, and those who hold them wait for still smaller ones.
            numbers.draw(turn);
        }
        let chunk = Round { parity: number & 1, ..round }.chunk(in_round, n);
        if chunk.len > 0 {
            let (from, to) = match number % 3 {
                0 => (first, second),
                1 => (second, third),
                _ => (third, first),
            };
            let decode = if number + 1 == rounds { decode } else { UNSIGNED };
            if t < 2 * WARP {
                // The two warps that search, before they read a key.
                let run = if warp::lane_id() & 1 == 0 { chunk.run } else { chunk.partner };
                let done = launch * rounds as u64 + number as u64;
                let keys = (n - run * round.run).min(round.run);
                wait(counters, run, done * keys.div_ceil(round.chunk) as u64);
            }
            chunk.merge(from, to, decode);
        }
        // All threads have stored their keys before the chunk counts as done, and the next number is there.
        thread::sync_threads();
        // A chunk without keys has waited for nothing, so it does not count.
        if t == 0 && chunk.len > 0 {
            // Release: whoever sees the count sees the keys, those of the other threads too because of the barrier.
            counters.fetch_add((1 + chunk.run) * STRIDE, 1, Order::Release, Device);
        }
    }
}

/// The numbers of chunks: round after round, all chunks of a round from the first run on.
struct Numbers {
    counters: Global<u64>,
    launch: u64,
    rounds: u32,
    chunks: u32,
}

impl Numbers {
    /// Draws the next number and stores the round and the chunk in it, from place `turn` on.
    #[simt::device]
    fn draw(&self, turn: u32) {
        // Each block draws once more than it finds chunks.
        let all = self.rounds as u64 * self.chunks as u64;
        let before = self.launch * (all + thread::grid_dim_x() as u64);
        let number = self.counters.fetch_add(0, 1, Order::Relaxed, Device) - before;
        DRAWN::view().set(turn, (number / self.chunks as u64).min(self.rounds as u64) as u32);
        DRAWN::view().set(turn + 1, (number % self.chunks as u64) as u32);
    }
}

/// Waits until the lane's run has `done` chunks done, which are all of the rounds before. A warp makes the call, half
/// of the lanes for each of two runs.
///
/// Then the keys that this round reads are there. And nobody reads any more what it overwrites, the input of the round
/// before last: only the same two runs were made of that, since pairs repeat every other round.
#[simt::device]
fn wait(counters: Global<u64>, run: u32, done: u64) {
    let mut polls = 0;
    // Acquire: what the run's blocks stored before they counted is seen after this.
    while counters.load((1 + run) * STRIDE, Order::Acquire, Device) < done {
        polls += 1;
        assert!(polls < POLLS, "a run has not been merged for seconds");
    }
    warp::sync_warp(FULL); // each lane has seen one of the runs; now every lane has seen both
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: runs sorted, then all rounds at once, among three arrays.

    use super::*;
    use crate::r2_merge_split::launches::{RunWidth, sort_runs};
    use crate::split::launches::{TILES, run_bits};
    use rungs_common::ladder::sort::*;
    use simt::launcher;

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r3_persistent.rs", [odd_even_persistent]).with_tiles(TILES).run_by(Sort::both(
            &Functions { scratch: scratch::<u32>, run: sort },
            &Functions { scratch: scratch::<u64>, run: sort },
        ));

    /// Two arrays in addition to the keys, and what blocks tell each other.
    pub struct Memory<W> {
        arrays: [Scratch<W>; 2],
        /// They count launches, and are zero before the first.
        counters: Scratch<u64>,
        /// Launches so far.
        launches: u64,
    }

    /// The first of the rounds to sort `n` keys on a device, and their number.
    fn rounds<W>(n: u32, device: launcher::Device) -> (Round, u32) {
        let round = Round::first(1 << run_bits(size_of::<W>() as u32, device.shared_per_block));
        (round, Round::rounds(round.runs(n)))
    }

    /// The scratch memory to sort `n` keys.
    ///
    /// # Errors
    /// [`Failed::Machine`] if there is no memory.
    pub fn scratch<W: RunWidth>(on: &dyn Launcher, n: u32, _: &Options) -> Result<Memory<W>> {
        let (round, rounds) = rounds::<W>(n, on.device());
        let spare = if rounds > 0 { n } else { 0 };
        let arrays = [on.scratch(spare)?, on.scratch(spare)?];
        Ok(Memory { arrays, counters: on.zeros(counters(round.runs(n)))?, launches: 0 })
    }

    /// Sorts keys in place: two launches.
    ///
    /// # Errors
    /// Those of a launch.
    pub fn sort<W: RunWidth>(on: &dyn Launcher, Keys { keys, order }: Keys<W>, memory: &mut Memory<W>) -> Result
    where
        odd_even_persistent<W>: Kernel<Args = (Global<W>, Global<W>, Global<W>, Global<u64>, u64, Round, u32, u32)>,
    {
        let (n, device) = (keys.len(), on.device());
        let (round, rounds) = rounds::<W>(n, device);
        if rounds == 0 {
            return sort_runs(on, round.run, (keys, keys, order, order));
        }
        let (a, b) = (memory.arrays[0].view(), memory.arrays[1].view());
        // The last round writes to the keys' own array.
        let [first, second, third] = match rounds % 3 {
            0 => [keys, a, b],
            1 => [b, keys, a],
            _ => [a, b, keys],
        };
        sort_runs(on, round.run, (keys, first, order, UNSIGNED))?;
        let blocks = blocks::<W>(round.runs(n) * round.chunks, device.multiprocessors);
        let geometry = Geometry::linear(blocks, BLOCK).overlapping();
        let args = (first, second, third, memory.counters.view(), memory.launches, round, rounds, order);
        on.launch(odd_even_persistent::<W>::default(), geometry, args)?;
        // Of a launch that was refused the counters know nothing.
        memory.launches += 1;
        Ok(())
    }
}
