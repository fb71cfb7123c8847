//! For skewed input: keys of which few bits are left are not moved but counted, and written anew.
//!
//! Keys without payload that agree in all but their last 16 bits are known by how often each of 65,536 values comes. A
//! block counts a segment of less than 65,536 keys and writes it in order. Larger ones go through three phases: count,
//! chunk by chunk, into counters that lie in the array that does not hold the keys; turn counts into starts; write, chunk
//! by chunk.

use super::halves::{CROWD, Halves, RELIEF, halves};
use super::phases::{each_item, find_last};
use super::*;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, grid, kernel, shared, thread, unroll, warp};

/// Threads a block.
pub const TALLY_THREADS: u32 = 1024;

/// Last bits that can be tallied, if the device has shared memory for it, and if not.
pub const TALLY_BITS: u32 = 16;
/// See [`TALLY_BITS`].
pub const LEAST_TALLY_BITS: u32 = 15;

const WARPS: u32 = TALLY_THREADS / warp::WARP;

/// Values whose counts a warp reads at a time: 8 a lane.
const ROW: u32 = 8 * warp::WARP;

/// Places that are marked at a time, at least, while the counters are in use.
const MARKS: u32 = 1 << 14;

/// 16-byte loads that a thread has in flight.
const PACKS: usize = 4;

/// Blocks that turn the counts of a segment into starts, at most.
const MAX_SLICES: u32 = 16;

/// Chunks that a block counts at once, at most.
const COUNT_BATCH: u32 = 32;

/// Starts that a thread has in flight.
const STARTS: usize = 4;

/// Bytes of dynamic shared memory: a 16-bit counter a value, a 16-bit mark a place.
pub const fn tally_shared(tally_bits: u32) -> u32 {
    (2 << tally_bits) + 2 * MARKS
}

/// How many of the last bits can be tallied with so many bytes of shared memory a block.
pub const fn tally_bits(max_shared: u32) -> u32 {
    // A little goes to variables, and to the system.
    if tally_shared(TALLY_BITS) + 2048 <= max_shared { TALLY_BITS } else { LEAST_TALLY_BITS }
}

/// Blocks: as many as are at work at once, or as there can be items; none if no segment can be too large for a group.
pub const fn tally_blocks(n: u32, multiprocessors: u32) -> u32 {
    let enough = max_segments(n);
    if enough < multiprocessors { enough } else { multiprocessors }
}

shared!(SUMS: [u32; WARPS]);
shared!(BELOW: [u32; WARPS]);

/// Everything that the phases work on.
#[derive(Clone, Copy)]
struct Tally<W> {
    scratch: Global<W>,
    output: Global<W>,
    order: u32,
    words: Shared<u32>,
}

/// Tallies the segments on the `lists`, which are in `output` or `scratch`, into `output`. `order`: to map keys to,
/// `tally_bits`, `least_bits`: see [`Limits`].
#[kernel(max_threads = TALLY_THREADS, min_blocks = 1, instances(
    radix_msd_buckets_tally: <u32>,
    radix_msd_buckets_tally_u64: <u64>,
))]
#[rustfmt::skip]
pub fn radix_msd_buckets_tally<W: Key>(
    scratch: Global<W>, output: Global<W>, order: u32, lists: Global<u32>, tally_bits: u32, least_bits: u32,
) {
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists
    let lists = Lists::new(lists, output.len(), Limits { tally_bits, least_bits });
    let words = Shared::dynamic(0, tally_shared(tally_bits) / 4);
    let work = Tally { scratch, output, order, words };
    let (small, (large, chunks)) = (lists.small(), lists.large());
    if small + large == 0 {
        return;
    }
    // Neighbouring chunks go to one block, which adds up their counts before it adds them to those of the others.
    let batch = (chunks / (4 * thread::grid_dim_x())).clamp(1, COUNT_BATCH);
    let batches = chunks.div_ceil(batch);
    each_item(lists, TALLY_COUNT, || batches + small, large != 0, |i| {
        if i >= batches {
            return work.tally_small(lists.small_segment(i - batches));
        }
        each_range(lists, large, i * batch, chunks.min((i + 1) * batch), |s, begin, end| {
            work.count_chunks(lists.large_segment(s).0, begin, end);
        });
    });
    if large != 0 {
        // Where blocks are more than segments, several do one.
        let slices = (thread::grid_dim_x() / large).clamp(1, MAX_SLICES);
        each_item(lists, TALLY_START, || large * slices, true, |i| {
            let s = i / slices;
            work.start_values(lists.large_segment(s).0, i % slices, slices, lists.in_common(s));
        });
        let batch = batch.min(1 << tally_bits >> CHUNK.ilog2());
        each_item(lists, TALLY_WRITE, || chunks.div_ceil(batch), false, |i| {
            each_range(lists, large, i * batch, chunks.min((i + 1) * batch), |s, begin, end| {
                work.write_chunks(lists.large_segment(s).0, begin, end, lists.in_common(s));
            });
        });
    }
}

