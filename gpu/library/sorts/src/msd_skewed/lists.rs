//! The lists of what skewed keys leave over for later launches: segments to split, segments to tally, groups to sort.
//!
//! Any block appends to a list by an atomic addition to its number of items.

use super::leftover::{CHUNK, LARGE, Leftover, Limits, Window};
use crate::msd::BUCKET_MAX;
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, warp};

/// Most levels of the split. A level takes at least 4 bits, or finds where the keys differ and takes 4 the next time.
pub const LEVELS: u32 = 32;

/// Phases per level.
pub const LEVEL_PHASES: u32 = 3;

/// The phase behind those of all levels: the split zeroes the counters of the tally.
pub const TALLY_ZERO: u32 = LEVEL_PHASES * LEVELS;
/// The phases of the tally.
pub const TALLY_COUNT: u32 = TALLY_ZERO + 1;
pub const TALLY_START: u32 = TALLY_ZERO + 2;
pub const TALLY_WRITE: u32 = TALLY_ZERO + 3;
const PHASES: u32 = TALLY_ZERO + 4;

/// Words of a segment to split: 0 start, 1 end, 2 digit and array, 3 first tile, 4 first counter, 5 what to do, 6 and 7
/// the bits in which its keys differ, 8 and 9 its first key.
pub const SEGMENT_WORDS: u32 = 12;

/// Words of a segment to tally: 0 start, 1 end, 2 bits and array, 3 first chunk, 4 and 5 the bits that its keys share.
const TALLY_WORDS: u32 = 8;

/// Where the parts of the lists begin, in words: two words per level and for the large segments to tally, which count
/// what was appended; a ticket and the number of items done per phase; the numbers of small segments and of groups.
const PUSHES: u32 = 0;
const LARGE_PUSHES: u32 = PUSHES + 2 * LEVELS;
const TICKETS: u32 = LARGE_PUSHES + 2;
const DONE: u32 = TICKETS + PHASES;
const SMALL: u32 = DONE + PHASES;
const GROUPS: u32 = SMALL + 1;
/// Words at the beginning that are zeroed at the start of each sort.
pub const CONTROL_WORDS: u32 = (GROUPS + 1).next_multiple_of(32);

/// Most segments of more than [`BUCKET_MAX`] keys.
pub const fn max_segments(n: u32) -> u32 {
    n / (BUCKET_MAX + 1)
}

/// Most segments of at least [`LARGE`] keys.
const fn max_large(n: u32) -> u32 {
    n / LARGE
}

/// Most groups: buckets, and what each level of the split leaves.
#[cfg(not(target_os = "cuda"))]
const fn max_groups(n: u32, buckets: u32, key_bits: u32, top_bits: u32) -> u32 {
    const LEAST: u32 = 4;
    // A split of s keys makes at most 8 · s / BUCKET_MAX groups. One that leaves a large child, whose keys count in the
    // next level, makes up to 3 more.
    buckets + max_segments(n) * (8 + 3 * (key_bits - top_bits).div_ceil(LEAST))
}

/// Where segments to tally begin, in words.
const fn tally_at(n: u32, limits: Limits) -> u32 {
    CONTROL_WORDS + 2 * max_segments(n) * (SEGMENT_WORDS + (1 << limits.least_bits))
}

/// Where groups begin.
const fn groups_at(n: u32, limits: Limits) -> u32 {
    tally_at(n, limits) + TALLY_WORDS * (max_segments(n) + max_large(n))
}

/// Words of the lists for a sort of `n` keys by way of `buckets` buckets.
#[cfg(not(target_os = "cuda"))]
pub const fn list_words<W>(n: u32, buckets: u32, top_bits: u32, limits: Limits) -> u32 {
    groups_at(n, limits) + 2 * max_groups(n, buckets, 8 * size_of::<W>() as u32, top_bits)
}

/// A view of the lists.
#[derive(Clone, Copy)]
pub struct Lists {
    words: Global<u32>,
    n: u32,
    limits: Limits,
}

