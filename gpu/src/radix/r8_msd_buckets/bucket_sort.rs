//! Step 5: each bucket in order, in one block's shared memory.

use super::{BUCKET_MAX, IN_OUTPUT, Key, Lists, Mapped, Mapping, Plain, SLOTS, warp_scan};
use simt::atomic::{Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, Shared, grid, kernel, opaque, thread, unroll, warp};

/// Threads a block.
pub const BUCKET_SORT_THREADS: u32 = 384;

/// Keys of a thread. Runs of 12 words are free of bank conflicts for 16-byte accesses.
const ITEMS: u32 = SLOTS / BUCKET_SORT_THREADS;

/// Words of counters: two 16-bit counters each, so that there are as many counters as slots.
const COUNTERS: u32 = SLOTS / 2;

/// Items that need no test in a bucket which fills this many rows of the window.
const FULL_ROWS: u32 = 10;

/// A bucket is given up as crowded if so many of 32 neighbouring keys have one counter, or if after the second round so
/// many seams are out of order, or any after so many rounds: merging neighbours would take too long.
const CROWD: u32 = 12;
const MANY_SEAMS: u32 = 160;
const MANY_ROUNDS: u32 = 12;

/// The warp whose keys are looked at for that: not one at an end, where the window may have no keys.
const SAMPLED_WARP: u32 = 3;

/// Places that a thread asks for at once.
const GROUP: usize = 4;

/// Bytes of dynamic shared memory: counters, slots, a sum a warp.
pub const fn bucket_sort_shared(key_bytes: u32) -> u32 {
    COUNTERS * 4 + SLOTS * key_bytes + 4 * warp::WARP
}

/// Sorts bucket b, `starts[b]` to `starts[b + 1]` of `input`, into the same place of `output`, and zeroes
/// `histogram[b]` for the next call. Block b does bucket b.
///
/// `top_bits`: how many top bits the keys of a bucket have in common. Buckets of more than [`BUCKET_MAX`] keys are left
/// alone, and crowded ones are put on the `lists` (made for so many `segments`) as groups; `array`: where `input` is.
#[kernel(max_threads = BUCKET_SORT_THREADS, min_blocks = 5, instances(
    radix_msd_buckets_bucket_sort: <u32, Plain>,
    radix_msd_buckets_bucket_sort_mapped: <u32, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_bucket_sort<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, top_bits: u32, histogram: Global<u32>,
    lists: Global<u32>, segments: u32, array: u32,
) {
    bucket_sort::<W, M>(input, output, order, starts, top_bits, histogram, lists, segments, array);
}

