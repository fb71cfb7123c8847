//! # Frequent keys
//!
//! Kernels for a sort over several GPUs of keys of which many are equal. A *frequent* key is one that a sample shows
//! often. It does not move between GPUs: each GPU counts it, and whose share of the result it belongs to writes it as
//! often as all have counted it. The others are *rare* keys.
//!
//! | kernel | task |
//! | --- | --- |
//! | [`exchange_sift`] | counts the frequent keys, and collects the rare ones |
//! | [`exchange_fill`] | writes each key of a list as often as it occurs |
//!
//! **Which keys are frequent.** Those of a window of [`WINDOW`] consecutive words, as small numbers are, and those of a
//! table of [`SLOTS`] slots. Each key of the table has a slot of its own, by the top bits of its product with a
//! multiplier that the host has found. So a key takes one subtraction, one multiplication and one load of shared memory
//! to tell whether it is frequent.
//!
//! **Bottleneck.** Memory: a read of each key and a write of each rare one; a write of each key that is filled in. A
//! block counts in shared memory, where the hardware adds the ones of equal keys of a warp together.
//!
//! **Order.** Rare keys are collected in any order, because they are sorted next. A warp's places are those that it
//! asks the block for, and the block asks the grid once per tile.

use rungs_common::aligned::Aligned;
use rungs_common::keys::Word;
#[cfg(not(target_os = "cuda"))]
use rungs_common::ladder::{Kernel, Launcher, Result};
#[cfg(not(target_os = "cuda"))]
use simt::Geometry;
use simt::atomic::{Order::Relaxed, Scope};
use simt::warp::{self, FULL};
use simt::{Global, Shared, kernel, shared, thread, unroll};

/// Consecutive words that are frequent.
pub const WINDOW: u32 = 8192;

/// Slots of the table.
pub const SLOTS: u32 = 1 << SLOT_BITS;

/// Bits of a slot's number.
const SLOT_BITS: u32 = 8;

/// Words of the table: the slots, the first word of the window, the multiplier.
pub const TABLE: u32 = SLOTS + 2;

/// Counters of [`exchange_sift`]: of the window's words, and of the slots. One more word has the number of rare keys.
pub const COUNTERS: u32 = WINDOW + SLOTS;

/// Threads per block of [`exchange_sift`].
pub const SIFT_THREADS: u32 = 512;

/// Threads per block of [`exchange_fill`].
pub const FILL_THREADS: u32 = 256;

/// Packs of 16 bytes that a thread loads, or stores, at a time.
const PACKS: usize = 4;

/// Packs of a tile of [`exchange_fill`].
const FILL_PACKS: u32 = FILL_THREADS * PACKS as u32;

/// Blocks of [`exchange_sift`] that an SM holds; of the other kernel four times as many.
#[cfg(not(target_os = "cuda"))]
const RESIDENT: u32 = 2;

/// A word that is counted where it is frequent.
pub trait Counted: Word + Ord {
    /// How far the word lies behind `first`; [`WINDOW`] or more if it is not in the window that begins there.
    fn offset(self, first: Self) -> u32;

    /// The slot of the word in a table for this multiplier.
    fn slot(self, multiplier: Self) -> u32;
}

/// The launches for words of one type.
#[cfg(not(target_os = "cuda"))]
pub trait Sifts: Counted {
    /// Launches [`exchange_sift`].
    ///
    /// # Errors
    /// Those of a launch.
    fn sift(on: &dyn Launcher, args: Sift<Self>) -> Result;

    /// Launches [`exchange_fill`].
    ///
    /// # Errors
    /// Those of a launch.
    fn fill(on: &dyn Launcher, list: (Global<Self>, Global<u32>), order: u32, output: Global<Self>) -> Result;
}

#[cfg(not(target_os = "cuda"))]
impl<W: Counted> Sifts for W
where
    exchange_sift<W>: Kernel<Args = (Global<W>, u32, Global<W>, Global<u32>, Global<W>)>,
    exchange_fill<W>: Kernel<Args = (Global<W>, Global<u32>, u32, Global<W>)>,
{
    fn sift(on: &dyn Launcher, args: Sift<W>) -> Result {
        let Sift { keys, order, table, counts, rare } = args;
        let tiles = keys.len().div_ceil(W::PACK * sift_tile());
        let geometry = Geometry::linear(tiles.min(RESIDENT * on.device().multiprocessors), SIFT_THREADS);
        let geometry = geometry.shared(SLOTS * size_of::<W>() as u32);
        on.launch(exchange_sift::<W>::default(), geometry, (keys, order, table, counts, rare))
    }

    fn fill(on: &dyn Launcher, list: (Global<W>, Global<u32>), order: u32, output: Global<W>) -> Result {
        let tiles = output.len().div_ceil(W::PACK * FILL_PACKS);
        let geometry = Geometry::linear(tiles.min(4 * RESIDENT * on.device().multiprocessors), FILL_THREADS);
        on.launch(exchange_fill::<W>::default(), geometry, (list.0, list.1, order, output))
    }
}

