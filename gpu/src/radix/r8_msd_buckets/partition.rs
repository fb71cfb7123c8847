//! Steps 3 and 4: the keys of a tile to their buckets.

use super::{Key, Mapped, Mapping, Plain, spread, warp_scan};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Scalar, Shared, grid, kernel, opaque, thread, unroll, warp};

/// Threads of a block, and of a wide one, which the first partition of 2²⁷ keys and more uses.
pub const PARTITION_THREADS: u32 = 512;
/// See [`PARTITION_THREADS`].
pub const PARTITION_THREADS_WIDE: u32 = 1024;

/// 16-byte loads of a thread, which are its share of a tile.
const PACKS: u32 = 4;

/// Keys of a tile.
pub const fn partition_tile<W: Scalar>(wide: bool) -> u32 {
    PACKS * W::PACK * if wide { PARTITION_THREADS_WIDE } else { PARTITION_THREADS }
}

/// Bytes of dynamic shared memory: the tile, a counter and an offset a bucket, a sum a warp.
pub const fn partition_shared(bits: u32, wide: bool) -> u32 {
    let threads = if wide { PARTITION_THREADS_WIDE } else { PARTITION_THREADS };
    PACKS * 16 * threads + (8 << bits) + 4 * warp::WARP
}

/// How many bits a partition looks at.
pub trait Digit: 'static {
    /// The number.
    const BITS: u32;
}

/// `N` of them.
pub struct Bits<const N: u32>;

impl<const N: u32> Digit for Bits<N> {
    const BITS: u32 = N;
}

/// Moves the keys of `input` to `output`, each to where the cursor of its bucket points.
///
/// `shift`: the digit is that many bits above the lowest of the 32 top bits. `cursors`: [`spread`] if `tiles` is empty
/// and `spread_out` is not 0. `tiles`: empty to partition all of `input`, or the descriptors of
/// [`super::radix_msd_buckets_starts`]. Nothing is done if `flag[0]` is `epoch`.
#[kernel(max_threads = PARTITION_THREADS, min_blocks = 4, instances(
    radix_msd_buckets_partition_5: <u32, Bits<5>, Plain>,
    radix_msd_buckets_partition_6: <u32, Bits<6>, Plain>,
    radix_msd_buckets_partition_7: <u32, Bits<7>, Plain>,
    radix_msd_buckets_partition_8: <u32, Bits<8>, Plain>,
    radix_msd_buckets_partition_9: <u32, Bits<9>, Plain>,
    radix_msd_buckets_partition_mapped_5: <u32, Bits<5>, Mapped>,
    radix_msd_buckets_partition_mapped_6: <u32, Bits<6>, Mapped>,
    radix_msd_buckets_partition_mapped_7: <u32, Bits<7>, Mapped>,
    radix_msd_buckets_partition_mapped_8: <u32, Bits<8>, Mapped>,
    radix_msd_buckets_partition_mapped_9: <u32, Bits<9>, Mapped>,
    radix_msd_buckets_partition_u64_5: <u64, Bits<5>, Plain>,
    radix_msd_buckets_partition_u64_6: <u64, Bits<6>, Plain>,
    radix_msd_buckets_partition_u64_7: <u64, Bits<7>, Plain>,
    radix_msd_buckets_partition_u64_8: <u64, Bits<8>, Plain>,
    radix_msd_buckets_partition_u64_9: <u64, Bits<9>, Plain>,
    radix_msd_buckets_partition_u64_mapped_5: <u64, Bits<5>, Mapped>,
    radix_msd_buckets_partition_u64_mapped_6: <u64, Bits<6>, Mapped>,
    radix_msd_buckets_partition_u64_mapped_7: <u64, Bits<7>, Mapped>,
    radix_msd_buckets_partition_u64_mapped_8: <u64, Bits<8>, Mapped>,
    radix_msd_buckets_partition_u64_mapped_9: <u64, Bits<9>, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_partition<W: Key, D: Digit, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, shift: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>, flag: Global<u32>, epoch: u32,
) {
    partition::<W, D, M, PARTITION_THREADS>(input, output, order, shift, cursors, spread_out, tiles, flag, epoch);
}

/// [`radix_msd_buckets_partition`] with twice the threads: longer runs to each bucket.
#[kernel(max_threads = PARTITION_THREADS_WIDE, min_blocks = 2, instances(
    radix_msd_buckets_partition_wide_8: <u32, Bits<8>, Plain>,
    radix_msd_buckets_partition_wide_mapped_8: <u32, Bits<8>, Mapped>,
    radix_msd_buckets_partition_wide_u64_8: <u64, Bits<8>, Plain>,
    radix_msd_buckets_partition_wide_u64_mapped_8: <u64, Bits<8>, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_partition_wide<W: Key, D: Digit, M: Mapping>(
    input: Global<W>, output: Global<W>, order: u32, shift: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>, flag: Global<u32>, epoch: u32,
) {
    partition::<W, D, M, PARTITION_THREADS_WIDE>(input, output, order, shift, cursors, spread_out, tiles, flag, epoch);
}

