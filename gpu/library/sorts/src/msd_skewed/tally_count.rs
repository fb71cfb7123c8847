//! Counts how often each value comes in a segment, and where it starts.

use super::leftover::{CHUNK, Leftover};
use super::tally::{TALLY_THREADS, Tally, WARPS};
use crate::msd::{Key, RELIEF, clear_packs, each_in_pack, halves, is_crowd};
use rungs_common::operator::{Sum, warp_scan_inclusive};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, shared, thread, unroll, warp};

/// 16-byte loads in flight per thread.
const PACKS: usize = 4;

shared!(SUMS: [u32; WARPS]);
shared!(BELOW: [u32; WARPS]);

impl<W: Key> Tally<W> {
    /// Counts keys `begin` to `end` of a segment. `CHECKED`: the keys may be enough to overflow a counter, so it is
    /// reduced before that.
    #[simt::device]
    #[track_caller]
    pub fn count<const CHECKED: bool>(&self, segment: Leftover, begin: u32, end: u32) {
        let (keys, t) = (self.arrays.of(segment.array), thread::thread_idx_x());
        let counters = self.counters(segment);
        let value = |key: W| key.digit_at(0, segment.left);
        let relieved = |value: u32| {
            segment.counts(self.arrays).fetch_add(value, RELIEF, Relaxed, Scope::Device);
        };
        let limit = if CHECKED { RELIEF } else { u32::MAX };
        let add = |key: W| {
            let value = value(key);
            if CHECKED { counters.add_checked(value, 1, limit, || relieved(value)) } else { counters.add(value) }
        };
        let first = begin.div_ceil(W::PACK);
        let behind = first.max(end / W::PACK);
        if begin + t < end.min(first * W::PACK) {
            add(keys.get(begin + t));
        }
        if behind * W::PACK + t < end {
            add(keys.get(behind * W::PACK + t));
        }
        let mut hot = 0;
        let mut add_pack = |pack: W::Pack| {
            let mut values = [0; 4];
            each_in_pack::<W>(|j| values[j] = value(pack.as_ref()[j]));
            if is_crowd(hot, values[0]) {
                counters.add_crowded(&mut hot, values, W::PACK as usize, limit, relieved);
            } else {
                each_in_pack::<W>(|j| add(pack.as_ref()[j]));
            }
        };
        let mut i = first + t;
        // Whole warps go round together, because the warp votes inside.
        while (i - t % warp::WARP) + (PACKS as u32 - 1) * TALLY_THREADS + warp::WARP <= behind {
            let mut packs = [W::Pack::default(); PACKS];
            unroll::<PACKS>(|p| packs[p] = keys.get_pack_streaming(i + p as u32 * TALLY_THREADS));
            unroll::<PACKS>(|p| add_pack(packs[p]));
            i += PACKS as u32 * TALLY_THREADS;
        }
        while i < behind {
            let pack = keys.get_pack_streaming(i);
            each_in_pack::<W>(|j| add(pack.as_ref()[j]));
            i += TALLY_THREADS;
        }
    }

    /// Adds the counts of chunks `begin` to `end` of a large segment to those of its other chunks.
    #[simt::device]
    #[track_caller]
    pub fn count_chunks(&self, segment: Leftover, begin: u32, end: u32) {
        let (origin, words) = (segment.start & !(W::PACK - 1), self.counters(segment).0);
        // All have read the counts before: there is a barrier between two segments, and between two items.
        clear_packs::<TALLY_THREADS>(words);
        thread::sync_threads(); // the counters are zero before the first key is counted
        let first = segment.start.max(origin + begin * CHUNK);
        self.count::<true>(segment, first, segment.end.min((origin + (end - 1) * CHUNK).saturating_add(CHUNK)));
        thread::sync_threads(); // every key is counted before the counts are read
        let counts = segment.counts(self.arrays);
        let mut i = thread::thread_idx_x();
        while i < words.len() {
            let [low, high] = halves(words.get(i));
            if low != 0 {
                counts.fetch_add(2 * i, low, Relaxed, Scope::Device); // blocks add to the same counts
            }
            if high != 0 {
                counts.fetch_add(2 * i + 1, high, Relaxed, Scope::Device);
            }
            i += TALLY_THREADS;
        }
    }

    /// Turns a slice of the counts of a large segment into starts. The first slice also notes the bits that the keys
    /// have `in_common`.
    #[simt::device]
    #[track_caller]
    pub fn start_values(&self, segment: Leftover, slice: u32, slices: u32, in_common: Global<u32>) {
        if thread::thread_idx_x() == 0 && slice == 0 {
            let base = self.base(segment);
            in_common.set(0, base as u32);
            in_common.set(1, (base >> 32) as u32);
        }
        let slices = if segment.has_room::<W>() { slices } else { 1 };
        if slice >= slices {
            return;
        }
        let (counts, starts) = (segment.counts(self.arrays), self.starts(segment));
        let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
        let (w, values) = (t / warp::WARP, 1u32 << segment.left);
        let sum = |begin: u32, end: u32, step: u32| {
            let (mut sum, mut value) = (0, begin);
            while value < end {
                let mut found = [0; 8];
                unroll::<8>(|r| {
                    if value + r as u32 * step < end {
                        found[r] = counts.get(value + r as u32 * step);
                    }
                });
                unroll::<8>(|r| sum += found[r]);
                value += 8 * step;
            }
            warp::reduce_add(warp::FULL, sum)
        };
        // Each warp has a share of the slice, in a row. A slice has two values or more: the first key, from which slice
        // 0 takes the common bits, may lie where the starts of two values go.
        let in_slice = values.div_ceil(slices).max(2);
        let (first, behind) = ((slice * in_slice).min(values), ((slice + 1) * in_slice).min(values));
        let share = in_slice.div_ceil(WARPS);
        let (begin, end) = ((first + w * share).min(behind), (first + (w + 1) * share).min(behind));
        let (mine, below) = (sum(begin + lane, end, warp::WARP), sum(t, first, TALLY_THREADS));
        if lane == 0 {
            BELOW::view().set(w, below);
        }
        let mut next = segment.start + self.sum_of_warps_before(mine);
        next += warp::reduce_add(warp::FULL, BELOW::view().get(lane));
        let mut row = begin;
        while row < end {
            let mut found = [0; 8];
            let at = |r: usize| row + r as u32 * warp::WARP + lane;
            unroll::<8>(|r| {
                if at(r) < end {
                    found[r] = counts.get(at(r));
                }
            });
            unroll::<8>(|r| {
                let inclusive = warp_scan_inclusive::<Sum, u32>(found[r]);
                if at(r) < end {
                    starts.set(at(r), next + inclusive - found[r]);
                }
                next += warp::shuffle(warp::FULL, inclusive, warp::WARP - 1);
            });
            row += 8 * warp::WARP;
        }
    }

    /// The sum of `sum` over the warps before this one; it is the same in all lanes.
    #[simt::device]
    #[track_caller]
    pub fn sum_of_warps_before(&self, sum: u32) -> u32 {
        let (w, lane) = (thread::thread_idx_x() / warp::WARP, warp::lane_id());
        if lane == 0 {
            SUMS::view().set(w, sum);
        }
        thread::sync_threads(); // every warp's sum is there before they are added up
        warp::reduce_add(warp::FULL, if lane < w { SUMS::view().get(lane) } else { 0 })
    }
}
