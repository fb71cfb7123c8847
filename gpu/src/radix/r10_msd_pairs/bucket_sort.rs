//! Launch 6: sorts each bucket in the shared memory of one block.
//!
//! The keys of a bucket have the same top bits. A word keeps the others and, below them, the slot in which the pair
//! came: the words are all different, their order is the stable order of the keys, and the slot leads to the value.

use super::room::{GROUP, Room};
use super::{Buckets, by_buckets};
use crate::keys::Word;
use crate::radix::msd::{ITEMS, clear_counters};
use core::marker::PhantomData;
use simt::{Global, Shared, async_copy, grid, kernel, opaque, thread, unroll, warp};

/// Threads of a block; each has [`ITEMS`] slots.
pub trait Block: Copy + 'static {
    /// Threads, at most 512: numbers of slots are words of 13 bits.
    const THREADS: u32;
    /// Blocks per multiprocessor that the compiler makes room for.
    const BLOCKS: u32;
    /// Rows of slots that are full in nearly all buckets of as many pairs as the block is for.
    const FULL_ROWS: u32;

    /// Slots.
    const SLOTS: u32 = Self::THREADS * ITEMS;
    /// Pairs that fit: the block reads from a multiple of 128 bytes on, which can take up to 31 slots.
    const MOST: u32 = Self::SLOTS - 31;
}

/// For buckets of up to 4577 pairs.
#[derive(Clone, Copy)]
pub struct LargeBuckets;

impl Block for LargeBuckets {
    const THREADS: u32 = 384;
    const BLOCKS: u32 = 4;
    const FULL_ROWS: u32 = 10;
}

/// For buckets of up to 2657 pairs.
#[derive(Clone, Copy)]
pub struct SmallBuckets;

impl Block for SmallBuckets {
    const THREADS: u32 = 224;
    const BLOCKS: u32 = 6;
    const FULL_ROWS: u32 = 8;
}

/// Fewest top bits: a word has room for a slot in their place.
pub const LEAST_TOP_BITS: u32 = 13;
const _: () = assert!(LargeBuckets::SLOTS <= 1 << LEAST_TOP_BITS && SmallBuckets::SLOTS <= 1 << LEAST_TOP_BITS);

/// Bytes of dynamic shared memory: two 16-bit counters per two slots, words, values, one sum per warp.
pub const fn bucket_sort_shared<B: Block>() -> u32 {
    B::SLOTS * 10 + 4 * warp::WARP
}

/// Sorts bucket b in place, pairs `starts[b]` to `starts[b + 1]`, whose keys share the `top_bits`, and zeroes
/// `histogram[b]` for the next sort. Block b does bucket b. By digits it only zeroes.
#[kernel(max_threads = B::THREADS, min_blocks = B::BLOCKS, max_spills = 8, instances(
    radix_msd_pairs_bucket_sort: <LargeBuckets>,
    radix_msd_pairs_bucket_sort_small: <SmallBuckets>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_bucket_sort<B: Block>(
    keys: Global<u32>, values: Global<u32>, order: u32, top_bits: u32, control: Global<u32>, buckets: Global<u32>,
    sort: u32, histogram: Global<u32>,
) {
    let b = thread::block_idx_x();
    grid::let_next_start();
    clear_counters(B::THREADS);
    grid::wait_for_previous(); // pairs, starts and the road
    if thread::thread_idx_x() == 0 {
        histogram.set(b, 0);
    }
    let starts = Buckets::new(buckets).starts;
    let (start, end) = (starts.get(b), starts.get(b + 1));
    if start == end || !by_buckets(control, buckets, sort) {
        return;
    }
    let window = Window::<B>::new(start, end, top_bits);
    // Code of its own for nearly all buckets, whose full rows need no tests.
    if window.filled >= B::FULL_ROWS * B::THREADS {
        window.sort::<true>(b, keys, values, order);
    } else {
        window.sort::<false>(b, keys, values, order);
    }
}

/// The slots `skip` to `filled` of the block, which have the pairs of the bucket; slot 0 stands for a pair whose number
/// is a multiple of 32.
pub struct Window<B> {
    /// Slots before the first pair.
    pub skip: u32,
    /// Slots up to the end of the last pair.
    pub filled: u32,
    /// The number of the pair of slot 0.
    pub first: u32,
    /// Top bits that the keys share.
    pub top_bits: u32,
    block: PhantomData<B>,
}