/// The arguments of [`exchange_sift`].
#[cfg(not(target_os = "cuda"))]
#[derive(Clone, Copy)]
pub struct Sift<W> {
    /// The keys, and their order, see [`rungs_common::keys`].
    pub keys: Global<W>,
    /// Their order.
    pub order: u32,
    /// [`TABLE`] words: one for each slot, the first of the window, and the multiplier that gives each key of the table
    /// its slot. Slots that no key has hold some word of the window, or a key of another slot.
    pub table: Global<W>,
    /// [`COUNTERS`] words and one, which are zero before.
    pub counts: Global<u32>,
    /// Room for as many words as there are keys.
    pub rare: Global<W>,
}

shared!(
    /// The block's counters.
    COUNTS: [u32; COUNTERS as usize]
);
shared!(
    /// The rare keys of a tile, and of the next one; where they begin in the output.
    STAGED: [u32; 3]
);

/// Adds the number of each frequent key to `counts`, and writes the words of the rare ones to `rare`; the last word of
/// `counts` is their number.
#[kernel(max_threads = SIFT_THREADS, instances(exchange_sift_u32: <u32>, exchange_sift_u64: <u64>))]
pub fn exchange_sift<W: Counted>(keys: Global<W>, order: u32, table: Global<W>, counts: Global<u32>, rare: Global<W>) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (first, multiplier) = (table.get(SLOTS), table.get(SLOTS + 1));
    let (here, staged, slots) = (COUNTS::view(), STAGED::view(), Shared::<W>::dynamic(0, SLOTS));
    let mut i = t;
    while i < COUNTERS {
        here.set(i, 0);
        i += SIFT_THREADS;
    }
    if t < SLOTS {
        slots.set(t, table.get(t));
    }
    if t < 2 {
        staged.set(t, 0);
    }
    thread::sync_threads(); // the counters are zero and the table is there before the first key

    // Counts a frequent key; returns whether the key is rare.
    let sift = |word: W| {
        let (offset, slot) = (word.offset(first), word.slot(multiplier));
        let is_in_table = slots.get(slot) == word;
        if offset < WINDOW {
            here.fetch_add(offset, 1, Relaxed, Scope::Block);
        } else if is_in_table {
            here.fetch_add(WINDOW + slot, 1, Relaxed, Scope::Block);
        } else {
            return true;
        }
        false
    };
    let keys = Aligned::new(keys);
    let (packs, body) = (keys.packs(), keys.body());
    let load = |start: u32| {
        let mut loaded = [W::Pack::default(); PACKS];
        unroll::<PACKS>(|p| {
            let at = start + p as u32 * SIFT_THREADS + t;
            loaded[p] = body.get_pack_read_only_or(at, at < packs, W::Pack::default());
        });
        loaded
    };
    let (mut start, stride) = (thread::block_idx_x() * sift_tile(), thread::grid_dim_x() * sift_tile());
    let (mut loaded, mut turn) = (load(start), 0);
    while start < packs {
        let next = load(start + stride);
        let (mut words, mut flags) = ([[W::default(); 4]; PACKS], 0);
        unroll::<PACKS>(|p| {
            let is_there = start + p as u32 * SIFT_THREADS + t < packs;
            unroll::<4>(|j| {
                if (j as u32) < W::PACK {
                    words[p][j] = loaded[p].as_ref()[j].encode(order);
                    if is_there && sift(words[p][j]) {
                        flags |= 1 << (4 * p + j);
                    }
                }
            });
        });
        let (sum, mut place) = (warp::reduce_add(FULL, u32::count_ones(flags)), 0);
        if lane == 0 && sum > 0 {
            place = staged.fetch_add(turn, sum, Relaxed, Scope::Block);
        }
        thread::sync_threads(); // all warps have asked for room before one thread asks the grid for it
        if t == 0 {
            let all = staged.get(turn);
            staged.set(2, if all > 0 { counts.fetch_add(COUNTERS, all, Relaxed, Scope::Device) } else { 0 });
            staged.set(1 - turn, 0);
        }
        thread::sync_threads(); // the room is known to all, and the other counter is zero before the next tile
        if sum > 0 {
            place = warp::shuffle(FULL, place, 0) + staged.get(2);
            unroll::<PACKS>(|p| {
                unroll::<4>(|j| {
                    if (j as u32) < W::PACK {
                        let is_rare = flags >> (4 * p + j) & 1 != 0;
                        let lanes = warp::ballot(FULL, is_rare);
                        if is_rare {
                            rare.set(place + (lanes & ((1 << lane) - 1)).count_ones(), words[p][j]);
                        }
                        place += lanes.count_ones();
                    }
                });
            });
        }
        (start, loaded, turn) = (start + stride, next, 1 - turn);
    }
    if thread::block_idx_x() == 0
        && let Some(key) = keys.edge(t)
    {
        let word = key.encode(order);
        if sift(word) {
            rare.set(counts.fetch_add(COUNTERS, 1, Relaxed, Scope::Device), word);
        }
    }
    thread::sync_threads(); // all keys of the block are counted before the counts are read
    let mut i = t;
    while i < COUNTERS {
        let count = here.get(i);
        if count > 0 {
            counts.fetch_add(i, count, Relaxed, Scope::Device);
        }
        i += SIFT_THREADS;
    }
}