/// Calls `f` with segment, first chunk and end of each piece of a segment that chunks `begin` to `end` of all are.
#[inline(always)]
#[track_caller]
fn each_range(lists: Lists, large: u32, begin: u32, end: u32, f: impl Fn(u32, u32, u32)) {
    let mut chunk = begin;
    while chunk < end {
        let s = find_last(TALLY_THREADS, large, |s| lists.first_chunk(s) <= chunk);
        let (first, behind) = (lists.first_chunk(s), if s + 1 < large { lists.first_chunk(s + 1).min(end) } else { end });
        f(s, chunk - first, behind - first);
        chunk = behind;
    }
}

/// Zeroes all words, by all threads.
#[inline(always)]
fn clear(words: Shared<u32>) {
    let mut i = thread::thread_idx_x();
    while i < words.len() / 4 {
        words.set_pack(i, [0; 4]);
        i += TALLY_THREADS;
    }
}

impl<W: Key> Tally<W> {
    /// A counter for each value that keys of a segment can have, in shared memory. Each warp of those that add up counts has
    /// some, even if few are in use.
    #[inline(always)]
    fn counters(&self, segment: Leftover) -> Halves {
        Halves(self.words.slice(0, (1 << segment.left >> 1).max(ROW * WARPS / 2)))
    }

    #[inline(always)]
    fn keys(&self, segment: Leftover) -> Global<W> {
        if segment.array == IN_SCRATCH { self.scratch } else { self.output }
    }

    #[inline(always)]
    fn counts(&self, segment: Leftover) -> Global<u32> {
        segment.counts(self.scratch, self.output)
    }

    /// Where each value of a large segment starts: in the scratch, since the output is written to.
    #[inline(always)]
    fn starts(&self, segment: Leftover) -> Global<u32> {
        self.scratch.slice(segment.start, segment.end - segment.start).cast()
    }

    /// Counts keys `begin` to `end` of a segment. `CHECKED`: there may be so many that a counter overflows, and it is
    /// relieved before that.
    #[inline(always)]
    #[track_caller]
    fn count<const CHECKED: bool>(&self, segment: Leftover, begin: u32, end: u32) {
        let (keys, t) = (self.keys(segment), thread::thread_idx_x());
        let counters = self.counters(segment);
        let value = |key: W| key.digit_at(0, segment.left);
        let relieved = |value: u32| {
            self.counts(segment).fetch_add(value, RELIEF, Relaxed, Scope::Device);
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
            each::<W>(|j| values[j] = value(pack.as_ref()[j]));
            // Atomics of many lanes on one counter would wait for each other.
            let like = |hot: u32| warp::ballot(warp::FULL, values[0] == hot).count_ones();
            if like(hot) >= CROWD || like(warp::shuffle(warp::FULL, values[0], 0)) >= CROWD {
                counters.add_crowded(&mut hot, values, W::PACK as usize, limit, relieved);
            } else {
                each::<W>(|j| add(pack.as_ref()[j]));
            }
        };
        let mut i = first + t;
        // Whole warps go round, since the warp votes inside.
        while (i - t % warp::WARP) + (PACKS as u32 - 1) * TALLY_THREADS + warp::WARP <= behind {
            let mut packs = [W::Pack::default(); PACKS];
            unroll::<PACKS>(|p| packs[p] = keys.get_pack_streaming(i + p as u32 * TALLY_THREADS));
            unroll::<PACKS>(|p| add_pack(packs[p]));
            i += PACKS as u32 * TALLY_THREADS;
        }
        while i < behind {
            let pack = keys.get_pack_streaming(i);
            each::<W>(|j| add(pack.as_ref()[j]));
            i += TALLY_THREADS;
        }
    }

