//! Sorts keys in the shared memory of one block.

use super::runs::{ITEMS, merge_runs, merge_seam, sort_own};
use super::{Key, Mapping, is_float};
use crate::steps::leading_zeros;
use rungs_common::operator::{Sum, warp_scan_inclusive};
use simt::atomic::{Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, Shared, opaque, shared, thread, unroll, warp};

/// Threads per block.
pub const SORT_THREADS: u32 = 384;

/// Full rows of the window that need no bounds check.
const FULL_ROWS: u32 = 10;

/// Keys are given up as skewed if this many of 32 neighbours share a word of counters, or if they are not in order
/// after the second round. Those that are not given up are merged once a round leaves more than half of the threads
/// whose keys it found out of order.
const SKEWED: u32 = 12;

/// The warp whose keys are sampled for that: not the first or the last, where the window may have no keys.
pub const SAMPLED_WARP: u32 = 3;

/// The number of warps whose keys are sampled to spread floats by their bits or by their values.
const SAMPLED_WARPS: u32 = 4;

/// Places that a thread requests at once.
const GROUP: usize = 4;

/// Slots of a block: 12 keys per thread.
const fn slots(threads: u32) -> u32 {
    threads * ITEMS
}

/// Keys that fit a block: it reads from a multiple of 128 bytes on, which can take up to 31 slots.
pub const fn in_block_most(threads: u32) -> u32 {
    slots(threads) - 31
}

/// Words of counters: two 16-bit counters each, so that there are as many counters as slots.
const fn words(threads: u32) -> u32 {
    slots(threads) / 2
}
const _: () = assert!(words(SORT_THREADS) == SORT_THREADS * 6, "six words of counters per thread");

/// Bytes of dynamic shared memory: counters, slots, one sum per warp.
pub const fn in_block_shared<W>(threads: u32) -> u32 {
    words(threads) * 4 + slots(threads) * size_of::<W>() as u32 + 4 * warp::WARP
}

/// Bytes of static shared memory.
pub const IN_BLOCK_STATIC: u32 = 8;

/// What became of the keys.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The keys are in order.
    Sorted,
    /// Too skewed; not moved.
    Untouched,
    /// Too skewed; in the output, not in order and, if their top bits are the same, not mapped back.
    InOutput,
}

/// Zeroes the counters of a block of `threads`; all its threads call it before they sort.
#[simt::device]
pub fn clear_counters(threads: u32) {
    let own = own_counters(threads);
    unroll::<3>(|i| own.set(i as u32, 0));
}

/// The six counter words of this thread, as three pairs.
#[simt::device]
fn own_counters(threads: u32) -> Shared<u64> {
    Shared::<u64>::dynamic(0, threads * 3).slice(thread::thread_idx_x() * 3, 3)
}

shared!(DIFFER: [u32; 2]);

/// Sorts keys `start` to `end` of `input`, at most [`in_block_most`], into the same place of `output`. All `THREADS`
/// threads of the block call it.
///
/// `SAME`: all keys have the same `shift` top bits, fewer than 32, and skewed keys are given up. Without it the block
/// spreads its keys between the least and the greatest of them, and always sorts.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub fn sort_in_block<W: Key, M: Mapping, const SAME: bool, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, start: u32, end: u32, shift: u32,
) -> Outcome {
    sort_or_give_up::<W, M, SAME, false, THREADS>(input, output, order, start, end, shift)
}

/// Sorts at most [`in_block_most`] `keys` where they are, or gives them up if they are skewed. They are spread over
/// counters between the least and the greatest of them: floats by their bits or their values, whichever make fewer keys
/// of a sample share a counter.
#[simt::device]
#[track_caller]
pub fn sort_whole<W: Key, M: Mapping, const THREADS: u32>(keys: Global<W>, order: u32) -> Outcome {
    sort_or_give_up::<W, M, false, true, THREADS>(keys, keys, order, 0, keys.len(), 0)
}

