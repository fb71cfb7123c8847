//! A round of odd-even merge-split: neighbouring runs are merged, and each keeps its half.
//!
//! A run is as long as one SM can sort, up to 32,768 keys. A block merges far fewer keys, and many blocks on many SMs
//! make each run, a chunk each. A block searches for the keys of the two runs that belong to its chunk, and merges only
//! those. In the search a warp looks at 32 places at a time.

use rungs_common::keys::{Key, Word};
use simt::warp::{self, FULL, WARP};
use simt::{Global, Shared, shared, thread, unroll};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Keys per thread; odd, so that the stride from thread to thread meets no bank twice.
const VT: usize = 9;

/// Most keys of a chunk.
pub const MOST: u32 = BLOCK * VT as u32;

/// Fewest blocks per SM.
pub const fn min_blocks<T>() -> u32 {
    if size_of::<T>() > 4 { 4 } else { 6 }
}

/// Places on both sides of a chunk in shared memory, into which a thread may run when the last keys are taken.
const PAD: u32 = 16;
const _: () = assert!(PAD > VT as u32);

// A chunk's keys of the lower run, ascending, then those of the upper run, descending; room for keys of 8 bytes.
shared!(CHUNK: [u64; MOST + 2 * PAD]);
// How many keys of the lower run come before the chunk, and before its end.
shared!(SPLITS: [u32; 2]);

/// How keys are cut in a round, and which runs are merged.
#[simt::argument]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// Keys of a run; the last may be shorter.
    pub run: u32,
    /// Keys of a chunk, at most [`MOST`].
    pub chunk: u32,
    /// Chunks of a run.
    pub chunks: u32,
    /// Runs of a group; only runs of a group are merged with each other.
    pub group: u32,
    /// The lower runs of the pairs have numbers, in their group, that are `parity` modulo 2.
    pub parity: u32,
}

impl Round {
    /// Runs of `n` keys.
    pub const fn runs(&self, n: u32) -> u32 {
        n.div_ceil(self.run)
    }

    /// Chunk `number` of `n` keys; there may be no key in it.
    #[simt::device]
    pub(super) fn chunk(self, number: u32, n: u32) -> Chunk {
        let (run, inside) = (number / self.chunks, number % self.chunks * self.chunk);
        let in_group = run % self.group;
        let lower = in_group & 1 == self.parity;
        let start = run * self.run;
        let paired = if lower { in_group + 1 < self.group && n - start > self.run } else { in_group > 0 };
        let upper = paired && !lower;
        let first = if upper { start - self.run } else { start };
        let lower_len = self.run.min(n - first);
        let upper_len = if paired { self.run.min(n - first - lower_len) } else { 0 };
        // The lower run keeps as many keys as it has, and the upper run the others.
        let (from, end) = if upper { (lower_len + inside, lower_len + upper_len) } else { (inside, lower_len) };
        let len = self.chunk.min(end.saturating_sub(from));
        Chunk {
            run,
            partner: if upper { run - 1 } else { run + paired as u32 },
            first,
            lower_len,
            upper_len,
            from,
            len,
        }
    }
}

/// A chunk of a merged pair of runs, or of a run without a partner.
#[derive(Clone, Copy)]
pub(super) struct Chunk {
    /// The run that it belongs to, and the one that is merged with it; the same if there is none.
    pub run: u32,
    pub partner: u32,
    /// Where the lower run begins, and how long both are.
    first: u32,
    lower_len: u32,
    upper_len: u32,
    /// Where the chunk begins in the merged pair, and how long it is.
    from: u32,
    pub len: u32,
}

/// Fills the places next to the chunk, once per block. A barrier follows before the first merge.
#[simt::device]
pub(super) fn fill_pads<T: Key>() {
    let (t, places) = (thread::thread_idx_x(), CHUNK::view().cast::<T>());
    if t < PAD {
        places.set(t, T::LAST);
        places.set(PAD + MOST + t, T::LAST);
    }
}

