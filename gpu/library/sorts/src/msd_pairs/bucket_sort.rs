//! Launch 6: sorts each bucket in the shared memory of one block.
//!
//! The keys of a bucket are close to each other. A word keeps the difference from the least one and, below that, the
//! slot in which the pair came: the words are all different, their order is the stable order of the keys, and the slot
//! leads to the value.

use super::linear::Written;
use super::room::{GROUP, Room};
use super::window::{Block, LargeBuckets, LearnedBuckets, SmallBuckets, Window};
use super::{Buckets, by_buckets};
use crate::msd::{ITEMS, clear_counters};
use rungs_common::keys::Word;
use simt::{Global, Shared, async_copy, grid, kernel, opaque, thread, unroll, warp};

/// Bytes of dynamic shared memory: two 16-bit counters per two slots, words, values, one sum per warp.
pub const fn bucket_sort_shared<B: Block>() -> u32 {
    B::SLOTS * 10 + 4 * warp::WARP
}

/// Sorts bucket b of `1 << bits` in place, pairs `starts[b]` to `starts[b + 1]`, and zeroes `histogram[b]` for the next
/// sort. Block b does bucket b, but leaves one of more than [`Block::MOST`] pairs alone. By digits it only zeroes. In a
/// bucket by a learned map keys may differ in any bit.
#[kernel(max_threads = B::THREADS, min_blocks = B::BLOCKS, max_spills = B::SPILLS, instances(
    radix_msd_pairs_bucket_sort: <LargeBuckets>,
    radix_msd_pairs_bucket_sort_small: <SmallBuckets>,
    radix_msd_pairs_bucket_sort_learned: <LearnedBuckets>,
))]
#[rustfmt::skip]
pub fn radix_msd_pairs_bucket_sort<B: Block>(
    keys: Global<u32>, values: Global<u32>, order: u32, bits: u32, control: Global<u32>, buckets: Global<u32>,
    sort: u32, histogram: Global<u32>,
) {
    let b = thread::block_idx_x();
    grid::let_next_start();
    grid::wait_for_previous(); // pairs, starts, map and the choice of path
    if thread::thread_idx_x() == 0 {
        histogram.set(b, 0);
    }
    let starts = Buckets::new(buckets).starts;
    let (start, end) = (starts.get(b), starts.get(b + 1));
    if start == end || end - start > B::MOST || !by_buckets(control, buckets, sort) {
        return;
    }
    clear_counters(B::THREADS); // not before: a block that leaves would have cleared for nothing
    let window = Window::<B>::new(start, end);
    // Code of its own for nearly all buckets, whose full rows need no tests.
    let full = window.filled >= B::FULL_ROWS * B::THREADS;
    if B::MAPPED {
        return window.sort_any(full, keys, values, order);
    }
    let map = Written::read(control);
    let window = window.from_least(map.least_of(b, bits), map.top_bits());
    if full {
        window.sort::<true>(keys, values, order);
    } else {
        window.sort::<false>(keys, values, order);
    }
}

impl<B: Block> Window<B> {
    /// Sorts a bucket. `FULL`: whether all full rows are.
    #[simt::device]
    #[track_caller]
    fn sort<const FULL: bool>(&self, keys: Global<u32>, values: Global<u32>, order: u32) {
        let room = Room::<B>::new();
        self.request_values::<FULL>(values, room.values);
        let mut words = [0; ITEMS as usize];
        self.load::<FULL>(keys, &mut words);
        self.sort_loaded::<FULL>(&room, words, keys, values, order);
    }

    /// The same once values are requested and keys are loaded.
    #[simt::device]
    #[track_caller]
    #[rustfmt::skip]
    pub fn sort_loaded<const FULL: bool>(
        &self, room: &Room<B>, mut words: [u32; ITEMS as usize], keys: Global<u32>, values: Global<u32>, order: u32,
    ) {
        self.make_words(&mut words);
        room.sort::<FULL>(self, words, keys);
        async_copy::wait::<0>();
        thread::sync_threads(); // every thread's values are there before any thread reads them
        self.store::<FULL>(room, keys, values, order);
    }

    /// An array from this thread's slot 0 on, if the thread has one.
    #[simt::device]
    pub fn column(&self, array: Global<u32>) -> Global<u32> {
        // Found again each time, rather than kept in registers while the words are sorted.
        let first = (self.first + opaque(thread::thread_idx_x())).min(array.len());
        array.slice(first, array.len() - first)
    }

    /// Starts to copy the values of this thread to their slots.
    #[simt::device]
    pub fn request_values<const FULL: bool>(&self, values: Global<u32>, to: Shared<u32>) {
        let t = thread::thread_idx_x();
        let (from, to) = (self.column(values), to.slice(t, to.len() - t));
        self.each::<FULL>(|i| async_copy::element(to, row::<B>(i), from, row::<B>(i), true));
        async_copy::commit();
    }

    /// The keys of this thread; where it has no pair they stay as they are.
    #[simt::device]
    pub fn load<const FULL: bool>(&self, keys: Global<u32>, mine: &mut [u32; ITEMS as usize]) {
        let keys = self.column(keys);
        self.each::<FULL>(|i| mine[i] = keys.get_streaming(row::<B>(i)));
    }

    /// Makes keys words.
    #[simt::device]
    pub fn make_words(&self, words: &mut [u32; ITEMS as usize]) {
        // Where the thread has no pair nothing reads the word.
        let t = thread::thread_idx_x();
        unroll::<{ ITEMS as usize }>(|i| words[i] = self.kept(words[i]) | (row::<B>(i) + t));
    }

    /// Writes the sorted pairs of a bucket out.
    #[simt::device]
    fn store<const FULL: bool>(&self, room: &Room<B>, keys: Global<u32>, values: Global<u32>, order: u32) {
        let slots = (1 << self.top_bits) - 1;
        let (keys, values, t) = (self.column(keys), self.column(values), thread::thread_idx_x());
        unroll::<{ ITEMS as usize / GROUP }>(|g| {
            let (mut words, mut found) = ([0; GROUP], [0; GROUP]);
            let of = g * GROUP;
            self.each_of::<FULL, GROUP>(of, |i| words[i - of] = room.words.get(row::<B>(i) + t - self.skip));
            self.each_of::<FULL, GROUP>(of, |i| found[i - of] = room.values.get(words[i - of] & slots));
            self.each_of::<FULL, GROUP>(of, |i| {
                let key = self.least + room.key(words[i - of], self.top_bits);
                keys.set(row::<B>(i), key.decode(order));
                values.set(row::<B>(i), found[i - of]);
            });
        });
    }
}

/// The first slot of row `i`.
#[simt::device]
pub(super) fn row<B: Block>(i: usize) -> u32 {
    i as u32 * B::THREADS
}