/// [`sort_in_block`], or with `WHOLE` [`sort_whole`].
#[simt::device]
#[track_caller]
#[rustfmt::skip]
fn sort_or_give_up<W: Key, M: Mapping, const SAME: bool, const WHOLE: bool, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, start: u32, end: u32, shift: u32,
) -> Outcome {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let (in_slots, words) = (const { slots(THREADS) }, const { words(THREADS) });
    let counters = Shared::<u32>::dynamic(0, words);
    let slots = Shared::<W>::dynamic(words * 4, in_slots);
    let sums = Shared::<u32>::dynamic(words * 4 + in_slots * size_of::<W>() as u32, warp::WARP);
    let own_slots = slots.slice(t * ITEMS, ITEMS);
    // The keys are read and written in rows that begin on a multiple of 32 keys: slots `skip` to `filled` of a window.
    let count = end - start;
    let skip = start % 32;
    let filled = skip + count;
    let first = start - skip;
    let row = |view: Global<W>| view.slice((first + t).min(view.len()), view.len() - (first + t).min(view.len()));
    // Whether slot i of this thread's column holds a key of the bucket. The right side is the same for all threads, so
    // that it takes no register per thread.
    let behind = |i: usize| filled as i32 - (i as u32 * THREADS) as i32;
    let is_ours = |t: u32, i: usize| (t as i32) < behind(i) && (i > 0 || t >= skip);
    let full = filled >= FULL_ROWS * THREADS;
    // Items of a full window that need no bounds check.
    let sure = |i: usize| i > 0 && (i as u32) < FULL_ROWS;
    let mut keys = [W::LARGEST; ITEMS as usize];
    let window = row(input);
    let u = opaque(t);
    let load = |i: usize| {
        let key = window.get_streaming(i as u32 * THREADS);
        if WHOLE { M::encode(key, order) } else { key }
    };
    if full {
        unroll::<{ ITEMS as usize }>(|i| if sure(i) || is_ours(u, i) { keys[i] = load(i) });
    } else {
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) { keys[i] = load(i) });
    }
    let mut spread = Spread { least: W::from_bits(0), shift: 0, scale: 0, of_values: 0.0, last: 0 };
    if !SAME {
        let (mut least, mut greatest) = (W::LARGEST, W::from_bits(0));
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
            least = least.min(keys[i]);
            greatest = greatest.max(keys[i]);
        });
        // The barrier inside is behind the zeroes of all counters.
        (least, greatest) = extremes::<W>(least, greatest, slots, THREADS / warp::WARP);
        if least == greatest {
            let (window, u) = (row(output), opaque(t));
            unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
                window.set(i as u32 * THREADS, M::decode(least, order));
            });
            return Outcome::Sorted;
        }
        spread = Spread::between(least, greatest, 2 * words);
        let of_values = scale_of_values(greatest.apart(least, order), 2 * words);
        if WHOLE && is_float(order) && of_values > 0.0 {
            let values = Spread { of_values, ..spread };
            let place = |spread: Spread<W>| if is_ours(u, 0) { spread.place(keys[0], order) } else { u32::MAX - lane };
            if w < SAMPLED_WARPS {
                let alike = warp::match_any(warp::FULL, keys[0]);
                let shared = |spread| {
                    let others = warp::match_any(warp::FULL, place(spread)) & !alike;
                    warp::ballot(warp::FULL, others != 0).count_ones()
                };
                let (by_bits, by_values) = (shared(spread), shared(values));
                if lane == 0 {
                    sums.set(w, by_bits.wrapping_sub(by_values));
                }
            }
            thread::sync_threads(); // the sampled warps have compared
            let mut fewer = 0;
            unroll::<{ SAMPLED_WARPS as usize }>(|w| fewer += sums.get(w as u32) as i32);
            if fewer >= 0 {
                spread = values;
            }
        }
    }
    // With the same top bits, the word of the counter is chosen by the bits after the next one, the half by the next
    // one. The counters of upper halves come after all those of lower halves.
    let next_bits = |key: W| key.top() << shift;
    let word_and_half = |key: W| {
        if SAME {
            (mul_hi(next_bits(key) << 1, words), (next_bits(key) as i32) < 0)
        } else {
            let place = spread.place(key, order);
            if place >= words { (place - words, true) } else { (place, false) }
        }
    };
    let add = |key: W| {
        let (word, upper) = word_and_half(key);
        let before = counters.slice(word, 1).fetch_add(0, if upper { 1 << 16 } else { 1 }, Relaxed, Scope::Block);
        if upper { before >> 16 } else { before & 0xffff }
    };

    let mut skewed = false;
    if (SAME || WHOLE) && w == SAMPLED_WARP && (t | 31) + THREADS < filled {
        let (word, _) = word_and_half(keys[1]);
        skewed = warp::ballot(warp::FULL, warp::shuffle(warp::FULL, word, 0) == word).count_ones() >= SKEWED;
    }
    // The counters are zero before the first key is counted.
    if (SAME || WHOLE) && thread::sync_threads_or(skewed) {
        if !SAME {
            return Outcome::Untouched;
        }
        // Atomics on few counters would wait for each other. Keys that are all equal are in order already.
        let (key, u) = (input.get(start), opaque(t));
        let mut differ = false;
        unroll::<{ ITEMS as usize }>(|i| differ |= is_ours(u, i) && keys[i] != key);
        if thread::sync_threads_or(differ) {
            return Outcome::Untouched;
        }
        let window = row(output);
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
            window.set(i as u32 * THREADS, M::decode(key, order));
        });
        return Outcome::Sorted;
    }
    let u = opaque(t);
    if full {
        unroll::<{ ITEMS as usize }>(|i| if sure(i) || is_ours(u, i) { add(keys[i]); });
    } else {
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) { add(keys[i]); });
    }
    thread::sync_threads(); // every key is counted before the counts are read

    start_counters(sums, THREADS);
    let u = opaque(t);
    if full {
        unroll::<{ ITEMS as usize / GROUP }>(|g| {
            // All places of a group are requested before the first is used.
            let mut places = [0; GROUP];
            each_of(g, |j, i| if sure(i) || is_ours(u, i) { places[j] = add(keys[i]) });
            each_of(g, |j, i| if sure(i) || is_ours(u, i) { slots.set(places[j], keys[i]) });
        });
    } else {
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) { slots.set(add(keys[i]), keys[i]) });
    }
    let mut i = count + t;
    while i < in_slots {
        slots.set(i, W::LARGEST);
        i += THREADS;
    }
    thread::sync_threads(); // every slot is filled before runs of slots are read

    // The keys are nearly sorted: only keys that share a counter may be out of order, and those are neighbours. Sort
    // runs of 12, then merge across the seams, until all keys are in order.
    let mut unsorted_before = None;
    loop {
        sort_own::<W>(own_slots, &mut keys);
        thread::sync_threads(); // all runs are sorted before the lower half of the next one is read
        unroll::<6>(|i| keys[i] = keys[i + 6]);
        if t < THREADS - 1 {
            merge_seam::<W>(slots.slice(t * ITEMS, 2 * ITEMS), &mut keys);
        }
        // Is the middle of this thread's run still in order? The thread below has merged its lower half.
        let before = warp::shuffle_up(warp::FULL, keys[11], 1);
        let mut unsorted = lane > 0 && before > keys[0];
        thread::sync_threads(); // all seams are merged before slots are read and written out
        if lane == 0 {
            unsorted = own_slots.get(5) > own_slots.get(6);
        }
        // Keys are written before the vote on whether they are in order, which they nearly always are: the stores hide
        // the vote.
        let (window, u) = (row(output), opaque(t));
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
            let i = i as u32 * THREADS;
            window.set(i, M::decode(slots.get(i + t - skip), order));
        });
        let unsorted = thread::sync_threads_count(unsorted);
        if unsorted == 0 {
            return Outcome::Sorted;
        }
        if !SAME && unsorted_before.is_some_and(|before| 2 * unsorted > before) {
            if WHOLE {
                return Outcome::InOutput;
            }
            sort_own::<W>(own_slots, &mut keys);
            thread::sync_threads(); // all runs are sorted, and have been written out, before they are merged
            merge_runs::<W>(slots, THREADS);
            let (window, u) = (row(output), opaque(t));
            unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
                let i = i as u32 * THREADS;
                window.set(i, M::decode(slots.get(i + t - skip), order));
            });
            return Outcome::Sorted;
        }
        if SAME && unsorted_before.is_some() {
            // Not mapped back: the keys are not in their final order.
            unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
                let i = i as u32 * THREADS;
                window.set(i, slots.get(i + t - skip));
            });
            return Outcome::InOutput;
        }
        unsorted_before = Some(unsorted);
    }
}

