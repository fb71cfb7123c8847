//! The launch for segments that could not be cut into buckets: all blocks sort them together, in sequence, by
//! eight bits at a time from the lowest on.

use super::items::{Items, Keys32, Keys64, Pairs32, Views};
use super::work::{ARRIVED, BY_DIGITS, DIGITS, FIRST, Work, parts};
use super::{SPLIT_BLOCK, room};
use rungs_common::block::block_scan_exclusive;
use rungs_common::keys::{Key, Word};
use simt::atomic::{self, Order, Order::Relaxed, Scope};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Scalar, Shared, clock, kernel, shared, thread, unroll};

const WARPS: u32 = SPLIT_BLOCK / WARP;

/// Keys of a thread in a round.
const KEYS: usize = 4;

/// Keys of a block in a round; each warp has a part without gaps.
const ROUND: u32 = SPLIT_BLOCK * KEYS as u32;

shared!(
    /// For each warp how often it has each value of the digit; then where its next key with that value goes.
    COUNTED: [u32; WARPS * DIGITS]
);
shared!(
    /// Sums of warps.
    SUMS: [u32; WARPS]
);

/// Sorts the segments of the list. All blocks run at the same time.
#[kernel(max_threads = SPLIT_BLOCK, instances(
    segmented_sort_by_length_digits_u32: <Keys32, u32, u32>, segmented_sort_by_length_digits_u64: <Keys64, u64, u64>,
    segmented_sort_by_length_digits_pairs: <Pairs32, u32, u64>,
))]
#[allow(clippy::too_many_arguments, reason = "views and numbers")]
pub fn segmented_sort_by_length_digits<P: Items<Key = K, Word = W>, K: Scalar, W: Key + Word>(
    keys: Global<K>,
    order: u32,
    values: Global<u32>,
    moved: Global<u32>,
    control: Global<u32>,
    lists: Global<u64>,
    rooms: Global<W>,
) {
    let (views, work) = (Views::<P>::new(keys, order, values, moved), Work { n: keys.len(), control, lists, rooms });
    let (mut i, mut barriers) = (0, 0);
    while i < control.get(BY_DIGITS).min(work.by_digits().len()) {
        let number = work.by_digits().get(i);
        let (begin, len) = parts(work.long().get(number));
        // The rooms of a segment hold twice its keys.
        let first = work.state(number).get(FIRST) * room::<P::Word>();
        let halves = [rooms.slice(first, len), rooms.slice(first + len, len)];
        let passes = P::KEY_BITS / 8;
        let mut pass = 0;
        while pass < passes {
            let (from, to) = if pass % 2 == 0 { (halves[1], halves[0]) } else { (halves[0], halves[1]) };
            let load = |at: u32| if pass == 0 { P::load(views, begin + at) } else { from.get(at) };
            let store = |at: u32, word| {
                if pass + 1 == passes { P::store(views, begin + at, word) } else { to.set(at, word) }
            };
            let shift = 8 * size_of::<P::Word>() as u32 - P::KEY_BITS + 8 * pass;
            let digit = |word: P::Word| (word.to_bits_64() >> shift) as u32 & (DIGITS - 1);
            move_by(work, len, load, digit, store, &mut barriers);
            pass += 1;
        }
        i += 1;
    }
}

