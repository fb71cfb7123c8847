//! Launches 3 and 4: moves the keys of each tile to their buckets.
//!
//! Keys are counted by bucket, and counts are turned into starts. Then each key is counted once more, and the value of
//! the counter before is its place in the tile, where the keys of a bucket lie in a row and are written together.

use super::spread;
use crate::warp_scan;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, opaque, thread, unroll, warp};

/// Threads per block.
pub const PARTITION_THREADS: u32 = 512;
/// Threads per wide block, which the first partition of many keys uses: longer runs of keys to each bucket.
pub const PARTITION_THREADS_WIDE: u32 = 1024;

/// 16-byte loads per thread and tile.
const PACKS: u32 = 4;

/// Keys per tile.
pub const fn partition_tile(threads: u32) -> u32 {
    PACKS * 4 * threads
}

/// Most bits of a digit, and most buckets of a tile.
const MAX_BITS: u32 = 9;
const MAX_BUCKETS: u32 = 1 << MAX_BITS;

/// Counters per tile.
const COUNTERS: u32 = 2048;

/// Binary logarithm of the counters per bucket. Lanes take turns in them, so that at most four lanes of a warp (eight
/// with [`MAX_BITS`]) meet in a counter or its bank, whatever the keys: equal keys take no longer than uniform ones,
/// of which about three meet in a bank anyway.
#[inline(always)]
const fn copies_log2(bits: u32) -> u32 {
    let room = COUNTERS.ilog2() - bits;
    if room < 3 { room } else { 3 }
}
const _: () = assert!(copies_log2(MAX_BITS) >= 2, "the four counters of a thread belong to one bucket");

/// Bytes of dynamic shared memory: the keys of a tile, the counters, one offset per bucket, one sum per warp.
pub const fn partition_shared(threads: u32) -> u32 {
    PACKS * 16 * threads + 4 * (COUNTERS + MAX_BUCKETS + warp::WARP)
}

/// Moves the keys of `input` to `output`, each to where the cursor of its bucket points.
///
/// `shift`, `bits`: the digit. `tiles`: empty to partition all of `input`, or the descriptors of
/// [`super::radix_msd_buckets_starts`]. `spread_out`: whether `cursors` are placed by [`spread`].
// Four blocks of 512 threads with 32 registers per SM; too few without the registers that Hopper has for values that
// are the same in a warp.
#[kernel(max_threads = PARTITION_THREADS, min_blocks = if cfg!(sm_90) { 4 } else { 3 })]
#[rustfmt::skip]
pub fn radix_msd_buckets_partition(
    input: Global<u32>, output: Global<u32>, shift: u32, bits: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>,
) {
    partition::<PARTITION_THREADS>(input, output, shift, bits, cursors, spread_out, tiles);
}

/// [`radix_msd_buckets_partition`] in wide blocks.
#[kernel(max_threads = PARTITION_THREADS_WIDE, min_blocks = if cfg!(sm_90) { 2 } else { 1 })]
#[rustfmt::skip]
pub fn radix_msd_buckets_partition_wide(
    input: Global<u32>, output: Global<u32>, shift: u32, bits: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>,
) {
    partition::<PARTITION_THREADS_WIDE>(input, output, shift, bits, cursors, spread_out, tiles);
}

