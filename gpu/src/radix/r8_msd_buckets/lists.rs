//! What is left over for later kernels: segments that are too large for a block, and groups that want another sort.

use super::{BUCKET_MAX, SLOTS};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, warp};

/// In which array keys lie.
pub const IN_SCRATCH: u32 = 0;
/// See [`IN_SCRATCH`].
pub const IN_OUTPUT: u32 = 1;

/// Times that keys may be split again, at most. Each takes at least 4 bits, or finds where the keys differ and takes 4
/// the next time.
pub const LEVELS: u32 = 32;

/// Phases of a level, see [`super::radix_msd_buckets_split`].
pub const PHASES: u32 = 3;

/// Words of a segment: 0 start, 1 end, 2 digit and array, 3 first tile, 4 first counter, 5 what to do, 6 and 7 the bits in
/// which its keys differ, 8 and 9 its first key.
pub const SEGMENT_WORDS: u32 = 12;

/// Counters that a segment has, at least.
const MIN_BITS: u32 = 4;
/// And at most, as powers of two.
const MAX_BITS: u32 = 8;

/// Where the parts of the lists begin, in words.
const PUSHES: u32 = 0;
const TICKETS: u32 = PUSHES + 2 * LEVELS;
const DONE: u32 = TICKETS + PHASES * LEVELS;
const GROUPS: u32 = DONE + PHASES * LEVELS;
/// Words at the beginning that are zeroed at the start of each sort.
pub const CONTROL_WORDS: u32 = (GROUPS + 1).next_multiple_of(32);

/// How many segments of more than [`BUCKET_MAX`] keys there can be.
pub const fn max_segments(n: u32) -> u32 {
    n / (BUCKET_MAX + 1)
}

/// How many groups there can be: crowded buckets, and what splitting leaves in its levels.
pub const fn max_groups(n: u32, buckets: u32, key_bits: u32, top_bits: u32) -> u32 {
    // A split of s keys makes at most 8 · s / BUCKET_MAX groups, but what it leaves for the next level makes no more
    // than 2 a segment there that were not counted yet.
    buckets + max_segments(n) * (8 + 2 * (key_bits - top_bits).div_ceil(MIN_BITS))
}

/// Words of the lists for so many segments and groups.
pub const fn list_words(segments: u32, groups: u32) -> u32 {
    CONTROL_WORDS + 2 * segments * (SEGMENT_WORDS + (1 << MIN_BITS)) + 2 * groups
}

/// Which bits a segment is split by: `bits` from `shift` on.
#[derive(Clone, Copy)]
pub struct Window {
    /// The lowest bit.
    pub shift: u32,
    /// How many, 1 to 8.
    pub bits: u32,
}

impl Window {
    /// The next bits of keys whose lowest `left` bits may differ: as many as leave 512 keys each of `count`, or
    /// up to 1024.
    #[inline(always)]
    pub fn next(left: u32, count: u32) -> Self {
        let bits = (22 - count.leading_zeros().min(22)).clamp(MIN_BITS, MAX_BITS).min(left);
        Self { shift: left - bits, bits }
    }

    /// How many values they have.
    #[inline(always)]
    pub fn values(self) -> u32 {
        1 << self.bits
    }
}

/// A view of the lists.
#[derive(Clone, Copy)]
pub struct Lists {
    words: Global<u32>,
    segments: u32,
}

/// Segments, tiles and counters (in units of the fewest that a segment has) in one word, so that one atomic takes a share
/// of all three and their orders agree: 20, 22 and 22 bits, enough for 2³² keys.
const TILES_FROM: u32 = 20;
const COUNTERS_FROM: u32 = 42;
const _: () = assert!(max_segments(u32::MAX) < 1 << TILES_FROM);
const _: () = assert!(u32::MAX / 4096 + 2 * max_segments(u32::MAX) < 1 << (COUNTERS_FROM - TILES_FROM));

#[inline(always)]
fn segments_and_tiles(pushed: u64) -> (u32, u32) {
    const TILES: u32 = (1 << (COUNTERS_FROM - TILES_FROM)) - 1;
    (pushed as u32 & ((1 << TILES_FROM) - 1), (pushed >> TILES_FROM) as u32 & TILES)
}