impl<B: Block> Window<B> {
    #[inline(always)]
    fn new(start: u32, end: u32, top_bits: u32) -> Self {
        let skip = start % 32;
        Self { skip, filled: skip + end - start, first: start - skip, top_bits, block: PhantomData }
    }

    /// Sorts bucket `b`. `FULL`: whether all full rows are.
    #[inline(always)]
    #[track_caller]
    fn sort<const FULL: bool>(&self, b: u32, keys: Global<u32>, values: Global<u32>, order: u32) {
        let room = Room::<B>::new();
        self.request_values::<FULL>(values, room.values);
        let words = self.load::<FULL>(keys);
        room.sort::<FULL>(self, words, keys);
        async_copy::wait::<0>();
        thread::sync_threads(); // every thread's values are there before any thread reads them
        self.store::<FULL>(&room, b, keys, values, order);
    }

    /// Calls `f` with the index of each pair that this thread has.
    #[inline(always)]
    pub fn each<const FULL: bool>(&self, f: impl FnMut(usize)) {
        self.each_of::<FULL, { ITEMS as usize }>(0, f);
    }

    /// The same for the `N` pairs from `first` on.
    #[inline(always)]
    pub fn each_of<const FULL: bool, const N: usize>(&self, first: usize, mut f: impl FnMut(usize)) {
        // Tests made anew each time take no registers in between.
        let t = opaque(thread::thread_idx_x());
        // The same for all threads, so that it takes no register per thread.
        let behind = |i: usize| self.filled as i32 - (i as u32 * B::THREADS) as i32;
        let sure = |i: usize| FULL && i > 0 && (i as u32) < B::FULL_ROWS;
        unroll::<N>(|j| {
            let i = first + j;
            if sure(i) || (t as i32) < behind(i) && (i > 0 || t >= self.skip) {
                f(i);
            }
        });
    }

    /// An array from this thread's slot 0 on, if the thread has one.
    #[inline(always)]
    fn column(&self, array: Global<u32>) -> Global<u32> {
        // Found anew each time, rather than kept in registers while the words are sorted.
        let first = (self.first + opaque(thread::thread_idx_x())).min(array.len());
        array.slice(first, array.len() - first)
    }

    /// Starts to copy the values of this thread to their slots.
    #[inline(always)]
    fn request_values<const FULL: bool>(&self, values: Global<u32>, to: Shared<u32>) {
        let t = thread::thread_idx_x();
        let (from, to) = (self.column(values), to.slice(t, to.len() - t));
        self.each::<FULL>(|i| async_copy::element(to, row::<B>(i), from, row::<B>(i), true));
        async_copy::commit();
    }

    /// The words of this thread.
    #[inline(always)]
    fn load<const FULL: bool>(&self, keys: Global<u32>) -> [u32; ITEMS as usize] {
        let mut words = [0; ITEMS as usize];
        let keys = self.column(keys);
        self.each::<FULL>(|i| words[i] = keys.get_streaming(row::<B>(i)));
        // Where the thread has no pair nothing reads the word.
        let t = thread::thread_idx_x();
        unroll::<{ ITEMS as usize }>(|i| words[i] = words[i] << self.top_bits | (row::<B>(i) + t));
        words
    }

    /// Writes the sorted pairs of bucket `b` out.
    #[inline(always)]
    #[rustfmt::skip]
    fn store<const FULL: bool>(
        &self, room: &Room<B>, b: u32, keys: Global<u32>, values: Global<u32>, order: u32,
    ) {
        let (top, slots) = (b << (32 - self.top_bits), (1 << self.top_bits) - 1);
        let (keys, values, t) = (self.column(keys), self.column(values), thread::thread_idx_x());
        unroll::<{ ITEMS as usize / GROUP }>(|g| {
            let (mut words, mut found) = ([0; GROUP], [0; GROUP]);
            let of = g * GROUP;
            self.each_of::<FULL, GROUP>(of, |i| words[i - of] = room.words.get(row::<B>(i) + t - self.skip));
            self.each_of::<FULL, GROUP>(of, |i| found[i - of] = room.values.get(words[i - of] & slots));
            self.each_of::<FULL, GROUP>(of, |i| {
                keys.set(row::<B>(i), (top | room.key(words[i - of], self.top_bits)).decode(order));
                values.set(row::<B>(i), found[i - of]);
            });
        });
    }
}

/// The first slot of row `i`.
#[inline(always)]
fn row<B: Block>(i: usize) -> u32 {
    i as u32 * B::THREADS
}