impl Chunk {
    /// Merges the chunk from `from` into `to`. All threads of the block make the call, for a chunk with keys; a barrier
    /// follows before the next call. The first two warps know that both runs can be read.
    #[simt::device]
    pub(super) fn merge<T: Key + Word>(self, from: Global<T>, to: Global<T>, decode: u32) {
        let (t, tile) = (thread::thread_idx_x(), CHUNK::view().cast::<T>());
        let pair = from.slice(self.first, self.lower_len + self.upper_len);
        let to = to.slice(self.first + self.from, self.len);
        if t < 2 * WARP {
            let end = t / WARP;
            let split = split(pair, self.lower_len, self.from + end * self.len);
            if warp::lane_id() == 0 {
                SPLITS::view().set(end, split);
            }
        }
        thread::sync_threads(); // both splits are known, and both runs can be read
        let (lower, lower_end) = (SPLITS::view().get(0), SPLITS::view().get(1));
        let from_lower = lower_end - lower;
        let upper = self.lower_len + (self.from - lower);
        // A place past the end loads the last key once more: no load has a condition, so all are issued together.
        let mut own = [T::LAST; VT];
        unroll::<VT>(|i| {
            let j = (i as u32 * BLOCK + t).min(self.len - 1);
            own[i] = pair.get(if j < from_lower { lower + j } else { upper + (j - from_lower) });
        });
        // All threads of the block take the same branch.
        if from_lower == 0 || from_lower == self.len {
            unroll::<VT>(|i| set_if_inside(to, i as u32 * BLOCK + t, own[i], decode));
            return;
        }
        unroll::<VT>(|i| {
            let j = i as u32 * BLOCK + t;
            let place = if j < from_lower || j >= self.len { j } else { self.len - 1 - (j - from_lower) };
            tile.set(PAD + place, own[i]);
        });
        thread::sync_threads(); // the chunk is whole before threads merge keys that others loaded
        let own = merge_keys(tile, from_lower, self.len, (t * VT as u32).min(self.len));
        thread::sync_threads(); // all keys have been read before merged ones take their places
        unroll::<VT>(|i| tile.set(PAD + t * VT as u32 + i as u32, own[i]));
        thread::sync_threads(); // the chunk is merged before it leaves in stripes
        unroll::<VT>(|i| {
            let j = i as u32 * BLOCK + t;
            set_if_inside(to, j, tile.get(PAD + j), decode);
        });
    }
}

#[simt::device]
fn set_if_inside<T: Key + Word>(to: Global<T>, i: u32, key: T, decode: u32) {
    if i < to.len() {
        to.set(i, key.decode(decode));
    }
}

/// How many of the first `count` keys of two merged runs come from the lower run, which has `lower_len` keys and lies
/// before the upper one in `pair`. A warp makes the call; of equal keys those of the lower run come first.
#[simt::device]
fn split<T: Key>(pair: Global<T>, lower_len: u32, count: u32) -> u32 {
    let (mut low, mut high) = (count.saturating_sub(pair.len() - lower_len), count.min(lower_len));
    while low < high {
        // 32 places at a time. With 128 there is one look less to wait for, and rounds take a fifth longer: the places
        // are in different sectors, which are more than those of the chunk.
        let step = (high - low).div_ceil(WARP);
        let i = low + warp::lane_id() * step;
        let comes = i < high && pair.get(i) <= pair.get(lower_len + (count - 1 - i));
        let come = warp::ballot(FULL, comes).count_ones();
        if come == 0 {
            break;
        }
        high = high.min(low + come * step);
        low = (low + (come - 1) * step + 1).min(high);
    }
    low
}

/// Keys `count` and following of a chunk of `len` keys in shared memory, `lower` of them from the lower run.
///
/// The upper run's keys lie behind, in descending order: where one run ends lies the largest key of the other, so the
/// loop needs no test for an end. Equal keys cannot be told apart, so it does not matter that at the end a key may be
/// taken from the wrong side.
#[simt::device]
fn merge_keys<T: Key>(tile: Shared<T>, lower: u32, len: u32, count: u32) -> [T; VT] {
    let (mut low, mut high) = (count.saturating_sub(len - lower), count.min(lower));
    while low < high {
        let middle = (low + high) / 2;
        if tile.get(PAD + len - (count - middle)) < tile.get(PAD + middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    let (mut up, mut down) = (PAD + low, PAD + len - 1 - (count - low));
    let (mut a, mut b) = (tile.get(up), tile.get(down));
    let mut own = [T::LAST; VT];
    unroll::<VT>(|i| {
        let from_upper = b < a;
        own[i] = if from_upper { b } else { a };
        if i + 1 < VT {
            if from_upper {
                down -= 1;
            } else {
                up += 1;
            }
            let next = tile.get(if from_upper { down } else { up });
            (a, b) = if from_upper { (a, next) } else { (next, b) };
        }
    });
    own
}

#[cfg(not(target_os = "cuda"))]
pub mod launches {
    //! How keys are cut into runs and chunks for a launch.

    use super::*;
    use crate::runs::padded;

    /// log₂ of the keys of a run, for keys of `key_bytes`: as many as an SM sorts at a time.
    pub const fn run_bits(key_bytes: u32, shared_per_block: u32) -> u32 {
        let most = if key_bytes > 4 { 14 } else { 15 };
        if padded(1 << most) * key_bytes <= shared_per_block { most } else { most - 1 }
    }

    /// Lengths around which a mistake would show: a chunk, and a run, of keys of 4 bytes.
    pub const TILES: &[u64] = &[Round::first(1 << 15).chunk as u64, 1 << 15];

    impl Round {
        /// The first round of runs of `run` keys, in one group.
        pub const fn first(run: u32) -> Self {
            // Equal chunks, whole sectors.
            let chunk = run.div_ceil(run.div_ceil(MOST)).next_multiple_of(WARP);
            Self { run, chunk, chunks: run.div_ceil(chunk), group: u32::MAX, parity: 0 }
        }

        /// Rounds that sort `runs` sorted runs, or a group with that number of runs.
        pub const fn rounds(runs: u32) -> u32 {
            match runs {
                0 | 1 => 0,
                2 => 1,
                _ => runs,
            }
        }
    }
}
