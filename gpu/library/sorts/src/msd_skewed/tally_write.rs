//! Writes the values of a segment in order, each as often as it was counted.

use super::leftover::{CHUNK, LARGE, Leftover};
use super::tally::{ROW, TALLY_THREADS, Tally, WARPS};
use crate::msd::{Key, clear_packs, each_in_pack, halves, pair_sum};
use crate::steps::find_last;
use rungs_common::operator::{Max, Sum, warp_exclusive_of, warp_scan_inclusive};
use simt::{Global, Shared, shared, thread, unroll, warp};

/// Starts in flight per thread.
const STARTS: usize = 4;

shared!(LARGEST: [u32; WARPS]);

impl<W: Key> Tally<W> {
    /// Writes chunks `begin` to `end` of a large segment, no more keys than there are counters: each place has a mark
    /// where those were.
    #[simt::device]
    #[track_caller]
    pub fn write_chunks(&self, segment: Leftover, begin: u32, end: u32, in_common: Global<u32>) {
        let (origin, starts) = (segment.start & !(W::PACK - 1), self.starts(segment));
        let from = origin + begin * CHUNK;
        let marks = self.words.cast::<u16>().slice(0, (end - begin) * CHUNK);
        let (begin, end) = (segment.start.max(from), segment.end.min(from.saturating_add(marks.len())));
        let values = 1 << segment.left;
        let base = in_common.get(0) as u64 | (in_common.get(1) as u64) << 32;
        clear_packs::<TALLY_THREADS>(marks.cast());
        let first = find_last(TALLY_THREADS, values, |value| starts.get(value) <= begin);
        thread::sync_threads(); // all marks are cleared before the first is set
        let mut value = first + thread::thread_idx_x();
        let mut before_end = true;
        while before_end && value < values {
            let mut places = [segment.end; STARTS];
            let mut next = [segment.end; STARTS];
            unroll::<STARTS>(|r| {
                let value = value + r as u32 * TALLY_THREADS;
                if value < values {
                    places[r] = starts.get(value);
                }
                if value + 1 < values {
                    next[r] = starts.get(value + 1);
                }
            });
            unroll::<STARTS>(|r| {
                if places[r] < next[r] && places[r] < end && next[r] > begin {
                    marks.set(places[r].max(begin) - from, (value + r as u32 * TALLY_THREADS) as u16);
                }
            });
            before_end = next[STARTS - 1] < end;
            value += STARTS as u32 * TALLY_THREADS;
        }
        self.write_marked(marks, base, from, begin, end);
        thread::sync_threads(); // all marks have been read before they are cleared
    }

    /// Counts a segment of fewer than [`LARGE`] keys and writes it.
    #[simt::device]
    #[track_caller]
    pub fn tally_small(&self, segment: Leftover) {
        let (w, words) = (thread::thread_idx_x() / warp::WARP, self.counters(segment).0);
        // The rest of the shared memory is for marks, as many as make whole rows of all threads.
        let marks = self.words.slice(words.len(), self.words.len() - words.len()).cast::<u16>();
        let marks = marks.slice(0, marks.len().min(LARGE) & !(4 * TALLY_THREADS - 1));
        let base = self.base(segment);
        clear_packs::<TALLY_THREADS>(words);
        thread::sync_threads(); // the counters are zero before the first key is counted
        self.count::<false>(segment, segment.start, segment.end);
        thread::sync_threads(); // every key is counted before the counts are read, and read before it is overwritten
        // Each warp has some rows of 8 values per lane. Values past the last have no keys.
        let rows = words.len() * 2 / (ROW * WARPS);
        let row = |r: u32| (w * rows + r) * warp::WARP + warp::lane_id();
        let mut sum = 0;
        let mut r = 0;
        while r < rows {
            unroll::<4>(|i| sum += pair_sum(words.get_pack(row(r))[i]));
            r += 1;
        }
        let sum = warp::reduce_add(warp::FULL, sum);
        let before = segment.start + self.sum_of_warps_before(sum);
        let mut from = segment.start & !(W::PACK - 1);
        while from < segment.end {
            let (begin, end) = (segment.start.max(from), segment.end.min(from.saturating_add(marks.len())));
            clear_packs::<TALLY_THREADS>(marks.cast());
            thread::sync_threads(); // all marks are cleared before the first is set
            if before < end && before + sum > begin {
                let (mut next, mut r) = (before, 0);
                while r < rows {
                    let four = words.get_pack(row(r));
                    let mut sum = 0;
                    unroll::<4>(|i| sum += pair_sum(four[i]));
                    let inclusive = warp_scan_inclusive::<Sum, u32>(sum);
                    let mut place = next + inclusive - sum;
                    if sum != 0 {
                        unroll::<8>(|i| {
                            let found = halves(four[i / 2])[i % 2];
                            if found != 0 && place < end && place + found > begin {
                                marks.set(place.max(begin) - from, (row(r) * 8 + i as u32) as u16);
                            }
                            place += found;
                        });
                    }
                    next += warp::shuffle(warp::FULL, inclusive, warp::WARP - 1);
                    r += 1;
                }
            }
            self.write_marked(marks, base, from, begin, end);
            thread::sync_threads(); // all marks have been read before they are cleared
            from = from.saturating_add(marks.len());
        }
    }