/// [`radix_msd_buckets_bucket_sort`] for wide keys, which take twice the room.
#[kernel(max_threads = BUCKET_SORT_THREADS, min_blocks = 3, instances(
    radix_msd_buckets_bucket_sort_u64: <u64, Plain>,
    radix_msd_buckets_bucket_sort_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_bucket_sort_wide<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, top_bits: u32, histogram: Global<u32>,
    lists: Global<u32>, segments: u32, array: u32,
) {
    bucket_sort::<W, M>(input, output, order, starts, top_bits, histogram, lists, segments, array);
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
fn bucket_sort<W: Key, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, starts: Global<u32>, top_bits: u32, histogram: Global<u32>,
    lists: Global<u32>, segments: u32, array: u32,
) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    let counters = Shared::<u32>::dynamic(0, COUNTERS);
    let slots = Shared::<W>::dynamic(COUNTERS * 4, SLOTS);
    let sums = Shared::<u32>::dynamic(COUNTERS * 4 + SLOTS * size_of::<W>() as u32, warp::WARP);
    // The six counter words of a thread, as three pairs.
    let own_counters = counters.cast::<u64>().slice(t * 3, 3);
    let own_slots = slots.slice(t * ITEMS, ITEMS);
    grid::let_next_start();
    unroll::<3>(|i| own_counters.set(i as u32, 0));
    grid::wait_for_previous(); // keys and starts
    let b = thread::block_idx_x();
    let (start, end) = (starts.get(b), starts.get(b + 1));
    if t == 0 {
        histogram.set(b, 0);
    }
    if start == end || end - start > BUCKET_MAX {
        return;
    }
    let lists = Lists::new(lists, segments);
    // The bucket is read and written in rows that begin on a multiple of 32 keys: slots `skip` to `filled` of a window.
    let count = end - start;
    let skip = start % 32;
    let filled = skip + count;
    let first = start - skip;
    let row = |view: Global<W>| view.slice((first + t).min(view.len()), view.len() - (first + t).min(view.len()));
    // Whether slot i of this thread's column is ours. What `t` is compared with is the same for all threads, so that it
    // takes no register of theirs.
    let is_ours = |t: u32, i: usize| (t as i32) < filled as i32 - (i as u32 * BUCKET_SORT_THREADS) as i32 && (i > 0 || t >= skip);
    let full = filled >= FULL_ROWS * BUCKET_SORT_THREADS;
    // Which items of a full bucket are there without a test.
    let sure = |i: usize| i > 0 && (i as u32) < FULL_ROWS;
    // The counter word is chosen by the bits after the next one, the half by the next one.
    let counter = |key: W| counters.slice(mul_hi(key.top() << (top_bits + 1), COUNTERS), 1);
    let in_upper_half = |key: W| ((key.top() << top_bits) as i32) < 0;
    let add = |key: W, upper: bool| counter(key).fetch_add(0, if upper { 1 << 16 } else { 1 }, Relaxed, Scope::Block);

    let mut keys = [W::LARGEST; ITEMS as usize];
    let window = row(input);
    let u = opaque(t);
    if full {
        unroll::<{ ITEMS as usize }>(|i| if sure(i) || is_ours(u, i) {
            keys[i] = window.get_streaming(i as u32 * BUCKET_SORT_THREADS);
        });
    } else {
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
            keys[i] = window.get_streaming(i as u32 * BUCKET_SORT_THREADS);
        });
    }
    let mut crowded = false;
    if w == SAMPLED_WARP && (t | 31) + BUCKET_SORT_THREADS < filled {
        let like_first = warp::shuffle(warp::FULL, counter(keys[1]).address(), 0) == counter(keys[1]).address();
        crowded = warp::ballot(warp::FULL, like_first).count_ones() >= CROWD;
    }
    // The counters are zero before the first key is counted.
    if thread::sync_threads_or(crowded) {
        // Atomics on few counters would wait for each other. If all keys are equal, they are sorted.
        let (key, u) = (input.get(start), opaque(t));
        let mut differ = false;
        unroll::<{ ITEMS as usize }>(|i| differ |= is_ours(u, i) && keys[i] != key);
        if thread::sync_threads_or(differ) {
            if t == 0 {
                lists.push_group(start, count, array);
            }
        } else {
            let window = row(output);
            unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
                window.set(i as u32 * BUCKET_SORT_THREADS, M::decode(key, order));
            });
        }
        return;
    }
    let u = opaque(t);
    if full {
        unroll::<{ ITEMS as usize }>(|i| if sure(i) || is_ours(u, i) { add(keys[i], in_upper_half(keys[i])); });
    } else {
        unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) { add(keys[i], in_upper_half(keys[i])); });
    }
    thread::sync_threads(); // every key is counted before the counts are read

    let mut pairs = [0u64; 3];
    unroll::<3>(|i| pairs[i] = own_counters.get(i as u32));
    let mut mine = 0u32;
    unroll::<3>(|i| mine += pairs[i] as u32 + (pairs[i] >> 32) as u32);
    let inclusive = warp_scan(mine);
    if lane == warp::WARP - 1 {
        sums.set(w, inclusive);
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    let sum = if lane < BUCKET_SORT_THREADS / warp::WARP { sums.get(lane) } else { 0 };
    let total = warp::reduce_add(warp::FULL, sum);
    let below = warp::reduce_add(warp::FULL, if lane < w { sum } else { 0 });
    // Both halves are scanned in one word. The keys of the upper halves come after all those of the lower.
    let mut next = (below + inclusive - mine).wrapping_add(total << 16);
    unroll::<3>(|i| {
        let (low, high) = (pairs[i] as u32, (pairs[i] >> 32) as u32);
        own_counters.set(i as u32, next as u64 | (next.wrapping_add(low) as u64) << 32);
        next = next.wrapping_add(low).wrapping_add(high);
    });
    thread::sync_threads(); // counters hold places before keys are placed
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
    while i < SLOTS {
        slots.set(i, W::LARGEST);
        i += BUCKET_SORT_THREADS;
    }
    thread::sync_threads(); // every slot is filled before runs of slots are read

    // Nearly sorted now: only keys that share a counter may stand the wrong way round, and those are neighbours. Sort
    // runs of 12, then across the seams, until nothing is out of order.
    let mut rounds = 0;
    loop {
        unroll::<3>(|q| W::get_four(own_slots, 4 * q as u32, &mut keys, 4 * q));
        sort_12(&mut keys);
        unroll::<3>(|q| W::set_four(own_slots, 4 * q as u32, &keys, 4 * q));
        thread::sync_threads(); // all runs are sorted before the lower half of the next one is read
        unroll::<6>(|i| keys[i] = keys[i + 6]);
        if t < BUCKET_SORT_THREADS - 1 {
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
            let i = i as u32 * BUCKET_SORT_THREADS;
            window.set(i, M::decode(slots.get(i + t - skip), order));
        });
        let seams = thread::sync_threads_count(unsorted);
        if seams == 0 {
            break;
        }
        rounds += 1;
        if rounds > 1 && (seams > MANY_SEAMS || rounds > MANY_ROUNDS) {
            // As they are, encoded.
            unroll::<{ ITEMS as usize }>(|i| if is_ours(u, i) {
                let i = i as u32 * BUCKET_SORT_THREADS;
                window.set(i, slots.get(i + t - skip));
            });
            if t == 0 {
                lists.push_group(start, count, IN_OUTPUT);
            }
            break;
        }
    }
}

