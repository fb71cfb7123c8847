//! Launch 5: sorts each bucket in the shared memory of one block, or, if it does not fit, in global memory.

use super::*;

/// Threads per block.
pub const BUCKET_SORT_THREADS: u32 = 384;

/// Keys per thread. 16-byte accesses to runs of 12 words have no bank conflicts.
const ITEMS: usize = 12;

/// Slots of a block.
const SLOTS: u32 = BUCKET_SORT_THREADS * ITEMS as u32;

/// Keys that fit a block: it reads from a multiple of 128 bytes on, which can take up to 31 slots.
pub const BUCKET_MAX: u32 = SLOTS - 31;

/// Rows of the window that are full in nearly all buckets, and then need no bounds check.
const FULL_ROWS: u32 = 10;

/// Places that a thread requests at once.
const GROUP: usize = 4;

/// Words of counters: two 16-bit counters each, so that there are as many counters as slots.
const WORDS: u32 = SLOTS / 2;
const _: () = assert!(WORDS == BUCKET_SORT_THREADS * 6, "six words of counters per thread");

const WARPS: u32 = BUCKET_SORT_THREADS / warp::WARP;

/// Bytes of dynamic shared memory: counters and slots.
pub const BUCKET_SORT_SHARED: u32 = 4 * (WORDS + SLOTS);
const _: () = assert!(BUCKET_SORT_SHARED >= by_digits_shared(WARPS) && BUCKET_SORT_THREADS >= DIGITS);

shared!(SUMS: [u32; WARPS]);

/// Sorts bucket b, keys `starts[b]` to `starts[b + 1]`, into the same place of `output`, and zeroes `histogram[b]` for
/// the next sort. Block b does bucket b.
///
/// `in_output`: whether the keys are in `output` or in `scratch`. `top_bits`: how many top bits the keys of a bucket
/// share.
#[kernel(max_threads = BUCKET_SORT_THREADS, min_blocks = 5)]
#[rustfmt::skip]
pub fn radix_msd_buckets_bucket_sort(
    scratch: Global<u32>, output: Global<u32>, in_output: u32, starts: Global<u32>, top_bits: u32,
    histogram: Global<u32>,
) {
    let (t, b) = (thread::thread_idx_x(), thread::block_idx_x());
    grid::let_next_start();
    let own = Shared::<u64>::dynamic(0, WORDS / 2).slice(t * 3, 3);
    unroll::<3>(|i| own.set(i as u32, 0));
    grid::wait_for_previous(); // keys and starts
    if t == 0 {
        histogram.set(b, 0);
    }
    let (start, end) = (starts.get(b), starts.get(b + 1));
    if start == end {
        return;
    }
    let fits = end - start <= BUCKET_MAX;
    let input = if in_output != 0 { output } else { scratch };
    if !fits || !sort_in_block(input, output, start, end, top_bits) {
        let (in_output, left) = (fits || in_output != 0, u32::BITS - top_bits);
        sort_by_digits::<WARPS>(scratch, output, in_output, start, end, left, SUMS::view());
    }
}

