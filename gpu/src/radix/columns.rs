//! # Columns in shared memory, sorted bit by bit
//!
//! The common part of the rungs `columns-…`. The keys lie in shared memory as rows of one key per thread. Thread c
//! sorts column c in 32 passes, one per bit: keys with a zero move to the front of the column; keys with a one go to a
//! second array and are appended. Each pass keeps the order of equal bits, so after all passes the column is sorted.
//!
//! Key `row * columns + c` belongs to column c. So the lanes of a warp always use 32 different banks, however far each
//! of them is in its own column; if a column were consecutive words they would meet in one bank. The keys lie in the
//! same order in global memory, so loads are contiguous, and the last row may be short.

use simt::{Global, Shared, thread, unroll};

/// Fewest columns; their number is a power of two, and one thread sorts each column.
pub const MIN_COLUMNS: u32 = 8;
/// Most columns: the most threads that a block may have.
pub const MAX_COLUMNS: u32 = 1024;

/// Static shared memory that a rung may use for its merge.
pub const MERGE_BYTES: u32 = 9 << 10;

/// Keys that a thread reads before it writes one. The reads of such a group overlap.
const AHEAD: usize = 8;

/// Most keys that can be sorted in that many columns, if a block may have `block_bytes` of shared memory.
pub const fn capacity(columns: u32, block_bytes: u32) -> u32 {
    // Both arrays consist of whole rows.
    (block_bytes - MERGE_BYTES) / (2 * KEY_BYTES) / columns * columns
}

/// Bytes of dynamic shared memory for `n` keys in that many columns.
pub const fn shared_bytes(n: u32, columns: u32) -> u32 {
    2 * KEY_BYTES * padded(n, columns)
}

const KEY_BYTES: u32 = size_of::<u32>() as u32;

/// `n` rounded up to whole rows.
const fn padded(n: u32, columns: u32) -> u32 {
    n.div_ceil(columns) * columns
}

/// The keys in shared memory, row after row, and as much room after them.
#[derive(Clone, Copy)]
pub struct Columns {
    words: Shared<u32>,
    keys: u32,
    columns: u32,
}

impl Columns {
    /// Room for `keys` keys in as many columns as the block has threads, in dynamic shared memory.
    #[inline(always)]
    pub fn new(keys: u32) -> Self {
        let columns = thread::block_dim_x();
        Self { words: Shared::dynamic(0, 2 * padded(keys, columns)), keys, columns }
    }

    /// Copies the thread's column from global memory.
    #[inline(always)]
    pub fn load(self, keys: Global<u32>) {
        let mut i = thread::thread_idx_x();
        while i < self.keys {
            self.words.set(i, keys.get(i));
            i += self.columns;
        }
    }

    /// Sorts the thread's own column. It uses no other thread's keys, so it needs no barrier.
    #[inline(always)]
    pub fn sort(self) {
        let mut bit = 0;
        while bit < u32::BITS {
            self.append_ones(self.split(bit));
            bit += 1;
        }
    }

    /// The key at `place` of a sorted column; `None` past the end of the column. The first place of column c is c.
    #[inline(always)]
    pub fn key(self, place: u32) -> Option<u32> {
        if place < self.keys { Some(self.words.get(place)) } else { None }
    }

    /// The place below `place` in the same column.
    #[inline(always)]
    pub fn below(self, place: u32) -> u32 {
        place + self.columns
    }

    /// The number of columns, which is also that of threads.
    #[inline(always)]
    pub fn columns(self) -> u32 {
        self.columns
    }

    /// Moves the keys whose `bit` is zero to the front of the column and the others to the second array. Returns the
    /// place after the last key with a zero, and the place after the last key with a one.
    #[inline(always)]
    fn split(self, bit: u32) -> (u32, u32) {
        let mut zero = thread::thread_idx_x();
        let mut one = self.second() + zero;
        self.each_group(zero, self.keys, |key| {
            let is_one = key >> bit & 1 != 0;
            // The writing of zeros never overtakes the reading, so the front of the column can be written in place.
            self.words.set(if is_one { one } else { zero }, key);
            if is_one {
                one += self.columns;
            } else {
                zero += self.columns;
            }
        });
        (zero, one)
    }

    /// Appends the keys that `split` put into the second array.
    #[inline(always)]
    fn append_ones(self, (zero, one): (u32, u32)) {
        let mut to = zero;
        self.each_group(self.second() + thread::thread_idx_x(), one, |key| {
            self.words.set(to, key);
            to += self.columns;
        });
    }

    /// Start of the second array.
    #[inline(always)]
    fn second(self) -> u32 {
        self.words.len() / 2
    }

    /// Calls `f` for each key of the thread's column from place `from` on, to below `end`. All keys of a group are read
    /// before `f` sees the first of them, which hides the latency of shared memory.
    #[inline(always)]
    fn each_group(self, from: u32, end: u32, mut f: impl FnMut(u32)) {
        let mut i = from;
        while i < end {
            let mut group = [0; AHEAD];
            unroll::<AHEAD>(|k| {
                let place = i + k as u32 * self.columns;
                if place < end {
                    group[k] = self.words.get(place);
                }
            });
            unroll::<AHEAD>(|k| {
                if i + k as u32 * self.columns < end {
                    f(group[k]);
                }
            });
            i += AHEAD as u32 * self.columns;
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::{CAPACITY, COLUMNS, geometry, refuses};

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use crate::ladder::*;

    /// Columns by default.
    pub const COLUMNS: u32 = 128;

    /// Keys that fit a block in the default number of columns, on the devices with most shared memory per block.
    pub const CAPACITY: u64 = capacity(COLUMNS, MAX_SHARED) as u64;

    /// One block of one thread per column; no block if there are no keys.
    pub fn geometry(n: u32, options: &Options) -> Geometry {
        let columns = options.columns.unwrap_or(COLUMNS);
        Geometry::linear((n > 0) as u32, columns).shared(shared_bytes(n, columns))
    }

    /// Why the rungs cannot sort these keys, if so.
    pub fn refuses(ask: &Ask) -> Option<String> {
        let columns = ask.options.columns.unwrap_or(COLUMNS);
        if !columns.is_power_of_two() || !(MIN_COLUMNS..=MAX_COLUMNS).contains(&columns) {
            return Some(format!("{columns} columns: it takes a power of two from {MIN_COLUMNS} to {MAX_COLUMNS}"));
        }
        let (n, capacity) = (ask.n, capacity(columns, ask.device.shared_per_block));
        (n > capacity.into()).then(|| format!("{n} keys do not fit a block's shared memory; {capacity} do"))
    }
}