    /// Writes places `begin` to `end`, whose `marks` begin at place `from`: where a value starts, its mark is the
    /// value, and zero elsewhere. So the largest mark up to a place is the value there.
    #[simt::device]
    #[track_caller]
    fn write_marked(&self, marks: Shared<u16>, base: u64, from: u32, begin: u32, end: u32) {
        let (w, lane) = (thread::thread_idx_x() / warp::WARP, warp::lane_id());
        // Each warp has some rows of four places per lane.
        let rows = marks.len() / (4 * warp::WARP * WARPS);
        let first = w * rows * warp::WARP + lane;
        let four = |r: u32| {
            let four = marks.cast::<u64>().get(first + r * warp::WARP);
            [four as u32 & 0xffff, four as u32 >> 16, (four >> 32) as u32 & 0xffff, (four >> 48) as u32]
        };
        thread::sync_threads(); // all marks are set before they are read
        let mut largest = 0;
        let mut r = 0;
        while r < rows {
            let [a, b, c, d] = four(r);
            largest = largest.max(a).max(b).max(c).max(d);
            r += 1;
        }
        let largest = warp::reduce_max(warp::FULL, largest);
        if lane == 0 {
            LARGEST::view().set(w, largest);
        }
        thread::sync_threads(); // every warp's largest mark is there before they are compared
        let mut carry = warp::reduce_max(warp::FULL, if lane < w { LARGEST::view().get(lane) } else { 0 });
        let mut r = 0;
        while r < rows {
            let mut values = four(r);
            unroll::<3>(|i| values[i + 1] = values[i + 1].max(values[i]));
            let inclusive = warp_scan_inclusive::<Max, u32>(values[3]);
            let below = carry.max(warp_exclusive_of::<Max, u32>(inclusive));
            carry = carry.max(warp::shuffle(warp::FULL, inclusive, warp::WARP - 1));
            let key = |i: usize| W::from_bits(base | values[i].max(below) as u64).decode(self.order);
            let place = from + 4 * (first + r * warp::WARP);
            if place >= begin && place.saturating_add(3) < end {
                unroll::<2>(|p| {
                    if p as u32 * W::PACK < 4 {
                        let mut pack = W::Pack::default();
                        each_in_pack::<W>(|j| pack.as_mut()[j] = key(p * W::PACK as usize + j));
                        self.arrays.output.set_pack(place / W::PACK + p as u32, pack);
                    }
                });
            } else {
                unroll::<4>(|i| {
                    let place = place.saturating_add(i as u32);
                    if place >= begin && place < end {
                        self.arrays.output.set(place, key(i));
                    }
                });
            }
            r += 1;
        }
    }
}
