//! Step 1: how many keys each bucket will have.

use super::{Key, Mapped, Mapping, Plain};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, shared, thread, unroll};

/// Threads a block.
pub const HISTOGRAM_THREADS: u32 = 1024;

/// 16-byte loads that a thread has in flight.
const PACKS: u32 = 4;

shared!(LOST: [u32; 1]);

/// Bytes of dynamic shared memory: a 16-bit counter a bucket, two of them in a word.
pub const fn histogram_shared(top_bits: u32) -> u32 {
    2 << top_bits
}

/// Blocks: as many as the device holds at once, and none for fewer than 8192 keys.
pub const fn histogram_blocks(n: u32, top_bits: u32, multiprocessors: u32) -> u32 {
    // Two blocks of 1024 threads fit a multiprocessor, but with 13 to 15 bits only they are worth their flush.
    let most = if top_bits > 12 && top_bits < 16 { 2 * multiprocessors } else { multiprocessors };
    let enough = n.div_ceil(8192);
    if enough < most { enough } else { most }
}

/// Adds the number of keys with each value of the top bits to `histogram`, which was zero.
///
/// Sets `flag[0]` and `flag[1]` to `epoch` if a counter overflowed; the histogram is then worth nothing.
#[kernel(max_threads = HISTOGRAM_THREADS, min_blocks = 2, instances(
    radix_msd_buckets_histogram: <u32, Plain>,
    radix_msd_buckets_histogram_mapped: <u32, Mapped>,
    radix_msd_buckets_histogram_u64: <u64, Plain>,
    radix_msd_buckets_histogram_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_histogram<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, top_bits: u32, histogram: Global<u32>, flag: Global<u32>, epoch: u32,
) {
    let t = thread::thread_idx_x();
    let words = 1 << (top_bits - 1);
    let counters = Shared::<u32>::dynamic(0, words);
    grid::let_next_start();
    let mut i = t;
    while i < words {
        counters.set(i, 0);
        i += HISTOGRAM_THREADS;
    }
    if t == 0 {
        LOST::view().set(0, 0);
    }
    grid::wait_for_previous(); // `histogram` was zeroed and `keys` may have been written by the grid before
    thread::sync_threads(); // every counter is zero before the first key is counted
    let mine = count_keys::<W, M>(keys, order, top_bits, counters);
    thread::sync_threads(); // every key is counted before counters are read
    let mut found = 0;
    let mut i = t;
    while i < words {
        let pair = counters.get(i);
        let (low, high) = (pair & 0xffff, pair >> 16);
        found += low + high;
        if low != 0 {
            histogram.fetch_add(2 * i, low, Relaxed, Scope::Device); // all blocks add to the same counts
        }
        if high != 0 {
            histogram.fetch_add(2 * i + 1, high, Relaxed, Scope::Device);
        }
        i += HISTOGRAM_THREADS;
    }
    // A carry out of the low half makes 65,536 keys one, out of the high half none: the sum of what was found differs
    // from the number of keys exactly if there was a carry.
    LOST::view().fetch_add(0, mine.wrapping_sub(found), Relaxed, Scope::Block);
    thread::sync_threads(); // all differences are added before the sum is read
    if t == 0 && LOST::view().get(0) != 0 {
        flag.store(0, epoch, Relaxed, Scope::Device);
        flag.store(1, epoch, Relaxed, Scope::Device);
    }
}

/// Counts the keys of this thread; returns how many they were.
#[inline(always)]
fn count_keys<W: Key, M: Mapping>(keys: Global<W>, order: u32, top_bits: u32, counters: Shared<u32>) -> u32 {
    let count = |key: W| {
        let bucket = M::encode(key, order).top() >> (32 - top_bits);
        counters.fetch_add(bucket >> 1, if bucket & 1 == 0 { 1 } else { 1 << 16 }, Relaxed, Scope::Block);
    };
    let count_pack = |pack: W::Pack| {
        unroll::<4>(|j| {
            if j < W::PACK as usize {
                count(pack.as_ref()[j])
            }
        })
    };
    let (packs, stride) = (keys.len() / W::PACK, thread::grid_threads_1d());
    let mut i = thread::index_1d();
    let mut mine = 0;
    // Far below 2³²: packs are at most 2³⁰, and the grid is a few hundred blocks.
    while i + (PACKS - 1) * stride < packs {
        let mut loaded = [W::Pack::default(); PACKS as usize];
        unroll::<{ PACKS as usize }>(|p| loaded[p] = keys.get_pack_read_only(i + p as u32 * stride));
        unroll::<{ PACKS as usize }>(|p| count_pack(loaded[p]));
        mine += PACKS * W::PACK;
        i += PACKS * stride;
    }
    while i < packs {
        count_pack(keys.get_pack_read_only(i));
        mine += W::PACK;
        i += stride;
    }
    let rest = packs * W::PACK + thread::index_1d();
    if rest < keys.len() {
        count(keys.get(rest));
        mine += 1;
    }
    mine
}
