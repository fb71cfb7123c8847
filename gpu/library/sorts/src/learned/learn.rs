//! Launch 1: learns the map from a sample of the keys.
//!
//! The slices need a range, and the table needs the counts of all blocks. Every block finds the same range from the
//! same few keys, so no block waits for another. Each block then counts a sample of its own by slices, and the last
//! block to end turns the counts of all into the table.

use super::map::{Range, SLICES, Span, write_range};
use super::table::{Ends, LEARN_THREADS, WARPS, make_table};
use crate::msd::{Key, Mapped, Mapping, Plain, clear_packs, each_in_pack, extremes};
use crate::msd_skewed::each_item;
use simt::atomic::{self, Order, Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, Shared, grid, kernel, shared, thread, unroll, warp};

/// 16-byte loads per thread for the range.
const RANGE_PACKS: usize = 4;
/// 16-byte loads per thread for the sample.
const SAMPLE_PACKS: usize = 2;

/// A span of `n` keys is wider than the keys that it is found from, by their width shifted right by this at either end.
/// A key outside counts as the end of the span. Floats near zero are outside, between the spans, and they have one
/// bucket: among many keys they are few enough for it if the margin is wide.
#[simt::device]
fn margin(n: u32) -> u32 {
    if n >> 25 == 0 { 5 } else { 3 }
}

/// Keys of 32 bits that a block samples.
#[cfg(not(target_os = "cuda"))]
const BLOCK_SAMPLE: u32 = LEARN_THREADS * 4 * SAMPLE_PACKS as u32;

/// The number of keys from which on there is each number of blocks. The more buckets, the more samples it takes to make
/// them even.
#[cfg(not(target_os = "cuda"))]
const BLOCKS: [(u32, u32); 3] = [(1 << 25, 128), (1 << 22, 32), (0, 8)];

/// Blocks.
#[cfg(not(target_os = "cuda"))]
pub fn learn_blocks(n: u32) -> u32 {
    let (_, blocks) = BLOCKS.into_iter().find(|&(from, _)| n >= from).unwrap_or_default();
    blocks.min(n.div_ceil(BLOCK_SAMPLE))
}

/// Words of the counts: one for each slice, and how many blocks are done; or a ticket, and how many parts are done.
pub const COUNT_WORDS: u32 = SLICES + 4;

shared!(COUNTS: [u32; SLICES]);
shared!(LOW: [u64; 2 * warp::WARP]);
shared!(HIGH: [u64; 2 * warp::WARP]);

/// Learns the `map` of the keys. `counts`: [`COUNT_WORDS`], zero before and after.
#[kernel(max_threads = LEARN_THREADS, min_blocks = 1, instances(
    radix_learned_map: <u32, Plain>,
    radix_learned_map_mapped: <u32, Mapped>,
    radix_learned_map_u64: <u64, Plain>,
    radix_learned_map_u64_mapped: <u64, Mapped>,
))]
#[rustfmt::skip]
pub fn radix_learned_map<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, counts: Global<u32>, map: Global<u32>,
) {
    let (t, own) = (thread::thread_idx_x(), COUNTS::view());
    grid::let_next_start();
    clear_packs::<LEARN_THREADS>(own);
    grid::wait_for_previous(); // keys, and the sort before is done with counts and map
    let mut sample = [W::Pack::default(); SAMPLE_PACKS];
    unroll::<SAMPLE_PACKS>(|p| sample[p] = sampled(keys, p as u32 * thread::grid_threads_1d() + thread::index_1d()));
    // The barriers inside are behind the zeroes of all counters.
    let (range, ends) = find_range::<W, M>(keys, order);
    unroll::<SAMPLE_PACKS>(|p| count_slices::<W, M>(sample[p], order, range, own));
    thread::sync_threads(); // the block's sample is counted before the counts are read
    add_counts(own, counts);
    if !is_last(counts.slice(SLICES, 1)) {
        return;
    }
    own.set_pack(t, all_counts(counts));
    unroll::<4>(|j| counts.set(4 * t + j as u32, 0));
    if t == 0 {
        counts.set(SLICES, 0);
        write_range(range, map);
    }
    map.set_pack(t, make_table(own, range, ends));
}
const _: () = assert!(SLICES == 4 * LEARN_THREADS, "each thread has four slices");

/// Parts of a sample that blocks count one by one: a pack per thread each.
#[cfg(not(target_os = "cuda"))]
pub fn learn_parts(n: u32) -> u32 {
    learn_blocks(n) * SAMPLE_PACKS as u32
}

/// Learns the map of the keys in a launch that does more: all threads of its blocks, of [`LEARN_THREADS`], may call it.
/// They count the `parts` of the sample by a ticket. Each block makes the `table` for itself; the first one writes
/// the `map` too. `counts`: [`COUNT_WORDS`], zero before. Returns the range of the map.
#[simt::device]
#[track_caller]
#[rustfmt::skip]
pub(crate) fn learn_together<W: Key, M: Mapping>(
    keys: Global<W>, order: u32, parts: u32, counts: Global<u32>, map: Global<u32>, table: Shared<u32>,
) -> Range<W> {
    let t = thread::thread_idx_x();
    clear_packs::<LEARN_THREADS>(table);
    // The barriers inside are behind the zeroes of all counters.
    let (range, ends) = find_range::<W, M>(keys, order);
    let phase = || (counts.slice(SLICES, 1), counts.slice(SLICES + 1, 1));
    each_item(phase, || parts, true, |part| {
        count_slices::<W, M>(sampled(keys, part * LEARN_THREADS + t), order, range, table);
        thread::sync_threads(); // the part is counted before the counts are read
        add_counts(table, counts);
        table.set_pack(t, [0; 4]); // this thread alone has read them, and each item begins with a barrier
    });
    table.set_pack(t, all_counts(counts));
    let words = make_table(table, range, ends);
    table.set_pack(t, words); // all have read the counts: there are barriers behind that
    if thread::block_idx_x() == 0 {
        map.set_pack(t, words);
        if t == 0 {
            write_range(range, map);
        }
    }
    thread::sync_threads(); // the table is there before the first look-up
    range
}