/// Segments, tiles, and counters (in units of the fewest that a segment has) in one word, so that one atomic takes a
/// share of all three in the same order: 20, 22 and 22 bits, enough for 2³² keys.
const TILES_FROM: u32 = 20;
const COUNTERS_FROM: u32 = 42;
const _: () = assert!(max_segments(u32::MAX) < 1 << TILES_FROM);
const _: () = assert!(u32::MAX / 4096 + 2 * max_segments(u32::MAX) < 1 << (COUNTERS_FROM - TILES_FROM));

#[simt::device]
fn segments_and_tiles(pushed: u64) -> (u32, u32) {
    const TILES: u32 = (1 << (COUNTERS_FROM - TILES_FROM)) - 1;
    (pushed as u32 & ((1 << TILES_FROM) - 1), (pushed >> TILES_FROM) as u32 & TILES)
}

impl Lists {
    /// The lists in `words`, for `n` keys.
    #[simt::device]
    pub fn new(words: Global<u32>, n: u32, limits: Limits) -> Self {
        Self { words, n, limits }
    }

    /// Segments and tiles of a level.
    #[simt::device]
    pub fn level(self, level: u32) -> (u32, u32) {
        let pushed = self.words.cast::<u64>().get(PUSHES / 2 + level);
        segments_and_tiles(pushed)
    }

    /// The words of segment `i` of a level. Levels alternate between two pieces of memory.
    #[simt::device]
    pub fn segment(self, level: u32, i: u32) -> Global<u32> {
        let first = level % 2 * max_segments(self.n);
        self.words.slice(CONTROL_WORDS + (first + i) * SEGMENT_WORDS, SEGMENT_WORDS)
    }

    /// The `values` counters from counter `first` of a level on.
    #[simt::device]
    pub fn counters(self, level: u32, first: u32, values: u32) -> Global<u32> {
        let segments = max_segments(self.n);
        let all = CONTROL_WORDS + 2 * segments * SEGMENT_WORDS;
        self.words.slice(all + ((level % 2 * segments) << self.limits.least_bits) + first, values)
    }

    /// The ticket and the number of items done of a phase: those of the levels, one level after the other, then those
    /// of the tally.
    #[simt::device]
    pub fn phase(self, number: u32) -> (Global<u32>, Global<u32>) {
        (self.words.slice(TICKETS + number, 1), self.words.slice(DONE + number, 1))
    }

    /// Appends what has more than [`BUCKET_MAX`] keys to the segments of a level or, if few bits are left, to those to
    /// tally. All lanes of the warp call it, and each has something to append if `is_one`. `tile`: keys per tile,
    /// `pack`: keys per 16 bytes.
    #[simt::device]
    #[track_caller]
    pub fn push_large(self, level: u32, is_one: bool, leftover: Leftover, tile: u32, pack: u32) {
        let Leftover { start, end, left, array } = leftover;
        let from_pack = end - (start & !(pack - 1));
        let is_segment = is_one && left > self.limits.tally_bits;
        if is_one && !is_segment {
            let what = left | array << 8;
            if end - start < LARGE {
                let i = self.words.fetch_add(SMALL, 1, Relaxed, Scope::Device);
                self.tally_words(max_large(self.n) + i).set_pack(0, [start, end, what, 0]);
            } else {
                let share = 1 | (from_pack.div_ceil(CHUNK) as u64) << 32;
                let pushes = self.words.cast::<u64>();
                let pushed = pushes.fetch_add(LARGE_PUSHES / 2, share, Relaxed, Scope::Device);
                self.tally_words(pushed as u32).set_pack(0, [start, end, what, (pushed >> 32) as u32]);
            }
        }
        let mut left_to_clear = warp::ballot(warp::FULL, is_segment);
        if left_to_clear == 0 {
            return;
        }
        let window = Window::next(left, end - start, self.limits);
        let mut counters = 0;
        if is_segment {
            let tiles = from_pack.div_ceil(tile);
            let share = 1
                | (tiles as u64) << TILES_FROM
                | (window.values().div_ceil(1 << self.limits.least_bits) as u64) << COUNTERS_FROM;
            let pushed = self.words.cast::<u64>().fetch_add(PUSHES / 2 + level, share, Relaxed, Scope::Device);
            let (i, first_tile) = segments_and_tiles(pushed);
            counters = ((pushed >> COUNTERS_FROM) as u32) << self.limits.least_bits;
            let segment = self.segment(level, i);
            segment.set_pack(0, [start, end, window.shift | window.bits << 8 | array << 16, first_tile]);
            segment.set_pack(1, [counters, 0, 0, 0]);
        }
        // The whole warp zeroes the counters of each.
        while left_to_clear != 0 {
            let lane = left_to_clear.trailing_zeros();
            let first = warp::shuffle(warp::FULL, counters, lane);
            let values = warp::shuffle(warp::FULL, window.values(), lane);
            let mut i = warp::lane_id();
            while i < values.div_ceil(4) {
                self.counters(level, first, values.next_multiple_of(4)).set_pack(i, [0; 4]);
                i += warp::WARP;
            }
            left_to_clear &= left_to_clear - 1;
        }
    }

