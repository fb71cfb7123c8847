//! Keys of one block in order, in its shared memory.

use super::runs::{ITEMS, merge_6_6, merge_runs, sort_own};
use super::{Key, Mapping, warp_scan};
use simt::atomic::{Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, Shared, opaque, shared, thread, unroll, warp};

/// Items that need no test where keys fill this many rows of the window.
const FULL_ROWS: u32 = 10;

/// Keys of a bucket are given up as crowded if so many of 32 neighbours have one word of counters, or if they are not in order after
/// the second round.
const CROWD: u32 = 12;

/// The warp whose keys are looked at for that: not one at an end, where the window may have no keys.
const SAMPLED_WARP: u32 = 3;

/// Places that a thread asks for at once.
const GROUP: usize = 4;

/// Words of counters: two 16-bit counters each, so that there are as many counters as slots.
const fn counter_words(threads: u32) -> u32 {
    threads * ITEMS / 2
}

/// Bytes of dynamic shared memory: counters, slots, a sum a warp.
pub(super) const fn in_block_shared(threads: u32, key_bytes: u32) -> u32 {
    counter_words(threads) * 4 + threads * ITEMS * key_bytes + 4 * warp::WARP
}

/// How it went.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The keys are in order.
    Sorted,
    /// They are too crowded, and where they were.
    Untouched,
    /// They are too crowded, and in the output, encoded.
    InOutput,
}

/// The counters of a block, zeroed by all its threads before they sort.
#[inline(always)]
pub(super) fn clear_counters<const THREADS: u32>() {
    let own = own_counters::<THREADS>();
    unroll::<3>(|i| own.set(i as u32, 0));
}

/// The six counter words of a thread, as three pairs.
#[inline(always)]
fn own_counters<const THREADS: u32>() -> Shared<u64> {
    Shared::<u64>::dynamic(0, counter_words(THREADS) / 2).slice(thread::thread_idx_x() * 3, 3)
}

shared!(DIFFER: [u32; 2]);

/// Sorts keys `start` to `end` of `input` into the same place of `output`, by all threads of a block. There are at most
/// 31 fewer than [`ITEMS`] a thread: they are read from a multiple of 128 bytes on.
///
/// `SAME`: all keys have the same `shift` top bits, fewer than 32, and crowded ones are given up. If not, the block looks
/// how many are the same, and always sorts.
#[inline(always)]
#[track_caller]
#[rustfmt::skip]
pub(super) fn sort_in_block<W: Key, M: Mapping, const THREADS: u32, const SAME: bool>(
    input: Global<W>, output: Global<W>, order: u32, start: u32, end: u32, mut shift: u32,
) -> Outcome {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let (words, all) = (counter_words(THREADS), THREADS * ITEMS);
    let counters = Shared::<u32>::dynamic(0, words);
    let slots = Shared::<W>::dynamic(words * 4, all);
    let sums = Shared::<u32>::dynamic(words * 4 + all * size_of::<W>() as u32, warp::WARP);
    let own_slots = slots.slice(t * ITEMS, ITEMS);
    // The keys are read and written in rows that begin on a multiple of 32 keys: slots `skip` to `filled` of a window.
    let count = end - start;
    let skip = start % 32;
    let filled = skip + count;
    let first = start - skip;
    let row = |view: Global<W>| view.slice((first + t).min(view.len()), view.len() - (first + t).min(view.len()));
    // Whether slot i of this thread's column is ours. What `t` is compared with is the same for all threads, so that it
    // takes no register of theirs.
    let is_ours = |t: u32, i: usize| (t as i32) < filled as i32 - (i as u32 * THREADS) as i32 && (i > 0 || t >= skip);
    let full = filled >= FULL_ROWS * THREADS;
    // Which items of a full window are there without a test.
    let sure = |i: usize| i > 0 && (i as u32) < FULL_ROWS;
    let mut keys = [W::LARGEST; ITEMS as usize];
    let window = row(input);
    let u = opaque(t);
    if full {
        unroll::<{ ITEMS as usize }>(|i| if sure(i) || is_ours(u, i) {
            keys[i] = window.get_streaming(i as u32 * THREADS);
        });
    } else {
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
            keys[i] = window.get_streaming(i as u32 * THREADS);
        });
    }
    if !SAME {
        let first = input.get(start);
        let mut differ = 0;
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) { differ |= keys[i].bits() ^ first.bits() });
        shift = same_bits::<W>(differ);
    }
    // The counter word is chosen by the bits after the next one, the half by the next one.
    let next_bits = |key: W| if SAME { key.top() << shift } else { key.after(shift) };
    let counter = |key: W| counters.slice(mul_hi(next_bits(key) << 1, words), 1);
    let in_upper_half = |key: W| (next_bits(key) as i32) < 0;
    let add = |key: W, upper: bool| counter(key).fetch_add(0, if upper { 1 << 16 } else { 1 }, Relaxed, Scope::Block);

    let mut crowded = false;
    if w == SAMPLED_WARP && (t | 31) + THREADS < filled {
        let like_first = warp::shuffle(warp::FULL, counter(keys[1]).address(), 0) == counter(keys[1]).address();
        crowded = warp::ballot(warp::FULL, like_first).count_ones() >= CROWD;
    }
    // The counters are zero before the first key is counted.
    if thread::sync_threads_or(crowded && SAME) {
        // Atomics on few counters would wait for each other. If all keys are equal, they are sorted.
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
        unroll::<{ ITEMS as usize }>(|i| if sure(i) || is_ours(u, i) { add(keys[i], in_upper_half(keys[i])); });
    } else {
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) { add(keys[i], in_upper_half(keys[i])); });
    }
    thread::sync_threads(); // every key is counted before the counts are read

    start_counters::<THREADS>(sums);
    let place_of = |key: W| {
        let upper = in_upper_half(key);
        let before = add(key, upper);
        if upper { before >> 16 } else { before & 0xffff }
    };
    let u = opaque(t);
    if full {
        unroll::<{ ITEMS as usize / GROUP }>(|g| {
            // The places of a group are all asked for before the first is used.
            let mut places = [0; GROUP];
            each_of(g, |j, i| if sure(i) || is_ours(u, i) { places[j] = place_of(keys[i]) });
            each_of(g, |j, i| if sure(i) || is_ours(u, i) { slots.set(places[j], keys[i]) });
        });
    } else {
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) { slots.set(place_of(keys[i]), keys[i]) });
    }
    let mut i = count + t;
    while i < all {
        slots.set(i, W::LARGEST);
        i += THREADS;
    }
    thread::sync_threads(); // every slot is filled before runs of slots are read

    // Nearly sorted now: only keys that share a counter may stand the wrong way round, and those are neighbours. Sort
    // runs of 12, then across the seams, until nothing is out of order.
    let mut is_first_round = true;
    loop {
        sort_own::<W>(own_slots, &mut keys);
        thread::sync_threads(); // all runs are sorted before the lower half of the next one is read
        unroll::<6>(|i| keys[i] = keys[i + 6]);
        if t < THREADS - 1 {
            let run = slots.slice(t * ITEMS, 2 * ITEMS);
            W::get_four(run, 12, &mut keys, 6);
            W::get_two(run, 16, &mut keys, 10);
            merge_6_6(&mut keys);
            W::set_two(run, 6, &keys, 0);
            W::set_four(run, 8, &keys, 2);
            W::set_four(run, 12, &keys, 6);
            W::set_two(run, 16, &keys, 10);
        }
        // Is the middle of this thread's run still in order? Its lower half is now the thread before's work.
        let before = warp::shuffle_up(warp::FULL, keys[11], 1);
        let mut unsorted = lane > 0 && before > keys[0];
        thread::sync_threads(); // all seams are merged before slots are read and written out
        if lane == 0 {
            unsorted = own_slots.get(5) > own_slots.get(6);
        }
        // Written before anyone knows whether it is final, which it nearly always is: the stores hide the vote.
        let (window, u) = (row(output), opaque(t));
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
            let i = i as u32 * THREADS;
            window.set(i, M::decode(slots.get(i + t - skip), order));
        });
        if thread::sync_threads_count(unsorted) == 0 {
            return Outcome::Sorted;
        }
        if !SAME {
            sort_own::<W>(own_slots, &mut keys);
            thread::sync_threads(); // all runs are sorted, and have been written out, before they are merged
            merge_runs::<W, THREADS>(slots);
            let (window, u) = (row(output), opaque(t));
            unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
                let i = i as u32 * THREADS;
                window.set(i, M::decode(slots.get(i + t - skip), order));
            });
            return Outcome::Sorted;
        }
        if !is_first_round {
            // As they are, encoded.
            unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
                let i = i as u32 * THREADS;
                window.set(i, slots.get(i + t - skip));
            });
            return Outcome::InOutput;
        }
        is_first_round = false;
    }
}