impl Lists {
    /// The lists in `words`, made for so many segments at a time.
    #[inline(always)]
    pub fn new(words: Global<u32>, segments: u32) -> Self {
        Self { words, segments }
    }

    /// Segments and tiles of a level.
    #[inline(always)]
    pub fn level(self, level: u32) -> (u32, u32) {
        let pushed = self.words.cast::<u64>().get(PUSHES / 2 + level);
        segments_and_tiles(pushed)
    }

    /// The words of segment `i` of a level. Levels take turns in two pieces of memory.
    #[inline(always)]
    pub fn segment(self, level: u32, i: u32) -> Global<u32> {
        self.words.slice(CONTROL_WORDS + (level % 2 * self.segments + i) * SEGMENT_WORDS, SEGMENT_WORDS)
    }

    /// The counters from number `first` on of a level.
    #[inline(always)]
    pub fn counters(self, level: u32, first: u32, values: u32) -> Global<u32> {
        let all = CONTROL_WORDS + 2 * self.segments * SEGMENT_WORDS;
        self.words.slice(all + ((level % 2 * self.segments) << MIN_BITS) + first, values)
    }

    /// The ticket and the number of items done of a phase.
    #[inline(always)]
    pub fn phase(self, level: u32, phase: u32) -> (Global<u32>, Global<u32>) {
        let at = level * PHASES + phase;
        (self.words.slice(TICKETS + at, 1), self.words.slice(DONE + at, 1))
    }

    /// Appends segments to a level: each lane of the warp brings one if `is_segment`. `array`: where the keys lie.
    /// `tile`: keys of a tile, `pack`: keys of 16 bytes.
    #[inline(always)]
    #[allow(clippy::too_many_arguments)]
    #[rustfmt::skip]
    pub fn push_segments(
        self, level: u32, is_segment: bool, start: u32, end: u32, window: Window, array: u32, tile: u32, pack: u32,
    ) {
        let mut counters = 0;
        if is_segment {
            let tiles = (end - (start & !(pack - 1))).div_ceil(tile);
            let share = 1 | (tiles as u64) << TILES_FROM | (window.values().div_ceil(1 << MIN_BITS) as u64) << COUNTERS_FROM;
            let pushed = self.words.cast::<u64>().fetch_add(PUSHES / 2 + level, share, Relaxed, Scope::Device);
            let (i, first_tile) = segments_and_tiles(pushed);
            counters = ((pushed >> COUNTERS_FROM) as u32) << MIN_BITS;
            let segment = self.segment(level, i);
            segment.set_pack(0, [start, end, window.shift | window.bits << 8 | array << 16, first_tile]);
            segment.set_pack(1, [counters, 0, 0, 0]);
        }
        // The whole warp zeroes the counters of each.
        let mut left = warp::ballot(warp::FULL, is_segment);
        while left != 0 {
            let lane = left.trailing_zeros();
            let first = warp::shuffle(warp::FULL, counters, lane);
            let values = warp::shuffle(warp::FULL, window.values(), lane);
            let mut i = warp::lane_id();
            while i < values {
                self.counters(level, first, values).set(i, 0);
                i += warp::WARP;
            }
            left &= left - 1;
        }
    }

    /// Appends a group of at most [`SLOTS`] keys.
    #[inline(always)]
    pub fn push_group(self, start: u32, count: u32, array: u32) {
        let i = self.words.fetch_add(GROUPS, 1, Relaxed, Scope::Device);
        self.groups_view().set(i, start as u64 | (count as u64 | (array as u64) << 31) << 32);
    }

    /// How many groups there are.
    #[inline(always)]
    pub fn groups(self) -> u32 {
        self.words.get(GROUPS)
    }

    /// Start, number of keys and array of group `i`.
    #[inline(always)]
    pub fn group(self, i: u32) -> (u32, u32, u32) {
        const { assert!(SLOTS < 1 << 31) };
        let group = self.groups_view().get(i);
        let high = (group >> 32) as u32;
        (group as u32, high & !(1 << 31), high >> 31)
    }

    #[inline(always)]
    fn groups_view(self) -> Global<u64> {
        let at = list_words(self.segments, 0);
        self.words.slice(at, self.words.len() - at).cast()
    }
}