/// Turns complete counts into the place of the first key of each counter, in a block of `threads`.
#[simt::device]
#[track_caller]
pub fn start_counters(sums: Shared<u32>, threads: u32) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (w, own) = (t / warp::WARP, own_counters(threads));
    let mut pairs = [0u64; 3];
    unroll::<3>(|i| pairs[i] = own.get(i as u32));
    let mut mine = 0u32;
    unroll::<3>(|i| mine += pairs[i] as u32 + (pairs[i] >> 32) as u32);
    let inclusive = warp_scan_inclusive::<Sum, u32>(mine);
    if lane == warp::WARP - 1 {
        sums.set(w, inclusive);
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    let sum = if lane < threads / warp::WARP { sums.get(lane) } else { 0 };
    let total = warp::reduce_add(warp::FULL, sum);
    let below = warp::reduce_add(warp::FULL, if lane < w { sum } else { 0 });
    // Both halves are scanned in one word. The keys of the upper halves come after all keys of the lower halves.
    let mut next = (below + inclusive - mine).wrapping_add(total << 16);
    unroll::<3>(|i| {
        let (low, high) = (pairs[i] as u32, (pairs[i] >> 32) as u32);
        own.set(i as u32, next as u64 | (next.wrapping_add(low) as u64) << 32);
        next = next.wrapping_add(low).wrapping_add(high);
    });
    thread::sync_threads(); // counters hold places before keys are placed
}