#[inline(always)]
#[track_caller]
#[rustfmt::skip]
fn partition<const THREADS: u32>(
    input: Global<u32>, output: Global<u32>, shift: u32, bits: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>,
) {
    let (t, in_tile) = (thread::thread_idx_x(), partition_tile(THREADS));
    let sorted = Shared::<u32>::dynamic(0, in_tile);
    let tables = Tables::new(in_tile, shift, bits);
    grid::let_next_start();
    if t < tables.threads() {
        tables.counters.set_pack(t, [0; 4]);
    }
    grid::wait_for_previous(); // cursors, tiles, and in the second partition the keys
    let [begin, end, first_bucket, origin] = if tiles.is_empty() {
        let origin = thread::block_idx_x() * in_tile;
        [origin, input.len().min(origin.saturating_add(in_tile)), 0, origin]
    } else {
        tiles.get_pack(thread::block_idx_x())
    };
    if begin == end {
        return;
    }
    let cursor = |bucket: u32| {
        let bucket = first_bucket + bucket;
        cursors.slice(if spread_out != 0 { spread(bucket) } else { bucket }, 1)
    };

    // A full tile has all keys in registers and needs no bounds check, which would double the instructions. Other tiles
    // read their keys twice, one pack at a time.
    let full = end - begin == in_tile;
    let mut keys = [[0; 4]; PACKS as usize];
    if full {
        let mine = input.slice(origin + t * 4, in_tile - t * 4);
        unroll::<{ PACKS as usize }>(|p| keys[p] = mine.get_pack_streaming(p as u32 * THREADS));
    }
    let part = [begin, end, origin];
    thread::sync_threads(); // the counters are zero before the first key is counted
    if full {
        unroll::<16>(|i| {
            tables.next(keys[i / 4][i % 4]);
        });
    } else {
        each_key::<THREADS>(input, part, |key| {
            tables.next(key);
        });
        keys = Default::default(); // so that the keys take no registers here
    }
    thread::sync_threads(); // every key is counted before the counts are read
    let place = reserve(tables, cursor);
    if full {
        unroll::<{ PACKS as usize }>(|p| {
            // All places of a pack are requested before the first is used.
            let mut places = [0; 4];
            unroll::<4>(|j| places[j] = tables.next(keys[p][j]));
            unroll::<4>(|j| sorted.set(places[j], keys[p][j]));
        });
    } else {
        each_key::<THREADS>(input, part, |key| sorted.set(tables.next(key), key));
    }
    if let Some(bucket) = tables.bucket() {
        let start = tables.offsets.get(bucket);
        tables.offsets.set(bucket, place.wrapping_sub(start));
    }
    thread::sync_threads(); // the tile is in order and the offsets are complete before either is read
    let store = |place: u32, key: u32| output.set(tables.offset(key).wrapping_add(place), key);
    if full {
        let mine = sorted.slice(t, in_tile - t);
        unroll::<16>(|i| store(i as u32 * THREADS + t, mine.get(i as u32 * THREADS)));
    } else {
        let (mut place, step) = (t, opaque(THREADS)); // not a constant, so that the loop stays one
        while place < end - begin {
            store(place, sorted.get(place));
            place += step;
        }
    }
}