/// Pack `i` of the sample. Multiples of the golden ratio: they lie all over the input, and meet no period of it.
#[simt::device]
pub(crate) fn sampled<W: Key>(keys: Global<W>, i: u32) -> W::Pack {
    keys.get_pack_streaming(mul_hi(i.wrapping_mul(0x9e37_79b1), keys.len() / W::PACK))
}

/// Calls `f` with each of the keys that every block sees, as words: the first packs of the sample, the same number per
/// thread.
#[simt::device]
pub(crate) fn each_common<W: Key, M: Mapping>(keys: Global<W>, order: u32, mut f: impl FnMut(W)) {
    let mut common = [W::Pack::default(); RANGE_PACKS];
    unroll::<RANGE_PACKS>(|p| common[p] = sampled(keys, p as u32 * LEARN_THREADS + thread::thread_idx_x()));
    unroll::<RANGE_PACKS>(|p| each_in_pack::<W>(|j| f(M::encode(common[p].as_ref()[j], order))));
}

/// How many keys [`each_common`] has.
#[cfg(not(target_os = "cuda"))]
pub(crate) const fn common_keys<W: Key>() -> u32 {
    RANGE_PACKS as u32 * LEARN_THREADS * W::PACK
}

/// The range of the keys, and what it is found from, the same in all blocks.
#[simt::device]
#[track_caller]
fn find_range<W: Key, M: Mapping>(keys: Global<W>, order: u32) -> (Range<W>, Ends<W>) {
    let mut ends = [[W::LARGEST, W::from_bits(0)]; 2];
    each_common::<W, M>(keys, order, |key| {
        unroll::<2>(|high| {
            if is_high(key) == (high != 0) {
                ends[high] = [ends[high][0].min(key), ends[high][1].max(key)];
            }
        });
    });
    let low = extremes::<W>(ends[0][0], ends[0][1], LOW::view().cast(), WARPS);
    let high = extremes::<W>(ends[1][0], ends[1][1], HIGH::view().cast(), WARPS);
    (Range::new(widened(low, false, keys.len()), widened(high, true, keys.len())), [low, high])
}

/// Counts a pack by slices.
#[simt::device]
fn count_slices<W: Key, M: Mapping>(pack: W::Pack, order: u32, range: Range<W>, counts: Shared<u32>) {
    each_in_pack::<W>(|j| {
        counts.fetch_add(range.slice(M::encode(pack.as_ref()[j], order)), 1, Relaxed, Scope::Block);
    });
}

/// Adds what a block has counted to the `counts` of all. Thread t has slices 4t to 4t + 3.
#[simt::device]
fn add_counts(own: Shared<u32>, counts: Global<u32>) {
    let t = thread::thread_idx_x();
    let mine = own.get_pack(t);
    unroll::<4>(|j| {
        if mine[j] != 0 {
            // All blocks add to the same counts.
            counts.fetch_add(4 * t + j as u32, mine[j], Relaxed, Scope::Device);
        }
    });
}

/// The counts of this thread's slices, once all blocks have added theirs.
#[simt::device]
fn all_counts(counts: Global<u32>) -> [u32; 4] {
    let mut all = [0; 4];
    unroll::<4>(|j| all[j] = counts.load(4 * thread::thread_idx_x() + j as u32, Relaxed, Scope::Device));
    all
}

/// Whether a key is above the middle of all words.
#[simt::device]
fn is_high<W: Key>(key: W) -> bool {
    key.top() >> 31 != 0
}

/// The span of the keys from `least` to `greatest`, with a margin, on its side of the middle; at the far end of that
/// side if it has no keys.
#[simt::device]
fn widened<W: Key>((least, greatest): (W, W), high: bool, n: u32) -> Span<W> {
    let (middle, all) = (W::LARGEST.bits() / 2 + 1, W::LARGEST.bits());
    let (from, to, far) = if high { (middle, all, all) } else { (0, middle - 1, 0) };
    let (least, greatest) = (least.bits(), greatest.bits());
    if least > greatest {
        return Span { first: W::from_bits(far), last: W::from_bits(far) };
    }
    let margin = (greatest - least) >> margin(n);
    let (first, last) = (least.saturating_sub(margin).max(from), greatest.saturating_add(margin).min(to));
    Span { first: W::from_bits(first), last: W::from_bits(last) }
}

/// Whether this block is the last of the grid to come here; then it sees what the others have written. `done`: how many
/// have come before.
#[simt::device]
#[track_caller]
fn is_last(done: Global<u32>) -> bool {
    thread::sync_threads(); // all threads have added their counts before the block counts as done
    let mut is_last = false;
    if thread::thread_idx_x() == 0 {
        // What this block has counted becomes visible before the block counts as done,
        atomic::fence(Order::AcqRel, Scope::Device);
        is_last = done.fetch_add(0, 1, Relaxed, Scope::Device) == thread::grid_dim_x() - 1;
        // and what the others have counted is read after that.
        atomic::fence(Order::AcqRel, Scope::Device);
    }
    thread::sync_threads_or(is_last)
}