/// How keys are spread over counters: evenly between the least and the greatest key.
#[derive(Clone, Copy)]
struct Spread<W> {
    least: W,
    shift: u32,
    scale: u32,
    /// Counters per unit, if they are spread by the values of floats; otherwise 0.
    of_values: f32,
    /// The last counter.
    last: u32,
}

impl<W: Key> Spread<W> {
    /// Over `counters` counters, at most 2¹⁵.
    #[simt::device]
    fn between(least: W, greatest: W, counters: u32) -> Self {
        let shift = leading_zeros((greatest.bits() - least.bits()) | 1) - (64 - 32 * W::HALVES);
        // Between 2³¹ and 2³², so the scale is below 2¹⁶. It is made smaller by more than the error of the division,
        // so that the greatest key stays below the number of counters.
        let width = greatest.above(least, shift);
        let scale = (counters as f32 * (4294967296.0 * 0.9999) / width as f32) as u32;
        Self { least, shift, scale, of_values: 0.0, last: counters - 1 }
    }

    #[simt::device]
    fn place(self, key: W, order: u32) -> u32 {
        if self.of_values > 0.0 {
            // The rounded difference grows with the key, and so does the rounded product.
            ((key.apart(self.least, order) * self.of_values) as u32).min(self.last)
        } else {
            mul_hi(key.above(self.least, self.shift), self.scale)
        }
    }
}

/// How many `counters` there are per unit, if the greatest and the least float are `width` apart. 0 if one of them is
/// infinite or NaN, or if they are equal.
#[simt::device]
fn scale_of_values(width: f32, counters: u32) -> f32 {
    if width > 0.0 && width < f32::INFINITY { counters as f32 * 0.9999 / width } else { 0.0 }
}

/// The least and the greatest key of a block of `warps` warps, by those of each thread. `slots`: memory for 64 keys.
/// Has a barrier.
#[simt::device]
#[track_caller]
pub fn extremes<W: Key>(least: W, greatest: W, slots: Shared<W>, warps: u32) -> (W, W) {
    let (w, lane) = (thread::thread_idx_x() / warp::WARP, warp::lane_id());
    let not = |key: W| W::from_bits(!key.bits());
    let (least, greatest) = (least.least_of_warp(), not(greatest).least_of_warp());
    if lane == 0 {
        slots.set(w, least);
        slots.set(warp::WARP + w, greatest);
    }
    thread::sync_threads(); // every warp's extremes are there before they are compared
    let of = lane.min(warps - 1);
    (slots.get(of).least_of_warp(), not(slots.get(warp::WARP + of).least_of_warp()))
}

/// The bits in which any key of the block differs from one of them. `differ`: those of the keys of this thread.
#[simt::device]
#[track_caller]
pub fn differing_bits<W: Key>(differ: u64) -> u64 {
    let halves = [differ as u32, (differ >> 32) as u32];
    if thread::thread_idx_x() < 2 {
        DIFFER::view().set(thread::thread_idx_x(), 0);
    }
    thread::sync_threads(); // the bits are zero before any is set
    unroll::<2>(|h| {
        if (h as u32) < W::HALVES {
            let half = warp::reduce_or(warp::FULL, halves[h]);
            if warp::lane_id() == 0 && half != 0 {
                DIFFER::view().fetch_or(h as u32, half, Relaxed, Scope::Block);
            }
        }
    });
    thread::sync_threads(); // every warp's bits are there
    DIFFER::view().get(0) as u64 | (DIFFER::view().get(1) as u64) << 32
}

/// Calls `f` with the place in the group and the index of each item of group `g`.
#[simt::device]
fn each_of(g: usize, mut f: impl FnMut(usize, usize)) {
    unroll::<GROUP>(|j| f(j, g * GROUP + j));
}
