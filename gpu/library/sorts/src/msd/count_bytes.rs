//! Counts the values of 17 top bits, more than 16-bit counters would fit.
//!
//! A word holds four counters of eight bits. In a round a block counts keys until the counters of uniform ones have a
//! quarter of what they can hold; then it adds them to the histogram and starts again. A counter that overflows
//! carries into its neighbour, so that the sum of the counters is no longer the number of keys: the block then counts
//! the round, and all after it, in 16-bit counters, first one half of the values, then the other.

use super::count::{
    COUNT_STATIC, COUNT_THREADS, IN_FLIGHT, NOTES, TopBits, clear, count_rest, each, each_word, encoded, forget_notes,
    note, noted,
};
use super::halves::{Halves, RELIEF, halves, is_crowd};
use super::{Key, Mapping};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, shared, thread, unroll, warp};

/// How many top bits.
pub const BYTES_TOP_BITS: u32 = 17;

/// Whether `top_bits` top bits take counters of eight bits.
pub const fn counts_in_bytes(top_bits: u32) -> bool {
    top_bits >= BYTES_TOP_BITS
}

/// Counters per word.
const PER_WORD: u32 = 4;

/// Words of counters.
const WORDS: u32 = (1 << BYTES_TOP_BITS) / PER_WORD;

/// Keys that a counter of uniform keys gets per round, on average. 256 are 24 standard deviations above.
const MEAN: u32 = 64;
/// Keys per block and round.
const ROUND: u32 = MEAN << BYTES_TOP_BITS;
const _: () = assert!(ROUND / RELIEF <= NOTES, "a round has no more reliefs than can be noted");

shared!(LOST: [u32; 1]);
shared!(CROWDED: [u32; 1]);

/// Bytes of static shared memory.
pub const BYTES_STATIC: u32 = COUNT_STATIC + 16;

/// Values of a part, half of all; they have the last 16 of the top bits for themselves.
const PART: u32 = 1 << 16;
const PARTS: u32 = (1 << BYTES_TOP_BITS) / PART;
/// The 16-bit counter for all keys of the other part, behind those of the part.
const OTHERS: u32 = PART;
const PART_WORDS: u32 = PART / 2 + 1;

/// Bytes of dynamic shared memory.
pub const BYTES_SHARED: u32 = 4 * if WORDS > PART_WORDS { WORDS } else { PART_WORDS };

/// The value of a key.
#[simt::device]
fn value<W: Key>(key: W) -> u32 {
    key.top() >> (32 - BYTES_TOP_BITS)
}

/// Counts a key. The caller has to detect a carry.
#[simt::device]
fn add<W: Key>(counters: Shared<u32>, key: W) {
    // A word has four values that differ in the two top bits: neighbouring threads, which add neighbouring words to the
    // histogram, then add to neighbouring values.
    counters.fetch_add(value(key) & (WORDS - 1), 1 << ((key.top() >> 30) * 8), Relaxed, Scope::Block);
}

/// Adds the number of keys with each value of [`BYTES_TOP_BITS`] to `histogram`, as
/// [`count_buckets`](super::count_buckets) does with fewer.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn count_in_bytes<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, histogram: Global<u32>, zeroed: Global<u32>,
) {
    let t = thread::thread_idx_x();
    let counters = Shared::<u32>::dynamic(0, WORDS);
    grid::let_next_start();
    clear(counters);
    if t == 0 {
        LOST::view().set(0, 0);
        CROWDED::view().set(0, 0);
    }
    grid::wait_for_previous(); // `histogram` was zeroed, and `keys` may have been written, by grids before
    if thread::block_idx_x() == 0 && t < zeroed.len() {
        zeroed.set(t, 0);
    }
    count_rest::<W, M>(keys, order, TopBits::new(BYTES_TOP_BITS), histogram);
    let packs = keys.len() / W::PACK;
    let (block, stride) = (thread::block_idx_x() * COUNT_THREADS, thread::grid_threads_1d());
    let round = stride * (ROUND / (COUNT_THREADS * W::PACK));
    let mut first = 0;
    let mut in_parts = false;
    while first < packs && block < packs - first {
        let end = packs.min(first.saturating_add(round));
        thread::sync_threads(); // every counter is zero before the first key is counted
        if !in_parts {
            let mine = count_keys::<W, M>(keys, order, counters, first + block + t, end);
            thread::sync_threads(); // every key is counted before counters are read
            let found = each_word(counters, |_, word| {
                let mut found = 0;
                unroll::<{ PER_WORD as usize }>(|at| found += word.to_le_bytes()[at] as u32);
                found
            });
            let lost = warp::reduce_add(warp::FULL, mine.wrapping_sub(found));
            if lost != 0 && warp::lane_id() == 0 {
                LOST::view().fetch_add(0, lost, Relaxed, Scope::Block);
            }
            thread::sync_threads(); // all differences are added before the sum is read
            in_parts = LOST::view().get(0) | CROWDED::view().get(0) != 0;
            if !in_parts {
                each_word(counters, |i, word| {
                    unroll::<{ PER_WORD as usize }>(|at| {
                        let found = word.to_le_bytes()[at] as u32;
                        if found != 0 {
                            // All blocks add to the same histogram.
                            histogram.fetch_add(at as u32 * WORDS + i, found, Relaxed, Scope::Device);
                        }
                    });
                    counters.set(i, 0);
                    0
                });
            }
        }
        if in_parts {
            let mut part = 0;
            while part < PARTS {
                count_part::<W, M>(keys, order, part, [first + block + t, end], histogram);
                part += 1;
            }
        }
        first = end;
    }
}

