//! Launches 3 and 4: moves the keys of each tile to their buckets.
//!
//! A block counts its keys by bucket and computes the starts from the counts. Then it counts each key again; the
//! previous value of the counter is the key's place in the tile. There the keys of a bucket are neighbours, so they are
//! written together.

use super::*;

/// Threads per block.
pub const PARTITION_THREADS: u32 = 512;
/// Threads per wide block, which the first partition of many keys uses: longer runs of keys to each bucket.
pub const PARTITION_THREADS_WIDE: u32 = 1024;

/// 16-byte loads per thread and tile.
const PACKS: usize = 4;

/// Keys per tile; they are the dynamic shared memory.
pub const fn partition_tile(threads: u32) -> u32 {
    PACKS as u32 * 4 * threads
}

/// Most bits of a digit.
const MAX_BITS: u32 = 9;

/// Counters per tile, 4 or 8 for each bucket.
const COUNTERS: u32 = 2048;
const _: () = assert!(COUNTERS >> MAX_BITS >= 4 && 1 << MAX_BITS <= PARTITION_THREADS);

shared!(COUNTS: [u32; COUNTERS]);
// For each bucket the difference between the places of its keys in the output and in the tile.
shared!(OFFSETS: [u32; 1 << MAX_BITS]);
shared!(SUMS: [u32; warp::WARP]);

/// Moves the keys of `input` to `output`, each to where the cursor of its bucket points.
///
/// `digit`: chooses the bucket. `tiles`: empty to partition all of `input`, or the descriptors of
/// [`super::radix_msd_buckets_starts`]. In the first case `cursors` are placed by [`spread`].
// Four blocks of 512 threads with 32 registers per SM; too few without the registers that Hopper has for values that
// are the same in a warp.
#[kernel(max_threads = PARTITION_THREADS, min_blocks = if cfg!(sm_90) { 4 } else { 3 })]
#[rustfmt::skip]
pub fn radix_msd_buckets_partition(
    input: Global<u32>, output: Global<u32>, digit: Digit, cursors: Global<u32>, tiles: Global<u32>,
) {
    partition::<{ PARTITION_THREADS / warp::WARP }>(input, output, digit, cursors, tiles);
}

/// [`radix_msd_buckets_partition`] in wide blocks.
#[kernel(max_threads = PARTITION_THREADS_WIDE, min_blocks = if cfg!(sm_90) { 2 } else { 1 })]
#[rustfmt::skip]
pub fn radix_msd_buckets_partition_wide(
    input: Global<u32>, output: Global<u32>, digit: Digit, cursors: Global<u32>, tiles: Global<u32>,
) {
    partition::<{ PARTITION_THREADS_WIDE / warp::WARP }>(input, output, digit, cursors, tiles);
}

#[simt::device]
#[track_caller]
#[rustfmt::skip]
fn partition<const WARPS: u32>(
    input: Global<u32>, output: Global<u32>, digit: Digit, cursors: Global<u32>, tiles: Global<u32>,
) {
    let (t, b, threads) = (thread::thread_idx_x(), thread::block_idx_x(), WARPS * warp::WARP);
    let in_tile = partition_tile(threads);
    let sorted = Shared::<u32>::dynamic(0, in_tile);
    grid::let_next_start();
    if t < digit.threads() {
        COUNTS::view().set_pack(t, [0; 4]);
    }
    grid::wait_for_previous(); // cursors, tiles, and in the second partition the keys
    let origin = b * in_tile;
    let whole = [origin, input.len().min(origin.saturating_add(in_tile)), 0, origin];
    let [begin, end, first_bucket, origin] = if tiles.is_empty() { whole } else { tiles.get_pack(b) };
    if begin == end {
        return;
    }
    // A full tile has all keys in registers and needs no bounds check, which would double the instructions. Other tiles
    // read their keys twice, one pack at a time.
    let full = end - begin == in_tile;
    let mut keys = [[0; 4]; PACKS];
    if full {
        let mine = input.slice(origin + t * 4, in_tile - t * 4);
        unroll::<PACKS>(|p| keys[p] = mine.get_pack_streaming(p as u32 * threads));
    }
    let tile = [begin, end, origin, threads];
    thread::sync_threads(); // the counters are zero before the first key is counted
    each_pack_of_tile(input, tile, &mut keys, |pack, is_key| unroll::<4>(|j| if is_key[j] { digit.next(pack[j]); }));
    thread::sync_threads(); // every key is counted before the counts are read
    let at = |bucket: u32| if tiles.is_empty() { spread(bucket) } else { bucket };
    let place = reserve::<WARPS>(digit, |bucket| cursors.slice(at(first_bucket + bucket), 1));
    each_pack_of_tile(input, tile, &mut keys, |pack, is_key| {
        // All places of a pack are requested before the first is used.
        let mut places = [0; 4];
        unroll::<4>(|j| if is_key[j] { places[j] = digit.next(pack[j]) });
        unroll::<4>(|j| if is_key[j] { sorted.set(places[j], pack[j]) });
    });
    if digit.is_first(t) {
        let offset = OFFSETS::view().slice(t >> digit.two(), 1);
        offset.set(0, place.wrapping_sub(offset.get(0)));
    }
    thread::sync_threads(); // the tile is in order and the offsets are complete before either is read
    let store = |place: u32, key: u32| {
        let offset = OFFSETS::view().cast::<u8>().slice(digit.scaled(key, 2), 4).cast::<u32>();
        output.set(offset.get(0).wrapping_add(place), key);
    };
    if full {
        let mine = sorted.slice(t, in_tile - t);
        unroll::<16>(|i| store(i as u32 * threads + t, mine.get(i as u32 * threads)));
    } else {
        // The step is no constant, so that the loop is not unrolled.
        strided(t, end - begin, opaque(threads), |place| store(place, sorted.get(place)));
    }
}