/// Calls `f` with place in the group and number of each item of group `g`.
#[inline(always)]
fn each_of(g: usize, mut f: impl FnMut(usize, usize)) {
    unroll::<GROUP>(|j| f(j, g * GROUP + j));
}

macro_rules! compare_exchange {
    ($keys:ident: $($a:literal $b:literal),*) => {$(
        let (x, y) = ($keys[$a], $keys[$b]);
        $keys[$a] = x.min(y);
        $keys[$b] = x.max(y);
    )*};
}

/// A sorting network for 12 keys with 41 comparators.
#[inline(always)]
#[rustfmt::skip]
fn sort_12<W: Key>(keys: &mut [W; ITEMS as usize]) {
    compare_exchange!(keys:
        0 8, 1 9, 2 10, 3 11, 0 4, 1 5, 2 6, 3 7, 4 8, 5 9, 6 10, 7 11, 0 2, 1 3, 4 6, 5 7, 8 10, 9 11, 2 8, 3 9, 2 4,
        3 5, 6 8, 7 9, 0 1, 2 3, 4 5, 6 7, 8 9, 10 11, 1 8, 3 10, 1 4, 3 6, 5 8, 7 10, 1 2, 3 4, 5 6, 7 8, 9 10);
}

/// Merges two sorted runs of 6 with 19 comparators.
#[inline(always)]
#[rustfmt::skip]
fn merge_6_6<W: Key>(keys: &mut [W; ITEMS as usize]) {
    compare_exchange!(keys:
        2 10, 2 6, 0 8, 4 8, 0 2, 4 6, 8 10, 3 11, 3 7, 1 9, 5 9, 1 3, 5 7, 9 11, 1 2, 3 4, 5 6, 7 8, 9 10);
}
