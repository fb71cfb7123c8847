//! The shared memory of a block that sorts a bucket, and the sort of its words.

use super::window::{Block, Window};
use crate::msd::{ITEMS, SAMPLED_WARP, differing_bits, merge_runs, merge_seam, sort_own, start_counters};
use core::marker::PhantomData;
use simt::atomic::{Order::Relaxed, Scope};
use simt::math::mul_hi;
use simt::{Global, Shared, opaque, shared, thread, unroll, warp};

/// Pairs whose places a thread requests at once.
pub const GROUP: usize = 4;

/// Words are skewed if this number of 32 neighbours share a word of counters. With uniform keys that happens in one
/// bucket of 4000, a small one.
const CROWD: u32 = 3;

/// Rounds of sorting runs and merging seams before runs are merged for good; one is nearly always enough.
const ROUNDS: u32 = 2;

// How many bits the words have lost at the end of their keys, and those bits.
shared!(DROPPED: [u32; 2]);

/// The shared memory of a block.
pub struct Room<B> {
    counters: Shared<u32>,
    pub words: Shared<u32>,
    pub values: Shared<u32>,
    sums: Shared<u32>,
    block: PhantomData<B>,
}

impl<B: Block> Room<B> {
    const COUNTERS: u32 = B::SLOTS / 2;

    #[simt::device]
    pub fn new() -> Self {
        let words = 4 * Self::COUNTERS;
        let values = words + 4 * B::SLOTS;
        Self {
            counters: Shared::dynamic(0, Self::COUNTERS),
            words: Shared::dynamic(words, B::SLOTS),
            values: Shared::dynamic(values, B::SLOTS),
            sums: Shared::dynamic(values + 4 * B::SLOTS, warp::WARP),
            block: PhantomData,
        }
    }

    /// Sorts the words of all threads into the first slots. Words are counted by their top bits, two counters per word
    /// of shared memory, and placed; then only words of the same counter may be out of order, and those are neighbours.
    #[simt::device]
    #[track_caller]
    pub fn sort<const FULL: bool>(&self, window: &Window<B>, mut words: [u32; ITEMS as usize], keys: Global<u32>) {
        let shift = self.shift::<FULL>(window, &mut words, keys);
        window.each::<FULL>(|i| {
            self.count(words[i], shift);
        });
        thread::sync_threads(); // every word is counted before the counts are read
        start_counters(self.sums, B::THREADS);
        let shift = opaque(shift); // so that counters are found again, rather than kept in registers
        unroll::<{ ITEMS as usize / GROUP }>(|g| {
            // All places of a group are requested before the first is used.
            let mut places = [0; GROUP];
            window.each_of::<FULL, GROUP>(g * GROUP, |i| places[i - g * GROUP] = self.count(words[i], shift));
            window.each_of::<FULL, GROUP>(g * GROUP, |i| self.words.set(places[i - g * GROUP], words[i]));
        });
        let mut i = window.filled - window.skip + thread::thread_idx_x();
        while i < B::SLOTS {
            self.words.set(i, u32::MAX);
            i += B::THREADS;
        }
        thread::sync_threads(); // every slot is filled before runs of slots are read
        let mut round = 0;
        while self.merge_neighbours(&mut words) {
            round += 1;
            if round == ROUNDS {
                sort_own::<u32>(self.own(), &mut words);
                thread::sync_threads(); // all runs are sorted before they are merged
                merge_runs::<u32>(self.words, B::THREADS);
                return;
            }
        }
    }

    /// Adds one to the counter of a word, and returns what was there.
    #[simt::device]
    #[track_caller]
    fn count(&self, word: u32, shift: u32) -> u32 {
        let bits = word << shift;
        let upper = (bits as i32) < 0;
        let counter = mul_hi(bits << 1, Self::COUNTERS);
        let before = self.counters.fetch_add(counter, if upper { 1 << 16 } else { 1 }, Relaxed, Scope::Block);
        if upper { before >> 16 } else { before & 0xffff }
    }

    /// How many top bits of the words no counter is chosen by: those that all are known to share, or all that they do
    /// share, if many of them would meet in a counter. In that case the bits that all keys share at their end are taken
    /// out of the words, and left in [`DROPPED`].
    #[simt::device]
    #[track_caller]
    #[rustfmt::skip]
    fn shift<const FULL: bool>(
        &self, window: &Window<B>, words: &mut [u32; ITEMS as usize], keys: Global<u32>,
    ) -> u32 {
        let (t, top_bits) = (thread::thread_idx_x(), window.top_bits);
        if t < 2 {
            DROPPED::view().set(t, 0);
        }
        let zeros = window.zeros;
        let mut crowded = false;
        if t / warp::WARP == SAMPLED_WARP && (t | 31) + B::THREADS < window.filled {
            let counter = mul_hi(words[1] << zeros << 1, Self::COUNTERS);
            let like_first = counter == warp::shuffle(warp::FULL, counter, 0);
            crowded = warp::ballot(warp::FULL, like_first).count_ones() >= CROWD;
        }
        // The counters are zero before the first word is counted.
        if !thread::sync_threads_or(crowded) {
            return zeros;
        }
        let first = window.kept(keys.get(window.first + window.skip)) | window.skip;
        let mut differ = 0;
        window.each::<FULL>(|i| differ |= words[i] ^ first);
        let differ = differing_bits::<u32>(differ as u64) as u32;
        let dropped = (differ >> top_bits).trailing_zeros().min(32 - top_bits);
        let without = |word: u32| word >> top_bits >> dropped << top_bits | word & ((1 << top_bits) - 1);
        unroll::<{ ITEMS as usize }>(|i| words[i] = without(words[i]));
        if t == 0 {
            DROPPED::view().set(0, dropped);
            DROPPED::view().set(1, first >> top_bits & ((1 << dropped) - 1));
        }
        // The slots differ.
        without(differ).leading_zeros().min(31)
    }

    /// The lower bits of the key of a sorted word.
    #[simt::device]
    pub fn key(&self, word: u32, top_bits: u32) -> u32 {
        word >> top_bits << DROPPED::view().get(0) | DROPPED::view().get(1)
    }

    /// The run of slots of this thread.
    #[simt::device]
    fn own(&self) -> Shared<u32> {
        self.words.slice(thread::thread_idx_x() * ITEMS, ITEMS)
    }

    /// Sorts the runs of all threads, and merges the upper half of each with the lower half of the next one. Whether a
    /// word is still out of order.
    #[simt::device]
    #[track_caller]
    fn merge_neighbours(&self, words: &mut [u32; ITEMS as usize]) -> bool {
        let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
        sort_own::<u32>(self.own(), words);
        thread::sync_threads(); // all runs are sorted before the lower half of the next one is read
        unroll::<6>(|i| words[i] = words[i + 6]);
        if t < B::THREADS - 1 {
            merge_seam(self.words.slice(t * ITEMS, 2 * ITEMS), words);
        }
        // Is the middle of this thread's run still in order? The thread below has merged its lower half.
        let before = warp::shuffle_up(warp::FULL, words[11], 1);
        let mut unsorted = lane > 0 && before > words[0];
        thread::sync_threads(); // all seams are merged before slots are read
        if lane == 0 {
            unsorted = self.own().get(5) > self.own().get(6);
        }
        thread::sync_threads_or(unsorted)
    }
}
