//! # Columns in shared memory, sorted bit by bit
//!
//! The common part of the rungs `columns-…`. Shared memory holds rows of one key per thread. Thread c sorts column c in
//! 32 passes, one per bit: keys with a zero move to the front of the column; keys with a one move to a second array and
//! are then appended. Each pass keeps the order of equal bits, so after all passes the column is sorted.
//!
//! Key `row * columns + c` belongs to column c. So the lanes of a warp always use 32 different banks, although each may
//! be at another row of its column. If a column were consecutive words, lanes would use the same bank. Global memory
//! has the keys in the same order, so loads are contiguous. The last row may be short.

use simt::atomic::{Order::Relaxed, Scope};
use simt::{Global, Shared, thread, unroll};

/// Fewest columns; their number is a power of two, and one thread sorts each column.
pub const MIN_COLUMNS: u32 = 8;
/// Most columns: the most threads that a block may have.
pub const MAX_COLUMNS: u32 = 1024;

/// Static shared memory that a rung may use for its merge.
pub const MERGE_BYTES: u32 = 9 << 10;

/// Keys that a thread reads before it writes one. The reads of such a group overlap.
const AHEAD: usize = 8;

/// Most keys that can be sorted in this many columns, if a block may have `block_bytes` of shared memory.
pub const fn capacity(columns: u32, block_bytes: u32) -> u32 {
    // Both arrays consist of whole rows.
    (block_bytes - MERGE_BYTES) / (2 * KEY_BYTES) / columns * columns
}

/// Bytes of dynamic shared memory for `n` keys in this many columns.
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
    #[simt::device]
    pub fn new(keys: u32) -> Self {
        let columns = thread::block_dim_x();
        Self { words: Shared::dynamic(0, 2 * padded(keys, columns)), keys, columns }
    }

    /// Copies the thread's column from global memory.
    #[simt::device]
    pub fn load(self, keys: Global<u32>) {
        let mut i = thread::thread_idx_x();
        while i < self.keys {
            self.words.set(i, keys.get(i));
            i += self.columns;
        }
    }

    /// Sorts the thread's own column. It uses no other thread's keys, so it needs no barrier.
    #[simt::device]
    pub fn sort(self) {
        let mut bit = 0;
        while bit < u32::BITS {
            self.append_ones(self.split(bit));
            bit += 1;
        }
    }

    /// The key at `place` of a sorted column; `None` past the end of the column. The first place of column c is c.
    #[simt::device]
    pub fn key(self, place: u32) -> Option<u32> {
        if place < self.keys { Some(self.words.get(place)) } else { None }
    }

    /// The place below `place` in the same column.
    #[simt::device]
    pub fn below(self, place: u32) -> u32 {
        place + self.columns
    }

    /// The number of columns, which is also that of threads.
    #[simt::device]
    pub fn columns(self) -> u32 {
        self.columns
    }

    /// Moves the keys whose `bit` is zero to the front of the column and the others to the second array. Returns the
    /// place after the last key with a zero, and the place after the last key with a one.
    #[simt::device]
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
    #[simt::device]
    fn append_ones(self, (zero, one): (u32, u32)) {
        let mut to = zero;
        self.each_group(self.second() + thread::thread_idx_x(), one, |key| {
            self.words.set(to, key);
            to += self.columns;
        });
    }

    /// Start of the second array.
    #[simt::device]
    fn second(self) -> u32 {
        self.words.len() / 2
    }

    /// Calls `f` for each key of the thread's column from place `from` on, to below `end`. All keys of a group are read
    /// before `f` sees the first of them, which hides the latency of shared memory.
    #[simt::device]
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

/// The head of a thread's column, and the place in the output that the last head got. Rungs whose threads all see the
/// minimum use it.
pub struct Heads {
    columns: Columns,
    placed: Shared<u32>,
    /// The head; `None` if the column is used up.
    pub key: Option<u32>,
    /// The key below it, loaded ahead, and its place.
    below: Option<u32>,
    place: u32,
    /// A key that has a place in the output and has not been stored.
    out: Option<(u32, u32)>,
}

impl Heads {
    /// The head of the thread's sorted column; `placed` counts the keys that have a place, and is 0.
    #[simt::device]
    pub fn new(columns: Columns, placed: Shared<u32>) -> Self {
        let first = thread::thread_idx_x();
        let place = columns.below(first);
        Self { columns, placed, key: columns.key(first), below: columns.key(place), place, out: None }
    }

    /// Gives the head a place if it is the minimum, and moves on.
    #[simt::device]
    pub fn take(&mut self, least: u32) {
        if self.key == Some(least) {
            // Equal keys of several columns take their places in any order, and all before the next minimum's keys: a
            // barrier lies between two minima.
            self.out = Some((self.placed.fetch_add(0, 1, Relaxed, Scope::Block), least));
            self.key = self.below;
            self.place = self.columns.below(self.place);
            self.below = self.columns.key(self.place);
        }
    }

    /// Stores the key that the last [`Heads::take`] gave a place. Apart from it, so that nothing waits for the place.
    #[simt::device]
    pub fn put_out(&mut self, keys: Global<u32>) {
        if let Some((to, key)) = self.out {
            keys.set(to, key);
            self.out = None;
        }
    }

    /// Puts out what is left of the column, when the largest key is the minimum: copies of it.
    #[simt::device]
    pub fn put_out_rest(mut self, keys: Global<u32>) {
        while let Some(key) = self.key {
            self.take(key);
            self.put_out(keys);
        }
    }
}

#[cfg(not(target_os = "cuda"))]
pub use host::{CAPACITY, COLUMNS, geometry, prepare, refuses};

#[cfg(not(target_os = "cuda"))]
mod host {
    use super::*;
    use rungs_common::ladder::*;

    /// Columns by default.
    pub const COLUMNS: u32 = 128;

    /// Keys that fit a block in the default number of columns, on the devices with most shared memory per block.
    pub const CAPACITY: u64 = capacity(COLUMNS, MAX_SHARED) as u64;

    /// One block of one thread per column; no block if there are no keys.
    pub fn geometry(n: u32, options: &Options) -> Geometry {
        let columns = options.columns.unwrap_or(COLUMNS);
        Geometry::linear((n > 0) as u32, columns).shared(shared_bytes(n, columns))
    }

    /// [`geometry`] in place of scratch memory, which the rungs do not need.
    ///
    /// # Errors
    /// None.
    pub fn prepare(_: &dyn Launcher, n: u32, options: &Options) -> Result<Geometry> {
        Ok(geometry(n, options))
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