#[inline(always)]
#[allow(clippy::too_many_arguments)]
#[rustfmt::skip]
fn partition<W: Key, D: Digit, M: Mapping, const THREADS: u32>(
    input: Global<W>, output: Global<W>, order: u32, shift: u32, cursors: Global<u32>, spread_out: u32,
    tiles: Global<u32>, flag: Global<u32>, epoch: u32,
) {
    let buckets = 1 << D::BITS;
    let (size, in_tile) = (size_of::<W>() as u32, PACKS * W::PACK * THREADS);
    let sorted = Shared::<W>::dynamic(0, in_tile);
    let counters = Shared::<u32>::dynamic(in_tile * size, buckets);
    let offsets = Shared::<u32>::dynamic(in_tile * size + 4 * buckets, buckets);
    let sums = Shared::<u32>::dynamic(in_tile * size + 8 * buckets, warp::WARP);
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let w = t / warp::WARP;
    grid::let_next_start();
    if t < buckets {
        counters.set(t, 0);
    }
    grid::wait_for_previous(); // cursors, tiles, the flag, and in the second partition the keys

    let [begin, end, first_bucket, origin] = if tiles.is_empty() {
        let origin = thread::block_idx_x() * in_tile;
        [origin, input.len().min(origin.saturating_add(in_tile)), 0, origin]
    } else {
        tiles.get_pack(thread::block_idx_x())
    };
    if begin == end || flag.get(0) == epoch {
        return;
    }
    let count = end - begin;
    // Full tiles have loops of their own, without a test for each key: the tests double their instructions.
    let full = count == in_tile;
    // The word of `table` for a key: the digit is taken out in place as a byte offset, shift and mask and no more.
    let word = |table: Shared<u32>, key: W| {
        let offset = key.top() >> (shift - 2) & ((buckets - 1) * 4);
        table.cast::<u8>().slice(offset, 4).cast::<u32>()
    };
    // A key's number counted from the first that is ours; those before it wrap to large ones.
    let first = (origin + t * W::PACK).wrapping_sub(begin);
    let number = |first: u32, p: usize, j: usize| first.wrapping_add(p as u32 * THREADS * W::PACK + j as u32);
    let mut keys = [W::Pack::default(); PACKS as usize];
    if full {
        let mine = input.slice(origin + t * W::PACK, in_tile - t * W::PACK);
        unroll::<4>(|p| {
            keys[p] = mine.get_pack_streaming(p as u32 * THREADS);
            each::<W>(|j| keys[p].as_mut()[j] = M::encode(keys[p].as_ref()[j], order));
        });
    } else {
        each_key::<W>(|p, j| if number(first, p, j) < count {
            keys[p].as_mut()[j] = M::encode(input.get(begin + number(first, p, j)), order);
        });
    }
    thread::sync_threads(); // the counters are zero before the first key is counted
    if full {
        each_key::<W>(|p, j| { word(counters, keys[p].as_ref()[j]).fetch_add(0, 1, Relaxed, Scope::Block); });
    } else {
        let first = opaque(first); // 16 tests kept from phase to phase would not fit the registers
        each_key::<W>(|p, j| if number(first, p, j) < count {
            word(counters, keys[p].as_ref()[j]).fetch_add(0, 1, Relaxed, Scope::Block);
        });
    }
    thread::sync_threads(); // every key is counted before the counts are read

    let (mut found, mut place) = (0, 0);
    if t < buckets {
        found = counters.get(t);
        if found != 0 {
            // Room in the bucket. It is asked for before the scan, which then hides how long it takes.
            let bucket = first_bucket + t;
            let cursor = if spread_out != 0 { spread(bucket) } else { bucket };
            place = cursors.fetch_add(cursor, found, Relaxed, Scope::Device);
        }
    }
    let warps = buckets / warp::WARP;
    let mut inclusive = 0;
    if w < warps {
        inclusive = warp_scan(found);
        if lane == warp::WARP - 1 {
            sums.set(w, inclusive);
        }
    }
    thread::sync_threads(); // every warp's sum is there before they are added up
    if w < warps {
        let below = if lane < w { sums.get(lane) } else { 0 };
        let start = warp::reduce_add(warp::FULL, below) + inclusive - found;
        counters.set(t, start);
        offsets.set(t, start);
    }
    thread::sync_threads(); // counters hold where each bucket starts in the tile before keys are placed
    // The counter says where the key goes, and then where the next one of its bucket will.
    let place_of = |key: W| word(counters, key).fetch_add(0, 1, Relaxed, Scope::Block);
    if full {
        unroll::<{ PACKS as usize }>(|p| {
            // All places of a pack are asked for before the first is used.
            let mut places = [0; 4];
            each::<W>(|j| places[j] = place_of(keys[p].as_ref()[j]));
            each::<W>(|j| sorted.set(places[j], keys[p].as_ref()[j]));
        });
    } else {
        let first = opaque(first);
        each_key::<W>(|p, j| if number(first, p, j) < count {
            sorted.set(place_of(keys[p].as_ref()[j]), keys[p].as_ref()[j]);
        });
    }
    if w < warps {
        offsets.set(t, place.wrapping_sub(offsets.get(t)));
    }
    thread::sync_threads(); // the tile is in order and the offsets are complete before either is read
    let store = |i: u32| {
        let key = sorted.slice(t, in_tile - t).get(i * THREADS);
        output.set(word(offsets, key).get(0).wrapping_add(i * THREADS + t), key);
    };
    if full {
        unroll::<16>(|i| if (i as u32) < PACKS * W::PACK { store(i as u32) });
    } else {
        unroll::<16>(|i| if (i as u32) < PACKS * W::PACK && i as u32 * THREADS + t < count { store(i as u32) });
    }
}

/// Calls `f` with the number of each key in a pack.
#[inline(always)]
fn each<W: Scalar>(mut f: impl FnMut(usize)) {
    unroll::<4>(|j| {
        if j < W::PACK as usize {
            f(j)
        }
    });
}

/// Calls `f` with pack and place in the pack of each key of a thread.
#[inline(always)]
fn each_key<W: Scalar>(mut f: impl FnMut(usize, usize)) {
    unroll::<{ PACKS as usize }>(|p| each::<W>(|j| f(p, j)));
}
