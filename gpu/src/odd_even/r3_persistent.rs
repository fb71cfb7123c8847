//! # Odd-even sort, all rounds in one launch
//!
//! **Idea.** Blocks stay for all rounds. A block that makes a chunk of a run waits for the two runs that it reads, its
//! own and its neighbour's, and for nothing else: each run has a counter of the chunks that are done. So runs far from
//! each other may be rounds apart, and no round ends for all at once.
//!
//! **Changed from the rung before.** One launch for all rounds. Blocks draw chunks by number, round after round; the
//! number of the next one is drawn while a chunk is merged. Three arrays in place of two: a neighbour may still read
//! what a run was two rounds ago while it is made anew.
//!
//! **Bottleneck.** The latency of a chunk: the counters, the dependent loads of the search, load, merge, store. Only
//! fewer rounds help: the next rung.
//!
//! **Cost.** 2 launches and a clearing of the counters; in p rounds every key is moved once each way, as in the rung
//! before. For each chunk two atomics, and 6 barriers, or 3 where a chunk is a copy. Two more arrays of n keys.
//!
//! **Threads.** 256 per block, nine keys each in one chunk; at most 6 blocks per multiprocessor, 4 for keys of 8 bytes.
//!
//! **Limits.** Any n, and keys of any order. A block waits only for chunks with smaller numbers, which blocks that run
//! have drawn, so it does not matter how many blocks there is room for. A wait of some seconds ends the kernel with an
//! error.
//!
//! **Source.** As the rung before: Moscow Aviation Institute, "Parallel data processing", lab 3 (2020); G. Baudet and
//! D. Stevenson, "Optimal sorting algorithms for parallel computers" (1978). Our own: rounds without launches.

use super::split::{BLOCK, Round, fill_pads, min_blocks};
use crate::keys::{Key, UNSIGNED, Word};
use simt::atomic::{Order, Scope::Device};
use simt::warp::{self, FULL};
use simt::{Global, grid, kernel, shared, thread};

/// Words from one counter to the next: a line of 128 bytes each.
const STRIDE: u32 = 16;

/// Polls after which a wait is given up: some seconds on a GPU.
const POLLS: u32 = 1 << 23;

shared!(
    /// The number that was drawn: the round, and the chunk in it.
    DRAWN: [u32; 2]
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

/// All rounds. The sorted runs are in `first`; round r reads array r modulo 3 and writes the next. The counters are
/// zero. The last round applies the inverse of `decode`.
#[kernel(max_threads = BLOCK, min_blocks = min_blocks::<T>(), instances(
    odd_even_persistent: <u32>,
    odd_even_persistent_u64: <u64>,
))]
pub fn odd_even_persistent<T: Key + Word>(
    first: Global<T>,
    second: Global<T>,
    third: Global<T>,
    counters: Global<u64>,
    round: Round,
    rounds: u32,
    decode: u32,
) {
    let (t, n) = (thread::thread_idx_x(), first.len());
    let chunks = round.runs(n) * round.chunks;
    fill_pads::<T>();
    grid::wait_for_previous(); // the sorted runs, and the counters
    let mut next = if t == 0 { draw(counters) } else { 0 };
    loop {
        if t == 0 {
            DRAWN::view().set(0, (next / chunks as u64).min(rounds as u64) as u32);
            DRAWN::view().set(1, (next % chunks as u64) as u32);
        }
        thread::sync_threads(); // the number is there before all threads read it
        let (number, of_round) = (DRAWN::view().get(0), DRAWN::view().get(1));
        if number >= rounds {
            return; // the whole block
        }
        if t == 0 {
            // In flight while the chunk is merged. A number that is drawn early keeps no block from its chunk: all
            // smaller numbers have been drawn, and those who hold them wait for still smaller ones.
            next = draw(counters);
        }
        let chunk = Round { parity: number & 1, ..round }.chunk::<T>(of_round, n);
        if chunk.len > 0 {
            let (from, to) = match number % 3 {
                0 => (first, second),
                1 => (second, third),
                _ => (third, first),
            };
            let decode = if number + 1 == rounds { decode } else { UNSIGNED };
            let done = number as u64 * round.chunks as u64;
            chunk.merge(from, to, decode, || wait(counters, chunk.run, chunk.partner, done));
        }
        thread::sync_threads(); // all threads have stored their keys before the chunk counts as done
        if t == 0 {
            // Release: whoever sees the count sees the keys, those of the other threads too because of the barrier.
            counters.fetch_add((1 + chunk.run) * STRIDE, 1, Order::Release, Device);
        }
    }
}