/// Counts the packs of this thread: `first`, and from there one per grid's width up to `end`. Returns the number of
/// keys in them. Many keys for one counter end it early, for all warps.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
fn count_keys<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, counters: Shared<u32>, first: u32, end: u32,
) -> u32 {
    let stride = thread::grid_threads_1d();
    let (mut i, mut crowded) = (first, false);
    // Whole warps go round together, because the warp votes inside.
    while !crowded && (i | 31) + (IN_FLIGHT - 1) * stride < end {
        let packs = load::<W, M>(keys, order, i);
        let known = CROWDED::view().load(0, Relaxed, Scope::Block) != 0;
        crowded = warp::any(warp::FULL, known) || is_crowd(0, value(packs[0].as_ref()[0]));
        if !crowded {
            unroll::<{ IN_FLIGHT as usize }>(|p| each::<W>(packs[p], |_, key| add(counters, key)));
        } else if warp::lane_id() == 0 {
            CROWDED::view().fetch_or(0, 1, Relaxed, Scope::Block);
        }
        i += IN_FLIGHT * stride;
    }
    while !crowded && i < end {
        each::<W>(encoded::<W, M>(keys.get_pack_streaming(i), order), |_, key| add(counters, key));
        i += stride;
    }
    end.saturating_sub(first).div_ceil(stride) * W::PACK
}

/// Counts the keys of a part of the values, and adds them to the histogram. `first`, `end`: as in [`count_keys`].
#[simt::device]
#[track_caller]
#[rustfmt::skip]
fn count_part<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, part: u32, [first, end]: [u32; 2], histogram: Global<u32>,
) {
    let t = thread::thread_idx_x();
    let counters = Halves(Shared::dynamic(0, PART_WORDS));
    thread::sync_threads(); // all have read the counters, and what was noted, before they are cleared
    clear(counters.0);
    if t == 0 {
        forget_notes();
    }
    thread::sync_threads(); // every counter is zero before the first key is counted
    let bin = |key: W| if value(key) / PART == part { value(key) % PART } else { OTHERS };
    let stride = thread::grid_threads_1d();
    let (mut i, mut hot) = (first, OTHERS);
    // Whole warps go round together, because the warp votes inside.
    while (i | 31) + (IN_FLIGHT - 1) * stride < end {
        let packs = load::<W, M>(keys, order, i);
        unroll::<{ IN_FLIGHT as usize }>(|p| {
            let mut bins = [0; 4];
            each::<W>(packs[p], |j, key| bins[j] = bin(key));
            counters.add_crowded(&mut hot, bins, W::PACK as usize, RELIEF, note);
        });
        i += IN_FLIGHT * stride;
    }
    while i < end {
        let pack = encoded::<W, M>(keys.get_pack_streaming(i), order);
        each::<W>(pack, |_, key| counters.add_checked(bin(key), 1, RELIEF, || note(bin(key))));
        i += stride;
    }
    thread::sync_threads(); // every key is counted before counters are read
    let of_part = histogram.slice(part * PART, PART);
    each_word(counters.0.slice(0, PART_WORDS - 1), |i, pair| {
        unroll::<2>(|half| {
            let found = halves(pair)[half];
            if found != 0 {
                // All blocks add to the same histogram.
                of_part.fetch_add(2 * i + half as u32, found, Relaxed, Scope::Device);
            }
        });
        0
    });
    if let Some(bin) = noted()
        && bin != OTHERS
    {
        of_part.fetch_add(bin, RELIEF, Relaxed, Scope::Device);
    }
}

/// Packs `i` and those one, two and three grid's widths behind it, as words.
#[simt::device]
fn load<W: Key, M: Mapping>(keys: Global<W>, order: u32, i: u32) -> [W::Pack; IN_FLIGHT as usize] {
    let stride = thread::grid_threads_1d();
    let mut packs = [W::Pack::default(); IN_FLIGHT as usize];
    // Not the read-only path: the grid before may still have been writing when this one started.
    unroll::<{ IN_FLIGHT as usize }>(|p| packs[p] = keys.get_pack_streaming(i + p as u32 * stride));
    unroll::<{ IN_FLIGHT as usize }>(|p| packs[p] = encoded::<W, M>(packs[p], order));
    packs
}
