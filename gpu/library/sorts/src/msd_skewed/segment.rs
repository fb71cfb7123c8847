//! A segment to split, and what becomes of it once its digits are counted.

use super::SPLIT_THREADS;
use super::leftover::{Arrays, IN_OUTPUT, Leftover, Window};
use super::lists::Lists;
use crate::buckets::partition_tile;
use crate::msd::{BUCKET_MAX, Key, MAX_BUCKETS, Tile};
use crate::steps::{block_scan, leading_zeros};
use simt::{Global, Scalar, shared, thread, warp};

/// Most values of a digit: one thread per value.
pub const VALUES: u32 = SPLIT_THREADS;
const _: () = assert!(VALUES == MAX_BUCKETS);

/// What is to be done with a segment: nothing, move its keys by their digits, or write them again, because the counts
/// describe them fully.
pub const NOTHING: u32 = 0;
pub const MOVE: u32 = 1;
pub const WRITE: u32 = 2;

/// A group takes children that start within this many keys, and none of more keys than [`BUCKET_MAX`] then has left.
const GROUP_SPAN: u32 = BUCKET_MAX / 2;
const CHILD_MAX: u32 = BUCKET_MAX - GROUP_SPAN;

shared!(STARTS: [u32; VALUES + 1]);
shared!(EDGES: [u32; VALUES / warp::WARP]);
shared!(SUMS: [u32; SPLIT_THREADS / warp::WARP]);

/// Bytes of static shared memory.
pub const SEGMENT_STATIC: u32 = 4 * VALUES + 16 + 2 * 64;
const _: () = assert!(VALUES / warp::WARP * 4 == 64);

/// A segment: its words, and what they say.
#[derive(Clone, Copy)]
pub struct Segment {
    pub words: Global<u32>,
    pub start: u32,
    pub end: u32,
    pub window: Window,
    pub array: u32,
    pub first_tile: u32,
    pub first_counter: u32,
    pub action: u32,
}

impl Segment {
    #[simt::device]
    pub fn read(words: Global<u32>) -> Self {
        let [start, end, digit, first_tile] = words.get_pack(0);
        // Not the pack of four: other blocks may be adding to the bits in the two words behind these.
        let two = words.cast::<u64>().get(2);
        let window = Window { shift: digit & 0xff, bits: digit >> 8 & 0xff };
        let (array, first_counter, action) = (digit >> 16, two as u32, (two >> 32) as u32);
        Self { words, start, end, window, array, first_tile, first_counter, action }
    }

    /// The bits in which its keys differ; once its tiles are counted.
    #[simt::device]
    fn differ(&self) -> u64 {
        self.words.cast::<u64>().get(3)
    }

    /// Tile `i` of the level, which is one of this segment.
    #[simt::device]
    pub fn tile<W: Scalar>(&self, i: u32) -> Tile {
        let in_tile = partition_tile::<W>(false);
        let origin = (self.start & !(W::PACK - 1)) + (i - self.first_tile) * in_tile;
        Tile { begin: self.start.max(origin), end: self.end.min(origin.saturating_add(in_tile)), origin }
    }
}

/// Everything that the phases work on.
#[derive(Clone, Copy)]
pub struct Work<W, L> {
    pub arrays: Arrays<W>,
    pub order: u32,
    /// Makes a view of the lists.
    pub lists: L,
    pub level: u32,
}

impl<W: Key, L: Fn() -> Lists> Work<W, L> {
    #[simt::device]
    pub fn counters(&self, segment: &Segment) -> Global<u32> {
        (self.lists)().counters(self.level, segment.first_counter, segment.window.values())
    }
}

/// Second phase: decides what to do with a segment, and appends its children to the lists.
#[simt::device]
#[track_caller]
pub fn arrange<W: Key, L: Fn() -> Lists>(work: &Work<W, L>, segment: Segment) {
    let t = thread::thread_idx_x();
    let Segment { words, start, end, window, array, .. } = segment;
    let (values, counters, differ) = (window.values(), work.counters(&segment), segment.differ());
    let found = if t < values { counters.get(t) } else { 0 };
    let (before, _) = block_scan::<{ SPLIT_THREADS / warp::WARP }>(found, SUMS::view());
    let kinds = thread::sync_threads_count(found != 0);
    let action = if differ & !(((values - 1) as u64) << window.shift) == 0 {
        // Only the digit differs. If not even the digit does, and the keys are in their final place and form, they
        // stay.
        let stays = differ == 0 && array == IN_OUTPUT && work.order == rungs_common::keys::UNSIGNED;
        if stays { NOTHING } else { WRITE }
    } else if kinds == 1 {
        NOTHING
    } else {
        MOVE
    };
    if t < values {
        counters.set(t, start + before);
    }
    if t == 0 {
        words.set(5, action);
        words.cast::<u64>().set(4, work.arrays.of(array).get(start).bits());
    }
    // A moved segment leaves its children. A segment with a single digit value stays where it is until it is split by
    // bits in which its keys differ.
    let leftover = if action == MOVE {
        Leftover { start: start + before, end: start + before + found, left: window.shift, array: 1 - array }
    } else {
        let end = if action == NOTHING && t == 0 && differ != 0 { end } else { start };
        Leftover { start, end, left: 64 - leading_zeros(differ), array }
    };
    let is_large = leftover.end - leftover.start > BUCKET_MAX;
    if warp::any(warp::FULL, is_large) {
        (work.lists)().push_large(work.level + 1, is_large, leftover, partition_tile::<W>(false), W::PACK);
    }
    if action == MOVE {
        if t < values {
            STARTS::view().set(t, before);
        }
        if t == 0 {
            STARTS::view().set(values, end - start);
        }
        thread::sync_threads(); // every child's start is known to its neighbours
        group_children(work, &segment, found, before);
    }
}

/// Makes groups of the children of a segment that are not large. Thread t has child t, of `size` keys from key `before`
/// of the segment on.
#[simt::device]
#[track_caller]
fn group_children<W: Key, L: Fn() -> Lists>(work: &Work<W, L>, segment: &Segment, size: u32, before: u32) {
    let (t, lane) = (thread::thread_idx_x(), warp::lane_id());
    let (values, starts) = (segment.window.values(), STARTS::view());
    let is_child = t < values;
    // An edge: one group ends here, and another starts unless the child is large.
    let mut edge = is_child && (t == 0 || size > CHILD_MAX);
    if is_child && t > 0 {
        let (left, left_size) = (starts.get(t - 1), before - starts.get(t - 1));
        edge |= left_size > CHILD_MAX || left / GROUP_SPAN != before / GROUP_SPAN;
    }
    let edges = warp::ballot(warp::FULL, edge);
    if lane == 0 {
        EDGES::view().set(t / warp::WARP, edges);
    }
    thread::sync_threads(); // all edges are known before groups look for their ends
    let is_edge = is_child && EDGES::view().get(t / warp::WARP) >> lane & 1 == 1;
    if is_edge && size <= BUCKET_MAX {
        // The next edge, in this warp's bits or in those of a later one.
        let mut word = t / warp::WARP;
        let mut edges = EDGES::view().get(word) & (u32::MAX << lane << 1);
        while edges == 0 && word + 1 < VALUES / warp::WARP {
            word += 1;
            edges = EDGES::view().get(word);
        }
        let next = if edges == 0 { values } else { word * warp::WARP + edges.trailing_zeros() };
        let count = starts.get(next) - before;
        if count > 0 {
            (work.lists)().push_group(segment.start + before, count, 1 - segment.array);
        }
    }
}