/// Turns counts, which are complete, into the places of the first of each counter's keys.
#[inline(always)]
#[track_caller]
fn start_counters<const THREADS: u32>(sums: Shared<u32>) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (w, own) = (t / warp::WARP, own_counters::<THREADS>());
    let mut pairs = [0u64; 3];
    unroll::<3>(|i| pairs[i] = own.get(i as u32));
    let mut mine = 0u32;
    unroll::<3>(|i| mine += pairs[i] as u32 + (pairs[i] >> 32) as u32);
    let inclusive = warp_scan(mine);
    if lane == warp::WARP - 1 {
        sums.set(w, inclusive);
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    let sum = if lane < THREADS / warp::WARP { sums.get(lane) } else { 0 };
    let total = warp::reduce_add(warp::FULL, sum);
    let below = warp::reduce_add(warp::FULL, if lane < w { sum } else { 0 });
    // Both halves are scanned in one word. The keys of the upper halves come after all those of the lower.
    let mut next = (below + inclusive - mine).wrapping_add(total << 16);
    unroll::<3>(|i| {
        let (low, high) = (pairs[i] as u32, (pairs[i] >> 32) as u32);
        own.set(i as u32, next as u64 | (next.wrapping_add(low) as u64) << 32);
        next = next.wrapping_add(low).wrapping_add(high);
    });
    thread::sync_threads(); // counters hold places before keys are placed
}

/// How many top bits all keys of a block have in common, if `differ` has the bits in which this thread's differ from one of
/// them.
#[inline(always)]
#[track_caller]
fn same_bits<W: Key>(differ: u64) -> u32 {
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
    let all = DIFFER::view().get(0) as u64 | (DIFFER::view().get(1) as u64) << 32;
    // If they do not differ at all, any shift will do.
    (all << (64 - 32 * W::HALVES)).leading_zeros().min(32 * W::HALVES - 1)
}

/// Calls `f` with place in the group and number of each item of group `g`.
#[inline(always)]
fn each_of(g: usize, mut f: impl FnMut(usize, usize)) {
    unroll::<GROUP>(|j| f(j, g * GROUP + j));
}
