//! # Columns in shared memory, sorted bit by bit
//!
//! What the rungs `columns-…` have in common. The keys lie in shared memory as rows of one key per thread; thread c sorts
//! column c by 32 passes, one per bit: keys with a zero move to the front of the column, keys with a one go to a second
//! array and are appended. Each pass keeps the order of equal bits, so the passes add up to a sort.
//!
//! Key `row * columns + c` belongs to column c. Then the lanes of a warp always use 32 different banks, however far
//! each has come in its own column; with a column in consecutive words they would meet on one bank. It is also how the
//! keys lie in global memory, so loading is contiguous, and the last row may be ragged.

use simt::{Global, Shared, thread, unroll};

/// Fewest and most columns, each sorted by one thread of one block; a power of two.
pub const MIN_COLUMNS: u32 = 8;
/// See [`MIN_COLUMNS`].
pub const MAX_COLUMNS: u32 = 1024;

/// Static shared memory that a rung may use for its merge.
pub const MERGE_BYTES: u32 = 9 << 10;

/// Keys that a thread reads before it writes one. The reads of such a group do not wait for each other.
const AHEAD: usize = 8;

/// Keys that can be sorted in that many columns where a block may have `block_bytes` of shared memory.
pub const fn capacity(columns: u32, block_bytes: u32) -> u32 {
    // Both arrays have whole rows.
    (block_bytes - MERGE_BYTES) / (2 * KEY_BYTES) / columns * columns
}

/// Bytes of dynamic shared memory for `n` keys in that many columns.
pub const fn shared_bytes(n: u32, columns: u32) -> u32 {
    2 * KEY_BYTES * padded(n, columns)
}

const KEY_BYTES: u32 = size_of::<u32>() as u32;

/// Keys of whole rows.
const fn padded(n: u32, columns: u32) -> u32 {
    n.div_ceil(columns) * columns
}

/// The keys in shared memory, one row of columns after the other, and as much room behind them.
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

    /// Sorts the thread's own column. No other thread's key is touched, so there is nothing to wait for.
    #[inline(always)]
    pub fn sort(self) {
        let mut bit = 0;
        while bit < u32::BITS {
            self.append_ones(self.split(bit));
            bit += 1;
        }
    }

    /// The key at `place` of a sorted column, if the column reaches that far. The first place of column c is c.
    #[inline(always)]
    pub fn key(self, place: u32) -> Option<u32> {
        if place < self.keys { Some(self.words.get(place)) } else { None }
    }

    /// The place below `place` in the same column.
    #[inline(always)]
    pub fn below(self, place: u32) -> u32 {
        place + self.columns
    }

    /// Columns, which is also the number of threads.
    #[inline(always)]
    pub fn columns(self) -> u32 {
        self.columns
    }

    /// Moves the keys without `bit` to the front of the column and those with it to the second array. Returns the
    /// place behind the last zero and the one behind the last one.
    #[inline(always)]
    fn split(self, bit: u32) -> (u32, u32) {
        let mut zero = thread::thread_idx_x();
        let mut one = self.second() + zero;
        self.each_group(zero, self.keys, |key| {
            let is_one = key >> bit & 1 != 0;
            // Zeros never overtake the reading, so the front of the column can be written in place.
            self.words.set(if is_one { one } else { zero }, key);
            if is_one {
                one += self.columns;
            } else {
                zero += self.columns;
            }
        });
        (zero, one)
    }

    /// Appends what `split` put into the second array.
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

    /// Calls `f` for each key of the thread's column from place `from` on, to below `end`. Keys are read in groups
    /// before `f` sees the first of them, which is what hides the latency of shared memory.
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

    /// Columns where no number is asked for.
    pub const COLUMNS: u32 = 128;

    /// Keys that fit a block in so many columns, where it has most shared memory.
    pub const CAPACITY: u64 = capacity(COLUMNS, MAX_SHARED) as u64;

    /// One block, or none for no keys, of a thread per column.
    pub fn geometry(n: u32, options: &Options) -> Geometry {
        let columns = options.columns.unwrap_or(COLUMNS);
        Geometry::linear((n > 0) as u32, columns).shared(shared_bytes(n, columns))
    }

    /// Why the rungs cannot sort this.
    pub fn refuses(ask: &Ask) -> Option<String> {
        let columns = ask.options.columns.unwrap_or(COLUMNS);
        if !columns.is_power_of_two() || !(MIN_COLUMNS..=MAX_COLUMNS).contains(&columns) {
            return Some(format!("{columns} columns: it takes a power of two from {MIN_COLUMNS} to {MAX_COLUMNS}"));
        }
        let (n, capacity) = (ask.n, capacity(columns, ask.device.shared_per_block));
        (n > capacity.into()).then(|| format!("{n} keys do not fit a block's shared memory; {capacity} do"))
    }
}