/// Packs that a block of [`exchange_sift`] takes at a time.
const fn sift_tile() -> u32 {
    SIFT_THREADS * PACKS as u32
}

shared!(
    /// Where the runs begin that begin inside of a tile.
    STARTS: [u32; (4 * FILL_PACKS) as usize]
);

/// Writes the key of each run to the places from the run's start up to the next one's, mapped back from words. The
/// starts ascend from 0 on, each is less than the next, and all are less than the length of the output.
#[kernel(max_threads = FILL_THREADS, instances(exchange_fill_u32: <u32>, exchange_fill_u64: <u64>))]
pub fn exchange_fill<W: Word>(words: Global<W>, starts: Global<u32>, order: u32, output: Global<W>) {
    let (t, block, blocks) = (thread::thread_idx_x(), thread::block_idx_x(), thread::grid_dim_x());
    let (here, aligned) = (STARTS::view(), Aligned::new(output));
    let (head, packs, body) = (aligned.head(), aligned.packs(), aligned.body());
    // The last run that begins at a place or before it.
    let run_at = |place: u32| {
        let (mut run, mut end) = (0, starts.len());
        while end - run > 1 {
            let middle = run + (end - run) / 2;
            if starts.get(middle) <= place {
                run = middle;
            } else {
                end = middle;
            }
        }
        run
    };
    // The keys before the first pack and behind the last.
    if block == 0 && t < output.len() - packs * W::PACK {
        let place = if t < head { t } else { t + packs * W::PACK };
        output.set(place, words.get(run_at(place)).decode(order));
    }
    let part = packs.div_ceil(blocks);
    let (mut at, end) = (part * block, (part * (block + 1)).min(packs));
    if at >= end {
        return; // the whole block
    }
    let mut run = run_at(head + at * W::PACK);
    while at < end {
        let packs = (end - at).min(FILL_PACKS);
        let (begin, past) = (head + at * W::PACK, head + (at + packs) * W::PACK);
        // How many runs begin behind the tile's first key.
        let mut runs = 0;
        loop {
            let i = run + 1 + runs + t;
            let start = if i < starts.len() { starts.get(i) } else { past };
            if start < past {
                here.set(runs + t, start);
            }
            let found = thread::sync_threads_count(start < past);
            runs += found;
            if found < FILL_THREADS {
                break;
            }
        }
        unroll::<PACKS>(|p| {
            let pack = p as u32 * FILL_THREADS + t;
            if pack < packs {
                let place = begin + pack * W::PACK;
                // How many of them begin at the pack's first key or before.
                let (mut low, mut high) = (0, runs);
                while low < high {
                    let middle = low + (high - low) / 2;
                    if here.get(middle) <= place {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                let (mut key, mut filled) = (words.get(run + low).decode(order), W::Pack::default());
                unroll::<4>(|j| {
                    if (j as u32) < W::PACK {
                        if low < runs && here.get(low) <= place + j as u32 {
                            low += 1;
                            key = words.get(run + low).decode(order);
                        }
                        filled.as_mut()[j] = key;
                    }
                });
                body.set_pack(at + pack, filled);
            }
        });
        (at, run) = (at + packs, run + runs);
        thread::sync_threads(); // the starts have been read before those of the next tile take their place
    }
}

impl Counted for u32 {
    #[simt::device]
    fn offset(self, first: Self) -> u32 {
        self.wrapping_sub(first)
    }

    #[simt::device]
    fn slot(self, multiplier: Self) -> u32 {
        self.wrapping_mul(multiplier) >> (u32::BITS - SLOT_BITS)
    }
}

impl Counted for u64 {
    #[simt::device]
    fn offset(self, first: Self) -> u32 {
        self.wrapping_sub(first).min(WINDOW as u64) as u32
    }

    #[simt::device]
    fn slot(self, multiplier: Self) -> u32 {
        (self.wrapping_mul(multiplier) >> (u64::BITS - SLOT_BITS)) as u32
    }
}