/// The number of the next chunk: round after round, all chunks of a round from the first run on.
#[inline(always)]
fn draw(counters: Global<u64>) -> u64 {
    counters.fetch_add(0, 1, Order::Relaxed, Device)
}

/// Waits until two runs have `done` chunks done, which are all of the rounds before. A warp makes the call.
///
/// Then the keys that this round reads are there. And nobody reads any more what it overwrites, the input of the round
/// before last: only the same two runs were made of that, since pairs repeat every other round.
#[inline(always)]
fn wait(counters: Global<u64>, run: u32, partner: u32, done: u64) {
    let mine = (1 + if warp::lane_id() & 1 == 0 { run } else { partner }) * STRIDE;
    let mut polls = 0;
    // Acquire: what the runs' blocks stored before they counted is seen after this.
    while counters.load(mine, Order::Acquire, Device) < done {
        polls += 1;
        assert!(polls < POLLS, "a run has not been merged for seconds");
    }
    warp::sync_warp(FULL); // each lane has seen one of the runs; now every lane has seen both
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! What the host launches: runs sorted, then all rounds at once, among three arrays.

    use super::*;
    use crate::ladder::sort::*;
    use crate::odd_even::r2_merge_split::launches::RunWidth;
    use crate::odd_even::split::{TILES, run_bits};

    /// The rung.
    pub static RUNG: Entry<Sort> =
        rung!("r3_persistent.rs", [odd_even_persistent]).with_tiles(TILES).run_by(Sort::both(&Persistent));

    struct Persistent;

    impl<W: RunWidth> Sorts<W> for Persistent
    where
        odd_even_persistent<W>: Kernel<Args = (Global<W>, Global<W>, Global<W>, Global<u64>, Round, u32, u32)>,
    {
        fn launches(&self, on: &dyn Launcher, n: u32, _: &Options) -> Result<Launches<Keys<W>>> {
            let device = on.device();
            let round = Round::first(1 << run_bits(size_of::<W>() as u32, device.shared_per_block));
            let rounds = Round::rounds(round.runs(n));
            let spare = if rounds > 0 { n } else { 0 };
            let arrays = [on.scratch::<W>(spare)?, on.scratch::<W>(spare)?];
            let counters = on.scratch::<u64>(counters(round.runs(n)))?;
            let blocks = blocks::<W>(round.runs(n) * round.chunks, device.multiprocessors);
            let geometry = Geometry::linear(blocks, BLOCK).overlapping();
            Ok(Box::new(move |on, Keys { keys, order }| {
                if rounds == 0 {
                    return W::sort_runs(on, keys, keys, round.run, order, order);
                }
                let (a, b) = (arrays[0].view(), arrays[1].view());
                // The last round writes to the keys' own array.
                let [first, second, third] = match rounds % 3 {
                    0 => [keys, a, b],
                    1 => [b, keys, a],
                    _ => [a, b, keys],
                };
                on.clear(counters.view())?;
                W::sort_runs(on, keys, first, round.run, order, UNSIGNED)?;
                let args = (first, second, third, counters.view(), round, rounds, order);
                on.launch(odd_even_persistent::<W>::default(), geometry, args)
            }))
        }
    }
}
