//! Codes of 8 or 16 bits for keys with few values in each digit, so that pairs take one or two passes and not four.
//!
//! **Idea.** Random keys of 16 values differ in all four digits, but each digit has at most 16 values. Once the digits
//! are counted, it is known which values occur. The rank of a digit's value among those is a digit of a number with a
//! mixed radix. The number grows with the key. It fits a byte if the product of the values per digit is at most 256.
//! A code is one such byte for all digits, or one for the first digits and one for the others, see [`split`].
//!
//! **What changes.** The first read of the keys maps them to codes, by a table for each digit. The last pass maps them
//! back, by a table for each byte. Passes move codes as they move keys. Nobody has counted the bytes of the codes:
//! [`prepare`] does it in a read of its own, or in the copy that comes before a single pass. On an H200, 2²⁸ pairs with
//! two values take 3.78 ms with codes, 6.67 ms in four passes by digits; with 16 values 4.22 and 6.43 ms.

use super::digits::DIGITS;
use super::pass::{CODED, Coding, ITEMS, NoCodes, PASS_SHARED, PASS_THREADS, load_tile, store_tile};
use super::steps::{block_scan, uniform};
use super::wait::wait_for_items;
use super::ways::{PASSES, Ways};
use rungs_common::keys::UNSIGNED;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, shared, thread, unroll, warp};

/// Most bytes of a code.
const BYTES: u32 = 2;

/// Words of [`Codes`].
pub const CODES_WORDS: u32 = COUNTS + BYTES * DIGITS;
/// Where the parts begin, in words: how many bytes codes have; what each value of each digit adds to the code; the
/// digits that each value of each byte stands for; how often each value of each byte occurs.
const LENGTH: u32 = 0;
const ADDENDS: u32 = LENGTH + 1;
const WORDS: u32 = ADDENDS + PASSES * DIGITS;
const COUNTS: u32 = WORDS + BYTES * DIGITS;

// The next chunk of the block.
shared!(NEXT: [u32; 1]);
// The tables of the block, and where each value of each byte of a code starts.
shared!(ADDEND_OF: [u32; PASSES * DIGITS]);
shared!(WORD_OF: [u32; BYTES * DIGITS]);
shared!(STARTS: [u32; BYTES * DIGITS]);

/// How many digits, from the last one on, share the low byte of a code, if digit p has `values[p]` values: all four, or
/// those that leave the others to the high byte, or none if there is no code. Keys that differ in two digits need none.
#[simt::device]
pub fn split(values: [u32; PASSES as usize]) -> u32 {
    let [a, b, c, d] = values;
    let differ = (a > 1) as u32 + (b > 1) as u32 + (c > 1) as u32 + (d > 1) as u32;
    let (low, high) = (a * b, c * d);
    if differ <= BYTES {
        0
    } else if low.min(DIGITS + 1) * high.min(DIGITS + 1) <= DIGITS {
        4
    } else if low.max(high) <= DIGITS {
        2
    } else if b * high <= DIGITS {
        1
    } else if low * c <= DIGITS {
        3
    } else {
        0
    }
}

/// What codes are made by.
#[derive(Clone, Copy)]
pub struct Codes(pub Global<u32>);

impl Codes {
    /// Bytes of a code; 0 if keys have none.
    #[simt::device]
    pub fn length(self) -> u32 {
        self.0.get(LENGTH)
    }

    /// How often each value of each byte occurs.
    #[simt::device]
    fn counts(self) -> Global<u32> {
        self.0.slice(COUNTS, BYTES * DIGITS)
    }