/// Sorts keys `start` to `end` of `input`, at most [`BUCKET_MAX`], into the same place of `output`, in a block that has
/// cleared its counters. Returns false if they are there, but not in order: too many of them share a counter.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
fn sort_in_block(input: Global<u32>, output: Global<u32>, start: u32, end: u32, top_bits: u32) -> bool {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let counters = Shared::<u32>::dynamic(0, WORDS);
    let slots = Shared::<u32>::dynamic(WORDS * 4, SLOTS);
    // The keys are read and written in rows that begin on a multiple of 32 keys: slots `skip` to `filled` of a window.
    let count = end - start;
    let skip = start % 32;
    let filled = skip + count;
    let first = start - skip + t;
    let row = |view: Global<u32>| view.slice(first.min(view.len()), view.len() - first.min(view.len()));
    // Whether slot i of this thread's column holds a key of the bucket. The right side is the same for all threads, so
    // that it takes no register per thread.
    let behind = |i: usize| filled as i32 - (i as u32 * BUCKET_SORT_THREADS) as i32;
    let is_ours = |t: u32, i: usize| (t as i32) < behind(i) && (i > 0 || t >= skip);
    // Items of a full window that need no bounds check.
    let full = filled >= FULL_ROWS * BUCKET_SORT_THREADS;
    let sure = |i: usize| i > 0 && (i as u32) < FULL_ROWS;
    let mut keys = [u32::LARGEST; ITEMS];
    let (window, u) = (row(input), opaque(t));
    let load = |i: usize| window.get_streaming(i as u32 * BUCKET_SORT_THREADS);
    if full {
        unroll::<ITEMS>(|i| if sure(i) || is_ours(u, i) { keys[i] = load(i) });
    } else {
        unroll::<ITEMS>(|i| if is_ours(u, i) { keys[i] = load(i) });
    }

    // The counter word is chosen by the bits after the next one, the half by the next one.
    let next_bits = |key: u32| key << top_bits;
    let in_upper_half = |key: u32| (next_bits(key) as i32) < 0;
    let add = |key: u32| {
        let counter = counters.slice(mul_hi(next_bits(key) << 1, WORDS), 1);
        let before = counter.fetch_add(0, if in_upper_half(key) { 1 << 16 } else { 1 }, Relaxed, Scope::Block);
        if in_upper_half(key) { before >> 16 } else { before & 0xffff }
    };
    thread::sync_threads(); // the counters are zero before the first key is counted
    let u = opaque(t);
    if full {
        unroll::<ITEMS>(|i| if sure(i) || is_ours(u, i) { add(keys[i]); });
    } else {
        unroll::<ITEMS>(|i| if is_ours(u, i) { add(keys[i]); });
    }
    thread::sync_threads(); // every key is counted before the counts are read
    start_counters();
    let u = opaque(t);
    if full {
        unroll::<{ ITEMS / GROUP }>(|g| {
            // All places of a group are requested before the first is used.
            let (mut places, is_key) = ([0; GROUP], |i| sure(i) || is_ours(u, i));
            unroll::<GROUP>(|j| if is_key(g * GROUP + j) { places[j] = add(keys[g * GROUP + j]) });
            unroll::<GROUP>(|j| if is_key(g * GROUP + j) { slots.set(places[j], keys[g * GROUP + j]) });
        });
    } else {
        unroll::<ITEMS>(|i| if is_ours(u, i) { slots.set(add(keys[i]), keys[i]) });
    }
    strided(count + t, SLOTS, BUCKET_SORT_THREADS, |i| slots.set(i, u32::LARGEST));
    thread::sync_threads(); // every slot is filled before runs of slots are read

    // The keys are nearly sorted: only keys that share a counter may be out of order, and those are neighbours. Sort
    // runs of 12, then merge across the seams. One round is nearly always enough.
    let own = slots.slice(t * ITEMS as u32, ITEMS as u32);
    let mut round = 0;
    while round < 2 {
        unroll::<3>(|q| [keys[4 * q], keys[4 * q + 1], keys[4 * q + 2], keys[4 * q + 3]] = own.get_pack(q as u32));
        sort_12(&mut keys);
        unroll::<3>(|q| own.set_pack(q as u32, [keys[4 * q], keys[4 * q + 1], keys[4 * q + 2], keys[4 * q + 3]]));
        thread::sync_threads(); // all runs are sorted before the lower half of the next one is read
        unroll::<6>(|i| keys[i] = keys[i + 6]);
        if t < BUCKET_SORT_THREADS - 1 {
            merge_seam(slots.slice(t * ITEMS as u32, 2 * ITEMS as u32), &mut keys);
        }
        // Is the middle of this thread's run still in order? The thread below has merged its lower half.
        let before = warp::shuffle_up(warp::FULL, keys[11], 1);
        thread::sync_threads(); // all seams are merged before slots are read and written out
        let unsorted = if lane == 0 { own.get(5) > own.get(6) } else { before > keys[0] };
        // Keys are written before the vote on whether they are in order: the stores hide the vote.
        let (window, u) = (row(output), opaque(t));
        unroll::<ITEMS>(|i| if is_ours(u, i) {
            let i = i as u32 * BUCKET_SORT_THREADS;
            window.set(i, slots.get(i + t - skip));
        });
        if thread::sync_threads_count(unsorted) == 0 {
            return true;
        }
        round += 1;
    }
    false
}

/// Turns complete counts into the place of the first key of each counter.
#[simt::device]
#[track_caller]
fn start_counters() {
    let own = Shared::<u64>::dynamic(0, WORDS / 2).slice(thread::thread_idx_x() * 3, 3);
    let (mut pairs, mut mine) = ([0u64; 3], 0u32);
    unroll::<3>(|i| pairs[i] = own.get(i as u32));
    unroll::<3>(|i| mine += pairs[i] as u32 + (pairs[i] >> 32) as u32);
    let (before, total) = block_scan::<WARPS>(mine, SUMS::view());
    // Both halves are scanned in one word. The keys of the upper halves come after all keys of the lower halves.
    let mut next = before.wrapping_add(total << 16);
    unroll::<3>(|i| {
        let (low, high) = (pairs[i] as u32, (pairs[i] >> 32) as u32);
        own.set(i as u32, next as u64 | (next.wrapping_add(low) as u64) << 32);
        next = next.wrapping_add(low).wrapping_add(high);
    });
    thread::sync_threads(); // counters hold places before keys are placed
}
