//! The sort of a bucket by a map: its keys may differ in any bit.
//!
//! A block finds the least key of its bucket and the greatest one. Nearly always they differ by fewer than 2¹⁹: then a
//! word has room for the difference from the least key, and for the slot. A bucket with fewer keys than that has values
//! is sorted in two rounds, by the last bits and by the others, which works as the sort is stable.

use super::bucket_sort::row;
use super::room::Room;
use super::window::{Block, LEAST_TOP_BITS, Window};
use crate::msd::{ITEMS, clear_counters, extremes};
use rungs_common::keys::{UNSIGNED, Word};
use simt::{Global, async_copy, thread, warp};

impl<B: Block> Window<B> {
    /// Sorts the pairs of this window, once the counters are clear. `full`: whether all full rows are.
    #[simt::device]
    #[track_caller]
    pub fn sort_any(&self, full: bool, keys: Global<u32>, values: Global<u32>, order: u32) {
        // Code of its own for nearly all buckets, as where keys share their top bits.
        let wide = if full {
            self.sort_narrow::<true>(keys, values, order)
        } else {
            self.sort_narrow::<false>(keys, values, order)
        };
        let Some((least, top_bits)) = wide else { return };
        // Half of the bits, or as many as there is no room for: a round by few bits would have few counters.
        let last_bits = ((32 - top_bits) / 2).max(LEAST_TOP_BITS - top_bits);
        // The last bits, then the others: a loop, so that there is one copy of its code.
        let (mut dropped, mut free_bits, mut as_order) = (0, 32 - last_bits, UNSIGNED);
        loop {
            clear_counters(B::THREADS);
            self.keeping(least, dropped, free_bits).sort_part(keys, values, as_order);
            if dropped != 0 {
                return;
            }
            thread::sync_threads(); // the pairs are in the order of this round before the next one loads them
            (dropped, free_bits, as_order) = (last_bits, top_bits + last_bits, order);
        }
    }

    /// Sorts the pairs, unless the keys differ by too much: then it returns the least key, and in how many top bits no
    /// key differs from it once it is taken off.
    #[simt::device]
    #[track_caller]
    #[rustfmt::skip]
    fn sort_narrow<const FULL: bool>(
        &self, keys: Global<u32>, values: Global<u32>, order: u32,
    ) -> Option<(u32, u32)> {
        let room = Room::<B>::new();
        self.request_values::<FULL>(values, room.values);
        let (mut mine, mut ends) = ([0; ITEMS as usize], [u32::MAX, 0]);
        self.load::<FULL>(keys, &mut mine);
        self.each::<FULL>(|i| ends = [ends[0].min(mine[i]), ends[1].max(mine[i])]);
        // There are barriers between this and the first word.
        let (least, greatest) = extremes::<u32>(ends[0], ends[1], room.words, B::THREADS / warp::WARP);
        let top_bits = (greatest - least).leading_zeros();
        if least == greatest {
            // Equal keys are in order.
            let keys = self.column(keys);
            self.each::<FULL>(|i| keys.set(row::<B>(i), least.decode(order)));
            async_copy::wait::<0>();
            return None;
        }
        if top_bits < LEAST_TOP_BITS {
            async_copy::wait::<0>();
            thread::sync_threads(); // all have read the extremes, and the values are there, before they are overwritten
            return Some((least, top_bits));
        }
        self.from_least(least, top_bits).sort_loaded::<FULL>(&room, mine, keys, values, order);
        None
    }

    /// Sorts the pairs by what words keep of the keys.
    #[simt::device]
    #[track_caller]
    fn sort_part(&self, keys: Global<u32>, values: Global<u32>, order: u32) {
        let room = Room::<B>::new();
        self.request_values::<false>(values, room.values);
        let mut words = [0; ITEMS as usize];
        self.load::<false>(keys, &mut words);
        self.make_words(&mut words);
        room.sort::<false>(self, words, keys);
        async_copy::wait::<0>();
        let (t, slots, own) = (thread::thread_idx_x(), (1 << self.top_bits) - 1, self.column(keys));
        self.each::<false>(|i| words[i] = room.words.get(row::<B>(i) + t - self.skip) & slots);
        let mut found = [0; ITEMS as usize];
        self.each::<false>(|i| found[i] = keys.get(self.first + words[i]));
        thread::sync_threads(); // all values are there, and all keys are read before the first is overwritten
        self.each::<false>(|i| own.set(row::<B>(i), found[i].decode(order)));
        let own = self.column(values);
        self.each::<false>(|i| own.set(row::<B>(i), room.values.get(words[i])));
    }
}