    /// Finds the codes, in one block of `WARPS` warps that are done with their shared memory. `counts[p]`: how often
    /// digit p of the keys has the value of this thread.
    #[simt::device]
    #[track_caller]
    pub fn find<const WARPS: u32>(self, counts: [u32; PASSES as usize]) {
        const { assert!(WARPS * warp::WARP >= BYTES * DIGITS) };
        let (t, sums) = (thread::thread_idx_x(), Shared::<u32>::dynamic(0, warp::WARP));
        // The values of each digit that occur, rank by rank.
        let occurring = Shared::<u32>::dynamic(4 * warp::WARP, PASSES * DIGITS);
        let occurs = counts.map(|count| (count != 0) as u32);
        // Two digits in one scan, 16 bits each.
        let (low_ranks, low_values) = block_scan::<WARPS>(occurs[0] | occurs[1] << 16, sums);
        thread::sync_threads(); // all have read the sums before those of the other digits are written
        let (high_ranks, high_values) = block_scan::<WARPS>(occurs[2] | occurs[3] << 16, sums);
        let halves = |low: u32, high: u32| [low & 0xffff, low >> 16, high & 0xffff, high >> 16];
        let (ranks, values) = (halves(low_ranks, high_ranks), halves(low_values, high_values));
        let in_low = split(values);
        if t == 0 {
            self.0.set(LENGTH, if in_low == 0 { 0 } else { 1 + (in_low < PASSES) as u32 });
        }
        if t < BYTES * DIGITS {
            self.counts().set(t, 0);
        }
        if in_low == 0 {
            return thread::sync_threads(); // all have read the sums
        }
        let is_low = |p: usize| (p as u32) < in_low;
        // The weight of each digit in its byte.
        let (mut weights, mut weight) = ([0; PASSES as usize], 1);
        unroll::<{ PASSES as usize }>(|p| {
            weight = if p as u32 == in_low { 1 } else { weight };
            weights[p] = weight;
            weight *= values[p];
        });
        if t < DIGITS {
            unroll::<{ PASSES as usize }>(|p| {
                let addend = (ranks[p] * weights[p]) << (if is_low(p) { 0 } else { 8 });
                self.0.set(ADDENDS + p as u32 * DIGITS + t, addend);
                if occurs[p] != 0 {
                    occurring.set(p as u32 * DIGITS + ranks[p], t);
                }
            });
        }
        thread::sync_threads(); // all values are known, rank by rank, before they are looked up
        if t < BYTES * DIGITS {
            let mut word = 0;
            unroll::<{ PASSES as usize }>(|p| {
                if is_low(p) == (t < DIGITS) {
                    let rank = t % DIGITS / weights[p] % values[p];
                    word |= occurring.get(p as u32 * DIGITS + rank) << (p * 8);
                }
            });
            self.0.set(WORDS + t, word);
        }
        thread::sync_threads(); // all are done with the shared memory
    }

    /// Copies the tables to shared memory; a barrier has to follow.
    #[simt::device]
    fn stage(self) {
        let t = thread::thread_idx_x();
        unroll::<{ (PASSES * DIGITS / PASS_THREADS) as usize }>(|i| {
            let at = i as u32 * PASS_THREADS + t;
            ADDEND_OF::view().set(at, self.0.get(ADDENDS + at));
        });
        WORD_OF::view().set(t, self.0.get(WORDS + t));
    }
}

/// Codes by the tables in shared memory.
#[derive(Clone, Copy)]
pub struct ByTables;

impl Coding<u32> for ByTables {
    const CODES: bool = true;

    #[simt::device]
    fn code(self, word: u32) -> u32 {
        let addend = |p: u32| ADDEND_OF::view().get(p * DIGITS + (word >> (p * 8) & (DIGITS - 1)));
        (addend(0) + addend(1)) + (addend(2) + addend(3))
    }

    #[simt::device]
    fn word(self, code: u32) -> u32 {
        WORD_OF::view().get(code & (DIGITS - 1)) | WORD_OF::view().get(DIGITS + (code >> 8 & (DIGITS - 1)))
    }

    #[simt::device]
    fn start(self, byte: u32) -> u32 {
        STARTS::view().get(byte * DIGITS + thread::thread_idx_x())
    }
}