    /// Adds the counts of chunks `begin` to `end` of a large segment to those of the others.
    #[inline(always)]
    #[track_caller]
    fn count_chunks(&self, segment: Leftover, begin: u32, end: u32) {
        let (origin, words) = (segment.start & !(W::PACK - 1), self.counters(segment).0);
        clear(words);
        thread::sync_threads(); // the counters are zero before the first key is counted
        let first = segment.start.max(origin + begin * CHUNK);
        self.count::<true>(segment, first, segment.end.min((origin + (end - 1) * CHUNK).saturating_add(CHUNK)));
        thread::sync_threads(); // every key is counted before the counts are read
        let counts = self.counts(segment);
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

    /// Turns a slice of the counts of a large segment into starts. The first also notes what the keys have `in_common`.
    #[inline(always)]
    #[track_caller]
    fn start_values(&self, segment: Leftover, slice: u32, slices: u32, in_common: Global<u32>) {
        if thread::thread_idx_x() == 0 && slice == 0 {
            let base = self.base(segment);
            in_common.set(0, base as u32);
            in_common.set(1, (base >> 32) as u32);
        }
        let slices = if segment.has_room::<W>() { slices } else { 1 };
        if slice >= slices {
            return;
        }
        let (counts, starts) = (self.counts(segment), self.starts(segment));
        let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
        let (w, values) = (t / warp::WARP, 1u32 << segment.left);
        let sum = |begin: u32, end: u32, step: u32| {
            let (mut sum, mut value) = (0, begin);
            while value < end {
                let mut found = [0; 8];
                unroll::<8>(|r| if value + r as u32 * step < end {
                    found[r] = counts.get(value + r as u32 * step);
                });
                unroll::<8>(|r| sum += found[r]);
                value += 8 * step;
            }
            warp::reduce_add(warp::FULL, sum)
        };
        // Each warp has a share of the slice's values, in a row.
        let in_slice = values.div_ceil(slices);
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
            unroll::<8>(|r| if at(r) < end {
                found[r] = counts.get(at(r));
            });
            unroll::<8>(|r| {
                let inclusive = warp_scan(found[r]);
                if at(r) < end {
                    starts.set(at(r), next + inclusive - found[r]);
                }
                next += warp::shuffle(warp::FULL, inclusive, warp::WARP - 1);
            });
            row += 8 * warp::WARP;
        }
    }

    /// The sum of `sum` over the warps before this one; it is the same in all lanes.
    #[inline(always)]
    #[track_caller]
    fn sum_of_warps_before(&self, sum: u32) -> u32 {
        let (w, lane) = (thread::thread_idx_x() / warp::WARP, warp::lane_id());
        if lane == 0 {
            SUMS::view().set(w, sum);
        }
        thread::sync_threads(); // every warp's sum is there before they are added up
        warp::reduce_add(warp::FULL, if lane < w { SUMS::view().get(lane) } else { 0 })
    }

