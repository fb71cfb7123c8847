//! For skewed input: keys of which few bits are left are not moved but counted, and written anew.
//!
//! Keys without payload that agree in all but their last 16 bits are known by how often each of 65,536 values comes. A
//! block counts a segment of less than 65,536 keys and writes it in order. Larger ones go through three phases: count,
//! chunk by chunk, into counters that lie in the array that does not hold the keys; turn counts into starts; write, chunk
//! by chunk.

use super::halves::Halves;
use super::phases::{each_item, find_last};
use super::*;
use simt::{Global, Shared, grid, kernel, thread, unroll, warp};

/// Threads a block.
pub const TALLY_THREADS: u32 = 1024;

/// Last bits that can be tallied, if the device has shared memory for it, and if not.
pub const TALLY_BITS: u32 = 16;
/// See [`TALLY_BITS`].
pub const LEAST_TALLY_BITS: u32 = 15;

pub(super) const WARPS: u32 = TALLY_THREADS / warp::WARP;

/// Values whose counts a warp reads at a time: 8 a lane.
pub(super) const ROW: u32 = 8 * warp::WARP;

/// Places that are marked at a time, at least, while the counters are in use.
const MARKS: u32 = 1 << 14;

/// Blocks that turn the counts of a segment into starts, at most.
const MAX_SLICES: u32 = 16;

/// Chunks that a block counts at once, at most.
const COUNT_BATCH: u32 = 32;

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

/// Everything that the phases work on.
#[derive(Clone, Copy)]
pub(super) struct Tally<W> {
    pub scratch: Global<W>,
    pub output: Global<W>,
    pub order: u32,
    /// The block's shared memory.
    pub words: Shared<u32>,
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
            work.count_chunks(lists.large_segment(s), begin, end);
        });
    });
    if large > 0 {
        // Where blocks are more than segments, several do one.
        let slices = thread::grid_dim_x().div_ceil(large).min(MAX_SLICES);
        each_item(lists, TALLY_START, || large * slices, true, |i| {
            let s = i / slices;
            work.start_values(lists.large_segment(s), i % slices, slices, lists.in_common(s));
        });
        let batch = batch.min(1 << tally_bits >> CHUNK.ilog2());
        each_item(lists, TALLY_WRITE, || chunks.div_ceil(batch), false, |i| {
            each_range(lists, large, i * batch, chunks.min((i + 1) * batch), |s, begin, end| {
                work.write_chunks(lists.large_segment(s), begin, end, lists.in_common(s));
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
        let (first, behind) =
            (lists.first_chunk(s), if s + 1 < large { lists.first_chunk(s + 1).min(end) } else { end });
        f(s, chunk - first, behind - first);
        chunk = behind;
    }
}

/// Zeroes all words, by all threads.
#[inline(always)]
pub(super) fn clear(words: Shared<u32>) {
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
    pub fn counters(&self, segment: Leftover) -> Halves {
        Halves(self.words.slice(0, (1 << segment.left >> 1).max(ROW * WARPS / 2)))
    }

    #[inline(always)]
    pub fn keys(&self, segment: Leftover) -> Global<W> {
        if segment.array == IN_SCRATCH { self.scratch } else { self.output }
    }

    #[inline(always)]
    pub fn counts(&self, segment: Leftover) -> Global<u32> {
        segment.counts(self.scratch, self.output)
    }

    /// Where each value of a large segment starts: in the scratch, since the output is written to.
    #[inline(always)]
    pub fn starts(&self, segment: Leftover) -> Global<u32> {
        self.scratch.slice(segment.start, segment.end - segment.start).cast()
    }

    /// The bits that all keys of a segment have in common.
    #[inline(always)]
    pub fn base(&self, segment: Leftover) -> u64 {
        self.keys(segment).get(segment.start).bits() >> segment.left << segment.left
    }
}

/// Calls `f` with the number of each key in a pack.
#[inline(always)]
pub(super) fn each<W: Key>(mut f: impl FnMut(usize)) {
    unroll::<4>(|j| {
        if j < W::PACK as usize {
            f(j)
        }
    });
}