/// Copies of each counter, chosen by lane.
const COPIES: u32 = PASS_SHARED / (4 * BYTES * DIGITS);

/// Chunks of tiles per block: enough that blocks end at about the same time.
const CHUNKS: u32 = 16;

const _: () = assert!(PASS_THREADS == BYTES * DIGITS, "a thread for each value of each byte");

/// What comes before the passes, in all blocks of the grid. If keys have codes, as `order` says, it counts their bytes,
/// and leaves the tables and the starts in the shared memory of each block. If there is to be a `copy`, the pairs go to
/// the other memory, as words in order or as codes: an odd number of passes brings them back.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn prepare(
    ways: Ways, order: u32, copy: bool, codes: Codes, phase: impl Fn() -> (Global<u32>, Global<u32>),
) {
    let (t, coded, next) = (thread::thread_idx_x(), order & CODED != 0, NEXT::view());
    let counters = Shared::<u32>::dynamic(0, COPIES * BYTES * DIGITS);
    let draw = || if t == 0 {
        // Tickets count up, so that the chunks which a block waits for have been taken by running blocks.
        next.set(0, phase().0.fetch_add(0, 1, Relaxed, Scope::Device));
    };
    draw();
    if coded {
        codes.stage();
        unroll::<{ (COPIES / 4) as usize }>(|i| counters.set_pack(i as u32 * PASS_THREADS + t, [0; 4]));
    }
    thread::sync_threads(); // the tables are there, counters are zero, and the chunk is known
    let (tiles, two_bytes) = (ways.tiles(), codes.length() > 1);
    let chunk = (tiles / (CHUNKS * thread::grid_dim_x())).max(1);
    let (mut number, mut done) = (uniform(next.get(0)), 0);
    while number * chunk < tiles {
        thread::sync_threads(); // all know the chunk before the next one is drawn
        draw();
        let (mut tile, end) = (number * chunk, tiles.min((number + 1) * chunk));
        while tile < end {
            let [from, to] = ways.keys(0);
            let keys = load_tile(tile, from, order, ByTables);
            if copy {
                store_tile(tile, to, &keys);
            }
            if coded {
                unroll::<ITEMS>(|i| {
                    let count = |value: u32| {
                        counters.fetch_add(value * COPIES + t % COPIES, 1, Relaxed, Scope::Block);
                    };
                    // A place behind the last key holds the largest word.
                    if keys[i] != u32::MAX {
                        count(keys[i] & (DIGITS - 1));
                        if two_bytes {
                            count(DIGITS + (keys[i] >> 8));
                        }
                    }
                });
            }
            if copy {
                // Not together with the keys: registers are few, and there are enough loads in flight.
                let [from, to] = ways.values(0);
                store_tile(tile, to, &load_tile(tile, from, UNSIGNED, NoCodes));
            }
            tile += 1;
        }
        done += 1;
        thread::sync_threads(); // the next chunk is known, and all of this one is counted
        number = uniform(next.get(0));
    }
    if coded {
        let mut sum = 0;
        unroll::<{ (COPIES / 4) as usize }>(|i| {
            let [a, b, c, d] = counters.get_pack(t * (COPIES / 4) + i as u32);
            sum += a + b + c + d;
        });
        if sum != 0 {
            codes.counts().fetch_add(t, sum, Relaxed, Scope::Device); // all blocks add to the same counts
        }
    }
    thread::sync_threads(); // all threads have written their pairs and counts before the chunks count as done
    wait_for_items(phase, || tiles.div_ceil(chunk), || done);
    if coded {
        let count = codes.counts().load(t, Relaxed, Scope::Device);
        let (start, _) = block_scan::<{ PASS_THREADS / warp::WARP }>(count, counters.slice(0, warp::WARP));
        // The values of the low byte are as many as pairs.
        STARTS::view().set(t, if t < DIGITS { start } else { start - ways.keys(0)[0].len() });
    }
}