/// Moves `len` items by a digit; equal digits keep their order.
#[simt::device]
#[track_caller]
fn move_by<W: Scalar>(
    work: Work<W>,
    len: u32,
    load: impl Fn(u32) -> W,
    digit: impl Fn(W) -> u32,
    store: impl Fn(u32, W),
    barriers: &mut u32,
) {
    let (t, lane, block) = (thread::thread_idx_x(), warp::lane_id(), thread::block_idx_x());
    let (warp, blocks) = (t / WARP, thread::grid_dim_x());
    let of_warps: Shared<u32> = COUNTED::view();
    let own = of_warps.slice(warp * DIGITS, DIGITS);
    let share = len.div_ceil(blocks).next_multiple_of(ROUND);
    let (begin, end) = (block.saturating_mul(share).min(len), (block + 1).saturating_mul(share).min(len));
    let clear = || unroll::<8>(|i| own.set(lane + i as u32 * WARP, 0));
    const { assert!(DIGITS == 8 * WARP) };

    // How often the block has each value.
    clear();
    warp::sync_warp(FULL); // the warp's counters are zero
    let mut at = begin + t;
    while at < end {
        own.fetch_add(digit(load(at)), 1, Relaxed, Scope::Block);
        at += SPLIT_BLOCK;
    }
    thread::sync_threads(); // all keys of the block are counted
    if t < DIGITS {
        let mut sum = 0;
        let mut i = 0;
        while i < WARPS {
            sum += of_warps.get(i * DIGITS + t);
            i += 1;
        }
        work.digits_of(block).set(t, sum);
    }
    wait_for_blocks(work, barriers); // the counts of all blocks are there

    // Where the block's first key with each value goes.
    let (mut all, mut before) = (0, 0);
    if t < DIGITS {
        let mut other = 0;
        while other < blocks {
            let count = work.digits_of(other).get(t);
            all += count;
            before += if other < block { count } else { 0 };
            other += 1;
        }
    }
    let mut next = block_scan_exclusive(all, SUMS::view()) + before;

    let mut round = begin;
    while round < end {
        clear();
        warp::sync_warp(FULL); // the warp's counters are zero
        let (mut words, mut ranks) = ([W::default(); KEYS], [0; KEYS]);
        let first = round + warp * WARP * KEYS as u32 + lane;
        unroll::<KEYS>(|i| {
            let at = first + i as u32 * WARP;
            // Lanes behind the end meet among themselves.
            let mut value = DIGITS;
            if at < end {
                words[i] = load(at);
                value = digit(words[i]);
            }
            let alike = warp::match_any(FULL, value);
            let below = (alike & ((1 << lane) - 1)).count_ones();
            if at < end {
                ranks[i] = own.get(value) + below;
            }
            warp::sync_warp(FULL); // all lanes have read their counter before one of them advances it
            if at < end && below == 0 {
                own.set(value, own.get(value) + alike.count_ones());
            }
            warp::sync_warp(FULL); // the counters are advanced before the next keys read them
        });
        thread::sync_threads(); // all warps have counted
        if t < DIGITS {
            let mut i = 0;
            while i < WARPS {
                let count = of_warps.get(i * DIGITS + t);
                of_warps.set(i * DIGITS + t, next);
                next += count;
                i += 1;
            }
        }
        thread::sync_threads(); // all starts are there
        unroll::<KEYS>(|i| {
            if first + i as u32 * WARP < end {
                store(own.get(digit(words[i])) + ranks[i], words[i]);
            }
        });
        thread::sync_threads(); // all have read the starts before the counters are cleared
        round += ROUND;
    }
    wait_for_blocks(work, barriers); // all keys are moved, and all blocks have read the counts
}

/// Waits for all blocks of the grid. The whole block calls it.
#[simt::device]
#[track_caller]
fn wait_for_blocks<W: Scalar>(work: Work<W>, barriers: &mut u32) {
    *barriers += 1;
    thread::sync_threads(); // all threads have written before the block arrives
    if thread::thread_idx_x() == 0 {
        // What this block has written becomes visible before it arrives,
        atomic::fence(Order::AcqRel, Scope::Device);
        work.control.fetch_add(ARRIVED, 1, Relaxed, Scope::Device);
        while work.control.load(ARRIVED, Relaxed, Scope::Device) < *barriers * thread::grid_dim_x() {
            clock::nanosleep(20);
        }
        // and what the others have written is read after they have.
        atomic::fence(Order::AcqRel, Scope::Device);
    }
    thread::sync_threads(); // all wait for thread 0, and see what it sees
}
