//! Launch 7: counts the keys of segments of which few bits are left, and writes them again.

use super::leftover::{Arrays, CHUNK, Leftover, Numbers};
use super::lists::{Lists, TALLY_COUNT, TALLY_START, TALLY_WRITE, max_segments};
use super::phases::{PHASES_STATIC, each_item};
use crate::msd::{Halves, Key, static_shared};
use crate::steps::find_last;
use simt::{Global, Shared, grid, kernel, thread, warp};

/// Threads per block.
pub const TALLY_THREADS: u32 = 1024;

/// Last bits that can be tallied if the device has the shared memory.
const TALLY_BITS: u32 = 16;
/// Last bits that can be tallied on any device.
pub(super) const LEAST_TALLY_BITS: u32 = 15;

pub(super) const WARPS: u32 = TALLY_THREADS / warp::WARP;

/// Values whose counts a warp reads at a time: 8 per lane.
pub(super) const ROW: u32 = 8 * warp::WARP;

/// Fewest places that are marked at a time while the counters are in use.
const MARKS: u32 = 1 << 14;

/// Most blocks that turn the counts of one segment into starts.
const MAX_SLICES: u32 = 16;

/// Most chunks that a block counts at once.
const COUNT_BATCH: u32 = 32;

/// Bytes of static shared memory.
pub const TALLY_STATIC: u32 = static_shared(3 * 4 * WARPS + PHASES_STATIC);

/// Bytes of dynamic shared memory: one 16-bit counter per value, one 16-bit mark per place.
pub const fn tally_shared(tally_bits: u32) -> u32 {
    (2 << tally_bits) + 2 * MARKS
}

/// How many of the last bits can be tallied with `max_shared` bytes of shared memory per block.
pub const fn tally_bits(max_shared: u32) -> u32 {
    if TALLY_STATIC + tally_shared(TALLY_BITS) <= max_shared { TALLY_BITS } else { LEAST_TALLY_BITS }
}

/// Blocks: as many as run at once, or as there can be items; none if no segment can be too large for a group.
pub const fn tally_blocks(n: u32, multiprocessors: u32) -> u32 {
    let enough = max_segments(n);
    if enough < multiprocessors { enough } else { multiprocessors }
}

/// Everything that the phases work on.
#[derive(Clone, Copy)]
pub(super) struct Tally<W> {
    pub arrays: Arrays<W>,
    pub order: u32,
    /// The shared memory of the block.
    pub words: Shared<u32>,
}

/// Tallies the segments on the `lists`, which are in `output` or `scratch`, into `output`.
#[kernel(max_threads = TALLY_THREADS, min_blocks = 1, instances(
    radix_msd_skewed_tally: <u32>,
    radix_msd_skewed_tally_u64: <u64>,
))]
pub fn radix_msd_skewed_tally<W: Key>(scratch: Global<W>, output: Global<W>, lists: Global<u32>, numbers: Numbers) {
    let tally_bits = numbers.limits.tally_bits;
    grid::let_next_start();
    grid::wait_for_previous(); // keys and lists
    let lists = Lists::new(lists, output.len(), numbers.limits);
    let words = Shared::dynamic(0, tally_shared(tally_bits) / 4);
    let work = Tally { arrays: Arrays { scratch, output }, order: numbers.order, words };
    let (small, (large, chunks)) = (lists.small(), lists.large());
    if small + large == 0 {
        return;
    }
    // Neighbouring chunks go to one block, which adds up their counts before it adds them to those of other blocks.
    let batch = (chunks / (4 * thread::grid_dim_x())).clamp(1, COUNT_BATCH);
    let batches = chunks.div_ceil(batch);
    each_item(
        || lists.phase(TALLY_COUNT),
        || batches + small,
        large != 0,
        |i| {
            if i >= batches {
                return work.tally_small(lists.small_segment(i - batches));
            }
            each_range(lists, large, i * batch, chunks.min((i + 1) * batch), |s, begin, end| {
                work.count_chunks(lists.large_segment(s), begin, end);
            });
        },
    );
    if large > 0 {
        // Where there are more blocks than segments, several blocks share one.
        let slices = thread::grid_dim_x().div_ceil(large).min(MAX_SLICES);
        each_item(
            || lists.phase(TALLY_START),
            || large * slices,
            true,
            |i| {
                let s = i / slices;
                work.start_values(lists.large_segment(s), i % slices, slices, lists.in_common(s));
            },
        );
        let batch = batch.min(1 << tally_bits >> CHUNK.ilog2());
        each_item(
            || lists.phase(TALLY_WRITE),
            || chunks.div_ceil(batch),
            false,
            |i| {
                each_range(lists, large, i * batch, chunks.min((i + 1) * batch), |s, begin, end| {
                    work.write_chunks(lists.large_segment(s), begin, end, lists.in_common(s));
                });
            },
        );
    }
}

/// Calls `f` with each segment that has some of the chunks `begin` to `end` of all, and with its first chunk and its
/// end among them.
#[simt::device]
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

impl<W: Key> Tally<W> {
    /// One counter in shared memory per value that keys of the segment can have. There are some for each warp that adds
    /// up counts, even if few are in use.
    #[simt::device]
    pub fn counters(&self, segment: Leftover) -> Halves {
        Halves(self.words.slice(0, (1 << segment.left >> 1).max(ROW * WARPS / 2)))
    }

    /// Where each value of a large segment starts: in the scratch, because the output is written to.
    #[simt::device]
    pub fn starts(&self, segment: Leftover) -> Global<u32> {
        self.arrays.scratch.slice(segment.start, segment.end - segment.start).cast()
    }

    /// The bits that all keys of a segment share.
    #[simt::device]
    pub fn base(&self, segment: Leftover) -> u64 {
        self.arrays.of(segment.array).get(segment.start).bits() >> segment.left << segment.left
    }
}