    /// How many segments of fewer than [`LARGE`] keys there are to tally.
    #[simt::device]
    pub fn small(self) -> u32 {
        self.words.get(SMALL)
    }

    /// How many larger ones there are, and how many chunks they have.
    #[simt::device]
    pub fn large(self) -> (u32, u32) {
        let pushed = self.words.cast::<u64>().get(LARGE_PUSHES / 2);
        (pushed as u32, (pushed >> 32) as u32)
    }

    /// Segment `i` of those of fewer than [`LARGE`] keys.
    #[simt::device]
    pub fn small_segment(self, i: u32) -> Leftover {
        self.tally_segment(max_large(self.n) + i)
    }

    /// Segment `i` of the larger ones.
    #[simt::device]
    pub fn large_segment(self, i: u32) -> Leftover {
        self.tally_segment(i)
    }

    #[simt::device]
    fn tally_segment(self, i: u32) -> Leftover {
        let [start, end, what, _] = self.tally_words(i).get_pack(0);
        Leftover { start, end, left: what & 0xff, array: what >> 8 }
    }

    /// Two words for the bits that the keys of segment `i` of the larger ones share.
    #[simt::device]
    pub fn in_common(self, i: u32) -> Global<u32> {
        self.tally_words(i).slice(4, 2)
    }

    /// The index of the first chunk of segment `i` of the larger ones.
    #[simt::device]
    pub fn first_chunk(self, i: u32) -> u32 {
        self.tally_words(i).get(3)
    }

    #[simt::device]
    fn tally_words(self, i: u32) -> Global<u32> {
        self.words.slice(tally_at(self.n, self.limits) + i * TALLY_WORDS, TALLY_WORDS)
    }

    /// Appends a group of at most [`BUCKET_MAX`] keys.
    #[simt::device]
    pub fn push_group(self, start: u32, count: u32, array: u32) {
        let i = self.words.fetch_add(GROUPS, 1, Relaxed, Scope::Device);
        self.group_words().set(i, start as u64 | (count as u64 | (array as u64) << 31) << 32);
    }

    /// How many groups there are.
    #[simt::device]
    pub fn groups(self) -> u32 {
        self.words.get(GROUPS)
    }

    /// Start, number of keys and array of group `i`.
    #[simt::device]
    pub fn group(self, i: u32) -> (u32, u32, u32) {
        const { assert!(BUCKET_MAX < 1 << 31) };
        let group = self.group_words().get(i);
        let high = (group >> 32) as u32;
        (group as u32, high & !(1 << 31), high >> 31)
    }

    #[simt::device]
    fn group_words(self) -> Global<u64> {
        let at = groups_at(self.n, self.limits);
        self.words.slice(at, self.words.len() - at).cast()
    }
}
