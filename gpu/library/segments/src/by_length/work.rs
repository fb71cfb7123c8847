//! The lists that one launch leaves for the next, in three views: `control` (words), `lists` and `rooms`.

use super::{MOST_SPLIT, SHORT, in_block, mean, room};
use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Scalar};

/// Counters at the beginning of `control`, zero before a sort. The first ones: entries of the list of each class.
pub const TILES: u32 = 8;
/// Buckets, each of which has a room.
pub const BUCKETS: u32 = 9;
/// Segments that are sorted digit by digit.
pub const BY_DIGITS: u32 = 10;
/// Jobs of the sort in registers that are taken.
pub const TICKET: u32 = 11;
/// Blocks that have arrived at a barrier of the grid.
pub const ARRIVED: u32 = 12;
/// All counters.
pub const COUNTERS: u32 = 32;

/// Words of a long segment: its first bucket,
pub const FIRST: u32 = 0;
/// the number of its buckets,
pub const COUNT: u32 = 1;
/// and whether it is sorted digit by digit.
pub const FAILED: u32 = 2;
const STATE: u32 = 3;

/// Values of a digit.
pub const DIGITS: u32 = 256;

/// Classes of segments that one block sorts, or a part of one: class c has up to `SHORT << c` keys.
pub const fn classes<W>() -> u32 {
    (in_block::<W>() / SHORT).ilog2()
}

/// The class of a segment: 0 if it is short, one more than [`classes`] if it is long.
#[simt::device]
pub fn class_of<W>(len: u32) -> u32 {
    let bits = u32::BITS - len.saturating_sub(1).leading_zeros();
    bits.saturating_sub(SHORT.ilog2()).min(classes::<W>() + 1)
}

/// Most segments of class `class` among `n` keys: each has more than `SHORT << (class - 1)`.
const fn most(n: u32, class: u32) -> u32 {
    n / (SHORT << (class - 1))
}

/// Where the list of a class begins: there is room for half of what is left before the next, rounded up.
const fn list_start(n: u32, class: u32) -> u32 {
    n / (SHORT / 2) - n / ((SHORT / 2) << (class - 1))
}

/// Most segments of `n` keys that are too long for a block.
const fn longs<W>(n: u32) -> u32 {
    most(n, classes::<W>() + 1)
}

/// Most buckets of `n` keys.
const fn buckets<W>(n: u32) -> u32 {
    n / mean::<W>() + longs::<W>(n)
}

/// Words of [`Work::control`] for `n` keys and a grid of `blocks` blocks that sorts digit by digit.
pub const fn control_len<W>(n: u32, blocks: u32) -> u32 {
    table_start::<W>(n) + blocks * DIGITS
}

const fn table_start<W>(n: u32) -> u32 {
    COUNTERS + longs::<W>(n) * (STATE + 1 + MOST_SPLIT) + 2 * buckets::<W>(n)
}

/// Words of [`Work::lists`] for `n` keys.
pub const fn lists_len<W>(n: u32) -> u32 {
    list_start(n, classes::<W>() + 2) + n / in_block::<W>() + longs::<W>(n)
}

/// Words of [`Work::rooms`] for `n` keys.
pub const fn rooms_len<W>(n: u32) -> u32 {
    buckets::<W>(n) * room::<W>() + longs::<W>(n) * MOST_SPLIT
}

/// The scratch memory of a sort of `n` keys.
#[derive(Clone, Copy)]
pub struct Work<W> {
    /// The number of keys.
    pub n: u32,
    /// Counters, then what is known of long segments and their buckets, then counts of digits.
    pub control: Global<u32>,
    /// The segments of each class, then tiles of long segments.
    pub lists: Global<u64>,
    /// A room for each bucket, then splitters.
    pub rooms: Global<W>,
}

/// A begin and a length, or another number, as one word.
#[simt::device]
pub fn pair(first: u32, second: u32) -> u64 {
    first as u64 | (second as u64) << 32
}

/// Both parts of a word.
#[simt::device]
pub fn parts(pair: u64) -> (u32, u32) {
    (pair as u32, (pair >> 32) as u32)
}

impl<W: Scalar> Work<W> {
    /// The list of the segments of a class, as [`pair`]s of begin and length.
    #[simt::device]
    #[track_caller]
    pub fn segments(self, class: u32) -> Global<u64> {
        self.lists.slice(list_start(self.n, class), most(self.n, class))
    }

    /// How many segments of a class there are.
    #[simt::device]
    #[track_caller]
    pub fn count(self, class: u32) -> u32 {
        self.control.get(class).min(most(self.n, class))
    }

    /// The list of long segments.
    #[simt::device]
    #[track_caller]
    pub fn long(self) -> Global<u64> {
        self.segments(classes::<W>() + 1)
    }

    /// How many long segments there are.
    #[simt::device]
    #[track_caller]
    pub fn long_count(self) -> u32 {
        self.count(classes::<W>() + 1)
    }

    /// The tiles of long segments, as [`pair`]s of begin and number of the segment.
    #[simt::device]
    #[track_caller]
    pub fn tiles(self) -> Global<u64> {
        let start = list_start(self.n, classes::<W>() + 2);
        self.lists.slice(start, self.lists.len() - start)
    }

    /// What is known of long segment `number`.
    #[simt::device]
    #[track_caller]
    pub fn state(self, number: u32) -> Global<u32> {
        self.control.slice(COUNTERS + number * STATE, STATE)
    }

    /// The numbers of the segments that are sorted digit by digit.
    #[simt::device]
    #[track_caller]
    pub fn by_digits(self) -> Global<u32> {
        let longs = longs::<W>(self.n);
        self.control.slice(COUNTERS + longs * STATE, longs)
    }

    /// Which of the keys that equal a splitter are behind it, for each splitter of a long segment.
    #[simt::device]
    #[track_caller]
    pub fn ties(self, number: u32) -> Global<u32> {
        let start = COUNTERS + longs::<W>(self.n) * (STATE + 1);
        self.control.slice(start + number * MOST_SPLIT, MOST_SPLIT)
    }

    /// The splitters of a long segment.
    #[simt::device]
    #[track_caller]
    pub fn splitters(self, number: u32) -> Global<W> {
        self.rooms.slice(buckets::<W>(self.n) * room::<W>() + number * MOST_SPLIT, MOST_SPLIT)
    }

    /// The number of the long segment of each bucket.
    #[simt::device]
    #[track_caller]
    pub fn owners(self) -> Global<u32> {
        let all = buckets::<W>(self.n);
        self.control.slice(table_start::<W>(self.n) - 2 * all, all)
    }

    /// How many keys each bucket has.
    #[simt::device]
    #[track_caller]
    pub fn sizes(self) -> Global<u32> {
        let all = buckets::<W>(self.n);
        self.control.slice(table_start::<W>(self.n) - all, all)
    }

    /// How often block `block` has each value of a digit.
    #[simt::device]
    #[track_caller]
    pub fn digits_of(self, block: u32) -> Global<u32> {
        self.control.slice(table_start::<W>(self.n) + block * DIGITS, DIGITS)
    }

    /// Has a long segment sorted digit by digit, whatever is in its buckets.
    #[simt::device]
    #[track_caller]
    pub fn give_up(self, number: u32) {
        if self.state(number).exchange(FAILED, 1, Relaxed, Scope::Device) == 0 {
            let place = self.control.fetch_add(BY_DIGITS, 1, Relaxed, Scope::Device);
            if place < self.by_digits().len() {
                self.by_digits().set(place, number);
            }
        }
    }
}