    /// Writes chunks `begin` to `end` of a large segment, no more than there are counters: where those were, each place
    /// has a mark.
    #[inline(always)]
    #[track_caller]
    fn write_chunks(&self, segment: Leftover, begin: u32, end: u32, in_common: Global<u32>) {
        let (origin, starts) = (segment.start & !(W::PACK - 1), self.starts(segment));
        let from = origin + begin * CHUNK;
        let marks = self.words.cast::<u16>().slice(0, (end - begin) * CHUNK);
        let (begin, end) = (segment.start.max(from), segment.end.min(from.saturating_add(marks.len())));
        let values = 1 << segment.left;
        let base = in_common.get(0) as u64 | (in_common.get(1) as u64) << 32;
        clear(marks.cast());
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

    /// The bits that all keys of a segment have in common.
    #[inline(always)]
    fn base(&self, segment: Leftover) -> u64 {
        self.keys(segment).get(segment.start).bits() >> segment.left << segment.left
    }

    /// Counts a segment of less than a chunk and writes it.
    #[inline(always)]
    #[track_caller]
    fn tally_small(&self, segment: Leftover) {
        let (w, words) = (thread::thread_idx_x() / warp::WARP, self.counters(segment).0);
        // The rest of the memory is for marks, as many as make whole rows of all threads.
        let marks = self.words.slice(words.len(), self.words.len() - words.len()).cast::<u16>();
        let marks = marks.slice(0, marks.len().min(LARGE) & !(4 * TALLY_THREADS - 1));
        let base = self.base(segment);
        clear(words);
        thread::sync_threads(); // the counters are zero before the first key is counted
        self.count::<false>(segment, segment.start, segment.end);
        thread::sync_threads(); // every key is counted before the counts are read, and read before it is overwritten
        // Each warp has some rows, of 8 values a lane. Values past the last have no keys.
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
            clear(marks.cast());
            thread::sync_threads(); // all marks are cleared before the first is set
            if before < end && before + sum > begin {
                let (mut next, mut r) = (before, 0);
                while r < rows {
                    let four = words.get_pack(row(r));
                    let mut sum = 0;
                    unroll::<4>(|i| sum += pair_sum(four[i]));
                    let inclusive = warp_scan(sum);
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

    /// Writes places `begin` to `end`, which are marked from place `from` on: where a value starts, `marks` has it, and
    /// zero elsewhere. So the largest mark up to a place is the place's value.
    #[inline(always)]
    #[track_caller]
    fn write_marked(&self, marks: Shared<u16>, base: u64, from: u32, begin: u32, end: u32) {
        let (w, lane) = (thread::thread_idx_x() / warp::WARP, warp::lane_id());
        // Each warp has some rows, of four places a lane.
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
            SUMS::view().set(w, largest);
        }
        thread::sync_threads(); // every warp's largest mark is there before they are compared
        let mut carry = warp::reduce_max(warp::FULL, if lane < w { SUMS::view().get(lane) } else { 0 });
        let mut r = 0;
        while r < rows {
            let mut values = four(r);
            unroll::<3>(|i| values[i + 1] = values[i + 1].max(values[i]));
            let mut inclusive = values[3];
            unroll::<5>(|i| {
                // Lanes that have none below get their own.
                inclusive = inclusive.max(warp::shuffle_up(warp::FULL, inclusive, 1 << i));
            });
            let below = warp::shuffle_up(warp::FULL, inclusive, 1);
            let below = if lane == 0 { carry } else { carry.max(below) };
            carry = carry.max(warp::shuffle(warp::FULL, inclusive, warp::WARP - 1));
            let key = |i: usize| W::from_bits(base | values[i].max(below) as u64).decode(self.order);
            let place = from + 4 * (first + r * warp::WARP);
            if place >= begin && place.saturating_add(3) < end {
                unroll::<2>(|p| {
                    if p as u32 * W::PACK < 4 {
                        let mut pack = W::Pack::default();
                        each::<W>(|j| pack.as_mut()[j] = key(p * W::PACK as usize + j));
                        self.output.set_pack(place / W::PACK + p as u32, pack);
                    }
                });
            } else {
                unroll::<4>(|i| {
                    let place = place.saturating_add(i as u32);
                    if place >= begin && place < end {
                        self.output.set(place, key(i));
                    }
                });
            }
            r += 1;
        }
    }
}

/// The sum of the two counters in a word.
#[inline(always)]
fn pair_sum(word: u32) -> u32 {
    let [low, high] = halves(word);
    low + high
}

/// Calls `f` with the number of each key in a pack.
#[inline(always)]
fn each<W: Key>(mut f: impl FnMut(usize)) {
    unroll::<4>(|j| {
        if j < W::PACK as usize {
            f(j)
        }
    });
}