/// Turns the counts of the tile into starts, in counters and offsets, and takes room for its keys behind the cursors.
/// Returns where the keys of a bucket belong in the output, in the first thread of the bucket.
#[simt::device]
#[track_caller]
fn reserve<const WARPS: u32>(digit: Digit, cursor: impl Fn(u32) -> Global<u32>) -> u32 {
    let t = thread::thread_idx_x();
    let mut mine = 0;
    if t < digit.threads() {
        mine = COUNTS::view().get_pack(t).into_iter().sum();
    }
    let other = warp::shuffle_xor(warp::FULL, mine, digit.two());
    let found = if digit.two() == 0 { mine } else { mine + other };
    let mut place = 0;
    if digit.is_first(t) && found != 0 {
        // Requested before the scan, which hides the latency.
        place = cursor(t >> digit.two()).fetch_add(0, found, Relaxed, Scope::Device);
    }
    let (start, _) = block_scan::<WARPS>(mine, SUMS::view());
    if t < digit.threads() {
        let [a, b, c, _] = COUNTS::view().get_pack(t); // read again rather than kept in registers
        COUNTS::view().set_pack(t, [start, start + a, start + a + b, start + a + b + c]);
    }
    if digit.is_first(t) {
        OFFSETS::view().set(t >> digit.two(), start);
    }
    thread::sync_threads(); // counters hold where each bucket starts in the tile before keys are placed
    place
}

/// The bits that choose a bucket, and the counters of the buckets.
#[simt::argument]
#[derive(Clone, Copy)]
pub struct Digit {
    /// Its first bit.
    pub shift: u32,
    /// Its bits.
    pub bits: u32,
}

impl Digit {
    /// The bucket of a key times `1 << log2`, by one shift and one mask, which are the same for all keys.
    #[simt::device]
    fn scaled(self, key: u32, log2: u32) -> u32 {
        key >> (self.shift - log2) & (((1 << self.bits) - 1) << log2)
    }

    /// Adds one to the counter for a key of this lane, and returns what it was before.
    #[simt::device]
    fn next(self, key: u32) -> u32 {
        let copy = (warp::lane_id() & ((4 << self.two()) - 1)) * 4;
        // In bytes, so that no instruction multiplies the index.
        let counter = COUNTS::view().cast::<u8>().slice(self.scaled(key, self.two() + 4) | copy, 4).cast::<u32>();
        counter.fetch_add(0, 1, Relaxed, Scope::Block)
    }

    /// 0 if a bucket has four counters; 1 if it has eight, of which two neighbouring threads have four each. Lanes take
    /// turns in them, so that at most four lanes of a warp (eight with [`MAX_BITS`]) meet in a counter or its bank,
    /// whatever the keys: equal keys take no longer than uniform ones, of which about three meet in a bank anyway.
    #[simt::device]
    fn two(self) -> u32 {
        (COUNTERS.ilog2() - self.bits).min(3) - 2
    }

    /// How many threads look after four counters each.
    #[simt::device]
    fn threads(self) -> u32 {
        1 << (self.bits + self.two())
    }

    /// Whether thread t has the first counters of a bucket.
    #[simt::device]
    fn is_first(self, t: u32) -> bool {
        t < self.threads() && t & self.two() == 0
    }
}

/// Calls `f` with each pack of a tile that this thread has, and which of its elements are keys of the tile.
#[simt::device]
#[rustfmt::skip]
fn each_pack_of_tile(
    input: Global<u32>, [begin, end, origin, threads]: [u32; 4], keys: &mut [[u32; 4]; PACKS],
    mut f: impl FnMut([u32; 4], [bool; 4]),
) {
    if end - begin == partition_tile(threads) {
        unroll::<PACKS>(|p| f(keys[p], [true; 4]));
        return;
    }
    let first = origin + thread::thread_idx_x() * 4;
    let behind = first + opaque(partition_tile(threads)); // no constant, so that the loop is not unrolled
    strided(first, behind, threads * 4, |at| {
        let is_key = [0, 1, 2, 3].map(|j| at + j >= begin && at + j < end);
        let mut pack = [0; 4];
        unroll::<4>(|j| if is_key[j] { pack[j] = input.get(at + j as u32) });
        f(pack, is_key);
    });
    *keys = Default::default(); // so that the keys take no registers here
}