/// Turns the counts of the tile into starts, in counters and offsets, and takes room for its keys behind the cursors.
/// Returns where the keys of a bucket belong in the output, in the first thread of the bucket.
#[inline(always)]
#[track_caller]
fn reserve(tables: Tables, cursor: impl Fn(u32) -> Global<u32>) -> u32 {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    // Each thread has four counters; whole warps have some or none.
    let in_use = t & !(warp::WARP - 1) < tables.threads();
    let (mut place, mut before) = (0, 0);
    if in_use {
        let [a, b, c, d] = tables.four();
        let mine = a + b + c + d;
        let other = warp::shuffle_xor(warp::FULL, mine, tables.two());
        let found = if tables.two() == 0 { mine } else { mine + other };
        if let Some(bucket) = tables.bucket()
            && found != 0
        {
            // Requested before the scan, which hides the latency.
            place = cursor(bucket).fetch_add(0, found, Relaxed, Scope::Device);
        }
        let inclusive = warp_scan(mine);
        if lane == warp::WARP - 1 {
            tables.sums.set(w, inclusive);
        }
        before = inclusive - mine;
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    if in_use {
        let below = if lane < w { tables.sums.get(lane) } else { 0 };
        let start = warp::reduce_add(warp::FULL, below) + before;
        let [a, b, c, _] = tables.four(); // read again rather than kept in registers
        if t < tables.threads() {
            tables.counters.set_pack(t, [start, start + a, start + a + b, start + a + b + c]);
        }
        if let Some(bucket) = tables.bucket() {
            tables.offsets.set(bucket, start);
        }
    }
    thread::sync_threads(); // counters hold where each bucket starts in the tile before keys are placed
    place
}

/// The shared memory of a tile without its keys.
#[derive(Clone, Copy)]
struct Tables {
    counters: Shared<u32>,
    /// For each bucket the difference between the places of its keys in the output and in the tile.
    offsets: Shared<u32>,
    sums: Shared<u32>,
    shift: u32,
    bits: u32,
}

impl Tables {
    #[inline(always)]
    fn new(in_tile: u32, shift: u32, bits: u32) -> Self {
        let at = 4 * in_tile;
        Self {
            counters: Shared::dynamic(at, COUNTERS),
            offsets: Shared::dynamic(at + 4 * COUNTERS, MAX_BUCKETS),
            sums: Shared::dynamic(at + 4 * (COUNTERS + MAX_BUCKETS), warp::WARP),
            shift,
            bits,
        }
    }

    /// The bucket of a key times `1 << log2`, by one shift and one mask, which are the same for all keys.
    #[inline(always)]
    fn scaled(self, key: u32, log2: u32) -> u32 {
        key >> (self.shift - log2) & (((1 << self.bits) - 1) << log2)
    }

    /// Adds one to the counter for a key of this lane, and returns what it was before.
    #[inline(always)]
    fn next(self, key: u32) -> u32 {
        let log2 = copies_log2(self.bits);
        let copy = (warp::lane_id() & ((1 << log2) - 1)) * 4;
        // In bytes, so that no instruction multiplies the index.
        let counter = self.counters.cast::<u8>().slice(self.scaled(key, log2 + 2) | copy, 4).cast::<u32>();
        counter.fetch_add(0, 1, Relaxed, Scope::Block)
    }

    /// The difference between the places of a key in the output and in the tile.
    #[inline(always)]
    fn offset(self, key: u32) -> u32 {
        self.offsets.cast::<u8>().slice(self.scaled(key, 2), 4).cast().get(0)
    }

    /// How many threads look after four counters each.
    #[inline(always)]
    fn threads(self) -> u32 {
        1 << (self.bits + copies_log2(self.bits) - 2)
    }

    /// This thread's counters, in a warp that has some.
    #[inline(always)]
    fn four(self) -> [u32; 4] {
        let t = thread::thread_idx_x();
        if t < self.threads() { self.counters.get_pack(t) } else { [0; 4] }
    }

    /// The bucket whose first counters this thread has.
    #[inline(always)]
    fn bucket(self) -> Option<u32> {
        let (t, two) = (thread::thread_idx_x(), self.two());
        (t < self.threads() && t & two == 0).then_some(t >> two)
    }

    /// 1 if two neighbouring threads share a bucket, 0 if one thread has all of its counters.
    #[inline(always)]
    fn two(self) -> u32 {
        copies_log2(self.bits) - 2
    }
}

/// Calls `f` with each key of any tile.
#[inline(always)]
#[rustfmt::skip]
fn each_key<const THREADS: u32>(input: Global<u32>, [begin, end, origin]: [u32; 3], mut f: impl FnMut(u32)) {
    let mut at = origin + thread::thread_idx_x() * 4;
    let last = at + opaque(PACKS) * THREADS * 4; // not a constant, so that the loop stays one
    while at != last {
        let mut keys = [0; 4];
        let is_key = |j: usize| at + (j as u32) >= begin && at + (j as u32) < end;
        unroll::<4>(|j| if is_key(j) { keys[j] = input.get(at + j as u32) });
        unroll::<4>(|j| if is_key(j) { f(keys[j]) });
        at += THREADS * 4;
    }
}
